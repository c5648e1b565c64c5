//! A collector that keeps what it acknowledges, and can be told to misbehave.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use hindsight_proto::{
    collector::v1::{
        collector_service_server::{CollectorService, CollectorServiceServer},
        record_events_request::Body,
        *,
    },
    common::v1::{OutcomeStatus, Step},
};
use tokio::{net::TcpListener, runtime, runtime::Runtime};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming, transport::Server};

/// What arrived of one run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Run {
    pub(crate) goal: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) kinds: Vec<String>,
    pub(crate) ended: Option<(OutcomeStatus, u32)>,
    pub(crate) scopes: BTreeSet<(i32, String)>,
}

#[derive(Debug, Default)]
struct Kept {
    runs: BTreeMap<String, Run>,
    /// Left to acknowledge; then the stream hangs.
    left: Option<u64>,
    refused: Option<String>,
    repeated: u64,
}

#[derive(Debug, Clone, Default)]
struct Service(Arc<Mutex<Kept>>);

#[derive(Debug)]
pub(crate) struct Collector {
    service: Service,
    address: SocketAddr,
    /// Of its own: when it ends, so does every connection.
    runtime: Option<Runtime>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let service = Service::default();
        let (address, runtime) = serve(service.clone(), "127.0.0.1:0".parse().unwrap()).await;
        Self { service, address, runtime: Some(runtime) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Breaks every connection.
    pub(crate) fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    pub(crate) async fn revive(&mut self) {
        self.acknowledge_all();
        self.runtime = Some(serve(self.service.clone(), self.address).await.1);
    }

    pub(crate) fn acknowledge_only(&self, events: u64) {
        self.service.0.lock().unwrap().left = Some(events);
    }

    pub(crate) fn acknowledge_all(&self) {
        self.service.0.lock().unwrap().left = None;
    }

    /// Refuses the events of this run.
    pub(crate) fn refuse(&self, trace: &str) {
        self.service.0.lock().unwrap().refused = Some(trace.to_owned());
    }

    pub(crate) fn run(&self, trace: &str) -> Run {
        self.service.0.lock().unwrap().runs.get(trace).cloned().unwrap_or_default()
    }

    pub(crate) fn repeated(&self) -> u64 {
        self.service.0.lock().unwrap().repeated
    }

    pub(crate) fn assert_whole(&self, trace: &str, steps: u32) {
        let run = self.run(trace);
        assert!(!run.goal.is_empty(), "{trace} has no start");
        let indexes: Vec<_> = run.steps.iter().map(|s| s.step_index).collect();
        assert_eq!(indexes, (0..steps).collect::<Vec<_>>(), "{trace}");
        assert_eq!(run.ended, Some((OutcomeStatus::Success, steps)), "{trace}");
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn serve(service: Service, address: SocketAddr) -> (SocketAddr, Runtime) {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (bound, address_bound) = tokio::sync::oneshot::channel();
    runtime.spawn(async move {
        let listener = loop {
            // The port of a server that has just been killed may be taken for a moment.
            match TcpListener::bind(address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        bound.send(listener.local_addr().unwrap()).unwrap();
        let server = Server::builder().add_service(CollectorServiceServer::new(service));
        server.serve_with_incoming(TcpListenerStream::new(listener)).await.unwrap();
    });
    (address_bound.await.unwrap(), runtime)
}

impl Kept {
    /// Whether it is acknowledged, and how it is refused.
    fn take(&mut self, event: RecordEventsRequest) -> (bool, Option<Rejection>) {
        if self.left == Some(0) {
            return (false, None);
        }
        self.left = self.left.map(|n| n - 1);
        if self.refused.as_ref() == Some(&event.trace_id) {
            let fields = vec!["body".to_owned()];
            let (reason, message) = ("INVALID_FIELDS".to_owned(), "mend the field".to_owned());
            return (true, Some(Rejection { sequence: event.sequence, reason, message, fields }));
        }
        let run = self.runs.entry(event.trace_id).or_default();
        let scope = event.scope.unwrap_or_default();
        run.scopes.insert((scope.level, scope.id));
        match event.body.unwrap() {
            Body::Started(s) => run.goal = s.goal,
            Body::Step(s) if run.steps.iter().any(|known| known.step_index == s.step_index) => {
                self.repeated += 1
            }
            Body::Step(s) => {
                run.kinds.push(format!("{:?}", s.action_type()));
                run.steps.push(s);
            }
            Body::Completed(c) => run.ended = Some((c.outcome.unwrap().status(), c.step_count)),
        }
        (true, None)
    }
}

#[tonic::async_trait]
impl CollectorService for Service {
    type RecordEventsStream = Pin<Box<dyn Stream<Item = Result<RecordEventsResponse, Status>> + Send>>;

    async fn record_events(
        &self,
        request: Request<Streaming<RecordEventsRequest>>,
    ) -> Result<Response<Self::RecordEventsStream>, Status> {
        let kept = self.0.clone();
        let mut last = 0;
        let answers = request.into_inner().filter_map(move |event| {
            let answer = event.map(|event| {
                let sequence = event.sequence;
                assert_eq!(sequence, last + 1, "sequences rise by one");
                last = sequence;
                let (acknowledged, refused) = kept.lock().unwrap().take(event);
                acknowledged.then(|| RecordEventsResponse {
                    acknowledged_sequence: sequence,
                    rejections: refused.into_iter().collect(),
                })
            });
            std::future::ready(answer.transpose())
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn submit_trajectory(
        &self,
        _: Request<SubmitTrajectoryRequest>,
    ) -> Result<Response<SubmitTrajectoryResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn complete_task(
        &self,
        _: Request<CompleteTaskRequest>,
    ) -> Result<Response<CompleteTaskResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn retain(&self, _: Request<RetainRequest>) -> Result<Response<RetainResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }

    async fn retain_batch(
        &self,
        _: Request<RetainBatchRequest>,
    ) -> Result<Response<RetainBatchResponse>, Status> {
        Err(Status::unimplemented("not needed"))
    }
}
