//! What each record shows of itself in the open, and under which key it is kept.

use hindsight_codec::RecordBody;
use hindsight_text::entity_key;
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, EventBody, EventId, Evidence, FactStatus, Feedback,
    FormerVerdicts, Memory, MemoryId, MemoryVersion, MergeState, MovedRecord, OpenTask, OutcomeStatus,
    Receipt, ReceiptId, Reevaluation, Review, ReviewDecision, Scope, Stage, SubjectMerge, TraceId, Verdict,
    Viewer,
};
use uuid::Uuid;

use crate::{collection::Collection, field, fields::Fields, upkeep::goal_key};

/// A record that the store keeps.
pub(crate) trait Stored: Sized {
    fn collection(&self) -> Collection;
    fn scope(&self) -> &Scope;
    /// Unique within the tenant.
    fn key(&self) -> Uuid;
    /// What is filtered and sorted on.
    fn fields(&self, fields: &mut Fields);
    fn to_body(&self) -> RecordBody;
    /// `None`: a record of another kind.
    fn from_body(body: RecordBody) -> Option<Self>;

    fn is_visible_to(&self, viewer: &Viewer) -> bool {
        viewer.may_see(self.scope())
    }
}

/// Under which key the state of a trace's evaluation is kept.
pub(crate) fn evaluation_key(tenant: &hindsight_types::TenantId, trace: &hindsight_types::TraceId) -> Uuid {
    EventId::derived(tenant, trace, "evaluation").0
}

/// Under which key the former verdicts of a trace are kept.
pub(crate) fn former_key(tenant: &hindsight_types::TenantId, trace: &hindsight_types::TraceId) -> Uuid {
    EventId::derived(tenant, trace, "former verdicts").0
}

/// Under which key it is kept what was said of a memory of a receipt.
pub(crate) fn feedback_key(receipt: ReceiptId, memory: MemoryId) -> Uuid {
    Uuid::new_v5(&receipt.0, memory.0.as_bytes())
}

/// Under which key it is kept that a task is under way.
pub(crate) fn open_key(tenant: &hindsight_types::TenantId, trace: &hindsight_types::TraceId) -> Uuid {
    EventId::derived(tenant, trace, "open").0
}

macro_rules! body {
    ($variant:ident) => {
        fn scope(&self) -> &Scope {
            &self.scope
        }

        fn to_body(&self) -> RecordBody {
            RecordBody::$variant(self.clone())
        }

        fn from_body(body: RecordBody) -> Option<Self> {
            match body {
                RecordBody::$variant(record) => Some(record),
                _ => None,
            }
        }
    };
}

impl Stored for Event {
    body!(Event);

    fn collection(&self) -> Collection {
        Collection::Events
    }

    fn key(&self) -> Uuid {
        self.event_id.0
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::TRACE_ID, self.trace_id.as_str());
        fields.time(field::RECORDED_AT, self.recorded_at);
        match &self.body {
            EventBody::Started(started) => {
                fields.id(field::SESSION, started.session.as_ref());
                fields.id(field::USER, started.user.as_ref());
            }
            EventBody::Step(step) => fields.integer(field::STEP_INDEX, step.step_index.into()),
            EventBody::Completed(_) => {}
            EventBody::Span(span) => fields.id(field::SESSION, span.task.session.as_ref()),
        }
    }
}

impl Stored for EvaluationRecord {
    body!(Evaluation);

    fn collection(&self) -> Collection {
        Collection::Evaluations
    }

    fn key(&self) -> Uuid {
        evaluation_key(&self.scope.tenant, &self.trace_id)
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::TRACE_ID, self.trace_id.as_str());
        fields.text(field::STATE, state(&self.state));
        fields.text(field::JUDGE, &self.judge);
        fields.time(field::UPDATED_AT, self.updated_at);
    }
}

// The next two stand beside the states of evaluations and have none, so that no list of states shows them.

impl Stored for FormerVerdicts {
    body!(FormerVerdicts);

    fn collection(&self) -> Collection {
        Collection::Evaluations
    }

    fn key(&self) -> Uuid {
        former_key(&self.scope.tenant, &self.trace_id)
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::TRACE_ID, self.trace_id.as_str());
        if let Some(newest) = self.verdicts.first() {
            fields.time(field::UPDATED_AT, newest.evaluated_at);
        }
    }
}

impl Stored for Reevaluation {
    body!(Reevaluation);

    fn collection(&self) -> Collection {
        Collection::Evaluations
    }

    fn key(&self) -> Uuid {
        self.id.0
    }

    fn fields(&self, fields: &mut Fields) {
        fields.time(field::UPDATED_AT, self.updated_at);
    }
}

impl Stored for OpenTask {
    body!(OpenTask);

    fn collection(&self) -> Collection {
        Collection::OpenTasks
    }

    fn key(&self) -> Uuid {
        open_key(&self.scope.tenant, &self.trace_id)
    }

