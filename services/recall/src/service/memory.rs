use std::sync::Arc;

use hindsight_api::{page, status};
use hindsight_codec::{
    evaluation_record_to_proto, evaluation_to_proto, memory_kind_from_proto, memory_to_proto,
    trajectory_to_proto,
};
use hindsight_ingest::{Assembly, assemble};
use hindsight_ports::{
    Archive, Browse, Clock, Embedder, Forget, History, MemoryStore, Selection, StoreError, Subjects,
    Transfer, judged_run,
};
use hindsight_proto::memory::v1::{
    DeleteMemoryRequest, DeleteMemoryResponse, DiagnoseRequest, DiagnoseResponse, ExportMemoriesRequest,
    ForgetSubjectRequest, ForgetSubjectResponse, GetForgettingRequest, GetForgettingResponse,
    GetMemoryHistoryRequest, GetMemoryHistoryResponse, GetMemoryRequest, GetMemoryResponse,
    GetProvenanceRequest, GetProvenanceResponse, GetStatsRequest, GetStatsResponse, GetTrajectoryRequest,
    GetTrajectoryResponse, ImportMemoriesRequest, ImportMemoriesResponse, ListArchivedRequest,
    ListArchivedResponse, ListConflictsRequest, ListConflictsResponse, ListLessonsRequest,
    ListLessonsResponse, ListMemoriesRequest, ListMemoriesResponse, MergeSubjectsRequest,
    MergeSubjectsResponse, RestoreArchivedRequest, RestoreArchivedResponse, RestoreMemoryRequest,
    RestoreMemoryResponse, ReviewLessonRequest, ReviewLessonResponse, UndoMergeSubjectsRequest,
    UndoMergeSubjectsResponse, UpdateMemoryRequest, UpdateMemoryResponse,
    memory_service_server::MemoryService,
};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, Experience, MemoryId, TraceId, Trajectory, Viewer,
};
use tonic::{Code, Request, Response, Status};

use super::{
    admin, history::etag_of, invalid, reader, select::selection, store, transfer::Exporting, writer,
};
use crate::{Care, NAME, ask::viewer, doctor::Doctor};

