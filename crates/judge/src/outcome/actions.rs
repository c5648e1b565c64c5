//! What the calls themselves say: how the last attempt went, and what was seen after the last change.

use std::collections::HashSet;

use hindsight_text::truncate_chars;
use hindsight_types::{EvidenceSource, OutcomeStatus};

use crate::effect::Effect;
use crate::signature;

use super::{Act, Finding, suite, words};

/// Most lines of trouble kept of one result.
const LINES: usize = 40;
/// Most looks before the last change whose trouble is remembered.
const LOOKS: usize = 60;

pub(super) fn find(acts: &[Act<'_>], chinese: bool) -> Vec<Finding> {
    let calls: Vec<&Act<'_>> = acts.iter().filter(|a| a.is_call()).collect();
    let mut out: Vec<Finding> = Vec::new();
    out.extend(last_attempt(&calls, chinese));
    out.extend(last_call(&calls, chinese));
    if let Some(last) = calls.iter().rposition(|a| a.changed()) {
        out.extend(after(&calls[..last], &calls[last + 1..], chinese));
    }
    out
}

/// The last call that was to change something failed, and nothing of the kind succeeded after it.
fn last_attempt(calls: &[&Act<'_>], chinese: bool) -> Option<Finding> {
    let last = calls.iter().rev().find(|a| a.effect.is_write())?;
    let what = ["its last attempt to act failed", "最后一次操作失败"];
    last.failed().then(|| finding(last, OutcomeStatus::Failure, 1.2, what[usize::from(chinese)], chinese))
}

/// The run ends with a call that failed.
fn last_call(calls: &[&Act<'_>], chinese: bool) -> Option<Finding> {
    let last = calls.last().filter(|a| a.failed() && suite::of_step(a.step).is_none())?;
    let line = signature::error_message(&last.step.observation);
    let line = truncate_chars(line.trim(), 80);
    let what = if chinese {
        format!("最后一次调用失败：{line}")
    } else {
        format!("its last call failed: {line}")
    };
    Some(finding(last, OutcomeStatus::Failure, 0.8, &what, chinese))
}

/// Trouble that was seen before the last change, looked for after it.
fn after(before: &[&Act<'_>], after: &[&Act<'_>], chinese: bool) -> Option<Finding> {
    let mut known: HashSet<String> = HashSet::new();
    let mut lines: HashSet<String> = HashSet::new();
    for act in before.iter().rev().filter(|a| looks(a)).take(LOOKS) {
        for (kind, line) in troubles(&act.step.observation) {
            known.insert(kind);
            lines.insert(line);
        }
    }
    // The last word on it counts: a service takes a moment to come up.
    let check = after.iter().rfind(|a| looks(a) && !a.failed())?;
    let seen = troubles(&check.step.observation);
    // A line with the same time is an old entry of a log.
    let still =
        seen.iter().find(|(kind, line)| known.contains(kind) && !(dated(line) && lines.contains(line)));
    let at = usize::from(chinese);
    if let Some((_, line)) = still {
        let line = truncate_chars(line, 80);
        let what = if chinese {
            format!("最后一次改动之后问题仍在：{line}")
        } else {
            format!("the trouble is still there after the last change: {line}")
        };
        return Some(finding(check, OutcomeStatus::Failure, 1.5, &what, chinese));
    }
    if known.is_empty() || !seen.is_empty() {
        return None;
    }
    let what = ["the trouble seen before the last change is gone", "最后一次改动之后，先前的问题不再出现"];
    Some(finding(check, OutcomeStatus::Success, 1.5, what[at], chinese))
}

/// A call that shows a state: no change, no test, and something came back.
fn looks(act: &Act<'_>) -> bool {
    act.effect == Effect::Read
        && !act.step.observation.trim().is_empty()
        && suite::of_step(act.step).is_none()
}

/// The lines of trouble, with what they have in common with the same trouble at another time.
fn troubles(observation: &str) -> Vec<(String, String)> {
    let lines = signature::lines(observation).into_iter().filter(|l| signature::is_trouble(l));
    lines
        .take(LINES)
        .map(|l| {
            let line = truncate_chars(&l, 300);
            (signature::normalise(line), line.to_owned())
        })
        .collect()
}

fn dated(line: &str) -> bool {
    signature::undated(line) != line.trim()
}

fn finding(act: &Act<'_>, verdict: OutcomeStatus, weight: f32, what: &str, chinese: bool) -> Finding {
    let detail = words::at(what, act.step.step_index, chinese);
    act.shows(EvidenceSource::ExitCode, verdict, weight, detail)
}
