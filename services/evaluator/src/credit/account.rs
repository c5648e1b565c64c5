//! What is needed of a judged run to tell what it says of memories.

use hindsight_judge::{credit, signature};
use hindsight_types::{
    Environment, Evidence, EvidenceId, EvidenceOrigin, Exposure, JudgedTrajectory, Memory, MemoryId,
    OutcomeStatus, ReceiptId, Scope, StepLabel, TaskType, Timestamp, TraceId, Verdict, Viewer,
};

use super::Line;

/// Errors of a run by which similar lessons are searched, and their longest, in characters.
const ERRORS: usize = 5;
const ERROR_CHARS: usize = 300;
const GOAL_CHARS: usize = 2_000;
/// The attribute under which a run may state how many tokens it took.
const TOKENS: &str = "tokens";

pub(crate) struct Account {
    pub(super) run: credit::Run,
    pub(super) trace_id: TraceId,
    pub(super) scope: Scope,
    /// Sees what its agent might have been given.
    pub(super) viewer: Viewer,
    pub(super) receipts: Vec<ReceiptId>,
    pub(super) task_type: Option<TaskType>,
    pub(super) environment: Environment,
    /// Its goal, and what went wrong.
    pub(super) sought: String,
    /// Lessons that it teaches.
    pub(super) learned: Vec<MemoryId>,
    /// It was judged before.
    pub(super) again: bool,
    pub(super) outcome: OutcomeStatus,
    steps: u32,
    tokens: u32,
    /// When it was judged: a later judgement counts more.
    pub(super) at: Timestamp,
}

impl Account {
    /// Takes as long as judging does for a large run. `again`: the run was judged before.
    pub(crate) fn of(judged: &JudgedTrajectory, again: bool) -> Self {
        let JudgedTrajectory { trajectory: t, evaluation, lessons, .. } = judged;
        let viewer = Viewer::of_scope(&t.scope);
        let user = viewer.user.clone().or_else(|| t.user.clone());
        let agent = viewer.agent.clone().or_else(|| t.agent.clone());
        let task_type = viewer.task_type.clone().or_else(|| t.task_type.clone());
        let stated = t.environment.attributes.get(TOKENS).and_then(|n| n.trim().parse().ok());
        Self {
            run: credit::Run::new(t, evaluation),
            trace_id: t.trace_id.clone(),
            scope: t.scope.clone(),
            viewer: viewer.with_user(user).with_agent(agent).with_task_type(task_type),
            receipts: t.receipts.clone(),
            task_type: t.task_type.clone(),
            environment: t.environment.clone(),
            sought: sought(judged),
            learned: lessons.iter().map(|lesson| lesson.id).collect(),
            again,
            outcome: evaluation.outcome,
            steps: u32::try_from(t.steps.len()).unwrap_or(u32::MAX),
            tokens: stated.unwrap_or(0),
            at: evaluation.evaluated_at,
        }
    }

    /// `scope`: that of what tells that the two met. What concerns one user stays with that user.
    pub(super) fn line(
        &self,
        memory: &Memory,
        scope: &Scope,
        (exposure, origin): (Exposure, EvidenceOrigin),
        verdict: Verdict,
    ) -> Line {
        let private = [memory.scope(), scope].into_iter().find(|s| s.user().is_some());
        let memory_id = memory.id();
        let evidence = Evidence {
            id: EvidenceId::of(memory_id, &self.scope.tenant, &self.trace_id),
            memory_id,
            scope: private.unwrap_or(&self.scope).clone(),
            trace_id: self.trace_id.clone(),
            verdict,
            exposure,
            origin,
            outcome: self.outcome,
            outcome_from: None,
            steps: self.steps,
            tokens: self.tokens,
            at: self.at,
        };
        Line { kind: memory.kind(), evidence }
    }
}

/// The goal of a run, and the first of its errors.
fn sought(judged: &JudgedTrajectory) -> String {
    let JudgedTrajectory { trajectory: t, evaluation, .. } = judged;
    let short = |text: &str, chars| hindsight_text::truncate_chars(text, chars).to_owned();
    let failed = t.steps.iter().zip(&evaluation.steps).filter(|(_, v)| v.label == StepLabel::Failed);
    let seen = t.steps.iter().filter_map(|s| signature::trouble(&s.observation));
    let mut errors: Vec<String> = failed
        .map(|(s, _)| signature::error_message(&s.observation))
        .chain(seen)
        .map(|e| short(&e, ERROR_CHARS))
        .collect();
    let mut known = std::collections::BTreeSet::new();
    errors.retain(|e| known.insert(e.clone()));
    errors.truncate(ERRORS);
    errors.insert(0, short(&t.task_description, GOAL_CHARS));
    errors.join("\n")
}
