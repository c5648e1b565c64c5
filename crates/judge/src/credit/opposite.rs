//! Deeds that undo each other.

use super::act::Act;

const PAIRS: [(&str, &str); 22] = [
    ("enable", "disable"),
    ("start", "stop"),
    ("add", "remove"),
    ("attach", "detach"),
    ("allow", "deny"),
    ("allow", "block"),
    ("unblock", "block"),
    ("unlock", "lock"),
    ("cordon", "uncordon"),
    ("approve", "reject"),
    ("increase", "decrease"),
    ("upgrade", "downgrade"),
    ("subscribe", "unsubscribe"),
    ("pause", "resume"),
    ("启用", "禁用"),
    ("开启", "关闭"),
    ("启动", "停止"),
    ("添加", "移除"),
    ("扩容", "缩容"),
    ("批准", "驳回"),
    ("解锁", "锁定"),
    ("升级", "降级"),
];

/// The deeds that are the opposite of one: the same call with the other verb.
pub(super) fn of(act: &Act) -> Option<Vec<Act>> {
    let turned: Vec<Act> = PAIRS
        .iter()
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .filter_map(|(verb, other)| turn(&act.purpose, verb, other))
        .map(|purpose| Act { purpose, ..act.clone() })
        .collect();
    (!turned.is_empty()).then_some(turned)
}

/// A purpose with one verb in the place of another, where that is a word of it.
fn turn(purpose: &str, verb: &str, other: &str) -> Option<String> {
    let at = purpose.match_indices(verb).map(|(at, _)| at).find(|at| {
        let glued = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let end = at + verb.len();
        !verb.is_ascii()
            || !glued(purpose[..*at].chars().next_back()) && !glued(purpose[end..].chars().next())
    })?;
    Some([&purpose[..at], other, &purpose[at + verb.len()..]].concat())
}
