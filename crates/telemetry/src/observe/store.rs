use std::{sync::Arc, time::Instant};

use async_trait::async_trait;
use hindsight_ports::{
    Arm, Candidate, CandidateId, EmbedderId, Encoded, Fetched, MemoryStore, Page, PageRequest, Search,
    StoreError, StoreStats,
};
use hindsight_types::{
    EvaluationRecord, Event, Evidence, Experience, Fact, Feedback, FormerVerdicts, Memory, MemoryId,
    MemoryKind, OpenTask, Period, Receipt, ReceiptId, Reevaluation, ReevaluationId, Scope, SessionId,
    TenantId, Timestamp, TraceId, Viewer,
};
use tracing::{Instrument as _, Span};

use crate::{Label, Metric, outcome, span};

/// A store whose calls are counted, timed and traced. `system` names the engine, as in `qdrant`.
pub fn store(inner: Arc<dyn MemoryStore>, system: &'static str) -> Arc<dyn MemoryStore> {
    Arc::new(Observed { inner, system })
}

struct Observed {
    inner: Arc<dyn MemoryStore>,
    system: &'static str,
}

/// A call that is about to be made.
struct Call {
    operation: &'static str,
    span: Span,
}

impl Observed {
    fn call(&self, operation: &'static str, collection: &'static str) -> Call {
        Call { operation, span: span::store(self.system, operation, collection) }
    }
}

impl Call {
    /// Says how many records the call writes.
    fn writes(self, records: usize) -> Self {
        self.span.record("db.operation.batch.size", records);
        self
    }

    async fn make<T>(self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        self.make_counting(call, |_| None).await
    }

    /// `rows` says how many records the answer holds.
    async fn make_counting<T>(
        self,
        call: impl Future<Output = Result<T, StoreError>>,
        rows: impl Fn(&T) -> Option<usize>,
    ) -> Result<T, StoreError> {
        let begun = Instant::now();
        let result = call.instrument(self.span.clone()).await;
        let operation = (Label::Operation, self.operation);
        Metric::StoreCalls.add(1, &[operation, (Label::Result, outcome(&result))]);
        Metric::StoreDuration.record(begun.elapsed().as_secs_f64(), &[operation]);
        match &result {
            Ok(answer) => {
                if let Some(rows) = rows(answer) {
                    self.span.record("db.response.returned_rows", rows);
                }
            }
            Err(error) => span::failed(&self.span, word(error)),
        }
        result
    }
}

/// Without the details, which may quote what is stored.
fn word(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => "unavailable",
        StoreError::Corrupt(_) => "corrupt",
        StoreError::Rejected(_) => "rejected",
    }
}

fn found<T>(answer: &Option<T>) -> Option<usize> {
    Some(usize::from(answer.is_some()))
}

fn collection(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Fact => "facts",
        MemoryKind::Experience => "trajectories",
        MemoryKind::Step => "steps",
        MemoryKind::Lesson => "lessons",
        MemoryKind::FailurePattern => "failure_patterns",
    }
}

#[async_trait]
impl MemoryStore for Observed {
    async fn prepare(&self, embedder: &EmbedderId) -> Result<(), StoreError> {
        self.call("prepare", "").make(self.inner.prepare(embedder)).await
    }

    async fn append_events(&self, events: &[Event]) -> Result<(), StoreError> {
        self.call("append_events", "events").writes(events.len()).make(self.inner.append_events(events)).await
    }

    async fn events(&self, scope: &Scope, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        let call = self.inner.events(scope, trace);
        self.call("events", "events").make_counting(call, |events| Some(events.len())).await
    }

    async fn trace_events(&self, tenant: &TenantId, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        let call = self.inner.trace_events(tenant, trace);
        self.call("trace_events", "events").make_counting(call, |events| Some(events.len())).await
    }

    async fn mark_open(&self, tasks: &[OpenTask]) -> Result<(), StoreError> {
        self.call("mark_open", "").writes(tasks.len()).make(self.inner.mark_open(tasks)).await
    }

    async fn clear_open(&self, tasks: &[(TenantId, TraceId)]) -> Result<(), StoreError> {
        self.call("clear_open", "").writes(tasks.len()).make(self.inner.clear_open(tasks)).await
    }

    async fn idle_tasks(&self, before: Timestamp, page: &PageRequest) -> Result<Page<OpenTask>, StoreError> {
        let call = self.inner.idle_tasks(before, page);
        self.call("idle_tasks", "").make_counting(call, |page| Some(page.items.len())).await
    }

    async fn upsert(&self, memories: &[Encoded<Memory>]) -> Result<(), StoreError> {
        self.call("upsert", "").writes(memories.len()).make(self.inner.upsert(memories)).await
    }

    async fn search(&self, viewer: &Viewer, search: &Search) -> Result<Vec<Candidate>, StoreError> {
        let operation = match search.arm {
            Arm::Dense(_) => "search_dense",
            Arm::Bm25(_) => "search_bm25",
            Arm::Entities(_) => "search_entities",
            Arm::Period(_) => "search_period",
        };
        let call = self.inner.search(viewer, search);
        self.call(operation, collection(search.kind)).make_counting(call, |found| Some(found.len())).await
    }

