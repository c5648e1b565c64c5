//! A Hindsight of which every answer is known.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use hindsight_client::{Client, RetryPolicy};
use hindsight_proto::{
    collector::v1::{collector_service_server::*, record_events_request::Body, *},
    common::v1::Step,
    event::v1::TaskStarted,
    recall::v1::{recall_service_server::*, watch_request::Event, watch_response::Said, *},
};
use tokio::sync::watch;
use tonic::{Request, Response, Status, Streaming, service::Routes};

use super::{About, Memory, Mode, Settings};

/// No check is late in a test that is not about lateness.
pub(crate) const AMPLE: Duration = Duration::from_secs(30);

pub(crate) fn settings(mode: Mode) -> Settings {
    let about = About { goal: Some("Find the weather".to_owned()), ..About::default() };
    Settings { mode, about, patience: AMPLE, ..Settings::default() }
}

/// What a scripted Hindsight says of an event.
type Script = dyn Fn(&Event) -> Option<String> + Send + Sync;

#[derive(Clone)]
pub(crate) struct Scripted {
    script: Arc<Script>,
    records: Arc<Mutex<Vec<RecordEventsRequest>>>,
    watched: Arc<Mutex<Vec<Event>>>,
    /// Streams of records that break off after their first record.
    pub broken: Arc<AtomicUsize>,
    /// While it is set, what is asked of a call gets no answer.
    pub thinking: Arc<watch::Sender<bool>>,
    changed: Arc<watch::Sender<()>>,
}

impl Scripted {
    pub(crate) fn new(script: impl Fn(&Event) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(script),
            records: Arc::default(),
            watched: Arc::default(),
            broken: Arc::default(),
            thinking: Arc::default(),
            changed: Arc::new(watch::channel(()).0),
        }
    }

    /// Warns of calls of one tool and knows of nothing else.
    pub(crate) fn warns_of(tool: &'static str) -> Self {
        Self::new(move |event| match event {
            Event::BeforeCall(call) if call.tool == tool => Some(format!("{tool} fails; use another")),
            _ => None,
        })
    }

    pub(crate) fn client(&self) -> Client {
        let routes = Routes::new(CollectorServiceServer::new(self.clone()))
            .add_service(RecallServiceServer::new(self.clone()))
            .prepare();
        Client::local(routes, None).unwrap().with_retry(RetryPolicy::none())
    }

    pub(crate) fn memory(&self) -> Memory {
        let (sender, memory) = Memory::later();
        sender.send_replace(Some(self.client()));
        memory
    }

    pub(crate) fn records(&self) -> Vec<RecordEventsRequest> {
        self.records.lock().unwrap().clone()
    }

    pub(crate) fn steps(&self) -> Vec<Step> {
        let step = |r: RecordEventsRequest| match r.body {
            Some(Body::Step(step)) => Some(step),
            _ => None,
        };
        self.records().into_iter().filter_map(step).collect()
    }

    pub(crate) fn starts(&self) -> Vec<TaskStarted> {
        let start = |r: RecordEventsRequest| match r.body {
            Some(Body::Started(started)) => Some(started),
            _ => None,
        };
        self.records().into_iter().filter_map(start).collect()
    }

    pub(crate) fn watched(&self) -> Vec<Event> {
        self.watched.lock().unwrap().clone()
    }

    /// Waits until `is` holds of what was received.
    pub(crate) async fn until(&self, is: impl Fn(&Self) -> bool) {
        let mut changed = self.changed.subscribe();
        tokio::time::timeout(AMPLE, async {
            while !is(self) {
                changed.changed().await.unwrap();
            }
        })
        .await
        .unwrap_or_else(|_| panic!("records: {:#?}\nwatched: {:#?}", self.records(), self.watched()));
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl CollectorService for Scripted {
    type RecordEventsStream = Answers<RecordEventsResponse>;

    async fn record_events(
        &self,
        request: Request<Streaming<RecordEventsRequest>>,
    ) -> Result<Response<Self::RecordEventsStream>, Status> {
        let this = self.clone();
        let breaks =
            this.broken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        let answers = request.into_inner().enumerate().map(move |(i, record)| {
            let record = record?;
            if breaks && i == 1 {
                return Err(Status::unavailable("the collector restarts"));
            }
            let acknowledged_sequence = record.sequence;
            this.records.lock().unwrap().push(record);
            this.changed.send_replace(());
            Ok(RecordEventsResponse { acknowledged_sequence, ..RecordEventsResponse::default() })
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn submit_trajectory(
        &self,
        _: Request<SubmitTrajectoryRequest>,
    ) -> Result<Response<SubmitTrajectoryResponse>, Status> {
        Err(Status::unimplemented("not in this script"))
    }

    async fn complete_task(
        &self,
        _: Request<CompleteTaskRequest>,
    ) -> Result<Response<CompleteTaskResponse>, Status> {
        Err(Status::unimplemented("not in this script"))
    }

    async fn retain(&self, _: Request<RetainRequest>) -> Result<Response<RetainResponse>, Status> {
        Err(Status::unimplemented("not in this script"))
    }

    async fn retain_batch(
        &self,
        _: Request<RetainBatchRequest>,
    ) -> Result<Response<RetainBatchResponse>, Status> {
        Err(Status::unimplemented("not in this script"))
    }
}

#[tonic::async_trait]
impl RecallService for Scripted {
    type WatchStream = Answers<WatchResponse>;

    async fn recall(&self, _: Request<RecallRequest>) -> Result<Response<RecallResponse>, Status> {
        Err(Status::unimplemented("not in this script"))
    }

    async fn report_outcome(
        &self,
        _: Request<ReportOutcomeRequest>,
    ) -> Result<Response<ReportOutcomeResponse>, Status> {
        Err(Status::unimplemented("not in this script"))
    }

    async fn explain_recall(
        &self,
        _: Request<ExplainRecallRequest>,
    ) -> Result<Response<ExplainRecallResponse>, Status> {
        Err(Status::unimplemented("not in this script"))
    }

    async fn watch(
        &self,
        request: Request<Streaming<WatchRequest>>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let this = self.clone();
        let answers = request.into_inner().filter_map(move |request| {
            let this = this.clone();
            async move {
                let request = request.ok()?;
                if !matches!(request.event, Some(Event::Start(_))) {
                    this.thinking.subscribe().wait_for(|thinking| !*thinking).await.ok()?;
                }
                this.answer(request).map(Ok)
            }
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

/// What makes a scripted Hindsight never answer.
pub(crate) const NEVER: &str = "never";

impl Scripted {
    fn answer(&self, request: WatchRequest) -> Option<WatchResponse> {
        let event = request.event.unwrap();
        let said = (self.script)(&event);
        let mut watched = self.watched.lock().unwrap();
        watched.push(event);
        let reminder_id = format!("receipt-{}", watched.len());
        drop(watched);
        self.changed.send_replace(());
        let said = match said {
            Some(never) if never == NEVER => return None,
            Some(block) => Said::Reminder(Reminder { reminder_id, block, ..Reminder::default() }),
            None => Said::Silence(Silence::default()),
        };
        Some(WatchResponse { in_reply_to: request.sequence, said: Some(said) })
    }
}
