use async_trait::async_trait;
use hindsight_ports::{
    Candidate, CandidateId, EmbedderId, Encoded, Fetched, MemoryStore, Page, PageRequest, Search, StoreError,
    StoreStats,
};
use hindsight_types::{
    EvaluationRecord, Event, Evidence, Experience, Fact, Feedback, FormerVerdicts, Memory, MemoryChange,
    MemoryId, MemoryKind, OpenTask, Period, Receipt, ReceiptId, Reevaluation, ReevaluationId, Scope,
    SessionId, TenantId, Timestamp, TraceId, Viewer,
};

use super::Announced;

#[async_trait]
impl MemoryStore for Announced<dyn MemoryStore> {
    async fn prepare(&self, embedder: &EmbedderId) -> Result<(), StoreError> {
        self.inner.prepare(embedder).await
    }

    async fn append_events(&self, events: &[Event]) -> Result<(), StoreError> {
        self.inner.append_events(events).await
    }

    async fn events(&self, scope: &Scope, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        self.inner.events(scope, trace).await
    }

    async fn trace_events(&self, tenant: &TenantId, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        self.inner.trace_events(tenant, trace).await
    }

    async fn mark_open(&self, tasks: &[OpenTask]) -> Result<(), StoreError> {
        self.inner.mark_open(tasks).await
    }

    async fn clear_open(&self, tasks: &[(TenantId, TraceId)]) -> Result<(), StoreError> {
        self.inner.clear_open(tasks).await
    }

    async fn idle_tasks(&self, before: Timestamp, page: &PageRequest) -> Result<Page<OpenTask>, StoreError> {
        self.inner.idle_tasks(before, page).await
    }

    async fn upsert(&self, memories: &[Encoded<Memory>]) -> Result<(), StoreError> {
        let changes = memories.iter().map(|m| MemoryChange::of(&m.value)).collect();
        self.write(changes, self.inner.upsert(memories)).await
    }

    async fn search(&self, viewer: &Viewer, search: &Search) -> Result<Vec<Candidate>, StoreError> {
        self.inner.search(viewer, search).await
    }

    async fn fetch(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        ids: &[CandidateId],
    ) -> Result<Vec<Fetched>, StoreError> {
        self.inner.fetch(viewer, kind, ids).await
    }

    async fn get(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        id: MemoryId,
    ) -> Result<Option<Memory>, StoreError> {
        self.inner.get(viewer, kind, id).await
    }

    async fn list(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        self.inner.list(viewer, kind, page).await
    }

    async fn session_facts(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        span: Period,
        beside: usize,
    ) -> Result<Vec<Fact>, StoreError> {
        self.inner.session_facts(viewer, session, span, beside).await
    }

    async fn experience(&self, viewer: &Viewer, trace: &TraceId) -> Result<Option<Experience>, StoreError> {
        self.inner.experience(viewer, trace).await
    }

    async fn put_evaluation_record(&self, record: &EvaluationRecord) -> Result<(), StoreError> {
        self.inner.put_evaluation_record(record).await
    }

    async fn evaluation_record(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<EvaluationRecord>, StoreError> {
        self.inner.evaluation_record(viewer, trace).await
    }

    async fn unfinished_evaluations(
        &self,
        viewer: &Viewer,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        self.inner.unfinished_evaluations(viewer, page).await
    }

    async fn judged_runs(
        &self,
        tenant: &TenantId,
        judge: &str,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        self.inner.judged_runs(tenant, judge, page).await
    }

    async fn put_former_verdicts(&self, former: &FormerVerdicts) -> Result<(), StoreError> {
        self.inner.put_former_verdicts(former).await
    }

    async fn former_verdicts(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<FormerVerdicts>, StoreError> {
        self.inner.former_verdicts(viewer, trace).await
    }

    async fn put_reevaluation(&self, reevaluation: &Reevaluation) -> Result<(), StoreError> {
        self.inner.put_reevaluation(reevaluation).await
    }

    async fn reevaluation(
        &self,
        viewer: &Viewer,
        id: ReevaluationId,
    ) -> Result<Option<Reevaluation>, StoreError> {
        self.inner.reevaluation(viewer, id).await
    }

    async fn put_receipt(&self, receipt: &Receipt) -> Result<(), StoreError> {
        self.inner.put_receipt(receipt).await
    }

    async fn receipt(&self, viewer: &Viewer, id: ReceiptId) -> Result<Option<Receipt>, StoreError> {
        self.inner.receipt(viewer, id).await
    }

    async fn put_feedback(&self, feedback: &[Feedback]) -> Result<(), StoreError> {
        self.inner.put_feedback(feedback).await
    }

    async fn feedback(
        &self,
        viewer: &Viewer,
        receipt: ReceiptId,
        memories: &[MemoryId],
    ) -> Result<Vec<Feedback>, StoreError> {
        self.inner.feedback(viewer, receipt, memories).await
    }

    async fn expire_receipts(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.inner.expire_receipts(before).await
    }

    async fn append_evidence(&self, evidence: &[Evidence]) -> Result<(), StoreError> {
        let of = |e: &Evidence| MemoryChange { kind: MemoryKind::Lesson, scope: e.scope.clone() };
        self.write(evidence.iter().map(of).collect(), self.inner.append_evidence(evidence)).await
    }

    async fn evidence(&self, viewer: &Viewer, memory: MemoryId) -> Result<Vec<Evidence>, StoreError> {
        self.inner.evidence(viewer, memory).await
    }

    async fn stats(&self, viewer: &Viewer) -> Result<StoreStats, StoreError> {
        self.inner.stats(viewer).await
    }
}
