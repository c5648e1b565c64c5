use std::sync::Arc;

use async_trait::async_trait;
use futures::lock::Mutex;
use hindsight_ports::{
    Candidate, CandidateId, Embedder, EmbedderId, Encoded, Fetched, MemoryStore, Page, PageRequest, Reembed,
    ReembedStep, Search, StoreError, StoreStats, StoredVectors,
};
use hindsight_types::{
    EvaluationRecord, Event, EventBody, Evidence, Experience, Fact, Feedback, FormerVerdicts, Memory,
    MemoryId, MemoryKind, OpenTask, Period, Receipt, ReceiptId, Reevaluation, ReevaluationId, Scope,
    SessionId, TenantId, Timestamp, TraceId, Viewer,
};
use qdrant_client::qdrant::Condition;
use uuid::Uuid;

use crate::{
    VectorBackend,
    collection::Collection,
    field,
    forget::Vacuumed,
    ledger, open, page, point, receipts,
    reencode::{Step, Walker},
    schema,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk, next_id},
    search, session,
    stored::{FAILED, JUDGED, Stored, WAITING, evaluation_key, former_key},
    vectors::Meta,
    write,
};

/// Records fetched at a time where all of them are wanted.
const CHUNK: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreOptions {
    /// Put before every collection's name, so that several installations share a server.
    pub prefix: String,
}

/// [`MemoryStore`] over a vector database.
#[derive(Debug)]
pub struct Store {
    backend: ScopedBackend,
    /// One step of re-embedding at a time.
    walker: Mutex<Walker>,
    pub(crate) vacuumed: Vacuumed,
}

impl Store {
    pub fn new(backend: Arc<dyn VectorBackend>, options: StoreOptions) -> Self {
        Self {
            backend: ScopedBackend::new(backend, options.prefix),
            walker: Mutex::default(),
            vacuumed: Vacuumed::default(),
        }
    }

    pub(crate) fn backend(&self) -> &ScopedBackend {
        &self.backend
    }

    /// Makes a request that uses the dense vectors, and makes it again when it was refused and they have another
    /// name by now.
    pub(crate) async fn with_vectors<T, F>(&self, request: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        self.backend.follow().await;
        let result = request().await;
        match result {
            Err(StoreError::Rejected(_)) if self.backend.refresh().await => request().await,
            result => result,
        }
    }

    /// The record under `key`, if `viewer` may see it.
    async fn one<T: Stored>(
        &self,
        viewer: &Viewer,
        collection: Collection,
        key: Uuid,
    ) -> Result<Option<T>, StoreError> {
        let Some(filter) = ScopedFilter::readable(viewer, collection) else { return Ok(None) };
        let filter = filter.and_ids([point::id(&viewer.tenant, key)]);
        let found = self.backend.scroll(collection, filter, Walk::ById(None), 1, Show::Record).await?;
        found.points.first().map(|p| point::decode_for(viewer, p)).transpose()
    }

    /// Every record that matches, however many.
    async fn all<T: Stored>(
        &self,
        collection: Collection,
        filter: ScopedFilter,
    ) -> Result<Vec<T>, StoreError> {
        let (mut all, mut from) = (Vec::new(), None);
        loop {
            let walk = Walk::ById(from);
            let found = self.backend.scroll(collection, filter.clone(), walk, CHUNK, Show::Record).await?;
            for point in &found.points {
                all.push(point::decode(point)?);
            }
            from = next_id(found.next)?;
            if from.is_none() {
                return Ok(all);
            }
        }
    }

    async fn events_of(&self, whose: ScopedFilter, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        let filter = whose.and(Condition::matches(field::TRACE_ID, trace.to_string()));
        let mut events: Vec<Event> = self.all(Collection::Events, filter).await?;
        events.sort_by_key(|e| (place(e), e.recorded_at, e.event_id));
        Ok(events)
    }

    async fn visible(&self, viewer: &Viewer, collection: Collection) -> Result<u64, StoreError> {
        match ScopedFilter::readable(viewer, collection) {
            Some(filter) => self.backend.count(collection, filter).await,
            None => Ok(0),
        }
    }
}

