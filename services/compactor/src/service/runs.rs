//! The calls of `CompactorService`.

use std::sync::Arc;

use hindsight_api::{page, status};
use hindsight_codec::{
    compaction_run_to_proto, compaction_task_to_proto, policy_from_proto, policy_to_proto, time_to_proto,
};
use hindsight_ports::{PageRequest, StoreError};
use hindsight_proto::compactor::v1::{
    CompactionPlan, GetRunRequest, GetRunResponse, ListPoliciesRequest, ListPoliciesResponse,
    ListRunsRequest, ListRunsResponse, PolicyStatus, RunCompactionRequest, RunCompactionResponse,
    compactor_service_server::CompactorService,
};
use hindsight_types::{
    CompactionRun, CompactionRunId, CompactionTask, Invalid, Policy, TenantId, Timestamp, Trigger,
};
use tonic::{Code, Request, Response, Status};
use uuid::Uuid;

use super::{invalid, operator};
use crate::{
    NAME,
    compaction::{Compaction, Plan},
};

/// A UUID in text.
const REQUEST_ID_BYTES: usize = 36;

pub(crate) struct Runs {
    pub(crate) compaction: Arc<Compaction>,
}

fn store(error: StoreError) -> Status {
    status::store(NAME, error)
}

/// One for each request that does not name itself.
fn request_id(given: String) -> Result<String, Status> {
    if given.len() > REQUEST_ID_BYTES || !given.is_ascii() {
        let problem = format!("must be a UUID in ASCII, at most {REQUEST_ID_BYTES} bytes");
        return Err(invalid(Invalid::new("request_id", problem)));
    }
    Ok(if given.is_empty() { Uuid::now_v7().to_string() } else { given })
}

impl Runs {
    /// The policies that are named, each once; all that are on when none is.
    fn policies(&self, tenant: &TenantId, named: &[i32]) -> Result<Vec<Policy>, Status> {
        let settings = self.compaction.policies.of(tenant);
        if named.is_empty() {
            return Ok(Policy::ALL.into_iter().filter(|policy| settings.enabled(*policy)).collect());
        }
        let mut policies = Vec::new();
        for (i, number) in named.iter().enumerate() {
            let field = format!("policies[{i}]");
            let required = || Invalid::new(&field, "is required");
            let policy = policy_from_proto(*number)
                .map_err(|e| Invalid::new(&field, e.fields[0].problem.clone()))
                .and_then(|policy| policy.ok_or_else(required))
                .map_err(invalid)?;
            if !settings.enabled(policy) {
                return Err(switched_off(policy));
            }
            if !policies.contains(&policy) {
                policies.push(policy);
            }
        }
        Ok(policies)
    }

    async fn begin(
        &self,
        tenant: &TenantId,
        policies: &[Policy],
        request_id: &str,
    ) -> Result<RunCompactionResponse, Status> {
        let mut runs = Vec::new();
        for policy in policies {
            let run = self.compaction.request(tenant, *policy, request_id).await.map_err(store)?;
            runs.push(compaction_run_to_proto(&run));
        }
        Ok(RunCompactionResponse { runs, plans: Vec::new() })
    }

    async fn plan(&self, tenant: &TenantId, policies: &[Policy]) -> Result<RunCompactionResponse, Status> {
        let mut plans = Vec::new();
        for policy in policies {
            let plan = self.compaction.plan(tenant, *policy).await.map_err(store)?;
            plans.push(shown(tenant, *policy, plan, self.compaction.clock.now()));
        }
        Ok(RunCompactionResponse { runs: Vec::new(), plans })
    }

    async fn status(&self, tenant: &TenantId, policy: Policy) -> Result<PolicyStatus, StoreError> {
        let settings = self.compaction.policies.of(tenant);
        let one = PageRequest { size: 1, token: String::new() };
        let last = self.compaction.compactions.runs(tenant, Some(policy), &one).await?.items.pop();
        let (enabled, timing) = (settings.enabled(policy), settings.timing(policy));
        let schedule = timing.map(|timing| &timing.schedule);
        let next = schedule.filter(|_| enabled).and_then(|s| s.next(self.compaction.clock.now()));
        Ok(PolicyStatus {
            policy: policy_to_proto(policy),
            enabled,
            schedule: schedule.map(ToString::to_string).unwrap_or_default(),
            description: settings.describe(policy),
            next_at: next.map(time_to_proto),
            last_run: last.as_ref().map(compaction_run_to_proto),
        })
    }
}

