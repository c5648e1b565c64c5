//! The streams that are open: each driven by a task of its own, one event after the other.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use hindsight_api::{Caller, Permission, status};
use hindsight_proto::recall::v1::{WatchRequest, WatchResponse};
use hindsight_telemetry::Metric;
use hindsight_types::TenantId;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Code, Status};
use tracing::Instrument as _;

use super::session::Session;
use crate::{NAME, engine::Engine};

/// Answers that the client has not read; it must read before more is taken from it.
const ANSWERS: usize = 16;
/// For the status to be taken.
const LAST_WORD: Duration = Duration::from_secs(1);
/// After which a key with too many streams may try again.
const LATER: Duration = Duration::from_secs(5);

type Owner = (TenantId, Arc<str>);

pub(crate) struct Streams {
    engine: Arc<Engine>,
    open: Arc<Mutex<HashMap<Owner, usize>>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl Streams {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, open: Arc::default(), closing: CancellationToken::new(), tasks: TaskTracker::new() }
    }

    /// Ends every stream with UNAVAILABLE once it has answered what it is at, and waits for that.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) fn open(
        &self,
        caller: Caller,
        requests: impl Stream<Item = Result<WatchRequest, Status>> + Send + 'static,
    ) -> Result<ReceiverStream<Result<WatchResponse, Status>>, Status> {
        let place = self.place((caller.tenant.clone(), caller.key.clone()))?;
        let may_report = caller.require(Permission::Write).is_ok();
        let session = Session::new(self.engine.clone(), caller.tenant, may_report);
        let (answers, receiver) = mpsc::channel(ANSWERS);
        let (closing, settings) = (self.closing.clone(), self.engine.settings.watch.clone());
        let drive = async move {
            let _place = place;
            let driver = Driver { session, idle: settings.idle, events: settings.events };
            if let Err(end) = driver.drive(requests, &answers, &closing).await {
                // A client that does not read is not waited for.
                let _ = timeout(LAST_WORD, answers.send(Err(end))).await;
            }
        };
        self.tasks.spawn(drive.in_current_span());
        Ok(ReceiverStream::new(receiver))
    }

    fn place(&self, owner: Owner) -> Result<Place, Status> {
        let most = self.engine.settings.watch.streams_per_key;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(owner.clone()).or_default();
        if *count >= most {
            let message = format!(
                "the key has {most} streams open, as many as it may (`watch.streams_per_key`); close one"
            );
            return Err(status::exhausted(NAME, "TOO_MANY_STREAMS", message, LATER));
        }
        *count += 1;
        Metric::WatchStreams.set(open.values().sum::<usize>() as f64, &[]);
        Ok(Place { open: self.open.clone(), owner })
    }
}

/// The place of one stream among those of its key.
struct Place {
    open: Arc<Mutex<HashMap<Owner, usize>>>,
    owner: Owner,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.owner);
            }
        }
        Metric::WatchStreams.set(open.values().sum::<usize>() as f64, &[]);
    }
}

struct Driver {
    session: Session,
    idle: Duration,
    events: u64,
}

impl Driver {
    async fn drive(
        mut self,
        requests: impl Stream<Item = Result<WatchRequest, Status>> + Send,
        answers: &mpsc::Sender<Result<WatchResponse, Status>>,
        closing: &CancellationToken,
    ) -> Result<(), Status> {
        let mut requests = std::pin::pin!(requests);
        let mut events = 0;
        loop {
            let next = tokio::select! {
                biased;
                () = closing.cancelled() => return Err(stopping()),
                next = timeout(self.idle, requests.next()) => next.map_err(|_| idle(self.idle))?,
            };
            let Some(request) = next.transpose()? else { return Ok(()) };
            events += 1;
            if events > self.events {
                return Err(too_many(self.events));
            }
            let in_reply_to = request.sequence;
            let said = Some(self.session.answer(request.event).await);
            let answer = Ok(WatchResponse { in_reply_to, said });
            let sent = tokio::select! {
                sent = timeout(self.idle, answers.send(answer)) => sent.map_err(|_| idle(self.idle))?,
                () = closing.cancelled() => return Err(stopping()),
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }
}

fn stopping() -> Status {
    status::away(NAME, "SHUTTING_DOWN", "the server stops; open the stream again", Duration::from_secs(1))
}

fn idle(time: Duration) -> Status {
    let message = format!("nothing came or was read for {time:?} (`watch.idle`); open the stream again");
    status::error(NAME, Code::DeadlineExceeded, "STREAM_IDLE", message, [])
}

fn too_many(most: u64) -> Status {
    let message =
        format!("the stream had {most} events, as many as it may (`watch.events`); open another one");
    status::error(NAME, Code::OutOfRange, "TOO_MANY_EVENTS", message, [])
}
