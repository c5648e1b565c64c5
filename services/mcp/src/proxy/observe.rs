//! Reads a copy of what passes, beside it, and never holds it up.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::body::Bytes;
use hindsight_ports::Clock;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    About,
    calls::Way,
    frame::{Lines, Piece},
    message::{self, Id, Side},
    record::Recorder,
    task::Tasks,
};

/// Bytes that wait to be read; more are lost to memory, and counted.
const WAITING_BYTES: usize = 64 * 1024 * 1024;
/// Longest message that is read; a longer one passes unseen.
pub(crate) const MESSAGE_BYTES: usize = 32 * 1024 * 1024;

/// What passed, and what became of it.
#[derive(Debug)]
pub(crate) enum Seen {
    /// Bytes as they came; `gap`: others before them were lost.
    Bytes { side: Side, bytes: Bytes, gap: bool },
    /// A message by itself.
    Message { side: Side, way: Way, bytes: Bytes },
    /// A call that never reached the server.
    Withheld(Way, Id),
    /// The agent was told something; the id of the receipt.
    Reminded(String),
    /// Nothing more comes.
    Closed,
}

impl Seen {
    fn weight(&self) -> usize {
        match self {
            Self::Bytes { bytes, .. } | Self::Message { bytes, .. } => bytes.len(),
            Self::Withheld(..) | Self::Reminded(_) | Self::Closed => 0,
        }
    }
}

/// Where notes of a connection go. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Notes {
    seen: mpsc::UnboundedSender<Seen>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The name of the task that is under way.
    trace: Mutex<String>,
    waiting: AtomicUsize,
    counts: Arc<Counts>,
}

/// What was seen and what was not, over all connections.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub messages: AtomicU64,
    pub steps: AtomicU64,
    /// Copies that found no room.
    pub lost: AtomicU64,
    /// Messages that are too long to be read.
    pub long: AtomicU64,
    /// Calls whose answer was not seen.
    pub unanswered: AtomicU64,
    /// Checks that were not answered in time.
    pub late: AtomicU64,
}

impl Notes {
    /// Takes a note without waiting; whether there was room.
    pub(crate) fn note(&self, seen: Seen) -> bool {
        let weight = seen.weight();
        let before = self.shared.waiting.fetch_add(weight, Ordering::Relaxed);
        if before + weight > WAITING_BYTES || self.seen.send(seen).is_err() {
            self.shared.waiting.fetch_sub(weight, Ordering::Relaxed);
            self.shared.counts.lost.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Nothing more comes. May be said more than once.
    pub(crate) fn close(&self) {
        // Who reads them may have ended.
        let _ = self.seen.send(Seen::Closed);
    }

    /// A message passed that is too long to be read.
    pub(crate) fn too_long(&self) {
        self.shared.counts.long.fetch_add(1, Ordering::Relaxed);
    }

    /// The name of the task that is under way.
    pub(crate) fn trace(&self) -> String {
        self.shared.trace.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Copies the bytes of one side.
#[derive(Debug)]
pub(crate) struct Tap {
    notes: Notes,
    side: Side,
    gap: bool,
}

impl Tap {
    pub(crate) fn new(notes: Notes, side: Side) -> Self {
        Self { notes, side, gap: false }
    }

    pub(crate) fn copy(&mut self, bytes: &[u8]) {
        let seen = Seen::Bytes { side: self.side, bytes: Bytes::copy_from_slice(bytes), gap: self.gap };
        self.gap = !self.notes.note(seen);
    }
}

/// Reads the notes of one connection and has its steps recorded.
pub(crate) struct Observer {
    seen: mpsc::UnboundedReceiver<Seen>,
    shared: Arc<Shared>,
    tasks: Tasks,
    lines: [Lines; 2],
    recorder: Recorder,
    clock: Arc<dyn Clock>,
}

impl Observer {
    /// `server` names what is served until it says so itself.
    pub(crate) fn new(
        about: About,
        server: String,
        recorder: Recorder,
        counts: Arc<Counts>,
        clock: Arc<dyn Clock>,
    ) -> (Notes, Self) {
        let (sender, seen) = mpsc::unbounded_channel();
        let trace = name();
        let tasks = Tasks::new(about, server, trace.clone());
        let shared = Arc::new(Shared { trace: Mutex::new(trace), waiting: AtomicUsize::new(0), counts });
        let lines = [Lines::new(MESSAGE_BYTES), Lines::new(MESSAGE_BYTES)];
        (Notes { seen: sender, shared: shared.clone() }, Self { seen, shared, tasks, lines, recorder, clock })
    }

    /// Until the connection is closed. A task ends there, or when nothing is heard for `idle`.
    pub(crate) async fn run(mut self, idle: Duration) {
        loop {
            match tokio::time::timeout(idle, self.seen.recv()).await {
                Ok(None | Some(Seen::Closed)) => break,
                Ok(Some(seen)) => self.see(seen),
                Err(_) if self.tasks.is_busy() => {}
                Err(_) => self.end(),
            }
        }
        self.end();
    }

    fn see(&mut self, seen: Seen) {
        let weight = seen.weight();
        match seen {
            Seen::Bytes { side, bytes, gap } => self.bytes(side, &bytes, gap),
            Seen::Message { side, way, bytes } => self.message(side, way, &bytes),
            Seen::Withheld(way, id) => self.tasks.withheld(way, &id),
            Seen::Reminded(receipt) => self.tasks.reminded(receipt),
            Seen::Closed => {}
        }
        self.shared.waiting.fetch_sub(weight, Ordering::Relaxed);
    }

    fn bytes(&mut self, side: Side, bytes: &[u8], gap: bool) {
        let mut lines = std::mem::replace(&mut self.lines[side as usize], Lines::new(MESSAGE_BYTES));
        if gap {
            lines.gap();
        }
        let mut was_whole = lines.is_at_line_start();
        lines.push(bytes, |piece| match piece {
            Piece::Line(line) => self.message(side, Way::Common, line),
            Piece::Part(part) => {
                if std::mem::replace(&mut was_whole, part.ends_with(b"\n")) {
                    self.shared.counts.long.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        self.lines[side as usize] = lines;
    }

    fn message(&mut self, side: Side, way: Way, bytes: &[u8]) {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.shared.counts.messages.fetch_add(1, Ordering::Relaxed);
        for message in message::read(side, bytes) {
            if self.tasks.is_full() {
                self.end();
            }
            let records = self.tasks.see(way, message, self.clock.now());
            self.record(records);
        }
    }

    fn end(&mut self) {
        let next = name();
        let records = self.tasks.end(next.clone(), self.clock.now());
        self.record(records);
        *self.shared.trace.lock().unwrap_or_else(PoisonError::into_inner) = next;
        let unanswered = std::mem::take(&mut self.tasks.unanswered);
        self.shared.counts.unanswered.fetch_add(unanswered, Ordering::Relaxed);
    }

    fn record(&self, records: Vec<hindsight_proto::collector::v1::RecordEventsRequest>) {
        use hindsight_proto::collector::v1::record_events_request::Body;
        for record in records {
            if matches!(record.body, Some(Body::Step(_))) {
                self.shared.counts.steps.fetch_add(1, Ordering::Relaxed);
            }
            self.recorder.record(record);
        }
    }
}

/// A name that no other task has.
fn name() -> String {
    format!("mcp-{}", Uuid::now_v7())
}
