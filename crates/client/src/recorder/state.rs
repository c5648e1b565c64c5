//! What became of the events, and whether another one is taken.

use std::{
    collections::VecDeque,
    future::Future,
    sync::{Mutex, PoisonError, mpsc},
};

use hindsight_proto::collector::v1::{RecordEventsRequest, Rejection};
use prost::Message as _;
use tokio::sync::watch;

use super::{segment::HEADER, spool::Found};

/// Most bytes that wait in memory for the disk.
const QUEUE_BYTES: u64 = 16 * 1024 * 1024;
/// Part of the spool that is kept for the ends of tasks, so that what was recorded of them is judged.
const RESERVE: u64 = 16;

/// What became of what was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecorderState {
    /// Events taken since the start.
    pub recorded: u64,
    /// Events that a former process had left in the spool.
    pub recovered: u64,
    /// Events that are durable at the server.
    pub acknowledged: u64,
    /// Events that the server refused.
    pub rejected: u64,
    /// Events that were not taken: the spool was full, they were not valid, or the disk failed.
    pub lost: u64,
    /// Steps whose texts were longer than the server takes, and were cut.
    pub cut: u64,
    /// Events taken or recovered, and neither acknowledged nor rejected so far.
    pub pending: u64,
    /// Those among them that are not in the spool yet.
    pub queued: u64,
    /// Bytes of the spool, and of what waits for it.
    pub held_bytes: u64,
    /// Why something was lost, refused or left out last, and what to do about it.
    pub problem: Option<String>,
    /// Why what is pending cannot be sent at the moment.
    pub trouble: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) public: RecorderState,
    queued_bytes: u64,
    /// Position of the last record in the spool.
    pub(super) written: u64,
    /// Records in the spool that are not acknowledged.
    pub(super) unsent: u64,
    /// Nothing more is written.
    pub(super) ended: bool,
}

/// Between the agent, the thread that writes and the task that sends.
#[derive(Debug)]
pub(super) struct Shared {
    state: watch::Sender<Inner>,
    /// Absent once the recorder is closed.
    queue: Mutex<Option<mpsc::Sender<Vec<u8>>>>,
    spool_bytes: u64,
}

impl Shared {
    pub(super) fn new(spool_bytes: u64, found: &Found, last: u64) -> (Self, mpsc::Receiver<Vec<u8>>) {
        let public = RecorderState {
            recovered: found.records,
            pending: found.records,
            held_bytes: found.bytes,
            problem: (found.torn > 0).then(|| torn(found.torn)),
            ..RecorderState::default()
        };
        let inner = Inner { public, written: last, unsent: found.records, ..Inner::default() };
        let (queue, received) = mpsc::channel();
        let queue = Mutex::new(Some(queue));
        (Self { state: watch::Sender::new(inner), queue, spool_bytes }, received)
    }

    pub(super) fn snapshot(&self) -> RecorderState {
        self.state.borrow().public.clone()
    }

    /// Takes the event, or counts it as lost. Does not wait for anything.
    pub(super) fn offer(&self, event: &RecordEventsRequest, is_end: bool) -> bool {
        let payload = event.encode_to_vec();
        let bytes = HEADER + payload.len() as u64;
        let limit = if is_end { self.spool_bytes } else { self.spool_bytes - self.spool_bytes / RESERVE };
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(queue) = queue.as_ref() else {
            self.lose("the recorder is closed".to_owned());
            return false;
        };
        let mut taken = false;
        self.state.send_modify(|s| {
            if s.public.held_bytes + bytes > limit {
                s.lose(format!("the spool is full ({} bytes); is the server away?", self.spool_bytes));
            } else if s.queued_bytes + bytes > QUEUE_BYTES {
                s.lose("the disk of the spool does not keep up; use a faster one".to_owned());
            } else {
                taken = true;
                s.queued_bytes += bytes;
                s.public.held_bytes += bytes;
                s.public.queued += 1;
                s.public.recorded += 1;
                s.public.pending += 1;
            }
        });
        // The thread that writes lives as long as the queue.
        taken && queue.send(payload).is_ok()
    }

    /// The record stands in the spool at `position`, or could not be written.
    pub(super) fn written(&self, bytes: u64, outcome: Result<u64, String>) {
        self.state.send_modify(|s| {
            s.queued_bytes -= bytes;
            s.public.queued -= 1;
            match outcome {
                Ok(position) => (s.written, s.unsent) = (position, s.unsent + 1),
                Err(problem) => {
                    s.public.held_bytes -= bytes;
                    s.public.pending -= 1;
                    s.lose(problem);
                }
            }
        });
    }

    pub(super) fn acknowledged(&self, count: u64, rejections: &[Rejection], freed: u64) {
        let rejected = (rejections.len() as u64).min(count);
        self.state.send_modify(|s| {
            s.unsent -= count;
            s.public.pending -= count;
            s.public.held_bytes -= freed;
            s.public.rejected += rejected;
            s.public.acknowledged += count - rejected;
            s.public.trouble = None;
            if let Some(r) = rejections.last() {
                s.public.problem = Some(format!("the server refused an event: {}", r.message));
            }
        });
    }

    pub(super) fn lose(&self, problem: String) {
        self.state.send_modify(|s| s.lose(problem));
    }

    pub(super) fn cut(&self) {
        self.state.send_modify(|s| s.public.cut += 1);
    }

    pub(super) fn trouble(&self, trouble: String) {
        self.state.send_modify(|s| s.public.trouble = Some(trouble));
    }

    /// No event is taken from here on.
    pub(super) fn close(&self) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn end(&self) {
        self.state.send_modify(|s| s.ended = true);
    }

    pub(super) fn get<T>(&self, look: impl FnOnce(&Inner) -> T) -> T {
        look(&self.state.borrow())
    }

    pub(super) fn until(
        &self,
        condition: impl FnMut(&Inner) -> bool + Send,
    ) -> impl Future<Output = ()> + Send {
        let mut changes = self.state.subscribe();
        async move {
            // Fails only when the state is gone, and this holds it.
            let _ = changes.wait_for(condition).await;
        }
    }
}

impl Inner {
    fn lose(&mut self, problem: String) {
        self.public.lost += 1;
        self.public.problem = Some(problem);
    }
}

fn torn(bytes: u64) -> String {
    format!("{bytes} bytes at the end of spool files were no whole record and are left out")
}

/// Positions of what was sent on one stream and is not acknowledged. The stream counts from 1.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    positions: VecDeque<u64>,
    acknowledged: u64,
}

impl InFlight {
    /// Returns the sequence on the stream.
    pub(super) fn sent(&mut self, position: u64) -> u64 {
        self.positions.push_back(position);
        self.acknowledged + self.positions.len() as u64
    }

    /// Returns how many that are, and the position of the last.
    pub(super) fn acknowledge(&mut self, sequence: u64) -> Option<(u64, u64)> {
        let count = sequence.saturating_sub(self.acknowledged).min(self.positions.len() as u64);
        let last = self.positions.drain(..usize::try_from(count).ok()?).next_back()?;
        self.acknowledged += count;
        Some((count, last))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}
