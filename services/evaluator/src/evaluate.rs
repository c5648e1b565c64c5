//! From a complete run to what is kept of it. Pure.

use hindsight_ingest::{digest, entities};
use hindsight_judge::{Verdict, distil::distil};
use hindsight_types::{
    Evaluation, Experience, JudgedTrajectory, Memory, MemoryId, OutcomeStatus, Step, StepEvaluation,
    StepLabel, StepMemory, Timestamp, Trajectory,
};

/// What the text of a stored step holds of its arguments and of its result, in bytes.
const DETAIL_BYTES: usize = 300;
const OBSERVATION_BYTES: usize = 500;
/// Text that is searched for entities, per step.
const ENTITY_BYTES: usize = 2000;

/// What is kept of a run, given the verdict on its steps.
pub(crate) fn conclude(trajectory: Trajectory, verdict: Verdict, now: Timestamp) -> JudgedTrajectory {
    let mut evaluation = hindsight_judge::conclude(&trajectory, verdict, now);
    let distilled = distil(&trajectory, &evaluation, now);
    evaluation.rejected_lessons = distilled.rejected;
    JudgedTrajectory {
        trajectory,
        evaluation,
        lessons: distilled.lessons,
        failure_patterns: distilled.failure_patterns,
    }
}

/// The memories a judged run becomes: the experience with its observations digested, the steps that
/// mattered, lessons and failure patterns. The raw observations stay in the events. A step that mattered by
/// the `former` verdict is written as well, so that no memory keeps a label that was taken back.
pub(crate) fn memories(judged: JudgedTrajectory, former: Option<&Evaluation>) -> Vec<Memory> {
    let JudgedTrajectory { trajectory: t, evaluation, lessons, failure_patterns } = judged;
    let mattered = |s: &StepEvaluation| s.label != StepLabel::Redundant;
    let did = |at: usize| former.and_then(|f| f.steps.get(at)).is_some_and(mattered);
    let mut memories: Vec<Memory> = t
        .steps
        .iter()
        .zip(&evaluation.steps)
        .enumerate()
        .filter(|(at, (step, label))| !step.action_name.is_empty() && (mattered(label) || did(*at)))
        .map(|(_, (step, label))| Memory::Step(step_memory(&t, step, label, evaluation.outcome)))
        .collect();
    memories.extend(lessons.into_iter().map(Memory::Lesson));
    memories.extend(failure_patterns.into_iter().map(Memory::FailurePattern));
    memories.push(Memory::Experience(Box::new(Experience {
        id: MemoryId::experience(&t.scope.tenant, &t.trace_id),
        entities: names(&t, &evaluation.steps),
        // Counted by the store.
        supported: 0,
        refuted: 0,
        trajectory: digest::trajectory(t),
        evaluation,
    })));
    memories
}

fn step_memory(t: &Trajectory, step: &Step, label: &StepEvaluation, outcome: OutcomeStatus) -> StepMemory {
    let detail = digest::head_and_tail(&step.action_detail, DETAIL_BYTES);
    let observation = digest::observation(&step.observation, OBSERVATION_BYTES);
    StepMemory {
        id: MemoryId::step(&t.scope.tenant, &t.trace_id, step.step_index),
        scope: t.scope.clone(),
        trace_id: t.trace_id.clone(),
        step_index: step.step_index,
        action_name: step.action_name.clone(),
        text: format!("{detail}\n{observation}"),
        label: label.label,
        outcome,
        recorded_at: step.ended_at.or(step.started_at).unwrap_or(t.ended_at),
    }
}

/// Names in the goal and the conclusion, then in the calls that were needed.
fn names(t: &Trajectory, labels: &[StepEvaluation]) -> Vec<String> {
    let mut text = format!("{}\n{}", t.task_description, t.outcome.conclusion);
    for (step, _) in t.steps.iter().zip(labels).filter(|(_, l)| l.label == StepLabel::Necessary) {
        text.push('\n');
        text.push_str(&step.action_detail[..step.action_detail.floor_char_boundary(ENTITY_BYTES)]);
    }
    entities::extract(&text)
}
