use hindsight_api::{Caller, status};
use hindsight_codec::judge_choice_from_proto;
use hindsight_ports::Queue;
use hindsight_proto::evaluator::v1::{ReevaluateRequest, reevaluate_request::Target};
use hindsight_types::{
    Invalid, Reevaluation, ReevaluationId, ReevaluationState, ReevaluationTarget, Scope, TraceId, Viewer,
    Visibility, limits,
};
use tonic::Status;
use uuid::Uuid;

use super::{Service, invalid, no_model, store_error, viewer};
use crate::{NAME, message};

/// A UUID in text.
const REQUEST_ID_BYTES: usize = 36;

impl Service {
    /// Puts a re-evaluation on record, then on the queue. The same request again finds it there.
    pub(super) async fn begin(
        &self,
        caller: Caller,
        request: ReevaluateRequest,
    ) -> Result<Reevaluation, Status> {
        let judge = judge_choice_from_proto(request.judge).map_err(invalid)?;
        if !self.bench.judges.has(judge) {
            return Err(no_model());
        }
        let id = id(&caller, &request.user, &request.request_id).map_err(invalid)?;
        let viewer = viewer(caller, request.user)?;
        let (scope, target) = self.target(&viewer, request.target).await?;
        let now = self.clock.now();
        let fresh = Reevaluation {
            id,
            scope,
            target,
            judge,
            state: ReevaluationState::Running,
            total: 0,
            judged: 0,
            failed: 0,
            failures: Vec::new(),
            page: 0,
            cursor: String::new(),
            pending: Vec::new(),
            created_at: now,
            updated_at: now,
        };
        let job = match self.store.reevaluation(&viewer, id).await.map_err(store_error)? {
            Some(known) if (&known.target, known.judge) != (&fresh.target, fresh.judge) => {
                let problem = "was used for another re-evaluation; give each its own";
                return Err(invalid(Invalid::new("request_id", problem)));
            }
            Some(known) => known,
            None => {
                self.store.put_reevaluation(&fresh).await.map_err(store_error)?;
                fresh
            }
        };
        if job.state == ReevaluationState::Running {
            // Also for one that is there: its first message may not have got out.
            let message = vec![message::next_page(&job, now)];
            self.bus.publish(Queue::Evaluate, message).await.map_err(|e| status::bus(NAME, e))?;
        }
        Ok(job)
    }

    async fn target(
        &self,
        viewer: &Viewer,
        target: Option<Target>,
    ) -> Result<(Scope, ReevaluationTarget), Status> {
        let all =
            |judge| (Scope::new(viewer.tenant.clone(), Visibility::Tenant), ReevaluationTarget::Judge(judge));
        match target {
            Some(Target::TraceId(name)) => {
                let trace = TraceId::new(name).map_err(invalid)?;
                let record = self.store.evaluation_record(viewer, &trace).await.map_err(store_error)?;
                let record = record.ok_or_else(|| status::not_found(NAME, "evaluation", &trace))?;
                Ok((record.scope, ReevaluationTarget::Run(trace)))
            }
            Some(Target::JudgeVersion(judge)) if judge.is_empty() || judge.len() > limits::ID_BYTES => {
                let problem = "give the judge of an evaluation, as in `slice/1`";
                Err(invalid(Invalid::new("judge_version", problem)))
            }
            Some(Target::JudgeVersion(judge)) => Ok(all(judge)),
            Some(Target::All(true)) => Ok(all(String::new())),
            Some(Target::All(false)) | None => {
                let problem = "is required; give trace_id, judge_version, or all = true";
                Err(invalid(Invalid::new("target", problem)))
            }
        }
    }
}

/// What is asked on behalf of one user never meets what is asked for another.
fn id(caller: &Caller, user: &str, request_id: &str) -> Result<ReevaluationId, Invalid> {
    if request_id.is_empty() {
        return Ok(ReevaluationId(Uuid::now_v7()));
    }
    if request_id.len() > REQUEST_ID_BYTES || !request_id.is_ascii() {
        let problem = format!("is not a UUID; give at most {REQUEST_ID_BYTES} ASCII characters, or none");
        return Err(Invalid::new("request_id", problem));
    }
    Ok(ReevaluationId::of_request(&caller.tenant, &format!("{request_id} {user}")))
}