pub(crate) struct Memories {
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) care: Care,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) clock: Arc<dyn Clock>,
}

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
        let memory = self.store.get(&viewer, kind, id).await.map_err(store)?;
        let memory = memory.ok_or_else(|| status::not_found(NAME, "memory", id))?;
        let etag = etag_of(&memory);
        Ok(Response::new(GetMemoryResponse { memory: Some(memory_to_proto(&memory)), etag }))
    }

    async fn list_memories(
        &self,
        request: Request<ListMemoriesRequest>,
    ) -> Result<Response<ListMemoriesResponse>, Status> {
        let caller = reader(&request)?;
        let ListMemoriesRequest { kind, user, page_size, page_token, filter } = request.into_inner();
        let viewer = viewer(caller.tenant, user).map_err(invalid)?;
        let kind = memory_kind_from_proto(kind).map_err(invalid)?;
        let page = page(page_size, page_token).map_err(invalid)?;
        let selection = selection(filter.unwrap_or_default()).map_err(invalid)?;
        let found = if selection == Selection::default() {
            self.store.list(&viewer, kind, &page).await
        } else {
            self.browse()?.select(&viewer, kind, &selection, &page).await
        };
        let found = found.map_err(store)?;
        Ok(Response::new(ListMemoriesResponse {
            memories: found.items.iter().map(memory_to_proto).collect(),
            next_page_token: found.next_token,
        }))
    }

    async fn update_memory(
        &self,
        request: Request<UpdateMemoryRequest>,
    ) -> Result<Response<UpdateMemoryResponse>, Status> {
        let caller = writer(&request)?;
        self.update(caller, request.into_inner()).await.map(Response::new)
    }

    async fn get_memory_history(
        &self,
        request: Request<GetMemoryHistoryRequest>,
    ) -> Result<Response<GetMemoryHistoryResponse>, Status> {
        let caller = reader(&request)?;
        self.history_page(caller, request.into_inner()).await.map(Response::new)
    }

    async fn restore_memory(
        &self,
        request: Request<RestoreMemoryRequest>,
    ) -> Result<Response<RestoreMemoryResponse>, Status> {
        let caller = writer(&request)?;
        self.restore(caller, request.into_inner()).await.map(Response::new)
    }

    async fn list_archived(
        &self,
        request: Request<ListArchivedRequest>,
    ) -> Result<Response<ListArchivedResponse>, Status> {
        let caller = reader(&request)?;
        self.archived(caller, request.into_inner()).await.map(Response::new)
    }

    async fn restore_archived(
        &self,
        request: Request<RestoreArchivedRequest>,
    ) -> Result<Response<RestoreArchivedResponse>, Status> {
        let caller = writer(&request)?;
        self.bring_back(caller, request.into_inner()).await.map(Response::new)
    }

    async fn list_conflicts(
        &self,
        request: Request<ListConflictsRequest>,
    ) -> Result<Response<ListConflictsResponse>, Status> {
        let caller = reader(&request)?;
        self.conflicts(caller, request.into_inner()).await.map(Response::new)
    }

    async fn merge_subjects(
        &self,
        request: Request<MergeSubjectsRequest>,
    ) -> Result<Response<MergeSubjectsResponse>, Status> {
        let caller = writer(&request)?;
        self.merge(caller, request.into_inner()).await.map(Response::new)
    }

    async fn undo_merge_subjects(
        &self,
        request: Request<UndoMergeSubjectsRequest>,
    ) -> Result<Response<UndoMergeSubjectsResponse>, Status> {
        let caller = writer(&request)?;
        self.undo_merge(caller, request.into_inner()).await.map(Response::new)
    }

    async fn get_provenance(
        &self,
        request: Request<GetProvenanceRequest>,
    ) -> Result<Response<GetProvenanceResponse>, Status> {
        let caller = reader(&request)?;
        self.provenance(caller, request.into_inner()).await.map(Response::new)
    }

    async fn diagnose(
        &self,
        request: Request<DiagnoseRequest>,
    ) -> Result<Response<DiagnoseResponse>, Status> {
        let caller = reader(&request)?;
        self.diagnosis(caller, request.into_inner()).await.map(Response::new)
    }

    type ExportMemoriesStream = Exporting;

    async fn export_memories(
        &self,
        request: Request<ExportMemoriesRequest>,
    ) -> Result<Response<Exporting>, Status> {
        let caller = admin(&request)?;
        self.export(caller, request.into_inner()).map(Response::new)
    }

    async fn import_memories(
        &self,
        request: Request<ImportMemoriesRequest>,
    ) -> Result<Response<ImportMemoriesResponse>, Status> {
        let caller = admin(&request)?;
        self.import(caller, request.into_inner()).await.map(Response::new)
    }

    async fn list_lessons(
        &self,
        request: Request<ListLessonsRequest>,
    ) -> Result<Response<ListLessonsResponse>, Status> {
        let caller = reader(&request)?;
        self.lessons(caller, request.into_inner()).await.map(Response::new)
    }

    async fn review_lesson(
        &self,
        request: Request<ReviewLessonRequest>,
    ) -> Result<Response<ReviewLessonResponse>, Status> {
        let caller = writer(&request)?;
        self.review(caller, request.into_inner()).await.map(Response::new)
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

    async fn delete_memory(
        &self,
        request: Request<DeleteMemoryRequest>,
    ) -> Result<Response<DeleteMemoryResponse>, Status> {
        let caller = hindsight_api::caller(&request)?;
        self.delete(caller, request.into_inner()).await.map(Response::new)
    }

    async fn forget_subject(
        &self,
        request: Request<ForgetSubjectRequest>,
    ) -> Result<Response<ForgetSubjectResponse>, Status> {
        let caller = hindsight_api::caller(&request)?;
        self.forget(caller, request.into_inner()).await.map(Response::new)
    }

    async fn get_forgetting(
        &self,
        request: Request<GetForgettingRequest>,
    ) -> Result<Response<GetForgettingResponse>, Status> {
        let caller = hindsight_api::caller(&request)?;
        self.forgetting(caller, request.into_inner()).await.map(Response::new)
    }

    async fn get_stats(
        &self,
        request: Request<GetStatsRequest>,
    ) -> Result<Response<GetStatsResponse>, Status> {
        let caller = reader(&request)?;
        let viewer = viewer(caller.tenant, request.into_inner().user).map_err(invalid)?;
        let stats = self.store.stats(&viewer).await.map_err(store)?;
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
    pub(super) fn history(&self) -> Result<&dyn History, Status> {
        self.care.history.as_deref().ok_or_else(|| not_here("the history of memories"))
    }

    pub(super) fn subjects(&self) -> Result<Arc<dyn Subjects>, Status> {
        self.care.subjects.clone().ok_or_else(|| not_here("who turned out to be whom"))
    }

    pub(super) fn browse(&self) -> Result<Arc<dyn Browse>, Status> {
        self.care.browse.clone().ok_or_else(|| not_here("what lists are filtered by"))
    }

    pub(super) fn transfer(&self) -> Result<Arc<dyn Transfer>, Status> {
        self.care.transfer.clone().ok_or_else(|| not_here("what an export is made of"))
    }

    pub(super) fn tombstones(&self) -> Result<Arc<dyn Forget>, Status> {
        self.care.forget.clone().ok_or_else(|| not_here("what was forgotten"))
    }

    pub(super) fn archive(&self) -> Result<Arc<dyn Archive>, Status> {
        self.care.archive.clone().ok_or_else(|| not_here("the archive"))
    }

    pub(super) fn doctor(&self, viewer: Viewer) -> Result<Doctor, Status> {
        Ok(Doctor {
            store: self.store.clone(),
            browse: self.browse()?,
            archive: self.archive()?,
            forget: self.tombstones()?,
            ledger: self.care.ledger.clone().ok_or_else(|| not_here("the ledger of lessons"))?,
            policies: self.care.policies.clone(),
            viewer,
            now: self.clock.now(),
        })
    }

    /// The judged run, or its raw events put together. `None`: the viewer can see nothing of it.
    async fn run(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<GetTrajectoryResponse>, StoreError> {
        let record = self.store.evaluation_record(viewer, trace).await?;
        if let Some(experience) = self.judged(viewer, trace).await? {
            return Ok(Some(GetTrajectoryResponse {
                trajectory: Some(trajectory_to_proto(&experience.trajectory)),
                evaluation: Some(evaluation_to_proto(&experience.evaluation)),
                record: record.as_ref().map(evaluation_record_to_proto),
            }));
        }
        let events = crate::raw::events(&*self.store, viewer, trace).await?;
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

    /// The judged run, also when it left for the archive.
    async fn judged(&self, viewer: &Viewer, trace: &TraceId) -> Result<Option<Experience>, StoreError> {
        match &self.care.archive {
            Some(archive) => judged_run(&*self.store, &**archive, viewer, trace).await,
            None => self.store.experience(viewer, trace).await,
        }
    }
}

pub(super) fn not_here(what: &str) -> Status {
    let message = format!("{what} is not kept by this server");
    status::error(NAME, Code::Unimplemented, "NOT_HERE", message, [])
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
