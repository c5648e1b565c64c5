//! Failure patterns: what fails, why, and what worked instead.

use std::borrow::Cow;
use std::collections::HashMap;

use hindsight_types::{ActionType, Evaluation, FailurePattern, MemoryId, StepLabel, Timestamp, Trajectory};

use crate::{effect, outcome, signature};

use super::phrase::{self, Judged};
use super::wording::Wording;

/// Most steps after a failure in which its remedy is looked for.
const HORIZON: usize = 40;
/// Most steps taken as the remedy.
const REMEDY: usize = 3;

/// A failure and how the run got past it.
#[derive(Debug, Clone)]
pub(super) struct Episode<'a> {
    pub(super) tool: &'a str,
    pub(super) signature: String,
    pub(super) failed: Judged<'a>,
    pub(super) message: Cow<'a, str>,
    /// Other calls that failed the same way.
    pub(super) again: usize,
    /// The necessary steps between the failure and the success, the success last. Empty: never solved.
    pub(super) remedy: Vec<Judged<'a>>,
}

/// The failures of a run, one per tool and signature, in the order in which they came first.
pub(super) fn episodes<'a>(t: &'a Trajectory, evaluation: &'a Evaluation) -> Vec<Episode<'a>> {
    let all: Vec<Judged<'a>> = phrase::judged(t, &evaluation.steps).collect();
    let mut seen: HashMap<(&str, String), usize> = HashMap::new();
    let mut out: Vec<Episode<'a>> = Vec::new();
    for (at, failed) in all.iter().enumerate().filter(|(_, j)| j.verdict.label == StepLabel::Failed) {
        let signature = signature::error_signature(&failed.step.observation);
        if failed.step.action_type != ActionType::ToolCall || signature.is_empty() {
            continue;
        }
        // A check that finds something did its work: what failed is what it looked at.
        if outcome::fails_a_check(failed.step) {
            continue;
        }
        let key = (failed.step.action_name.as_str(), signature.clone());
        // The last of several tries is the one whose remedy counts.
        let remedy = remedy(&all, at);
        match seen.get(&key).and_then(|n| out.get_mut(*n)) {
            Some(episode) => {
                episode.again += 1;
                episode.remedy = remedy;
            }
            None => {
                seen.insert(key, out.len());
                let message = signature::error_message(&failed.step.observation);
                out.push(Episode {
                    tool: &failed.step.action_name,
                    signature,
                    failed: *failed,
                    message,
                    again: 0,
                    remedy,
                });
            }
        }
    }
    out
}

/// What led to success after a failure: the next call for the same purpose that was necessary, with the
/// necessary changes before it; or, where there was none, the next necessary change.
fn remedy<'a>(all: &[Judged<'a>], failed: usize) -> Vec<Judged<'a>> {
    let later = all.get(failed + 1..all.len().min(failed + 1 + HORIZON)).unwrap_or_default();
    let needed = |j: &&Judged<'a>| {
        j.verdict.label == StepLabel::Necessary && j.step.action_type == ActionType::ToolCall
    };
    let changes = |j: &&Judged<'a>| needed(j) && effect::classify(j.step).is_write();
    let purpose = effect::purpose(all[failed].step);
    let again = later.iter().position(|j| needed(&j) && effect::purpose(j.step) == purpose);
    let Some(worked) = again.or_else(|| later.iter().position(|j| changes(&j))) else { return Vec::new() };
    let mut path: Vec<Judged<'a>> = later[..worked].iter().filter(changes).copied().collect();
    path.push(later[worked]);
    path.split_off(path.len().saturating_sub(REMEDY))
}

pub(super) fn patterns(t: &Trajectory, episodes: &[Episode<'_>], now: Timestamp) -> Vec<FailurePattern> {
    episodes.iter().map(|e| pattern(t, e, now)).collect()
}

fn pattern(t: &Trajectory, e: &Episode<'_>, now: Timestamp) -> FailurePattern {
    let seen_at = e.failed.step.ended_at.or(e.failed.step.started_at).unwrap_or(t.ended_at).min(now);
    let key = format!("{}\u{1f}{}", e.tool, e.signature);
    FailurePattern {
        id: MemoryId::failure_pattern(&t.scope.tenant, &t.scope.visibility.keyword(), &key),
        scope: t.scope.clone(),
        action_name: e.tool.to_owned(),
        signature: e.signature.clone(),
        example: phrase::short(&e.failed.step.observation, 500),
        action_detail: phrase::short(&e.failed.step.action_detail, 300),
        cause: phrase::short(&e.message, 300),
        suggestion: suggestion(e, Wording::of(t)),
        environment: t.environment.clone(),
        sources: vec![t.trace_id.clone()],
        supported: 0,
        refuted: 0,
        first_seen: seen_at,
        last_seen: seen_at,
        frequency: None,
    }
}

fn suggestion(e: &Episode<'_>, wording: Wording) -> String {
    if e.remedy.is_empty() {
        return wording.unsolved(&phrase::call(e.failed.step, 120), e.again + 1, &e.message);
    }
    wording.worked(&steps(&e.remedy, wording))
}

/// Calls in order.
pub(super) fn steps(path: &[Judged<'_>], wording: Wording) -> String {
    path.iter().map(|j| phrase::call(j.step, 160)).collect::<Vec<_>>().join(wording.then())
}
