//! The summary of a run: goal, the path that was needed, dead ends, outcome.

use hindsight_types::{ActionType, OutcomeStatus, StepEvaluation, StepLabel, Trajectory};

use crate::signature;

use super::phrase::{self, Judged};

/// Longest summary: words, where each Chinese character counts as one.
pub(super) const LONGEST: usize = 150;

/// How much is told of each step.
struct Detail {
    call: usize,
    seen: usize,
    steps: usize,
    reasons: bool,
}

/// Degrees of detail, the richest first; the first that fits is taken.
fn details() -> impl Iterator<Item = Detail> {
    (0..=16).rev().map(|n| Detail {
        call: 16 + 7 * n,
        seen: if n < 3 { 0 } else { 10 * n },
        steps: 4 + n / 2,
        reasons: n == 16,
    })
}

/// The words around what is told.
struct Frame {
    goal: &'static str,
    path: &'static str,
    dead_ends: &'static str,
    spare: &'static str,
    result: &'static str,
    between: &'static str,
    stop: &'static str,
    more: fn(usize) -> String,
}

const ENGLISH: Frame = Frame {
    goal: "Goal: ",
    path: " Path: ",
    dead_ends: " Dead ends: ",
    spare: " Not needed: ",
    result: " Result: ",
    between: "; ",
    stop: ".",
    more: |n| format!("{n} more"),
};

const CHINESE: Frame = Frame {
    goal: "目标：",
    path: "有效步骤：",
    dead_ends: "弯路：",
    spare: "多余：",
    result: "结果：",
    between: "；",
    stop: "。",
    more: |n| format!("另有 {n} 步"),
};

/// Summary of 100 to 150 words (characters in Chinese); shorter only when the run holds no more.
pub fn summary(t: &Trajectory, outcome: OutcomeStatus, labels: &[StepEvaluation]) -> String {
    let cjk = phrase::is_cjk(&t.task_description);
    let mut told = String::new();
    for detail in details() {
        told = tell(t, outcome, labels, &detail, cjk);
        if length(&told) <= LONGEST {
            return told;
        }
    }
    cut(&told, LONGEST)
}

fn tell(
    t: &Trajectory,
    outcome: OutcomeStatus,
    labels: &[StepEvaluation],
    detail: &Detail,
    cjk: bool,
) -> String {
    let frame = if cjk { CHINESE } else { ENGLISH };
    let calls = |wanted: &[StepLabel]| -> Vec<Judged<'_>> {
        phrase::judged(t, labels)
            .filter(|j| j.step.action_type == ActionType::ToolCall && wanted.contains(&j.verdict.label))
            .collect()
    };
    let mut out =
        format!("{}{}", frame.goal, phrase::sentence(&t.task_description, 2 * detail.call, frame.stop));
    let path = calls(&[StepLabel::Necessary]);
    list(&mut out, frame.path, &path, detail, &frame, |j| done(j, detail, !cjk));
    let dead = calls(&[StepLabel::Failed, StepLabel::Misleading]);
    list(&mut out, frame.dead_ends, &dead, detail, &frame, |j| dead_end(j, detail, cjk));
    let spare = calls(&[StepLabel::Redundant]);
    list(&mut out, frame.spare, &spare, detail, &frame, |j| phrase::call(j.step, detail.call.min(60)));
    let status = phrase::status(outcome, cjk);
    let conclusion = phrase::sentence(&t.outcome.conclusion, 2 * detail.call, frame.stop);
    out.push_str(frame.result);
    out.push_str(status);
    out.push_str(frame.stop);
    if !conclusion.is_empty() {
        out.push_str(if cjk { "" } else { " " });
        out.push_str(&conclusion);
    }
    out
}

/// Adds one section: as many steps as the detail allows, the rest as a number.
fn list(
    out: &mut String,
    title: &str,
    steps: &[Judged<'_>],
    detail: &Detail,
    frame: &Frame,
    told: impl Fn(&Judged<'_>) -> String,
) {
    if steps.is_empty() {
        return;
    }
    let mut parts: Vec<String> = Vec::new();
    for part in steps.iter().take(detail.steps).map(told) {
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    if steps.len() > detail.steps {
        parts.push((frame.more)(steps.len() - detail.steps));
    }
    out.push_str(title);
    out.push_str(&parts.join(frame.between));
    out.push_str(frame.stop);
}

/// A call, the first thing it brought, and why it was needed.
fn done(j: &Judged<'_>, detail: &Detail, reasons: bool) -> String {
    let mut told = phrase::call(j.step, detail.call);
    let seen = phrase::short(phrase::first_line(&j.step.observation), detail.seen);
    if !seen.is_empty() && detail.seen > 0 {
        told = format!("{told} → {seen}");
    }
    if detail.reasons && reasons { format!("{told} ({})", j.verdict.rationale) } else { told }
}

fn dead_end(j: &Judged<'_>, detail: &Detail, cjk: bool) -> String {
    let why = match j.verdict.label {
        StepLabel::Failed => signature::error_message(&j.step.observation),
        // What a judge says of it is told in the language of the summary, or not at all.
        _ if cjk && !phrase::is_cjk(&j.verdict.rationale) => {
            signature::trouble(&j.step.observation).unwrap_or("后来被推翻".into())
        }
        _ => j.verdict.rationale.as_str().into(),
    };
    format!("{} ({})", phrase::call(j.step, detail.call.min(60)), phrase::short(&why, detail.call.max(40)))
}

/// Words; each Chinese, Japanese or Korean character counts as one.
pub(super) fn length(text: &str) -> usize {
    units(text).count()
}

fn cut(text: &str, most: usize) -> String {
    units(text).nth(most).map_or_else(|| text.to_owned(), |at| text[..at].trim_end().to_owned())
}

/// Where each word or character begins.
fn units(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut in_word = false;
    text.char_indices().filter_map(move |(at, c)| {
        let wide = phrase::is_wide(c);
        let begins = wide || (!c.is_whitespace() && !in_word);
        in_word = !wide && !c.is_whitespace();
        begins.then_some(at)
    })
}
