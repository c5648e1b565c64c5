//! Sends what the spool holds, in order, and lets go of what the server acknowledged.

use std::{
    io, iter,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use hindsight_proto::collector::v1::{RecordEventsRequest, RecordEventsResponse};
use prost::Message as _;
use tokio::{sync::mpsc, task::spawn_blocking, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::{
    spool::Spool,
    state::{InFlight, Shared},
};
use crate::{Client, Error};

/// Events between the spool and the transport.
const WINDOW: usize = 64;
/// Most that is read from the spool at once.
const READ_EVENTS: usize = 64;
const READ_BYTES: u64 = 1024 * 1024;
/// A stream that has nothing to say for so long is ended, and opened again when there is something.
const IDLE: Duration = Duration::from_secs(5);
/// A server that acknowledges nothing for so long is taken for gone.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Longest pause that a server can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

pub(super) struct Sender {
    pub(super) client: Client,
    pub(super) shared: Arc<Shared>,
    pub(super) spool: Arc<Mutex<Spool>>,
}

impl Sender {
    /// Until all is sent and nothing more is written; after that for as long as the server takes it.
    pub(super) async fn run(self) {
        let mut pauses = pauses();
        loop {
            self.shared.until(|s| s.unsent > 0 || s.ended).await;
            if self.shared.get(|s| s.unsent == 0) {
                return;
            }
            let before = self.shared.get(|s| s.unsent);
            let Err(error) = self.stream().await else { continue };
            if self.shared.get(|s| s.unsent) < before {
                pauses = self::pauses();
            }
            tracing::debug!(%error, "events wait in the spool");
            self.shared.trouble(error.to_string());
            let own = pauses.next().unwrap_or(LONGEST_PAUSE);
            let pause = error.retry_after.unwrap_or(own).min(LONGEST_WAIT);
            let _ = timeout(pause, self.shared.until(|s| s.ended)).await;
            if self.shared.get(|s| s.ended) {
                return;
            }
        }
    }

    /// One stream, from the first record that is not acknowledged.
    async fn stream(&self) -> Result<(), Error> {
        let in_flight = Mutex::default();
        let (events, outgoing) = mpsc::channel(WINDOW);
        let feeding = async {
            match self.feed(events, &in_flight).await {
                Ok(()) => std::future::pending().await,
                Err(e) => Error::from(Status::unavailable(format!("the spool cannot be read: {e}"))),
            }
        };
        tokio::select! {
            heard = self.hear(ReceiverStream::new(outgoing), &in_flight) => heard,
            error = feeding => Err(error),
        }
    }

    async fn feed(
        &self,
        events: mpsc::Sender<RecordEventsRequest>,
        in_flight: &Mutex<InFlight>,
    ) -> io::Result<()> {
        let mut sent = 0;
        loop {
            if timeout(IDLE, self.shared.until(|s| s.written > sent || s.ended)).await.is_err() {
                return Ok(());
            }
            let records = self.on_disk(move |spool| spool.read(sent, READ_EVENTS, READ_BYTES)).await?;
            if records.is_empty() {
                return Ok(());
            }
            for (position, payload) in records {
                // What cannot be read as an event is sent empty, and refused.
                let event = RecordEventsRequest::decode(payload.as_slice()).unwrap_or_default();
                let sequence = lock(in_flight).sent(position);
                if events.send(RecordEventsRequest { sequence, ..event }).await.is_err() {
                    return Ok(());
                }
                sent = position;
            }
        }
    }

    async fn hear(
        &self,
        events: ReceiverStream<RecordEventsRequest>,
        in_flight: &Mutex<InFlight>,
    ) -> Result<(), Error> {
        let late = |_| Error::deadline("RecordEvents", ACKNOWLEDGED_WITHIN);
        let mut collector = self.client.collector();
        let opening = timeout(ACKNOWLEDGED_WITHIN, collector.record_events(events));
        let mut answers = opening.await.map_err(late)?.map_err(Error::from)?.into_inner();
        loop {
            match timeout(ACKNOWLEDGED_WITHIN, answers.message()).await {
                Ok(Ok(Some(answer))) => self.acknowledge(answer, in_flight).await?,
                Ok(Ok(None)) => break,
                Ok(Err(status)) => return Err(Error::from(status)),
                Err(_) if lock(in_flight).is_empty() => {}
                Err(elapsed) => return Err(late(elapsed)),
            }
        }
        if lock(in_flight).is_empty() {
            return Ok(());
        }
        Err(Error::from(Status::unavailable("the server ended the stream before it acknowledged all of it")))
    }

    async fn acknowledge(
        &self,
        answer: RecordEventsResponse,
        in_flight: &Mutex<InFlight>,
    ) -> Result<(), Error> {
        let Some((count, position)) = lock(in_flight).acknowledge(answer.acknowledged_sequence) else {
            return Ok(());
        };
        for r in &answer.rejections {
            tracing::warn!(reason = r.reason, fields = ?r.fields, "an event was refused: {}", r.message);
        }
        let freed = self.on_disk(move |spool| spool.acknowledge(position)).await;
        self.shared.acknowledged(count, &answer.rejections, *freed.as_ref().unwrap_or(&0));
        freed
            .map(drop)
            .map_err(|e| Error::from(Status::unavailable(format!("the spool cannot be cleared: {e}"))))
    }

    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Spool) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let spool = self.spool.clone();
        spawn_blocking(move || work(&mut lock(&spool))).await.map_err(io::Error::other)?
    }
}

fn pauses() -> impl Iterator<Item = Duration> {
    let growing = ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_jitter();
    growing.build().chain(iter::repeat(LONGEST_PAUSE))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
