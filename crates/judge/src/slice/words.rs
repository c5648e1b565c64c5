//! What is said of an act afterwards.

use std::collections::HashMap;

use crate::token::{TokenId, Tokens};
use hindsight_text::truncate_chars;

use super::fate::Fate;
use super::view::View;

/// Words that say the act before them was wrong: the user's answer to it, or what the agent thinks of it later.
pub(super) fn mark_rejected(views: &[View<'_>], tokens: &Tokens, fates: &mut [Fate]) {
    const BY_USER: [&str; 9] = [
        "that's wrong",
        "that is wrong",
        "that was the wrong",
        "not what i asked",
        "not what i wanted",
        "i didn't ask",
        "i did not ask",
        "弄错了",
        "不是我要的",
    ];
    const BY_AGENT: [&str; 8] = [
        "was a mistake",
        "by mistake",
        "was the wrong",
        "was not the cause",
        "wasn't the cause",
        "made it worse",
        "搞错了",
        "不是根因",
    ];
    let mut last: Option<usize> = None;
    let mut last_on: HashMap<TokenId, usize> = HashMap::new();
    let mut fresh = false;
    for (at, view) in views.iter().enumerate() {
        // What an agent thinks before it acts is about what it did before.
        let words = if view.is_tool() { &view.step.reflection } else { &view.step.action_detail };
        let lower = truncate_chars(words, 2_000).to_lowercase();
        let wrong = match (view.is_user(), fresh) {
            (true, false) => false,
            (true, true) => BY_USER.iter().any(|w| lower.contains(w)),
            (false, _) => BY_AGENT.iter().any(|w| lower.contains(w)),
        };
        if wrong {
            // The change to what is named, else the last one.
            let mut named = None;
            tokens.scan(&lower, |t| named = named.max(last_on.get(&t).copied()));
            if let Some(act) = named.or(last).filter(|act| fates[*act] == Fate::Stands) {
                fates[act] = Fate::Rejected(at);
            }
        }
        if view.is_tool() || view.is_user() {
            fresh = view.writes().is_some();
        }
        if view.writes().is_some() {
            last = Some(at);
            last_on.extend(view.target.iter().map(|t| (*t, at)));
        }
    }
}

/// Words answered by a machine that found no act in them.
pub(super) fn mark_refused(views: &[View<'_>], fates: &mut [Fate]) {
    const REFUSALS: [&str; 10] = [
        "no effective tool call",
        "no valid tool call",
        "no tool call",
        "not formatted correctly",
        "invalid format",
        "could not parse",
        "failed to parse",
        "please call a tool",
        "未检测到工具调用",
        "格式错误",
    ];
    for (at, pair) in views.windows(2).enumerate() {
        let answer = truncate_chars(&pair[1].step.action_detail, 500).to_lowercase();
        if pair[0].is_words() && pair[1].is_user() && REFUSALS.iter().any(|r| answer.contains(r)) {
            fates[at] = Fate::Refused(at + 1);
        }
    }
}
