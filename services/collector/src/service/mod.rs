//! The five calls of `CollectorService`.

mod convert;
mod indexed;
mod record;
mod retain;
mod scopes;
mod taken;

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::Stream;
use hindsight_api::{Caller, Permission, caller, status};
use hindsight_ingest::{redact, split, validate};
use hindsight_ports::{Bus, Clock, Envelope, MemoryStore, Queue, Subjects};
use hindsight_proto::collector::v1::{
    CompleteTaskRequest, CompleteTaskResponse, RecordEventsRequest, RecordEventsResponse, RetainBatchRequest,
    RetainBatchResponse, RetainRequest, RetainResponse, SubmitTrajectoryRequest, SubmitTrajectoryResponse,
    collector_service_server::CollectorService,
};
use hindsight_types::{Fact, Invalid, Trajectory, limits};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use crate::{
    CollectorSettings, NAME,
    message::{self, TraceContext},
    service::{
        indexed::Indexed,
        retain::{Batch, Taken},
    },
};

pub(crate) use scopes::Scopes;

pub(crate) struct Service {
    bus: Arc<dyn Bus>,
    clock: Arc<dyn Clock>,
    indexed: Indexed,
    scopes: Arc<Scopes>,
    closing: CancellationToken,
}

impl Service {
    pub(crate) fn new(
        settings: &CollectorSettings,
        bus: Arc<dyn Bus>,
        store: Arc<dyn MemoryStore>,
        clock: Arc<dyn Clock>,
        closing: CancellationToken,
    ) -> Self {
        let (subjects, timeout) = (OnceLock::new(), Duration::from_millis(settings.indexed_timeout_ms));
        let indexed = Indexed { store, subjects, clock: clock.clone(), timeout };
        Self { bus, clock, indexed, scopes: Arc::default(), closing }
    }

    /// In which scopes tasks began, as far as it is remembered.
    pub(crate) fn scopes(&self) -> Arc<Scopes> {
        self.scopes.clone()
    }

    /// The first one given stays.
    pub(crate) fn merging(&self, subjects: Arc<dyn Subjects>) {
        self.indexed.subjects.get_or_init(|| subjects);
    }

    async fn publish(&self, messages: Vec<Envelope>) -> Result<(), Status> {
        self.bus.publish(Queue::Ingest, messages).await.map_err(|e| status::bus(NAME, e))
    }

    async fn keep(
        &self,
        facts: &[Fact],
        trace_context: &TraceContext,
        indexed: bool,
        deadline: Instant,
    ) -> Result<(), Status> {
        self.publish(facts.iter().map(|f| message::of_fact(f, trace_context)).collect()).await?;
        if indexed { self.indexed.facts(facts, deadline).await } else { Ok(()) }
    }
}

fn writer<T>(request: &Request<T>) -> Result<(Caller, TraceContext), Status> {
    let caller = caller(request)?;
    caller.require(Permission::Write)?;
    Ok((caller, message::trace_context(request.metadata())))
}

fn invalid(e: Invalid) -> Status {
    status::invalid(NAME, &e)
}

/// Runs what takes long (redaction of megabytes) beside the threads that serve calls.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Status> {
    tokio::task::spawn_blocking(work).await.map_err(|e| status::internal(NAME, e))
}

#[tonic::async_trait]
impl CollectorService for Service {
    type RecordEventsStream = Pin<Box<dyn Stream<Item = Result<RecordEventsResponse, Status>> + Send>>;

    async fn record_events(
        &self,
        request: Request<Streaming<RecordEventsRequest>>,
    ) -> Result<Response<Self::RecordEventsStream>, Status> {
        let (caller, trace_context) = writer(&request)?;
        let recorder = record::Recorder::new(
            caller.tenant,
            self.bus.clone(),
            self.clock.clone(),
            self.scopes.clone(),
            trace_context,
        );
        let answers = recorder.start(request.into_inner(), self.closing.clone());
        Ok(Response::new(Box::pin(answers)))
    }

