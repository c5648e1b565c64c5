//! Lessons: in this situation, do this and not that, because of how it went.

use std::borrow::Cow;

use hindsight_types::{
    ActionType, Decision, Evaluation, Lesson, MemoryId, OutcomeStatus, Stage, StepLabel, Timestamp,
    Trajectory,
};

use crate::effect::{self, Effect, WriteKind};
use crate::{canon, signature};

use super::pattern::{self, Episode};
use super::phrase::{self, Judged};

/// Most lessons of one run.
const MOST: usize = 5;
/// Most rejected alternatives named in one lesson.
const REJECTED: usize = 4;

/// What a lesson is made of, before it is checked.
struct Draft<'a> {
    /// What was seen: an error message, or the trouble the run started from. The concrete condition.
    symptom: Cow<'a, str>,
    chosen: String,
    rejected: Vec<String>,
    rationale: String,
    advice: String,
    /// What makes it the same lesson in another run.
    key: String,
}

pub(super) fn lessons(
    t: &Trajectory,
    evaluation: &Evaluation,
    episodes: &[Episode<'_>],
    now: Timestamp,
) -> Vec<Lesson> {
    let path = of_path(t, evaluation);
    let told = path.as_ref().map(|p| p.rejected.clone()).unwrap_or_default();
    let solved = episodes.iter().filter(|e| !e.remedy.is_empty()).map(of_episode);
    let dead_ends =
        of_dead_ends(t, evaluation).into_iter().filter(|d| !d.rejected.iter().all(|r| told.contains(r)));
    let mut out: Vec<Lesson> = Vec::new();
    for draft in path.into_iter().chain(solved).chain(dead_ends) {
        if out.len() < MOST && is_concrete(&draft) {
            let lesson = finish(t, evaluation, draft, now);
            if out.iter().all(|l| l.id != lesson.id) {
                out.push(lesson);
            }
        }
    }
    out
}

/// The symptom a run started from, and the changes that ended it.
fn of_path<'a>(t: &'a Trajectory, evaluation: &'a Evaluation) -> Option<Draft<'a>> {
    if matches!(t.outcome.resolved(), OutcomeStatus::Failure | OutcomeStatus::Unknown) {
        return None;
    }
    let all: Vec<Judged<'a>> = phrase::judged(t, &evaluation.steps).collect();
    let writes: Vec<Judged<'a>> = all.iter().filter(|j| is_right(j, &all)).copied().collect();
    let first = writes.first()?;
    let symptom = all
        .iter()
        .take_while(|j| j.step.step_index < first.step.step_index)
        .filter(|j| is(j, StepLabel::Necessary) && j.step.action_type == ActionType::ToolCall)
        .filter_map(|j| signature::trouble(&j.step.observation))
        .last()
        .unwrap_or(Cow::Borrowed(&t.task_description));
    let last: Vec<Judged<'a>> = writes.iter().rev().take(3).rev().copied().collect();
    let chosen = pattern::steps(&last);
    let rejected = rejected(&all);
    let avoid = rejected.first().map(|first| format!(" Skip {first}: it did not help.")).unwrap_or_default();
    Some(Draft {
        advice: format!("{}: {chosen}.{avoid}", condition(&symptom, t)),
        rationale: first.verdict.rationale.clone(),
        key: format!("path\u{1f}{}\u{1f}{}", signature::error_signature(&symptom), tools(&last)),
        symptom,
        chosen,
        rejected,
    })
}

/// A failure that the run got past.
fn of_episode<'a>(e: &Episode<'a>) -> Draft<'a> {
    let chosen = pattern::steps(&e.remedy);
    Draft {
        symptom: e.message.clone(),
        advice: format!(
            "When {} answers \"{}\": {chosen}.",
            e.tool,
            phrase::short(&signature::undated(&e.message), 160)
        ),
        rationale: e.remedy.last().map(|j| j.verdict.rationale.clone()).unwrap_or_default(),
        rejected: vec![phrase::call(e.failed.step, 160)],
        key: format!("failure\u{1f}{}\u{1f}{}\u{1f}{}", e.tool, e.signature, tools(&e.remedy)),
        chosen,
    }
}

