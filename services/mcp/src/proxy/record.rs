//! Carries records to the collector, over a stream that is opened again whenever it breaks.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hindsight_client::Client;
use hindsight_proto::collector::v1::{RecordEventsRequest, RecordEventsResponse};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::Memory;

/// Records that wait for a collector that is away.
const WAITING: usize = 20_000;
/// Bytes of them.
const WAITING_BYTES: usize = 64 * 1024 * 1024;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Takes records without ever waiting.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    records: mpsc::UnboundedSender<RecordEventsRequest>,
    state: Arc<State>,
}

/// What became of records.
#[derive(Debug, Default)]
pub(crate) struct State {
    taken: AtomicU64,
    durable: AtomicU64,
    lost: AtomicU64,
    /// The collector could not be reached when that was tried last.
    away: watch::Sender<bool>,
}

impl State {
    /// Records that found no room, or that the collector refused.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits until the collector cannot be reached.
    pub(crate) async fn away(&self) {
        let mut away = self.away.subscribe();
        // The other end of it is here, and so it does not end.
        let _ = away.wait_for(|away| *away).await;
    }

    /// Records that are not durable yet.
    pub(crate) fn unsent(&self) -> u64 {
        let gone = self.durable.load(Ordering::Relaxed) + self.lost();
        self.taken.load(Ordering::Relaxed).saturating_sub(gone)
    }
}

impl Recorder {
    /// The recorder, and its work, which ends when all recorders are gone and everything is durable.
    pub(crate) fn new(memory: Memory) -> (Self, impl Future<Output = ()> + Send) {
        let (records, receiver) = mpsc::unbounded_channel();
        let state = Arc::new(State::default());
        let delivery = Delivery {
            records: receiver,
            state: state.clone(),
            waiting: VecDeque::new(),
            bytes: 0,
            closed: false,
        };
        (Self { records, state }, delivery.run(memory))
    }

    /// Never waits.
    pub(crate) fn record(&self, record: RecordEventsRequest) {
        self.state.taken.fetch_add(1, Ordering::Relaxed);
        if self.records.send(record).is_err() {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.clone()
    }
}

/// What is on its way.
struct Delivery {
    records: mpsc::UnboundedReceiver<RecordEventsRequest>,
    state: Arc<State>,
    /// Not acknowledged yet, in order.
    waiting: VecDeque<RecordEventsRequest>,
    bytes: usize,
    /// No more records come.
    closed: bool,
}

impl Delivery {
    async fn run(mut self, memory: Memory) {
        let mut pause = FIRST_PAUSE;
        loop {
            while self.waiting.is_empty() {
                if self.closed {
                    return;
                }
                let record = self.records.recv().await;
                self.take(record);
            }
            let Some(client) = self.beside(memory.client()).await else { return };
            let before = self.waiting.len();
            match self.stream(&client).await {
                Ok(()) => pause = FIRST_PAUSE,
                Err(status) => {
                    if self.waiting.len() < before {
                        pause = FIRST_PAUSE;
                    }
                    memory.failed("recording", &status);
                    self.beside(sleep_until(Instant::now() + pause)).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Waits for `other` while taking records in.
    async fn beside<T>(&mut self, other: impl Future<Output = T>) -> T {
        tokio::pin!(other);
        loop {
            tokio::select! {
                done = &mut other => return done,
                record = self.records.recv(), if !self.closed => self.take(record),
            }
        }
    }

    fn take(&mut self, record: Option<RecordEventsRequest>) {
        let Some(record) = record else {
            self.closed = true;
            return;
        };
        let bytes = size(&record);
        if self.waiting.len() >= WAITING || self.bytes + bytes > WAITING_BYTES {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.bytes += bytes;
        self.waiting.push_back(record);
    }

    /// Sends everything that waits and what comes, until the stream breaks or all is done.
    async fn stream(&mut self, client: &Client) -> Result<(), Status> {
        let (sender, receiver) = mpsc::channel(64);
        let opened = self.beside(open(client, ReceiverStream::new(receiver))).await;
        self.state.away.send_replace(opened.is_err());
        let mut answers = opened?;
        // Of those that wait, how many were sent; and how many were acknowledged before them.
        let (mut sent, mut done) = (0, 0);
        while !(self.closed && self.waiting.is_empty()) {
            tokio::select! {
                permit = sender.reserve(), if sent < self.waiting.len() => {
                    let Ok(permit) = permit else { return Err(Status::unavailable("the stream ended")) };
                    sent += 1;
                    let sequence = done + sent as u64;
                    permit.send(RecordEventsRequest { sequence, ..self.waiting[sent - 1].clone() });
                }
                record = self.records.recv(), if !self.closed => self.take(record),
                answer = answers.message() => {
                    let Some(answer) = answer? else { return Err(Status::unavailable("the stream ended")) };
                    let refused = self.refused(&answer);
                    let more = usize::try_from(answer.acknowledged_sequence.saturating_sub(done)).unwrap_or(usize::MAX);
                    let more = more.min(sent);
                    self.bytes -= self.waiting.drain(..more).map(|r| size(&r)).sum::<usize>();
                    sent -= more;
                    done += more as u64;
                    self.state.durable.fetch_add((more as u64).saturating_sub(refused), Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }

    fn refused(&self, answer: &RecordEventsResponse) -> u64 {
        for rejection in &answer.rejections {
            tracing::warn!(reason = rejection.reason, message = rejection.message, "a record was refused");
        }
        let refused = answer.rejections.len() as u64;
        self.state.lost.fetch_add(refused, Ordering::Relaxed);
        refused
    }
}

async fn open(
    client: &Client,
    requests: ReceiverStream<RecordEventsRequest>,
) -> Result<Streaming<RecordEventsResponse>, Status> {
    Ok(client.collector().record_events(requests).await?.into_inner())
}

fn size(record: &RecordEventsRequest) -> usize {
    prost::Message::encoded_len(record)
}
