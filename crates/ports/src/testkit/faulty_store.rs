//! A store that fails on purpose.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use hindsight_types::{
    EvaluationRecord, Event, Evidence, Experience, Fact, Feedback, FormerVerdicts, Memory, MemoryId,
    MemoryKind, OpenTask, Period, Receipt, ReceiptId, Reevaluation, ReevaluationId, Scope, SessionId,
    TenantId, Timestamp, TraceId, Viewer,
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    Candidate, CandidateId, EmbedderId, Encoded, Fetched, MemoryStore, Page, PageRequest, Search, StoreError,
    StoreStats,
};

/// The methods of [`MemoryStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreCall {
    Prepare,
    AppendEvents,
    Events,
    MarkOpen,
    ClearOpen,
    IdleTasks,
    Upsert,
    Search,
    Fetch,
    Get,
    List,
    SessionFacts,
    Experience,
    PutEvaluationRecord,
    EvaluationRecord,
    UnfinishedEvaluations,
    JudgedRuns,
    PutFormerVerdicts,
    FormerVerdicts,
    PutReevaluation,
    Reevaluation,
    PutReceipt,
    Receipt,
    PutFeedback,
    Feedback,
    ExpireReceipts,
    AppendEvidence,
    Evidence,
    Stats,
}

impl StoreCall {
    pub fn is_write(self) -> bool {
        !matches!(
            self,
            Self::Events
                | Self::IdleTasks
                | Self::Search
                | Self::Fetch
                | Self::Get
                | Self::List
                | Self::Experience
                | Self::EvaluationRecord
                | Self::UnfinishedEvaluations
                | Self::JudgedRuns
                | Self::FormerVerdicts
                | Self::Reevaluation
                | Self::Receipt
                | Self::Feedback
                | Self::Evidence
                | Self::Stats
        )
    }
}

/// To which calls a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    All,
    Reads,
    Writes,
    Only(StoreCall),
    /// Searches by the arm of this name.
    SearchesBy(&'static str),
}

impl Calls {
    fn contains(self, call: StoreCall, arm: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Reads => !call.is_write(),
            Self::Writes => call.is_write(),
            Self::Only(only) => only == call,
            Self::SearchesBy(name) => arm == Some(name),
        }
    }
}

/// At which of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    Always,
    /// The nth call the rule applies to, counted from 1 since the rule was added.
    Nth(u64),
    /// Each with this probability, from the seeded generator.
    Chance(f64),
}

/// What happens to the call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Nothing was done.
    Refuse(StoreError),
    /// It was done, and the answer got lost.
    Lose(StoreError),
    /// It is done later.
    Delay(Duration),
}

#[derive(Debug)]
struct Rule {
    calls: Calls,
    when: When,
    fault: Fault,
    seen: u64,
}

#[derive(Debug)]
struct State {
    rules: Vec<Rule>,
    rng: StdRng,
    made: BTreeMap<StoreCall, u64>,
}

/// Wraps a store and injects faults by rule; the same seed and calls give the same faults. Without rules it
/// is the store it wraps.
pub struct FaultyStore {
    inner: Arc<dyn MemoryStore>,
    state: Mutex<State>,
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore").field("state", &self.state).finish_non_exhaustive()
    }
}

impl FaultyStore {
    pub fn new(inner: Arc<dyn MemoryStore>, seed: u64) -> Self {
        let state = State { rules: Vec::new(), rng: StdRng::seed_from_u64(seed), made: BTreeMap::new() };
        Self { inner, state: Mutex::new(state) }
    }

    /// Adds a rule. Of several that fire on one call, the first error wins; delays add up.
    pub fn inject(&self, calls: Calls, when: When, fault: Fault) {
        self.state().rules.push(Rule { calls, when, fault, seen: 0 });
    }

    /// Drops all rules: the outage is over.
    pub fn heal(&self) {
        self.state().rules.clear();
    }

    /// How often `call` was made, failed ones included.
    pub fn made(&self, call: StoreCall) -> u64 {
        self.state().made.get(&call).copied().unwrap_or(0)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn faults(&self, call: StoreCall, arm: Option<&str>) -> Vec<Fault> {
        let mut state = self.state();
        let State { rules, rng, made } = &mut *state;
        *made.entry(call).or_default() += 1;
        let mut faults = Vec::new();
        for rule in rules.iter_mut().filter(|rule| rule.calls.contains(call, arm)) {
            rule.seen += 1;
            let fires = match rule.when {
                When::Always => true,
                When::Nth(n) => rule.seen == n,
                When::Chance(p) => rng.random_bool(p.clamp(0.0, 1.0)),
            };
            if fires {
                faults.push(rule.fault.clone());
            }
        }
        faults
    }

    async fn around<T>(
        &self,
        call: StoreCall,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        Self::suffering(self.faults(call, None), work).await
    }

    async fn suffering<T>(
        faults: Vec<Fault>,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let mut lost = None;
        for fault in faults {
            match fault {
                Fault::Refuse(error) => return Err(error),
                Fault::Lose(error) => lost = lost.or(Some(error)),
                Fault::Delay(by) => tokio::time::sleep(by).await,
            }
        }
        let answer = work.await?;
        lost.map_or(Ok(answer), Err)
    }
}

#[async_trait]
impl MemoryStore for FaultyStore {
    async fn prepare(&self, embedder: &EmbedderId) -> Result<(), StoreError> {
        self.around(StoreCall::Prepare, self.inner.prepare(embedder)).await
    }

    async fn append_events(&self, events: &[Event]) -> Result<(), StoreError> {
        self.around(StoreCall::AppendEvents, self.inner.append_events(events)).await
    }

    async fn events(&self, scope: &Scope, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        self.around(StoreCall::Events, self.inner.events(scope, trace)).await
    }

