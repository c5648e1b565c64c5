//! What the user says of the result, after the agent's last act.

use hindsight_types::{ActionType, EvidenceSource, OutcomeStatus};

use crate::signature::head;

use super::{Act, Finding, words};

/// Says that it works: of the result, not of the manners.
const CONFIRMS: &[&str] = &[
    "it works",
    "works now",
    "that works",
    "working now",
    "works fine",
    "works great",
    "worked",
    "fixed now",
    "is fixed",
    "that fixed it",
    "problem solved",
    "solved my",
    "that solved",
    "resolved now",
    "is resolved",
    "exactly what i",
    "that's correct",
    "that is correct",
    "looks correct",
    "all good now",
    "lgtm",
    "confirmed",
    "解决了",
    "可以了",
    "好用了",
    "正常了",
    "恢复了",
    "没问题了",
    "搞定了",
    "就是这个",
    "正是我要的",
    "确认无误",
    "确认没问题",
    "修好了",
    "收到货",
    "对了",
];
/// Says that it is wrong, or still so.
const CORRECTS: &[&str] = &[
    "still not",
    "still doesn't",
    "still does not",
    "still fail",
    "still broken",
    "still get",
    "still see",
    "still down",
    "still the same",
    "doesn't work",
    "does not work",
    "didn't work",
    "did not work",
    "not working",
    "not fixed",
    "isn't fixed",
    "not solved",
    "that's wrong",
    "that is wrong",
    "this is wrong",
    "you got it wrong",
    "not what i asked",
    "not what i wanted",
    "not what i need",
    "incorrect",
    "that's not right",
    "that is not right",
    "you broke",
    "made it worse",
    "why did you",
    "i didn't ask",
    "i did not ask",
    "please undo",
    "revert that",
    "还是不行",
    "还是不对",
    "还是报错",
    "依然报错",
    "仍然报错",
    "没有解决",
    "没解决",
    "没用",
    "不管用",
    "不对",
    "弄错",
    "搞错",
    "错了",
    "不是我要的",
    "更糟",
    "撤销",
    "还没好",
    "没有恢复",
    "没恢复",
    "无效",
];
const PARTLY: &[&str] = &[
    "partly",
    "partially",
    "half of it",
    "only some",
    "works except",
    "except for",
    "部分",
    "只有一部分",
    "一半",
];
const THANKS: &[&str] =
    &["thank", "thx", "appreciate", "perfect", "great", "awesome", "谢", "太好了", "完美", "辛苦了"];

/// The user's words after the agent's last act that changed something, the last of them that say anything.
pub(super) fn find(acts: &[Act<'_>], chinese: bool) -> Option<Finding> {
    let last = acts.iter().rposition(|a| a.effect.is_write()).map_or(0, |at| at + 1);
    let spoken = acts[last..].iter().rev().filter(|a| a.step.action_type == ActionType::UserInput);
    // A goodbye follows what counts; a long talk is not searched.
    spoken.take(4).find_map(|a| of_words(a, chinese))
}

fn of_words(act: &Act<'_>, chinese: bool) -> Option<Finding> {
    let said = head(&act.step.action_detail, 2_000).to_lowercase();
    let has = |list: &[&str]| list.iter().any(|w| holds(&said, w));
    let (verdict, weight, what) = if has(PARTLY) && !said.contains('?') && !said.contains('？') {
        (OutcomeStatus::Partial, 1.5, ["the user says it is partly done", "用户说只完成了一部分"])
    } else if has(CORRECTS) {
        (OutcomeStatus::Failure, 1.8, ["the user says it is wrong or still so", "用户说不对或仍未解决"])
    } else if has(CONFIRMS) {
        (OutcomeStatus::Success, 1.8, ["the user confirms the result", "用户确认了结果"])
    } else if has(THANKS) {
        (OutcomeStatus::Success, 0.1, ["the user gives thanks", "用户致谢"])
    } else {
        return None;
    };
    let detail = words::at(what[usize::from(chinese)], act.step.step_index, chinese);
    Some(act.shows(EvidenceSource::User, verdict, weight, detail))
}

/// Whether a text holds a phrase that is not denied just before it: `not resolved now`, `没有解决了`.
fn holds(said: &str, phrase: &str) -> bool {
    const DENIALS: [&str; 8] = ["not ", "n't ", "never ", "hasn't been ", "no longer ", "没有", "没", "不"];
    said.match_indices(phrase).any(|(at, _)| {
        let before = &said[said.floor_char_boundary(at.saturating_sub(12))..at];
        let whole = !phrase.is_ascii() || !before.ends_with(|c: char| c.is_alphanumeric());
        whole && !DENIALS.iter().any(|d| before.ends_with(d))
    })
}
