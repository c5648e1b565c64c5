//! A judged run in two layers: what came of it, then the steps to follow and those to avoid.

use std::collections::BTreeSet;

use hindsight_text::{overlap, token_set};
use hindsight_types::{ActionType, Experience, OutcomeStatus, Step, StepEvaluation};

use super::{
    Language, calls,
    entry::{Entry, StepLine, Steps},
    item::{LONG, NAME},
    quote,
    words::Key,
};
use crate::experience::{dead_ends, path};

/// How much is told of a run.
pub(super) struct Depth {
    /// Most steps of a path; the middle of a longer one is left out.
    steps: usize,
    dead_ends: usize,
    /// Characters of what a step did.
    input: usize,
    /// Characters of what came back or of a reason. 0: not told.
    detail: usize,
}

/// The richest first.
pub(super) const DEPTHS: [Depth; 6] = [
    Depth { steps: 12, dead_ends: 4, input: 200, detail: 120 },
    Depth { steps: 8, dead_ends: 3, input: 160, detail: 100 },
    Depth { steps: 5, dead_ends: 2, input: 120, detail: 80 },
    Depth { steps: 3, dead_ends: 1, input: 120, detail: 80 },
    Depth { steps: 4, dead_ends: 1, input: 60, detail: 0 },
    Depth { steps: 0, dead_ends: 0, input: 0, detail: 0 },
];

/// The first of `DEPTHS` that is a summary rather than a path to follow.
pub(super) const BRIEF: usize = 4;

/// Characters of a summary.
const SUMMARY: usize = 400;
/// A summary whose words are to this share those of the run itself adds nothing to its steps.
const RETOLD: f32 = 0.8;
/// Contradictions told.
const CONTRADICTIONS: usize = 2;
/// Below this an outcome is called uncertain.
const UNCERTAIN: f32 = 0.5;

pub(super) fn describe(experience: &Experience, depth: &Depth, language: Language, entry: &mut Entry) {
    let trajectory = &experience.trajectory;
    entry.text(Key::Task, quote(&trajectory.task_description, LONG / 2));
    let conclusion = &trajectory.outcome.conclusion;
    entry.text(Key::Result, quote(conclusion, LONG));
    let summary = &experience.evaluation.summary;
    if conclusion.trim().is_empty() || !is_retold(summary, experience) {
        entry.text(Key::Summary, quote(summary, SUMMARY));
    }
    let key = match experience.evaluation.outcome {
        OutcomeStatus::Failure => Key::Found,
        OutcomeStatus::Unknown => Key::Done,
        OutcomeStatus::Success | OutcomeStatus::Partial => Key::Path,
    };
    let mut steps = path(experience);
    // What the run concluded is its result.
    if steps.last().is_some_and(|last| states_conclusion(last, experience)) {
        steps.pop();
    }
    let in_vain = |(step, verdict): &(&Step, &StepEvaluation)| in_vain(step, verdict, depth, language);
    let dead_ends = dead_ends(experience);
    // Of a run that failed, what it tried comes first and has the room of a path.
    if key == Key::Found {
        entry.steps(Key::Tried, some(&dead_ends, depth.steps, in_vain));
        entry.steps(key, some(&steps, depth.dead_ends, |step| done(step, depth)));
    } else {
        entry.steps(key, some(&steps, depth.steps, |step| done(step, depth)));
        entry.steps(Key::DeadEnds, some(&dead_ends, depth.dead_ends, in_vain));
    }
}

pub(super) fn cautions(experience: &Experience, language: Language) -> Vec<String> {
    let evaluation = &experience.evaluation;
    let mut cautions = Vec::new();
    if evaluation.outcome != OutcomeStatus::Unknown && evaluation.outcome_confidence < UNCERTAIN {
        cautions.push(language.unsure_outcome(evaluation.outcome_confidence));
    }
    let told = evaluation.contradictions.iter().take(CONTRADICTIONS);
    cautions.extend(told.map(|c| language.contradicted(&quote(c, SUMMARY / 2))));
    cautions
}

fn states_conclusion(step: &Step, experience: &Experience) -> bool {
    let trajectory = &experience.trajectory;
    let is_last = trajectory.steps.iter().all(|s| s.step_index <= step.step_index);
    is_last
        && step.action_type == ActionType::LlmReasoning
        && !trajectory.outcome.conclusion.trim().is_empty()
}

/// True for a summary that strings together pieces of the run.
fn is_retold(summary: &str, experience: &Experience) -> bool {
    let trajectory = &experience.trajectory;
    let mut run: BTreeSet<String> = token_set(&trajectory.task_description);
    run.extend(token_set(&trajectory.outcome.conclusion));
    for step in &trajectory.steps {
        run.extend(token_set(&step.action_name));
        run.extend(token_set(&step.action_detail));
        run.extend(token_set(&step.observation));
    }
    for verdict in &experience.evaluation.steps {
        run.extend(token_set(&verdict.rationale));
    }
    overlap(&token_set(summary), &run) >= RETOLD
}

/// At most `most` of the steps: the first and the last ones.
fn some<T>(steps: &[T], most: usize, line: impl Fn(&T) -> StepLine) -> Steps {
    if steps.len() <= most {
        return Steps { shown: steps.iter().map(line).collect(), left_out: 0, gap: steps.len() };
    }
    let (first, last) = (most.div_ceil(2), most / 2);
    let shown = steps[..first].iter().chain(&steps[steps.len() - last..]).map(line).collect();
    Steps { shown, left_out: steps.len() - most, gap: first }
}

fn done(step: &Step, depth: &Depth) -> StepLine {
    let called = step.action_type == ActionType::ToolCall;
    let decision = step.decision.as_ref();
    let because = decision.map_or("", |d| &d.rationale);
    let rejected = decision.map(|d| d.rejected.join(", ")).unwrap_or_default();
    StepLine {
        result: if called { quote(&step.observation, depth.detail) } else { String::new() },
        rejected: quote(&rejected, depth.detail),
        because: quote(because, depth.detail),
        ..acted(step, depth)
    }
}

fn in_vain(step: &Step, verdict: &StepEvaluation, depth: &Depth, language: Language) -> StepLine {
    StepLine {
        verdict: language.verdict(verdict.label),
        reason: quote(&verdict.rationale, depth.detail),
        ..acted(step, depth)
    }
}

fn acted(step: &Step, depth: &Depth) -> StepLine {
    let called = step.action_type == ActionType::ToolCall;
    StepLine {
        index: step.step_index,
        tool: if called { quote(&step.action_name, NAME) } else { String::new() },
        input: quote(&calls::plain(&step.action_detail), depth.input),
        ..StepLine::default()
    }
}
