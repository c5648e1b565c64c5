//! The calls of `EvaluatorService`.

mod again;
mod dry_run;

use std::sync::Arc;

use hindsight_api::{Caller, Permission, caller, status};
use hindsight_codec::{evaluation_record_to_proto, evaluation_to_proto, reevaluation_to_proto};
use hindsight_ingest::{GateSettings, assemble::evaluation_request_id};
use hindsight_ports::{Bus, Clock, MemoryStore, PageRequest, Queue};
use hindsight_proto::evaluator::v1::{
    EvaluateRequest, EvaluateResponse, GetEvaluationRequest, GetEvaluationResponse, GetReevaluationRequest,
    GetReevaluationResponse, ListFailuresRequest, ListFailuresResponse, ReevaluateRequest,
    ReevaluateResponse, ReplayFailuresRequest, ReplayFailuresResponse,
    evaluator_service_server::EvaluatorService,
};
use hindsight_types::{EvaluationRecord, EvaluationState, Invalid, ReevaluationId, TraceId, UserId, Viewer};
use tonic::{Code, Request, Response, Status};

use crate::{NAME, bench::Bench, judges::NO_MODEL, message};

/// Most runs named in one replay, and the size of a page when all are replayed.
const REPLAY: usize = 500;

pub(crate) struct Service {
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) gate: GateSettings,
    pub(crate) bench: Arc<Bench>,
}

fn invalid(e: Invalid) -> Status {
    status::invalid(NAME, &e)
}

fn store_error(e: hindsight_ports::StoreError) -> Status {
    status::store(NAME, e)
}

fn viewer(caller: Caller, user: String) -> Result<Viewer, Status> {
    let user = if user.is_empty() { None } else { Some(UserId::new(user).map_err(invalid)?) };
    Ok(Viewer::of_tenant(caller.tenant).with_user(user))
}

fn allowed<T>(request: &Request<T>, permission: Permission) -> Result<Caller, Status> {
    let caller = caller(request)?;
    caller.require(permission)?;
    Ok(caller)
}

fn no_model() -> Status {
    status::error(NAME, Code::FailedPrecondition, "MODEL_NOT_CONFIGURED", NO_MODEL, [])
}

impl Service {
    /// Puts a run back on the queue. The record waits again first, so that nobody takes the old failure
    /// for the answer.
    async fn replay(&self, record: EvaluationRecord) -> Result<(), Status> {
        let now = self.clock.now();
        let state = EvaluationState::Waiting { reason: "replayed".to_owned() };
        let record = EvaluationRecord { state, attempts: 0, updated_at: now, ..record };
        self.store.put_evaluation_record(&record).await.map_err(store_error)?;
        let id = evaluation_request_id(&record.scope.tenant, &record.trace_id, record.step_count).0;
        let replayed = self.bus.replay(Queue::Evaluate, id).await.map_err(|e| status::bus(NAME, e))?;
        if !replayed {
            let again = vec![message::again(&record, now)];
            self.bus.publish(Queue::Evaluate, again).await.map_err(|e| status::bus(NAME, e))?;
        }
        Ok(())
    }

    /// What the named runs need to be replayed; runs that are judged, or unknown, need nothing.
    async fn named(&self, viewer: &Viewer, names: Vec<String>) -> Result<Vec<EvaluationRecord>, Status> {
        if names.len() > REPLAY {
            let problem = format!("has {}; at most {REPLAY} are accepted at a time", names.len());
            return Err(invalid(Invalid::new("trace_ids", problem)));
        }
        let mut found = Vec::new();
        for (i, name) in names.into_iter().enumerate() {
            let trace = TraceId::new(name)
                .map_err(|e| invalid(Invalid::new(format!("trace_ids[{i}]"), e.fields[0].problem.clone())))?;
            let record = self.store.evaluation_record(viewer, &trace).await.map_err(store_error)?;
            found.extend(
                record.filter(|r| is_failed(r) || matches!(r.state, EvaluationState::Waiting { .. })),
            );
        }
        Ok(found)
    }

    async fn failed(&self, viewer: &Viewer) -> Result<Vec<EvaluationRecord>, Status> {
        let mut found = Vec::new();
        let mut page = PageRequest { size: REPLAY, token: String::new() };
        loop {
            let next = self.store.unfinished_evaluations(viewer, &page).await.map_err(store_error)?;
            found.extend(next.items.into_iter().filter(|r| is_failed(r) || was_never_tried(r)));
            if next.next_token.is_empty() {
                return Ok(found);
            }
            page.token = next.next_token;
        }
    }
}

