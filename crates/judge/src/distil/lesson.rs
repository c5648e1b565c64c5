//! Lessons: in this situation, do this and not that, because of how it went.

use std::borrow::Cow;

use hindsight_types::{
    ActionType, Decision, Evaluation, Lesson, MemoryId, OutcomeStatus, RejectedLesson, Stage, StepLabel,
    Timestamp, Trajectory, limits,
};

use crate::credit::Context;
use crate::effect::{self, Effect, WriteKind};
use crate::{canon, signature};

use super::pattern::{self, Episode};
use super::phrase::{self, Judged};
use super::wording::Wording;
use super::worth::{self, Claim};

/// Most lessons of one run.
pub(super) const MOST: usize = 5;
/// Most rejected alternatives named in one lesson.
pub(super) const REJECTED: usize = 4;
/// Most advice that is listed as not kept.
pub(super) const REFUSED: usize = 20;

/// What a lesson is made of, before it is checked.
pub(super) struct Draft<'a> {
    /// What was seen: an error message, or the trouble the run started from. The concrete condition.
    pub(super) symptom: Cow<'a, str>,
    pub(super) chosen: String,
    pub(super) rejected: Vec<String>,
    pub(super) rationale: String,
    pub(super) advice: String,
    /// What makes it the same lesson in another run.
    pub(super) key: String,
    /// The tools that it is about.
    pub(super) tools: String,
    /// It is the call that had failed, made again.
    pub(super) again: bool,
}

impl Draft<'_> {
    fn lacks(&self, t: &Trajectory) -> Option<&'static str> {
        worth::lacks(&Claim {
            condition: &self.symptom,
            chosen: &self.chosen,
            rejected: &self.rejected,
            task: &t.task_description,
            task_is_condition: self.symptom == t.task_description,
            again: self.again,
        })
    }
}

/// What is kept, and what is not, with the reason.
pub(super) fn lessons(
    t: &Trajectory,
    evaluation: &Evaluation,
    episodes: &[Episode<'_>],
    now: Timestamp,
) -> (Vec<Lesson>, Vec<RejectedLesson>) {
    let (wording, seen) = (Wording::of(t), Context::of(t));
    let path = of_path(t, evaluation, wording, &seen);
    let told = path.as_ref().map(|p| p.rejected.clone()).unwrap_or_default();
    let solved = episodes.iter().filter(|e| !e.remedy.is_empty()).map(|e| of_episode(e, wording, &seen));
    let dead_ends = of_dead_ends(t, evaluation, wording, &seen)
        .into_iter()
        .filter(|d| !d.rejected.iter().all(|r| told.contains(r)));
    let (mut kept, mut refused): (Vec<Lesson>, Vec<RejectedLesson>) = (Vec::new(), Vec::new());
    for draft in path.into_iter().chain(solved).chain(dead_ends) {
        if let Some(reason) = worth::doubt(evaluation).or_else(|| draft.lacks(t).map(str::to_owned)) {
            refused.push(RejectedLesson { text: draft.advice, reason });
            continue;
        }
        let lesson = finish(t, evaluation, draft, wording, now);
        if kept.iter().any(|l| l.id == lesson.id) {
            continue;
        }
        if kept.len() == MOST {
            let reason = format!("the run has {MOST} lessons already");
            refused.push(RejectedLesson { text: lesson.advice, reason });
        } else {
            kept.push(lesson);
        }
    }
    if kept.is_empty() && refused.is_empty() {
        refused.push(nothing(t, evaluation));
    }
    refused.truncate(REFUSED);
    (kept, refused)
}

/// Why a run has nothing to teach.
fn nothing(t: &Trajectory, evaluation: &Evaluation) -> RejectedLesson {
    let changed = phrase::judged(t, &evaluation.steps).any(|j| is(&j, StepLabel::Necessary) && writes(&j));
    let reason = match (evaluation.outcome, changed) {
        (OutcomeStatus::Unknown, true) => "nobody knows how the run ended, so what it did cannot be advised",
        (OutcomeStatus::Failure, _) => "the run failed and got past none of its failures, so it shows no way",
        (_, true) => "what it changed was undone or taken away again",
        (_, false) => "it changed nothing and got past no failure, so there is nothing to advise",
    };
    RejectedLesson { text: phrase::short(&t.task_description, 160), reason: reason.to_owned() }
}

/// The symptom a run started from, and the changes that ended it.
fn of_path<'a>(
    t: &'a Trajectory,
    evaluation: &'a Evaluation,
    wording: Wording,
    seen: &Context,
) -> Option<Draft<'a>> {
    if matches!(evaluation.outcome, OutcomeStatus::Failure | OutcomeStatus::Unknown) {
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
    let chosen = pattern::steps(&last, wording);
    let mut rejected = rejected(&all);
    // What failed at first and was part of the way later is not to be left out.
    rejected.retain(|r| last.iter().all(|j| phrase::call(j.step, 120) != *r));
    Some(Draft {
        advice: wording.advice(&wording.condition(&symptom, t), &chosen, rejected.first()),
        rationale: first.verdict.rationale.clone(),
        key: format!("path\u{1f}{}\u{1f}{}", signature::error_signature(&symptom), deeds(&last, seen)),
        tools: tools(&last),
        again: false,
        symptom,
        chosen,
        rejected,
    })
}