/// Start, steps by index, completion.
fn place(event: &Event) -> (u8, u32) {
    match &event.body {
        EventBody::Started(_) => (0, 0),
        EventBody::Step(step) => (1, step.step_index),
        EventBody::Span(_) => (1, 0),
        EventBody::Completed(_) => (2, 0),
    }
}

#[async_trait]
impl MemoryStore for Store {
    async fn prepare(&self, embedder: &EmbedderId) -> Result<(), StoreError> {
        let outcome = schema::prepare(&self.backend, embedder).await;
        self.backend.note(embedder, &outcome);
        outcome.map(drop)
    }

    async fn append_events(&self, events: &[Event]) -> Result<(), StoreError> {
        write::records(&self.backend, Collection::Events, events, Overwrite::Never).await
    }

    async fn events(&self, scope: &Scope, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        let events = self.events_of(ScopedFilter::exactly(scope), trace).await?;
        if let Some(event) = events.iter().find(|e| e.scope != *scope) {
            return Err(StoreError::Corrupt(format!("event {} is not of the asked scope", event.event_id)));
        }
        Ok(events)
    }

    async fn trace_events(&self, tenant: &TenantId, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        let events = self.events_of(ScopedFilter::whole(tenant), trace).await?;
        if let Some(event) = events.iter().find(|e| e.scope.tenant != *tenant) {
            return Err(StoreError::Corrupt(format!("event {} is not of the asked tenant", event.event_id)));
        }
        Ok(events)
    }

    async fn mark_open(&self, tasks: &[OpenTask]) -> Result<(), StoreError> {
        write::records(&self.backend, Collection::OpenTasks, tasks, Overwrite::Any).await
    }

    async fn clear_open(&self, tasks: &[(TenantId, TraceId)]) -> Result<(), StoreError> {
        open::clear(&self.backend, tasks).await
    }

    async fn idle_tasks(&self, before: Timestamp, page: &PageRequest) -> Result<Page<OpenTask>, StoreError> {
        open::idle(&self.backend, before, page).await
    }

    async fn upsert(&self, memories: &[Encoded<Memory>]) -> Result<(), StoreError> {
        self.with_vectors(move || write::memories(&self.backend, memories)).await
    }

    async fn search(&self, viewer: &Viewer, search: &Search) -> Result<Vec<Candidate>, StoreError> {
        self.with_vectors(move || search::search(&self.backend, viewer, search)).await
    }

    async fn fetch(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        ids: &[CandidateId],
    ) -> Result<Vec<Fetched>, StoreError> {
        search::fetch(&self.backend, viewer, kind, ids).await
    }

    async fn get(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        id: MemoryId,
    ) -> Result<Option<Memory>, StoreError> {
        self.one(viewer, Collection::of(kind), id.0).await
    }

    async fn list(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        page::page(&self.backend, viewer, Collection::of(kind), page, |all| all).await
    }

    async fn session_facts(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        span: Period,
        beside: usize,
    ) -> Result<Vec<Fact>, StoreError> {
        session::facts(&self.backend, viewer, session, span, beside).await
    }

    async fn experience(&self, viewer: &Viewer, trace: &TraceId) -> Result<Option<Experience>, StoreError> {
        let id = MemoryId::experience(&viewer.tenant, trace);
        match self.get(viewer, MemoryKind::Experience, id).await? {
            Some(Memory::Experience(experience)) => Ok(Some(*experience)),
            _ => Ok(None),
        }
    }

    async fn put_evaluation_record(&self, record: &EvaluationRecord) -> Result<(), StoreError> {
        let record = std::slice::from_ref(record);
        write::records(&self.backend, Collection::Evaluations, record, Overwrite::Any).await
    }