    async fn fetch(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        ids: &[CandidateId],
    ) -> Result<Vec<Fetched>, StoreError> {
        let call = self.inner.fetch(viewer, kind, ids);
        self.call("fetch", collection(kind)).make_counting(call, |found| Some(found.len())).await
    }

    async fn get(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        id: MemoryId,
    ) -> Result<Option<Memory>, StoreError> {
        self.call("get", collection(kind)).make_counting(self.inner.get(viewer, kind, id), found).await
    }

    async fn list(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        let call = self.inner.list(viewer, kind, page);
        self.call("list", collection(kind)).make_counting(call, |page| Some(page.items.len())).await
    }

    async fn session_facts(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        span: Period,
        beside: usize,
    ) -> Result<Vec<Fact>, StoreError> {
        let facts = self.inner.session_facts(viewer, session, span, beside);
        self.call("session_facts", "facts").make_counting(facts, |facts| Some(facts.len())).await
    }

    async fn experience(&self, viewer: &Viewer, trace: &TraceId) -> Result<Option<Experience>, StoreError> {
        let call = self.inner.experience(viewer, trace);
        self.call("experience", "trajectories").make_counting(call, found).await
    }

    async fn put_evaluation_record(&self, record: &EvaluationRecord) -> Result<(), StoreError> {
        self.call("put_evaluation_record", "").make(self.inner.put_evaluation_record(record)).await
    }

    async fn evaluation_record(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<EvaluationRecord>, StoreError> {
        let call = self.inner.evaluation_record(viewer, trace);
        self.call("evaluation_record", "").make_counting(call, found).await
    }

    async fn unfinished_evaluations(
        &self,
        viewer: &Viewer,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        let call = self.inner.unfinished_evaluations(viewer, page);
        self.call("unfinished_evaluations", "").make_counting(call, |page| Some(page.items.len())).await
    }

    async fn judged_runs(
        &self,
        tenant: &TenantId,
        judge: &str,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        let call = self.inner.judged_runs(tenant, judge, page);
        self.call("judged_runs", "").make_counting(call, |page| Some(page.items.len())).await
    }

    async fn put_former_verdicts(&self, former: &FormerVerdicts) -> Result<(), StoreError> {
        self.call("put_former_verdicts", "").make(self.inner.put_former_verdicts(former)).await
    }

    async fn former_verdicts(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<FormerVerdicts>, StoreError> {
        let call = self.inner.former_verdicts(viewer, trace);
        self.call("former_verdicts", "").make_counting(call, found).await
    }

    async fn put_reevaluation(&self, reevaluation: &Reevaluation) -> Result<(), StoreError> {
        self.call("put_reevaluation", "").make(self.inner.put_reevaluation(reevaluation)).await
    }

    async fn reevaluation(
        &self,
        viewer: &Viewer,
        id: ReevaluationId,
    ) -> Result<Option<Reevaluation>, StoreError> {
        let call = self.inner.reevaluation(viewer, id);
        self.call("reevaluation", "").make_counting(call, found).await
    }

    async fn put_receipt(&self, receipt: &Receipt) -> Result<(), StoreError> {
        self.call("put_receipt", "receipts").make(self.inner.put_receipt(receipt)).await
    }

    async fn receipt(&self, viewer: &Viewer, id: ReceiptId) -> Result<Option<Receipt>, StoreError> {
        self.call("receipt", "receipts").make_counting(self.inner.receipt(viewer, id), found).await
    }

    async fn put_feedback(&self, feedback: &[Feedback]) -> Result<(), StoreError> {
        let call = self.call("put_feedback", "receipts").writes(feedback.len());
        call.make(self.inner.put_feedback(feedback)).await
    }

    async fn feedback(
        &self,
        viewer: &Viewer,
        receipt: ReceiptId,
        memories: &[MemoryId],
    ) -> Result<Vec<Feedback>, StoreError> {
        let call = self.inner.feedback(viewer, receipt, memories);
        self.call("feedback", "receipts").make_counting(call, |found| Some(found.len())).await
    }

    async fn expire_receipts(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.call("expire_receipts", "receipts").make(self.inner.expire_receipts(before)).await
    }

    async fn append_evidence(&self, evidence: &[Evidence]) -> Result<(), StoreError> {
        let call = self.call("append_evidence", "evidence").writes(evidence.len());
        call.make(self.inner.append_evidence(evidence)).await
    }

    async fn evidence(&self, viewer: &Viewer, memory: MemoryId) -> Result<Vec<Evidence>, StoreError> {
        let call = self.inner.evidence(viewer, memory);
        self.call("evidence", "evidence").make_counting(call, |lines| Some(lines.len())).await
    }

    async fn stats(&self, viewer: &Viewer) -> Result<StoreStats, StoreError> {
        self.call("stats", "").make(self.inner.stats(viewer)).await
    }
}
