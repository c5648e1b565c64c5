//! What the user says of the result, after the agent's last act.

use std::sync::LazyLock;

use hindsight_text::truncate_chars;
use hindsight_types::{ActionType, EvidenceSource, OutcomeStatus};
use regex::Regex;

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
    "works for me",
    "not bad",
    "everything is fine",
    "all fine now",
    "is fine now",
    "没有问题",
    "没问题",
    "解决了",
    "可以了",
    "好用了",
    "正常了",
    "恢复了",
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
    "even worse",
    "worse than before",
    "is broken",
    "it's broken",
    "now broken",
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
    "更严重",
    "打不开",
    "用不了",
    "连不上",
    "登不上",
    "进不去",
    "访问不了",
    "无法访问",
    "无法打开",
    "无法登录",
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
    let said = truncate_chars(&act.step.action_detail, 2_000).to_lowercase();
    let has = |list: &[&str]| list.iter().any(|w| holds(&said, w));
    let confirms = CONFIRMS.iter().any(|w| states(&said, w)) || matches(&WELL, &said);
    let part = has(PARTLY) || MIXED.iter().any(|mixed| matches(mixed, &said));
    let (verdict, weight, what) = if part && !said.contains('?') && !said.contains('？') {
        (OutcomeStatus::Partial, 1.5, ["the user says it is partly done", "用户说只完成了一部分"])
    } else if has(CORRECTS) {
        (OutcomeStatus::Failure, 1.8, ["the user says it is wrong or still so", "用户说不对或仍未解决"])
    } else if confirms {
        (OutcomeStatus::Success, 1.8, ["the user confirms the result", "用户确认了结果"])
    } else if has(THANKS) {
        (OutcomeStatus::Success, 0.1, ["the user gives thanks", "用户致谢"])
    } else {
        return None;
    };
    let detail = words::at(what[usize::from(chinese)], act.step.step_index, chinese);
    Some(act.shows(EvidenceSource::User, verdict, weight, detail))
}

/// `好了` by itself; in 太好了 and 好了吗 it says something else.
static WELL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|[，。！、；,.!;\s]|现在|已经|都|终于|全)好了(?:[，。！、；,.!;\s]|$)").ok()
});
/// One thing works and another does not, in one sentence.
static MIXED: LazyLock<[Option<Regex>; 3]> = LazyLock::new(|| {
    [
        r"\b(?:first|one|some|former)\b[^.!?\n]{0,40}\b(?:works?|is fine|are fine|is ok)\b[^.!?\n]{0,20}\b(?:second|third|last|other|others|rest|latter)\b[^.!?\n]{0,30}(?:\bnot\b|n't\b|\bfails?\b|\bbroken\b|\bwrong\b)",
        r"\b(?:first|one|some|former)\b[^.!?\n]{0,30}(?:\bnot\b|n't\b|\bfails?\b|\bbroken\b)[^.!?\n]{0,20}\b(?:second|third|last|other|others|rest|latter)\b[^.!?\n]{0,30}\b(?:works?|do|does|is fine|are fine|is ok)[.!]?\s*$",
        r"(?:第一|前一|一个|有的|有些)[^。！？\n]{0,10}(?:好了|可以|正常|行了|没问题)[^。！？\n]{0,4}(?:第二|第三|后一|另一|其他|其余|有的|有些)[^。！？\n]{0,10}(?:不行|不能|不可以|不对|没好|没有好|报错|打不开|还是|失败)",
    ]
    .map(|p| Regex::new(p).ok())
});

fn matches(pattern: &Option<Regex>, said: &str) -> bool {
    pattern.as_ref().is_some_and(|r| r.is_match(said))
}

/// Whether a text states a phrase, and does not only ask for it: 现在正常了吗？, `it works now?`
fn states(said: &str, phrase: &str) -> bool {
    let sentences = said.split_inclusive(['.', '!', '?', '\n', '。', '！', '？']);
    let asks = |s: &str| s.contains('吗') || s.ends_with(['?', '？']);
    sentences.filter(|s| !asks(s)).any(|s| holds(s, phrase))
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