fn switched_off(policy: Policy) -> Status {
    let name = policy.as_str();
    let key = name.replace('-', "_");
    let message = format!("{name} is switched off; set compaction.{key}.enabled to true");
    let metadata = [("policy", name.to_owned())];
    status::error(NAME, Code::FailedPrecondition, "POLICY_SWITCHED_OFF", message, metadata)
}

fn shown(tenant: &TenantId, policy: Policy, plan: Plan, now: Timestamp) -> CompactionPlan {
    // Nothing of it is kept; it is shown as it would be.
    let run = CompactionRun::due(tenant.clone(), policy, Trigger::Request, now, now);
    let task = |planned: hindsight_lifecycle::plan::Planned| {
        let task = CompactionTask::of_run(&run, planned.work, planned.why, now);
        hindsight_proto::common::v1::CompactionTask {
            id: String::new(),
            run_id: String::new(),
            ..compaction_task_to_proto(&task)
        }
    };
    let tasks = plan.planned.into_iter().map(task).collect();
    CompactionPlan { policy: policy_to_proto(policy), tasks, cut: plan.cut }
}

#[tonic::async_trait]
impl CompactorService for Runs {
    async fn run_compaction(
        &self,
        request: Request<RunCompactionRequest>,
    ) -> Result<Response<RunCompactionResponse>, Status> {
        let caller = operator(&request)?;
        let RunCompactionRequest { policies, dry_run, request_id: given } = request.into_inner();
        let request_id = request_id(given)?;
        let policies = self.policies(&caller.tenant, &policies)?;
        if dry_run {
            return Ok(Response::new(self.plan(&caller.tenant, &policies).await?));
        }
        let begun = self.begin(&caller.tenant, &policies, &request_id).await?;
        let names: Vec<_> = policies.iter().map(|policy| policy.as_str()).collect();
        tracing::info!(tenant = %caller.tenant, key = &*caller.key, ?names, "upkeep was asked for");
        Ok(Response::new(begun))
    }

    async fn get_run(&self, request: Request<GetRunRequest>) -> Result<Response<GetRunResponse>, Status> {
        let tenant = operator(&request)?.tenant;
        let GetRunRequest { id, page_size, page_token } = request.into_inner();
        let page = page(page_size, page_token).map_err(invalid)?;
        let problem = |_| invalid(Invalid::new("id", "is not the id of a run; give it as it is listed"));
        let id = CompactionRunId::parse(&id).map_err(problem)?;
        let compactions = &self.compaction.compactions;
        let run = compactions.run(&tenant, id).await.map_err(store)?;
        let mut run = run.ok_or_else(|| status::not_found(NAME, "run", id))?;
        run.counts = compactions.count_tasks(&tenant, id).await.map_err(store)?;
        let tasks = compactions.tasks(&tenant, id, false, &page).await.map_err(store)?;
        Ok(Response::new(GetRunResponse {
            run: Some(compaction_run_to_proto(&run)),
            tasks: tasks.items.iter().map(compaction_task_to_proto).collect(),
            next_page_token: tasks.next_token,
        }))
    }

    async fn list_runs(
        &self,
        request: Request<ListRunsRequest>,
    ) -> Result<Response<ListRunsResponse>, Status> {
        let tenant = operator(&request)?.tenant;
        let ListRunsRequest { policy, page_size, page_token } = request.into_inner();
        let page = page(page_size, page_token).map_err(invalid)?;
        let policy = policy_from_proto(policy).map_err(invalid)?;
        let found = self.compaction.compactions.runs(&tenant, policy, &page).await.map_err(store)?;
        Ok(Response::new(ListRunsResponse {
            runs: found.items.iter().map(compaction_run_to_proto).collect(),
            next_page_token: found.next_token,
        }))
    }

    async fn list_policies(
        &self,
        request: Request<ListPoliciesRequest>,
    ) -> Result<Response<ListPoliciesResponse>, Status> {
        let tenant = operator(&request)?.tenant;
        let mut policies = Vec::new();
        for policy in Policy::ALL {
            policies.push(self.status(&tenant, policy).await.map_err(store)?);
        }
        Ok(Response::new(ListPoliciesResponse { policies }))
    }
}