/// A failure that the run got past.
fn of_episode<'a>(e: &Episode<'a>, wording: Wording, seen: &Context) -> Draft<'a> {
    let chosen = pattern::steps(&e.remedy, wording);
    let failed = phrase::call(e.failed.step, 160);
    let same = |j: &Judged<'_>| {
        j.step.action_name == e.failed.step.action_name && j.step.action_detail == e.failed.step.action_detail
    };
    Draft {
        symptom: e.message.clone(),
        advice: wording.advice(&wording.answers(e.tool, &e.message), &chosen, None),
        rationale: e.remedy.last().map(|j| j.verdict.rationale.clone()).unwrap_or_default(),
        rejected: vec![failed],
        key: format!("failure\u{1f}{}\u{1f}{}\u{1f}{}", e.tool, e.signature, deeds(&e.remedy, seen)),
        tools: e.tool.to_owned(),
        again: matches!(e.remedy.as_slice(), [only] if same(only)),
        chosen,
    }
}

/// A change that proved wrong, with what took its place.
fn of_dead_ends<'a>(
    t: &'a Trajectory,
    evaluation: &'a Evaluation,
    wording: Wording,
    seen: &Context,
) -> Vec<Draft<'a>> {
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
            advice: wording.instead(&wording.condition(&symptom, t), &chosen, &avoided, why),
            symptom,
            rationale: why.clone(),
            key: format!("dead_end\u{1f}{}\u{1f}{}", deeds(&[*wrong], seen), deeds(&[*right], seen)),
            tools: wrong.step.action_name.clone(),
            again: false,
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
    let mut names: Vec<&str> = path.iter().map(|j| j.step.action_name.as_str()).collect();
    names.dedup();
    names.join("/")
}

/// What the calls are for, by which the same lesson meets itself: two command lines of one shell are two deeds, and so
/// are two things that one verb is about. What was known before a call is a name, and no part of what it is for.
fn deeds(path: &[Judged<'_>], seen: &Context) -> String {
    let deed = |j: &Judged<'_>| effect::deed(j.step, |word| seen.before(j.step.step_index, word));
    path.iter().map(deed).collect::<Vec<_>>().join(",")
}

pub(super) fn finish(
    t: &Trajectory,
    evaluation: &Evaluation,
    draft: Draft<'_>,
    wording: Wording,
    now: Timestamp,
) -> Lesson {
    let visibility = t.scope.visibility.keyword();
    let task = t.task_type.as_ref().map_or("", |k| k.as_str());
    let key = format!("{:016x}", canon::hash_of((task, &draft.key)));
    let goal = phrase::short(&t.task_description, 300);
    let symptom = if draft.symptom == t.task_description {
        goal.clone()
    } else {
        phrase::short(&signature::undated(&draft.symptom), 300)
    };
    let situation = wording.situation(goal, &symptom);
    let named = [situation.as_str(), &draft.chosen, &draft.rejected.join("\n")].join("\n");
    Lesson {
        id: MemoryId::lesson(&t.scope.tenant, &visibility, &key),
        scope: t.scope.clone(),
        key,
        situation,
        advice: draft.advice,
        applicability: wording.applicability(&draft.tools, t),
        basis: Decision { chosen: draft.chosen, rejected: draft.rejected, rationale: draft.rationale },
        result: result(t, evaluation.outcome, wording),
        task_type: t.task_type.clone(),
        environment: t.environment.clone(),
        entities: names(&named),
        stage: Stage::Candidate,
        source_outcome: evaluation.outcome,
        sources: vec![t.trace_id.clone()],
        supported: 0,
        refuted: 0,
        created_at: now,
        last_supported_at: t.ended_at.min(now),
        revision: None,
    }
}

fn result(t: &Trajectory, outcome: OutcomeStatus, wording: Wording) -> String {
    let evidence =
        t.outcome.evidence.iter().min_by_key(|e| e.source).map(|e| e.detail.as_str()).unwrap_or_default();
    let conclusion = if evidence.is_empty() { &t.outcome.conclusion } else { evidence };
    let status = phrase::status(outcome, wording.chinese);
    if conclusion.trim().is_empty() {
        status.to_owned()
    } else {
        let colon = if wording.chinese { "：" } else { ": " };
        format!("{status}{colon}{}", phrase::short(conclusion, 200))
    }
}

/// The names in a text by which the lesson is found again.
fn names(text: &str) -> Vec<String> {
    hindsight_text::names(text, limits::TAGS, limits::ID_BYTES)
}