fn is_failed(record: &EvaluationRecord) -> bool {
    matches!(record.state, EvaluationState::Failed { .. })
}

/// Imported before it was judged: no message asks for it.
fn was_never_tried(record: &EvaluationRecord) -> bool {
    record.attempts == 0 && matches!(record.state, EvaluationState::Waiting { .. })
}

#[tonic::async_trait]
impl EvaluatorService for Service {
    async fn evaluate(
        &self,
        request: Request<EvaluateRequest>,
    ) -> Result<Response<EvaluateResponse>, Status> {
        let tenant = allowed(&request, Permission::Read)?.tenant;
        self.dry_run(tenant, request.into_inner()).await.map(Response::new)
    }

    async fn get_evaluation(
        &self,
        request: Request<GetEvaluationRequest>,
    ) -> Result<Response<GetEvaluationResponse>, Status> {
        let caller = allowed(&request, Permission::Read)?;
        let GetEvaluationRequest { trace_id, user } = request.into_inner();
        let trace = TraceId::new(trace_id).map_err(invalid)?;
        let viewer = viewer(caller, user)?;
        let record = self.store.evaluation_record(&viewer, &trace).await.map_err(store_error)?;
        let record = record.ok_or_else(|| status::not_found(NAME, "evaluation", &trace))?;
        let experience = self.store.experience(&viewer, &trace).await.map_err(store_error)?;
        let evaluation = experience.map(|e| e.evaluation);
        let former = self.store.former_verdicts(&viewer, &trace).await.map_err(store_error)?;
        let former = former.map(|f| f.verdicts).unwrap_or_default();
        // A judging that broke off after it had put the verdict by leaves it current as well.
        let previous = former.iter().filter(|f| Some(*f) != evaluation.as_ref());
        Ok(Response::new(GetEvaluationResponse {
            record: Some(evaluation_record_to_proto(&record)),
            previous: previous.map(evaluation_to_proto).collect(),
            evaluation: evaluation.as_ref().map(evaluation_to_proto),
        }))
    }

    async fn reevaluate(
        &self,
        request: Request<ReevaluateRequest>,
    ) -> Result<Response<ReevaluateResponse>, Status> {
        let caller = allowed(&request, Permission::Admin)?;
        let job = self.begin(caller, request.into_inner()).await?;
        Ok(Response::new(ReevaluateResponse { reevaluation: Some(reevaluation_to_proto(&job)) }))
    }

    async fn get_reevaluation(
        &self,
        request: Request<GetReevaluationRequest>,
    ) -> Result<Response<GetReevaluationResponse>, Status> {
        let caller = allowed(&request, Permission::Read)?;
        let GetReevaluationRequest { id, user } = request.into_inner();
        let id = ReevaluationId::parse(&id).map_err(invalid)?;
        let viewer = viewer(caller, user)?;
        let job = self.store.reevaluation(&viewer, id).await.map_err(store_error)?;
        let job = job.ok_or_else(|| status::not_found(NAME, "reevaluation", id))?;
        Ok(Response::new(GetReevaluationResponse { reevaluation: Some(reevaluation_to_proto(&job)) }))
    }

    async fn list_failures(
        &self,
        request: Request<ListFailuresRequest>,
    ) -> Result<Response<ListFailuresResponse>, Status> {
        let caller = allowed(&request, Permission::Read)?;
        let ListFailuresRequest { page_size, page_token, user } = request.into_inner();
        let viewer = viewer(caller, user)?;
        let page = hindsight_api::page(page_size, page_token).map_err(invalid)?;
        let page = self.store.unfinished_evaluations(&viewer, &page).await.map_err(store_error)?;
        Ok(Response::new(ListFailuresResponse {
            failures: page.items.iter().map(evaluation_record_to_proto).collect(),
            next_page_token: page.next_token,
        }))
    }

    async fn replay_failures(
        &self,
        request: Request<ReplayFailuresRequest>,
    ) -> Result<Response<ReplayFailuresResponse>, Status> {
        let caller = allowed(&request, Permission::Admin)?;
        let ReplayFailuresRequest { trace_ids, user } = request.into_inner();
        let viewer = viewer(caller, user)?;
        let records = if trace_ids.is_empty() {
            self.failed(&viewer).await?
        } else {
            self.named(&viewer, trace_ids).await?
        };
        let mut replayed = 0;
        for record in records {
            self.replay(record).await?;
            replayed += 1;
        }
        Ok(Response::new(ReplayFailuresResponse { replayed }))
    }
}