    fn fields(&self, fields: &mut Fields) {
        fields.time(field::TOUCHED_AT, self.touched_at);
    }
}

impl Stored for Receipt {
    body!(Receipt);

    fn collection(&self) -> Collection {
        Collection::Receipts
    }

    fn key(&self) -> Uuid {
        self.id.0
    }

    fn fields(&self, fields: &mut Fields) {
        let injected: Vec<String> = self.injected.iter().map(|item| item.memory_id.to_string()).collect();
        fields.texts(field::INJECTED, &injected);
        fields.time(field::AT, self.at);
    }
}

impl Stored for Feedback {
    body!(Feedback);

    fn collection(&self) -> Collection {
        Collection::Receipts
    }

    fn key(&self) -> Uuid {
        feedback_key(self.receipt_id, self.memory_id)
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::MEMORY_ID, &self.memory_id.to_string());
        fields.time(field::AT, self.at);
    }
}

impl Stored for Evidence {
    body!(Evidence);

    fn collection(&self) -> Collection {
        Collection::Evidence
    }

    fn key(&self) -> Uuid {
        self.id.0
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::MEMORY_ID, &self.memory_id.to_string());
        fields.text(field::TRACE_ID, self.trace_id.as_str());
        fields.text(field::VERDICT, verdict(self.verdict));
        fields.time(field::AT, self.at);
    }
}

// Beside the lines about the same memory; without a verdict, so that no count takes it for one.
impl Stored for Review {
    body!(Review);

    fn collection(&self) -> Collection {
        Collection::Evidence
    }

    fn key(&self) -> Uuid {
        self.id.0
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::MEMORY_ID, &self.memory_id.to_string());
        fields.text(field::DECISION, decision(self.decision));
        fields.time(field::AT, self.at);
    }
}

impl Stored for Memory {
    fn collection(&self) -> Collection {
        Collection::of(self.kind())
    }

    fn scope(&self) -> &Scope {
        self.scope()
    }

    fn key(&self) -> Uuid {
        self.id().0
    }

    fn fields(&self, fields: &mut Fields) {
        match self {
            Self::Fact(m) => {
                fields.id(field::USER, m.scope.user());
                fields.text(field::STATUS, status(m.status));
                fields.text(field::INTENT, &m.intent);
                fields.text(field::TYPE, m.fact_type.as_str());
                fields.id(field::SESSION, m.session.as_ref());
                fields.time(field::RETAINED_AT, m.retained_at);
                fields.texts(field::ENTITIES, &keys(&m.entities));
                fields.time(field::OCCURRED_AT, m.occurred_at);
                if let Some(at) = m.expires_at {
                    fields.time(field::EXPIRES_AT, at);
                }
            }
            Self::Experience(m) => {
                let t = &m.trajectory;
                fields.text(field::TRACE_ID, t.trace_id.as_str());
                fields.id(field::USER, t.user.as_ref());
                fields.id(field::AGENT, t.agent.as_ref());
                fields.id(field::TASK_TYPE, t.task_type.as_ref());
                if t.task_type.is_none() {
                    fields.text(field::GOAL, &goal_key(&t.task_description));
                }
                fields.texts(field::ENVIRONMENT, &t.environment.tags);
                fields.text(field::OUTCOME, outcome(m.evaluation.outcome));
                fields.flag(field::WORTH_REFERENCE, m.evaluation.worth_reference);
                fields.texts(field::ENTITIES, &keys(&m.entities));
                fields.time(field::ENDED_AT, t.ended_at);
            }
            Self::Lesson(m) => {
                fields.id(field::USER, m.scope.user());
                fields.id(field::TASK_TYPE, m.task_type.as_ref());
                fields.text(field::STAGE, stage(m.stage));
                fields.texts(field::ENVIRONMENT, &m.environment.tags);
                fields.texts(field::ENTITIES, &keys(&m.entities));
                fields.texts(field::SOURCES, &names(&m.sources));
                fields.time(field::CREATED_AT, m.created_at);
            }
            Self::FailurePattern(m) => {
                fields.text(field::ACTION_NAME, &m.action_name);
                fields.texts(field::ENVIRONMENT, &m.environment.tags);
                fields.texts(field::SOURCES, &names(&m.sources));
                fields.time(field::LAST_SEEN, m.last_seen);
            }
            Self::Step(m) => {
                fields.text(field::TRACE_ID, m.trace_id.as_str());
                fields.integer(field::STEP_INDEX, m.step_index.into());
                fields.text(field::STEP_EVALUATION, m.label.as_str());
                fields.text(field::ACTION_NAME, &m.action_name);
                fields.text(field::OUTCOME, outcome(m.outcome));
                fields.time(field::RECORDED_AT, m.recorded_at);
            }
        }
    }

    fn to_body(&self) -> RecordBody {
        RecordBody::Memory(self.clone())
    }