    async fn trace_events(&self, tenant: &TenantId, trace: &TraceId) -> Result<Vec<Event>, StoreError> {
        self.around(StoreCall::Events, self.inner.trace_events(tenant, trace)).await
    }

    async fn mark_open(&self, tasks: &[OpenTask]) -> Result<(), StoreError> {
        self.around(StoreCall::MarkOpen, self.inner.mark_open(tasks)).await
    }

    async fn clear_open(&self, tasks: &[(TenantId, TraceId)]) -> Result<(), StoreError> {
        self.around(StoreCall::ClearOpen, self.inner.clear_open(tasks)).await
    }

    async fn idle_tasks(&self, before: Timestamp, page: &PageRequest) -> Result<Page<OpenTask>, StoreError> {
        self.around(StoreCall::IdleTasks, self.inner.idle_tasks(before, page)).await
    }

    async fn upsert(&self, memories: &[Encoded<Memory>]) -> Result<(), StoreError> {
        self.around(StoreCall::Upsert, self.inner.upsert(memories)).await
    }

    async fn search(&self, viewer: &Viewer, search: &Search) -> Result<Vec<Candidate>, StoreError> {
        let faults = self.faults(StoreCall::Search, Some(search.arm.name()));
        Self::suffering(faults, self.inner.search(viewer, search)).await
    }

    async fn fetch(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        ids: &[CandidateId],
    ) -> Result<Vec<Fetched>, StoreError> {
        self.around(StoreCall::Fetch, self.inner.fetch(viewer, kind, ids)).await
    }

    async fn get(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        id: MemoryId,
    ) -> Result<Option<Memory>, StoreError> {
        self.around(StoreCall::Get, self.inner.get(viewer, kind, id)).await
    }

    async fn list(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        self.around(StoreCall::List, self.inner.list(viewer, kind, page)).await
    }

    async fn session_facts(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        span: Period,
        beside: usize,
    ) -> Result<Vec<Fact>, StoreError> {
        let facts = self.inner.session_facts(viewer, session, span, beside);
        self.around(StoreCall::SessionFacts, facts).await
    }

    async fn experience(&self, viewer: &Viewer, trace: &TraceId) -> Result<Option<Experience>, StoreError> {
        self.around(StoreCall::Experience, self.inner.experience(viewer, trace)).await
    }

    async fn put_evaluation_record(&self, record: &EvaluationRecord) -> Result<(), StoreError> {
        self.around(StoreCall::PutEvaluationRecord, self.inner.put_evaluation_record(record)).await
    }

    async fn evaluation_record(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<EvaluationRecord>, StoreError> {
        self.around(StoreCall::EvaluationRecord, self.inner.evaluation_record(viewer, trace)).await
    }

    async fn unfinished_evaluations(
        &self,
        viewer: &Viewer,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        self.around(StoreCall::UnfinishedEvaluations, self.inner.unfinished_evaluations(viewer, page)).await
    }

    async fn judged_runs(
        &self,
        tenant: &TenantId,
        judge: &str,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError> {
        self.around(StoreCall::JudgedRuns, self.inner.judged_runs(tenant, judge, page)).await
    }

    async fn put_former_verdicts(&self, former: &FormerVerdicts) -> Result<(), StoreError> {
        self.around(StoreCall::PutFormerVerdicts, self.inner.put_former_verdicts(former)).await
    }

    async fn former_verdicts(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<FormerVerdicts>, StoreError> {
        self.around(StoreCall::FormerVerdicts, self.inner.former_verdicts(viewer, trace)).await
    }

    async fn put_reevaluation(&self, reevaluation: &Reevaluation) -> Result<(), StoreError> {
        self.around(StoreCall::PutReevaluation, self.inner.put_reevaluation(reevaluation)).await
    }

    async fn reevaluation(
        &self,
        viewer: &Viewer,
        id: ReevaluationId,
    ) -> Result<Option<Reevaluation>, StoreError> {
        self.around(StoreCall::Reevaluation, self.inner.reevaluation(viewer, id)).await
    }

    async fn put_receipt(&self, receipt: &Receipt) -> Result<(), StoreError> {
        self.around(StoreCall::PutReceipt, self.inner.put_receipt(receipt)).await
    }

    async fn receipt(&self, viewer: &Viewer, id: ReceiptId) -> Result<Option<Receipt>, StoreError> {
        self.around(StoreCall::Receipt, self.inner.receipt(viewer, id)).await
    }

    async fn put_feedback(&self, feedback: &[Feedback]) -> Result<(), StoreError> {
        self.around(StoreCall::PutFeedback, self.inner.put_feedback(feedback)).await
    }

    async fn feedback(
        &self,
        viewer: &Viewer,
        receipt: ReceiptId,
        memories: &[MemoryId],
    ) -> Result<Vec<Feedback>, StoreError> {
        self.around(StoreCall::Feedback, self.inner.feedback(viewer, receipt, memories)).await
    }

    async fn expire_receipts(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.around(StoreCall::ExpireReceipts, self.inner.expire_receipts(before)).await
    }

    async fn append_evidence(&self, evidence: &[Evidence]) -> Result<(), StoreError> {
        self.around(StoreCall::AppendEvidence, self.inner.append_evidence(evidence)).await
    }

    async fn evidence(&self, viewer: &Viewer, memory: MemoryId) -> Result<Vec<Evidence>, StoreError> {
        self.around(StoreCall::Evidence, self.inner.evidence(viewer, memory)).await
    }

    async fn stats(&self, viewer: &Viewer) -> Result<StoreStats, StoreError> {
        self.around(StoreCall::Stats, self.inner.stats(viewer)).await
    }
}

#[cfg(test)]
mod tests;
