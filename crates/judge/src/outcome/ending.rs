//! What the shape of a run says: whether it came to an end, how hard it was, and whether anybody looked at
//! what it changed. Each is weak by itself.

use std::collections::HashMap;

use hindsight_types::{ActionType, EvidenceSource, OutcomeStatus, Step};

use crate::closing::closes;
use crate::effect::{self, Effect};

use super::{Act, Finding, words};

/// Most that a mere reason for doubt may weigh: it can take certainty away, and is no failure by itself.
pub(super) const DOUBT: f32 = 1.1;
/// Words that end a talk with an agent that was asked for something.
const ALSO: [&str; 3] = ["no, ", "谢", "好的"];

pub(super) fn find(acts: &[Act<'_>], stated: &str, chinese: bool) -> Vec<Finding> {
    let mut out: Vec<Finding> = Vec::new();
    out.extend(end(acts, stated, chinese));
    out.extend(unchecked(acts, chinese));
    out.extend(effort(acts, chinese));
    out
}

fn end(acts: &[Act<'_>], stated: &str, chinese: bool) -> Option<Finding> {
    let act = acts.last()?;
    let last = act.step;
    let at = usize::from(chinese);
    let (verdict, weight, what) = match last.action_type {
        ActionType::LlmReasoning if last.action_detail.trim().is_empty() => {
            (OutcomeStatus::Failure, 1.5, ["the run ends without a word", "运行没有结论就结束了"])
        }
        ActionType::LlmReasoning => return None,
        ActionType::UserInput if acts.len() < 2 || closes(&last.action_detail, &ALSO) => return None,
        ActionType::UserInput => (
            OutcomeStatus::Failure,
            0.6,
            ["nobody answered the user's last words", "用户最后的话没有得到回应"],
        ),
        // Handed over in good order: the task goes on elsewhere.
        ActionType::ToolCall if act.effect == Effect::Finish => {
            return (!act.failed()).then(|| {
                let what = ["it was handed in or handed over in good order", "已按流程提交或转交"];
                note(Some(last), OutcomeStatus::Success, 0.6, what[at], chinese)
            });
        }
        ActionType::ToolCall if !stated.is_empty() => return None,
        ActionType::ToolCall => {
            (OutcomeStatus::Failure, 1.5, ["the run stops without a conclusion", "运行中断，没有结论"])
        }
    };
    Some(note(Some(last), verdict, weight, what[at], chinese))
}

/// Changes after which nothing was looked at.
fn unchecked(acts: &[Act<'_>], chinese: bool) -> Option<Finding> {
    let changes = acts.iter().filter(|a| a.changed()).take(99).count();
    let last = acts.iter().rposition(Act::changed)?;
    let looked = acts[last + 1..].iter().any(|a| a.is_call() && a.effect == Effect::Read);
    let last = acts[last].step;
    if looked {
        return None;
    }
    let what = if chinese {
        format!("{changes} 处改动，最后一处之后没有检查")
    } else {
        format!("{changes} changes, and nothing was checked after the last")
    };
    let weight = (0.8 + 0.1 * changes as f32).min(DOUBT);
    Some(note(Some(last), OutcomeStatus::Failure, weight, &what, chinese))
}

/// The more often the same kind of look was taken with other arguments, the harder the task was.
fn effort(acts: &[Act<'_>], chinese: bool) -> Option<Finding> {
    let mut calls: HashMap<String, u16> = HashMap::new();
    for act in acts.iter().filter(|a| a.is_call() && a.effect == Effect::Read) {
        let times = calls.entry(effect::purpose(act.step)).or_default();
        *times = times.saturating_add(1);
    }
    let most = calls.into_values().max().unwrap_or(0);
    if most < 2 {
        return None;
    }
    let what = if chinese {
        format!("同类查询做了 {most} 次")
    } else {
        format!("it looked {most} times in the same way")
    };
    let weight = (0.3 * f32::from(most - 1)).min(DOUBT);
    Some(note(None, OutcomeStatus::Failure, weight, &what, chinese))
}

fn note(step: Option<&Step>, verdict: OutcomeStatus, weight: f32, what: &str, chinese: bool) -> Finding {
    Finding {
        source: EvidenceSource::Judge,
        verdict,
        detail: step.map_or_else(|| what.to_owned(), |s| words::at(what, s.step_index, chinese)),
        step_index: step.map(|s| s.step_index),
        weight,
        observed_at: None,
    }
}