/// A change that proved wrong, with what took its place.
fn of_dead_ends<'a>(t: &'a Trajectory, evaluation: &'a Evaluation) -> Vec<Draft<'a>> {
    let all: Vec<Judged<'a>> = phrase::judged(t, &evaluation.steps).collect();
    let mut drafts = Vec::new();
    for (at, wrong) in all.iter().enumerate() {
        if drafts.len() == MOST {
            break;
        }
        // In a run that failed every change is suspect; only what was taken back or contradicted teaches.
        if !is(wrong, StepLabel::Misleading) || !writes(wrong) || wrong.verdict.confidence < 0.75 {
            continue;
        }
        // What was right came later, or had been done already, so that once more was too much.
        let earlier = || {
            all[..at].iter().rev().find(|j| j.step.action_name == wrong.step.action_name && is_right(j, &all))
        };
        let Some(right) = all[at + 1..].iter().find(|j| is_right(j, &all)).or_else(earlier) else { continue };
        let symptom = all[..at].iter().rev().find_map(|j| signature::trouble(&j.step.observation));
        let symptom = symptom.unwrap_or(Cow::Borrowed(&t.task_description));
        let (chosen, avoided) = (phrase::call(right.step, 160), phrase::call(wrong.step, 160));
        let why = &wrong.verdict.rationale;
        drafts.push(Draft {
            advice: format!("{}: {chosen}, not {avoided} ({why}).", condition(&symptom, t)),
            symptom,
            rationale: why.clone(),
            key: format!("dead_end\u{1f}{}\u{1f}{}", wrong.step.action_name, right.step.action_name),
            chosen,
            rejected: vec![avoided],
        });
    }
    drafts
}

/// A needed change that is part of the way, and not the mere removal of what the run itself had made.
fn is_right(j: &Judged<'_>, all: &[Judged<'_>]) -> bool {
    let kind = |j: &Judged<'_>| effect::classify(j.step);
    let made = |i: &u32| all.get(*i as usize).is_some_and(|d| kind(d) == Effect::Write(WriteKind::Create));
    let removal = kind(j) == Effect::Write(WriteKind::Delete) && j.verdict.depends_on.iter().any(made);
    is(j, StepLabel::Necessary) && writes(j) && !removal
}

/// When the advice applies: what one sees, or, where nothing was seen, the task.
fn condition(symptom: &str, t: &Trajectory) -> String {
    if symptom == t.task_description {
        return format!("For a task like \"{}\"", phrase::short(symptom, 160));
    }
    format!("When you see \"{}\"", phrase::short(&signature::undated(symptom), 160))
}

fn is(j: &Judged<'_>, label: StepLabel) -> bool {
    j.verdict.label == label
}

fn writes(j: &Judged<'_>) -> bool {
    j.step.action_type == ActionType::ToolCall && effect::classify(j.step).is_write()
}

/// Changes that failed, misled or did nothing.
fn rejected(all: &[Judged<'_>]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for j in all.iter().filter(|j| !is(j, StepLabel::Necessary) && writes(j)) {
        let call = phrase::call(j.step, 120);
        if out.len() < REJECTED && !out.contains(&call) {
            out.push(call);
        }
    }
    out
}

fn tools(path: &[Judged<'_>]) -> String {
    path.iter().map(|j| j.step.action_name.as_str()).collect::<Vec<_>>().join(",")
}

/// A lesson needs a condition one can recognise and an action one can take.
fn is_concrete(draft: &Draft<'_>) -> bool {
    let condition = signature::normalise(&draft.symptom);
    let says_something = condition.chars().filter(|c| c.is_alphabetic()).count() >= 4;
    let acts = draft.chosen.contains('(') || draft.chosen.contains(' ');
    says_something && acts && draft.rejected.iter().all(|r| *r != draft.chosen)
}

fn finish(t: &Trajectory, evaluation: &Evaluation, draft: Draft<'_>, now: Timestamp) -> Lesson {
    let visibility = t.scope.visibility.keyword();
    let task = t.task_type.as_ref().map_or("", |k| k.as_str());
    let content_key = canon::hash_of((task, &draft.key));
    let symptom = phrase::short(&signature::undated(&draft.symptom), 300);
    let goal = phrase::short(&t.task_description, 300);
    let situation = if symptom == goal { goal } else { format!("{goal} Seen: {symptom}") };
    Lesson {
        id: MemoryId::lesson(&t.scope.tenant, &visibility, &format!("{content_key:016x}")),
        scope: t.scope.clone(),
        situation,
        advice: draft.advice,
        applicability: String::new(),
        basis: Decision { chosen: draft.chosen, rejected: draft.rejected, rationale: draft.rationale },
        result: result(t),
        task_type: t.task_type.clone(),
        environment: t.environment.clone(),
        entities: Vec::new(),
        stage: Stage::Candidate,
        source_outcome: evaluation.outcome,
        sources: vec![t.trace_id.clone()],
        supported: 0,
        refuted: 0,
        created_at: now,
        last_supported_at: t.ended_at.min(now),
    }
}

fn result(t: &Trajectory) -> String {
    let evidence =
        t.outcome.evidence.iter().min_by_key(|e| e.source).map(|e| e.detail.as_str()).unwrap_or_default();
    let conclusion = if evidence.is_empty() { &t.outcome.conclusion } else { evidence };
    let status = phrase::status(t.outcome.resolved(), false);
    if conclusion.trim().is_empty() {
        status.to_owned()
    } else {
        format!("{status}: {}", phrase::short(conclusion, 200))
    }
}