    async fn evaluation_record(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<EvaluationRecord>, StoreError> {
        self.one(viewer, Collection::Evaluations, evaluation_key(&viewer.tenant, trace)).await
    }

    async fn unfinished_evaluations(
        &self,
        viewer: &Viewer,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        let unfinished = Condition::matches(field::STATE, vec![WAITING.to_owned(), FAILED.to_owned()]);
        page::page(&self.backend, viewer, Collection::Evaluations, page, |all| all.and(unfinished)).await
    }

    async fn judged_runs(
        &self,
        tenant: &TenantId,
        judge: &str,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        page::upkeep(&self.backend, tenant, Collection::Evaluations, page, |all| {
            let judged = all.and(Condition::matches(field::STATE, JUDGED.to_owned()));
            if judge.is_empty() {
                judged
            } else {
                judged.and(Condition::matches(field::JUDGE, judge.to_owned()))
            }
        })
        .await
    }

    async fn put_former_verdicts(&self, former: &FormerVerdicts) -> Result<(), StoreError> {
        let former = std::slice::from_ref(former);
        write::records(&self.backend, Collection::Evaluations, former, Overwrite::Any).await
    }

    async fn former_verdicts(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<FormerVerdicts>, StoreError> {
        self.one(viewer, Collection::Evaluations, former_key(&viewer.tenant, trace)).await
    }

    async fn put_reevaluation(&self, reevaluation: &Reevaluation) -> Result<(), StoreError> {
        let reevaluation = std::slice::from_ref(reevaluation);
        write::records(&self.backend, Collection::Evaluations, reevaluation, Overwrite::Any).await
    }

    async fn reevaluation(
        &self,
        viewer: &Viewer,
        id: ReevaluationId,
    ) -> Result<Option<Reevaluation>, StoreError> {
        self.one(viewer, Collection::Evaluations, id.0).await
    }

    async fn put_receipt(&self, receipt: &Receipt) -> Result<(), StoreError> {
        let receipt = std::slice::from_ref(receipt);
        write::records(&self.backend, Collection::Receipts, receipt, Overwrite::Any).await
    }

    async fn receipt(&self, viewer: &Viewer, id: ReceiptId) -> Result<Option<Receipt>, StoreError> {
        self.one(viewer, Collection::Receipts, id.0).await
    }

    async fn put_feedback(&self, feedback: &[Feedback]) -> Result<(), StoreError> {
        write::records(&self.backend, Collection::Receipts, feedback, Overwrite::Any).await
    }

    async fn feedback(
        &self,
        viewer: &Viewer,
        receipt: ReceiptId,
        memories: &[MemoryId],
    ) -> Result<Vec<Feedback>, StoreError> {
        receipts::feedback(&self.backend, viewer, receipt, memories).await
    }

    async fn expire_receipts(&self, before: Timestamp) -> Result<u64, StoreError> {
        receipts::expire(&self.backend, before).await
    }

    async fn append_evidence(&self, evidence: &[Evidence]) -> Result<(), StoreError> {
        self.with_vectors(move || ledger::append(&self.backend, evidence)).await
    }

    async fn evidence(&self, viewer: &Viewer, memory: MemoryId) -> Result<Vec<Evidence>, StoreError> {
        let Some(filter) = ledger::lines(viewer, memory) else { return Ok(Vec::new()) };
        let mut lines: Vec<Evidence> = self.all(Collection::Evidence, filter).await?;
        if let Some(line) = lines.iter().find(|line| !line.is_visible_to(viewer)) {
            return Err(StoreError::Corrupt(format!("evidence {} is outside of the asked scope", line.id)));
        }
        lines.sort_by_key(|line| (line.at, line.id));
        Ok(lines)
    }

    async fn stats(&self, viewer: &Viewer) -> Result<StoreStats, StoreError> {
        let count = |collection| self.visible(viewer, collection);
        let (events, experiences, steps, failure_patterns, lessons, facts) = futures::try_join!(
            count(Collection::Events),
            count(Collection::Trajectories),
            count(Collection::Steps),
            count(Collection::FailurePatterns),
            count(Collection::Lessons),
            count(Collection::Facts),
        )?;
        Ok(StoreStats { events, experiences, steps, failure_patterns, lessons, facts })
    }
}

#[async_trait]
impl Reembed for Store {
    async fn reembed(&self, embedder: &dyn Embedder, now: Timestamp) -> Result<ReembedStep, StoreError> {
        let mut walker = self.walker.lock().await;
        Step { scoped: &self.backend, embedder, now }.take(&mut walker).await
    }

    async fn vectors(&self) -> Result<StoredVectors, StoreError> {
        let state = Meta::of(&self.backend).load().await?;
        self.backend.learn(&state, false);
        self.known_vectors().ok_or_else(|| StoreError::Unavailable("not prepared yet".to_owned()))
    }

    fn known_vectors(&self) -> Option<StoredVectors> {
        self.backend.known_vectors()
    }
}
