use std::sync::Arc;

use hindsight_api::{page, status};
use hindsight_codec::{
    evaluation_record_to_proto, evaluation_to_proto, memory_kind_from_proto, memory_to_proto,
    trajectory_to_proto,
};
use hindsight_ingest::{Assembly, assemble};
use hindsight_ports::{MemoryStore, StoreError};
use hindsight_proto::memory::v1::{
    GetMemoryRequest, GetMemoryResponse, GetStatsRequest, GetStatsResponse, GetTrajectoryRequest,
    GetTrajectoryResponse, ListMemoriesRequest, ListMemoriesResponse, memory_service_server::MemoryService,
};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, MemoryId, Scope, TraceId, Trajectory, Viewer,
};
use tonic::{Request, Response, Status};

use super::{invalid, reader, store};
use crate::{NAME, ask::viewer};

pub(crate) struct Memories(pub(crate) Arc<dyn MemoryStore>);

#[tonic::async_trait]
impl MemoryService for Memories {
    async fn get_memory(
        &self,
        request: Request<GetMemoryRequest>,
    ) -> Result<Response<GetMemoryResponse>, Status> {
        let caller = reader(&request)?;
        let GetMemoryRequest { memory_id, kind, user } = request.into_inner();
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let id = MemoryId::parse(&memory_id).map_err(invalid)?;
        let kind = memory_kind_from_proto(kind).map_err(invalid)?;
        let memory = self.0.get(&viewer, kind, id).await.map_err(store)?;
        let memory = memory.ok_or_else(|| status::not_found(NAME, "memory", id))?;
        Ok(Response::new(GetMemoryResponse { memory: Some(memory_to_proto(&memory)) }))
    }

    async fn list_memories(
        &self,
        request: Request<ListMemoriesRequest>,
    ) -> Result<Response<ListMemoriesResponse>, Status> {
        let caller = reader(&request)?;
        let ListMemoriesRequest { kind, user, page_size, page_token } = request.into_inner();
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let kind = memory_kind_from_proto(kind).map_err(invalid)?;
        let page = page(page_size, page_token).map_err(invalid)?;
        let found = self.0.list(&viewer, kind, &page).await.map_err(store)?;
        Ok(Response::new(ListMemoriesResponse {
            memories: found.items.iter().map(memory_to_proto).collect(),
            next_page_token: found.next_token,
        }))
    }

    async fn get_trajectory(
        &self,
        request: Request<GetTrajectoryRequest>,
    ) -> Result<Response<GetTrajectoryResponse>, Status> {
        let caller = reader(&request)?;
        let GetTrajectoryRequest { trace_id, user } = request.into_inner();
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let trace = TraceId::new(trace_id).map_err(invalid)?;
        let run = self.run(&viewer, &trace).await.map_err(store)?;
        let run = run.ok_or_else(|| status::not_found(NAME, "trajectory", &trace))?;
        Ok(Response::new(run))
    }

    async fn get_stats(
        &self,
        request: Request<GetStatsRequest>,
    ) -> Result<Response<GetStatsResponse>, Status> {
        let caller = reader(&request)?;
        let viewer = viewer(caller.tenant, request.into_inner().user).map_err(invalid)?;
        let stats = self.0.stats(&viewer).await.map_err(store)?;
        Ok(Response::new(GetStatsResponse {
            events: stats.events,
            experiences: stats.experiences,
            steps: stats.steps,
            failure_patterns: stats.failure_patterns,
            lessons: stats.lessons,
            facts: stats.facts,
        }))
    }
}

impl Memories {
    /// The judged run, or its raw events put together. `None`: the viewer can see nothing of it.
    async fn run(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<GetTrajectoryResponse>, StoreError> {
        let record = self.0.evaluation_record(viewer, trace).await?;
        if let Some(experience) = self.0.experience(viewer, trace).await? {
            return Ok(Some(GetTrajectoryResponse {
                trajectory: Some(trajectory_to_proto(&experience.trajectory)),
                evaluation: Some(evaluation_to_proto(&experience.evaluation)),
                record: record.as_ref().map(evaluation_record_to_proto),
            }));
        }
        let events = self.events(viewer, trace).await?;
        let (trajectory, waiting) = raw(events, trace);
        let record = record.or(waiting);
        if trajectory.is_none() && record.is_none() {
            return Ok(None);
        }
        Ok(Some(GetTrajectoryResponse {
            trajectory: trajectory.as_ref().map(trajectory_to_proto),
            evaluation: None,
            record: record.as_ref().map(evaluation_record_to_proto),
        }))
    }

    /// Every event of the trace that the viewer may see.
    async fn events(&self, viewer: &Viewer, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        for visibility in viewer.visibilities() {
            let scope = Scope::new(viewer.tenant.clone(), visibility);
            events.extend(self.0.events(&scope, trace).await?);
        }
        Ok(events)
    }
}

/// The run that the events make; while parts are missing, what is missing.
fn raw(events: Vec<Event>, trace: &TraceId) -> (Option<Trajectory>, Option<EvaluationRecord>) {
    let Some(last) = events.iter().max_by_key(|e| e.recorded_at) else { return (None, None) };
    let (scope, updated_at) = (last.scope.clone(), last.recorded_at);
    match assemble(events) {
        Assembly::Complete(trajectory) => (Some(*trajectory), None),
        Assembly::Missing(gap) => {
            let record = EvaluationRecord {
                trace_id: trace.clone(),
                scope,
                state: EvaluationState::Waiting { reason: gap.to_string() },
                attempts: 0,
                step_count: gap.expected.unwrap_or_default(),
                judge: String::new(),
                updated_at,
            };
            (None, Some(record))
        }
    }
}
