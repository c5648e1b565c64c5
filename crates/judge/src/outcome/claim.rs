//! What the agent says of its own result.

use hindsight_text::truncate_chars;
use hindsight_types::{ActionType, EvidenceSource, OutcomeStatus};

use crate::effect::Effect;

use super::{Act, Finding, words};

const ADMITS: &[&str] = &[
    "unable to",
    "could not",
    "couldn't",
    "was not able",
    "were not able",
    "not able to",
    "cannot determine",
    "can't determine",
    "cannot be determined",
    "insufficient information",
    "no information",
    "not enough information",
    "no evidence",
    "none found",
    "did not find",
    "didn't find",
    "did not succeed",
    "failed to",
    "i failed",
    "gave up",
    "give up",
    "does not provide",
    "do not provide",
    "not available",
    "未能",
    "没能",
    "无法",
    "没有找到",
    "未找到",
    "找不到",
    "失败了",
    "没有成功",
    "未成功",
    "信息不足",
    "放弃",
];
const PARTLY: &[&str] = &[
    "partially",
    "partly",
    "in part",
    "some of the",
    "remaining issue",
    "still needs",
    "still need to",
    "yet to be",
    "not yet",
    "todo",
    "except for",
    "部分完成",
    "部分解决",
    "仍需",
    "还需要",
    "尚未",
    "剩余",
];
const HEDGES: &[&str] = &[
    "likely",
    "probably",
    "possibly",
    "appears to",
    "seems",
    "may be",
    "might be",
    "assum",
    "uncertain",
    "not sure",
    "unclear",
    "it is possible",
    "best guess",
    "not explicitly",
    "no direct",
    "no specific",
    "可能",
    "大概",
    "也许",
    "似乎",
    "应该是",
    "不确定",
    "推测",
    "估计",
];
const DONE: &[&str] = &[
    "successfully",
    "success",
    "has been",
    "have been",
    "is now",
    "are now",
    "done",
    "completed",
    "complete",
    "fixed",
    "resolved",
    "solved",
    "restored",
    "is up",
    "healthy",
    "all set",
    "finished",
    "已完成",
    "完成了",
    "已恢复",
    "恢复",
    "已解决",
    "解决了",
    "已修复",
    "修复了",
    "已处理",
    "成功",
    "搞定",
    "正常",
    "办好",
];

/// The agent's last words, or what it handed in, or the conclusion that stands beside the steps.
pub(super) fn find(acts: &[Act<'_>], stated: &str, chinese: bool) -> Option<Finding> {
    let last = acts.iter().rfind(|a| a.step.action_type != ActionType::UserInput);
    let speaks = |a: &&Act<'_>| {
        let words = a.step.action_type == ActionType::LlmReasoning || a.effect == Effect::Finish;
        words && !a.step.action_detail.trim().is_empty()
    };
    let act = last.filter(speaks);
    let said = act.map_or(stated, |a| a.step.action_detail.as_str());
    if said.is_empty() {
        return None;
    }
    let (verdict, weight, what) = read(said);
    let what = what[usize::from(chinese)];
    let source = EvidenceSource::AgentClaim;
    Some(match act {
        Some(act) => act.shows(source, verdict, weight, words::at(what, act.step.step_index, chinese)),
        None => {
            Finding { source, verdict, detail: what.to_owned(), step_index: None, weight, observed_at: None }
        }
    })
}

/// Verdict, weight, and the words for it in English and Chinese.
fn read(said: &str) -> (OutcomeStatus, f32, [&'static str; 2]) {
    let lower = truncate_chars(said, 4_000).to_lowercase();
    let has = |list: &[&str]| list.iter().any(|w| lower.contains(w));
    let done = has(DONE);
    if has(ADMITS) && !done {
        (OutcomeStatus::Failure, 1.8, ["the agent says it did not succeed", "智能体说没有成功"])
    } else if has(PARTLY) {
        (OutcomeStatus::Partial, 0.6, ["the agent says it is partly done", "智能体说只完成了一部分"])
    } else if has(HEDGES) {
        (OutcomeStatus::Failure, 0.4, ["the agent is not sure of its result", "智能体对结果没有把握"])
    } else if done {
        (OutcomeStatus::Success, 0.2, ["the agent says done", "智能体说已完成"])
    } else {
        (OutcomeStatus::Success, 0.3, ["the agent gives a result", "智能体给出了结果"])
    }
}
