//! How a run ended: with which words, and whether its failure is explained by work it never finished.

use hindsight_types::{OutcomeStatus, Trajectory};

use crate::closing::closes;
use crate::effect::Effect;

use super::view::View;

/// Words that end a talk whose task is done.
const ALSO: [&str; 3] = ["done", "谢谢", "多谢"];

#[derive(Debug)]
pub(super) struct Ending {
    pub(super) status: OutcomeStatus,
    /// The step that concludes: the agent's last words, or the call that hands in the result.
    pub(super) conclusion: Option<usize>,
    /// Where the run had done what it concludes from: at the conclusion, or, where that is no step, at the end.
    pub(super) end: Option<usize>,
    /// Why the run failed without any of its standing writes being at fault.
    pub(super) unfinished: Option<String>,
    /// The run went wrong: it is known to have failed, or, where nothing is known, the agent's last words
    /// say so or there are none.
    pub(super) went_wrong: bool,
    /// The agent's last words own up to having found or done nothing.
    pub(super) admitted: bool,
}

impl Ending {
    pub(super) fn of(t: &Trajectory, views: &[View<'_>]) -> Self {
        let status = t.outcome.resolved();
        let conclusion = conclusion(views);
        let end = conclusion.or_else(|| said_elsewhere(t, views).then_some(views.len()));
        let unfinished = cut_off(t, views).or_else(|| given_up(views));
        let admitted = conclusion.is_some_and(|at| admits(&views[at].step.action_detail));
        let unknown = status == OutcomeStatus::Unknown;
        let went_wrong = status == OutcomeStatus::Failure || (unknown && (admitted || unfinished.is_some()));
        Self { status, conclusion, end, unfinished, went_wrong, admitted }
    }
}

fn conclusion(views: &[View<'_>]) -> Option<usize> {
    let last = views.iter().rposition(|v| !v.is_user())?;
    (views[last].is_words() || views[last].effect == Effect::Finish).then_some(last)
}

/// The run stops in the middle: after a call whose result nobody took up, or at a request nobody answered.
fn cut_off(t: &Trajectory, views: &[View<'_>]) -> Option<String> {
    let last = views.last()?;
    if last.is_user() {
        return (views.len() > 1 && !closes(&last.step.action_detail, &ALSO))
            .then(|| format!("the run stops at {}, which nobody answered", last.named()));
    }
    let open = last.is_tool() && last.effect != Effect::Finish && !said_elsewhere(t, views);
    open.then(|| format!("the run stops after {} without a conclusion", last.named()))
}

/// The last attempts at something all failed, and it was never done.
fn given_up(views: &[View<'_>]) -> Option<String> {
    let attempt = views.iter().rev().find(|v| v.effect.is_write())?;
    attempt
        .failed()
        .then(|| format!("its last attempt to act, {}, failed and never succeeded", attempt.named()))
}

/// Whether the stated result is no step of the run.
fn said_elsewhere(t: &Trajectory, views: &[View<'_>]) -> bool {
    let conclusion = t.outcome.conclusion.trim();
    !conclusion.is_empty() && !views.iter().any(|v| says(v, conclusion))
}

fn says(view: &View<'_>, words: &str) -> bool {
    view.step.action_detail.contains(words) || view.step.reflection.contains(words)
}

/// Whether last words own up to having found or done nothing.
fn admits(words: &str) -> bool {
    const ADMISSIONS: &str = "unable to|not able to|could not find|couldn't find|did not find|cannot find|not been found|\
        could not be found|cannot be found|none found|no evidence|there is no information|no information|\
        insufficient|cannot be determined|cannot determine|could not determine|cannot be identified|\
        could not be identified|not clearly identified|cannot confirm|could not verify|无法确定|无法确认|未能|\
        没有找到|未找到|无法完成|信息不足|证据不足";
    let lower = words.to_lowercase();
    ADMISSIONS.split('|').any(|a| lower.contains(a))
}