    async fn submit_trajectory(
        &self,
        request: Request<SubmitTrajectoryRequest>,
    ) -> Result<Response<SubmitTrajectoryResponse>, Status> {
        let (caller, trace_context) = writer(&request)?;
        let deadline = self.indexed.deadline(&request);
        let SubmitTrajectoryRequest { trajectory, consistency } = request.into_inner();
        let indexed = convert::waits_for_index(consistency).map_err(invalid)?;
        let run = trajectory.ok_or_else(|| invalid(Invalid::new("trajectory", "is required")))?;
        let now = self.clock.now();
        let tenant = caller.tenant.clone();
        let run = off_thread(move || {
            let mut run: Trajectory = hindsight_codec::trajectory_from_proto(&tenant, run, now)?;
            validate::trajectory(&run)?;
            redact::trajectory(&mut run);
            Ok(run)
        });
        let run = run.await?.map_err(|e: Invalid| invalid(e.within("trajectory")))?;
        let (trace_id, scope) = (run.trace_id.clone(), run.scope.clone());
        let steps = u32::try_from(run.steps.len()).unwrap_or(u32::MAX);
        let mut events = split(run);
        // As of an event that comes by itself.
        events.iter_mut().for_each(|event| event.recorded_at = event.recorded_at.min(now));
        taken::refuse(&self.indexed, &scope, &trace_id, &events).await?;
        let events: Vec<Envelope> = events.iter().map(|e| message::of_event(e, &trace_context)).collect();
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        self.publish(events).await?;
        if indexed {
            self.indexed.run(&scope, &trace_id, steps, deadline).await?;
        }
        Ok(Response::new(SubmitTrajectoryResponse { trace_id: trace_id.to_string(), events: count }))
    }

    async fn complete_task(
        &self,
        request: Request<CompleteTaskRequest>,
    ) -> Result<Response<CompleteTaskResponse>, Status> {
        let (caller, trace_context) = writer(&request)?;
        let inherited = |trace: &_| self.scopes.of(&caller.tenant, trace);
        let event = convert::completion(&caller.tenant, request.into_inner(), inherited, self.clock.now());
        let mut event = event.map_err(invalid)?;
        validate::event(&event).map_err(|e| invalid(convert::without_body(e)))?;
        redact::event(&mut event);
        self.publish(vec![message::of_event(&event, &trace_context)]).await?;
        Ok(Response::new(CompleteTaskResponse { event_id: event.event_id.to_string() }))
    }

    async fn retain(&self, request: Request<RetainRequest>) -> Result<Response<RetainResponse>, Status> {
        let (caller, trace_context) = writer(&request)?;
        let deadline = self.indexed.deadline(&request);
        let request = request.into_inner();
        let indexed = convert::waits_for_index(request.consistency).map_err(invalid)?;
        let arrived = retain::arrival(self.clock.now(), 0);
        let taken = off_thread(move || retain::take(&caller.tenant, request, arrived)).await?;
        let taken = taken.map_err(invalid)?;
        let response = taken.response();
        if let Taken::Fact(fact) = taken {
            self.keep(std::slice::from_ref(&*fact), &trace_context, indexed, deadline).await?;
        }
        Ok(Response::new(response))
    }

    async fn retain_batch(
        &self,
        request: Request<RetainBatchRequest>,
    ) -> Result<Response<RetainBatchResponse>, Status> {
        let (caller, trace_context) = writer(&request)?;
        let deadline = self.indexed.deadline(&request);
        let requests = request.into_inner().facts;
        if requests.len() > limits::BATCH {
            let problem = format!("has {}; at most {} are accepted at a time", requests.len(), limits::BATCH);
            return Err(invalid(Invalid::new("facts", problem)));
        }
        let now = self.clock.now();
        let batch = off_thread(move || Batch::take(&caller.tenant, requests, now)).await?;
        self.keep(&batch.facts, &trace_context, batch.indexed, deadline).await?;
        Ok(Response::new(RetainBatchResponse { results: batch.results }))
    }
}
