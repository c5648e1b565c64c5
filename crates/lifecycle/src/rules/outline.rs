use hindsight_types::{
    ActionType, Experience, Lesson, MemoryId, OutcomeStatus, Scope, Step, StepEvaluation, StepLabel,
    TaskType, Timestamp, TraceId,
};

use super::Reading;
use crate::goal::Goal;

/// Needed steps of a run that are looked at: the last.
const MOST_STEPS: usize = 100;

/// Tenant, visibility, task type, outcome, changes.
pub(super) type Alike<'a> = (String, String, &'a str, u8, &'a [String]);

/// What planning needs of a judged run. Small, so that those of a whole tenant fit in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    pub(super) experience: MemoryId,
    pub(super) trace_id: TraceId,
    pub(super) scope: Scope,
    pub(super) task_type: Option<TaskType>,
    pub(super) outcome: OutcomeStatus,
    pub(super) goal: Goal,
    pub(super) ended_at: Timestamp,
    pub(super) reads: u64,
    /// What each needed call was for, in order.
    pub(super) path: Vec<String>,
    /// What each needed change was for, in order; of a row of the same, one.
    pub(super) changes: Vec<String>,
    doubtful: bool,
}

impl Outline {
    /// Of a run that was not read.
    pub fn of(experience: &Experience, reading: &Reading) -> Self {
        let t = &experience.trajectory;
        let needed = needed(experience);
        let mut changes: Vec<String> =
            needed.iter().filter(|s| (reading.changes)(s)).map(|s| (reading.purpose)(s)).collect();
        changes.dedup();
        Self {
            experience: experience.id,
            trace_id: t.trace_id.clone(),
            scope: t.scope.clone(),
            task_type: t.task_type.clone(),
            outcome: experience.evaluation.outcome,
            goal: Goal::of(&t.task_description),
            ended_at: t.ended_at,
            reads: 0,
            path: needed.iter().map(|s| (reading.purpose)(s)).collect(),
            changes,
            doubtful: !experience.evaluation.contradictions.is_empty(),
        }
    }

    /// How often the run was given to somebody lately.
    #[must_use]
    pub fn read(self, reads: u64) -> Self {
        Self { reads, ..self }
    }

    pub fn experience(&self) -> MemoryId {
        self.experience
    }

    /// Whether a run can be part of a rule: it reached something, and nothing speaks against that.
    pub(super) fn counts(&self, now: Timestamp) -> bool {
        matches!(self.outcome, OutcomeStatus::Success | OutcomeStatus::Partial)
            && !self.doubtful
            && !self.path.is_empty()
            && self.ended_at <= now
    }

    /// What runs of one group have exactly alike.
    pub(super) fn bucket(&self) -> Alike<'_> {
        let Scope { tenant, visibility } = &self.scope;
        let task = self.task_type.as_ref().map_or("", TaskType::as_str);
        (tenant.to_string(), visibility.keyword(), task, self.outcome as u8, &self.changes)
    }

    /// The order of runs.
    pub(super) fn age(&self) -> (Timestamp, &TraceId) {
        (self.ended_at, &self.trace_id)
    }

    /// What makes the rule that is told by this run's goal the same rule when it is made again.
    pub(super) fn key(&self) -> String {
        let (_, visibility, task, outcome, changes) = self.bucket();
        let content = [task, &outcome.to_string(), &changes.join("\u{1e}"), &self.goal.key()].join("\u{1d}");
        format!("{}{}", Lesson::RULE, MemoryId::lesson(&self.scope.tenant, &visibility, &content))
    }

    pub(super) fn rule(&self) -> MemoryId {
        MemoryId::lesson(&self.scope.tenant, &self.scope.visibility.keyword(), &self.key())
    }
}

/// The calls that the conclusion needed.
pub(super) fn needed(experience: &Experience) -> Vec<&Step> {
    let all = labelled(experience, |label| label == StepLabel::Necessary);
    all[all.len().saturating_sub(MOST_STEPS)..].to_vec()
}

/// The changes that led nowhere.
pub(super) fn dead_ends<'a>(experience: &'a Experience, reading: &Reading) -> Vec<&'a Step> {
    let mut wrong = labelled(experience, |label| matches!(label, StepLabel::Failed | StepLabel::Misleading));
    wrong.retain(|step| (reading.changes)(step));
    wrong.truncate(MOST_STEPS);
    wrong
}

fn labelled(experience: &Experience, wanted: impl Fn(StepLabel) -> bool) -> Vec<&Step> {
    let pairs = experience.trajectory.steps.iter().zip(&experience.evaluation.steps);
    let is_call = |s: &Step| s.action_type == ActionType::ToolCall && !s.action_name.trim().is_empty();
    let wanted = |(step, verdict): &(&Step, &StepEvaluation)| is_call(step) && wanted(verdict.label);
    pairs.filter(wanted).map(|(step, _)| step).collect()
}