    fn from_body(body: RecordBody) -> Option<Self> {
        match body {
            RecordBody::Memory(memory) => Some(memory),
            // To be given a vector, like one that is searched.
            RecordBody::Archived(archived) => Some(archived.memory),
            _ => None,
        }
    }

    /// A fact is only ever for the very user it is about.
    fn is_visible_to(&self, viewer: &Viewer) -> bool {
        let own = !matches!(self, Self::Fact(_)) || self.scope().user().is_some();
        own && viewer.may_see(self.scope())
    }
}

impl Stored for SubjectMerge {
    body!(SubjectMerge);

    fn collection(&self) -> Collection {
        Collection::Merges
    }

    fn key(&self) -> Uuid {
        Self::key(&self.scope.tenant, &self.from)
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::STATE, merge_state(self.state));
        fields.texts(field::USER, &[self.from.to_string(), self.to.to_string()]);
        fields.time(field::AT, self.merged_at);
        fields.time(field::TOUCHED_AT, self.undone_at.unwrap_or(self.merged_at));
    }
}

// Stands beside the merges and has no state, so that no list of merges shows it.

impl Stored for MovedRecord {
    body!(Moved);

    fn collection(&self) -> Collection {
        Collection::Merges
    }

    fn key(&self) -> Uuid {
        self.key()
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::MERGE, &self.merge.to_string());
        fields.text(field::TYPE, self.moved.kind());
        fields.time(field::AT, self.merged_at);
    }
}

impl Stored for MemoryVersion {
    fn collection(&self) -> Collection {
        Collection::Versions
    }

    fn scope(&self) -> &Scope {
        self.0.scope()
    }

    fn key(&self) -> Uuid {
        self.0.version().map_or(self.0.id().0, |version| version.key(self.0.id()))
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::MEMORY_ID, &self.0.id().to_string());
        let revision = self.0.revision();
        let learned = match &self.0 {
            Memory::Fact(m) => m.retained_at,
            Memory::Lesson(m) => m.created_at,
            Memory::Experience(m) => m.trajectory.ended_at,
            Memory::FailurePattern(m) => m.first_seen,
            Memory::Step(m) => m.recorded_at,
        };
        fields.time(field::AT, revision.map_or(learned, |r| r.at));
        fields.text(field::REQUEST_ID, revision.map_or("", |r| &r.request_id));
    }

    fn to_body(&self) -> RecordBody {
        RecordBody::Version(self.bare())
    }

    fn from_body(body: RecordBody) -> Option<Self> {
        match body {
            RecordBody::Version(version) => Some(version),
            _ => None,
        }
    }

    fn is_visible_to(&self, viewer: &Viewer) -> bool {
        self.0.is_visible_to(viewer)
    }
}

/// Names as they are looked for. Records written before may show them as they were given.
fn keys(names: &[String]) -> Vec<String> {
    let mut keys: Vec<String> = names.iter().map(|name| entity_key(name)).collect();
    keys.retain(|key| !key.is_empty());
    keys
}

fn names(traces: &[TraceId]) -> Vec<String> {
    traces.iter().map(ToString::to_string).collect()
}

// Keywords at rest.

pub(crate) const OBSOLETE: &str = "obsolete";
pub(crate) const WAITING: &str = "waiting";
pub(crate) const FAILED: &str = "failed";
pub(crate) const JUDGED: &str = "judged";

pub(crate) fn status(status: FactStatus) -> &'static str {
    match status {
        FactStatus::Open => "open",
        FactStatus::Resolved => "resolved",
        FactStatus::Obsolete => OBSOLETE,
    }
}

pub(crate) fn merge_state(state: MergeState) -> &'static str {
    match state {
        MergeState::Merging => "merging",
        MergeState::Merged => "merged",
        MergeState::Closed => "closed",
        MergeState::Undoing => "undoing",
        MergeState::Undone => "undone",
    }
}

pub(crate) fn outcome(status: OutcomeStatus) -> &'static str {
    match status {
        OutcomeStatus::Success => "success",
        OutcomeStatus::Partial => "partial",
        OutcomeStatus::Failure => "failure",
        OutcomeStatus::Unknown => "unknown",
    }
}

/// Those of reviews.
pub(crate) const DECISIONS: [&str; 2] = ["approved", "rejected"];

fn decision(decision: ReviewDecision) -> &'static str {
    match decision {
        ReviewDecision::Approved => DECISIONS[0],
        ReviewDecision::Rejected => DECISIONS[1],
    }
}

pub(crate) fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Candidate => "candidate",
        Stage::Canary => "canary",
        Stage::Active => "active",
        Stage::Retired => "retired",
    }
}

fn state(state: &EvaluationState) -> &'static str {
    match state {
        EvaluationState::Waiting { .. } => WAITING,
        EvaluationState::Judged => JUDGED,
        EvaluationState::Skipped { .. } => "skipped",
        EvaluationState::Failed { .. } => FAILED,
    }
}

pub(crate) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => "supported",
        Verdict::Refuted => "refuted",
        Verdict::Ignored => "ignored",
    }
}
