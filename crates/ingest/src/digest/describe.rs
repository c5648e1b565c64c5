//! Lines of `Key: value`, as descriptions, YAML and settings have them.

use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{cut, pool::weight};
use crate::pattern::compile;

/// Keys that tell a state.
const STATE: &[&str] = &[
    "status",
    "state",
    "reason",
    "phase",
    "health",
    "message",
    "msg",
    "error",
    "exit",
    "result",
    "ready",
    "condition",
    "restart",
    "command",
    "limits",
    "cpu",
    "memory",
    "内存",
    "outcome",
    "cause",
    "exception",
    "description",
    "summary",
    "title",
    "code",
    "available",
    "命令",
    "状态",
    "原因",
    "错误",
    "结果",
    "消息",
];
/// Keys that name something.
const NAME: &[&str] = &[
    "name",
    "namespace",
    "kind",
    "image",
    "selector",
    "version",
    "subject",
    "service",
    "host",
    "endpoint",
    "used by",
    "名称",
    "版本",
    "主机",
    "服务",
];

/// What a line is worth for its key; 0 for no such line, and for one without a value.
pub(super) fn weight(line: &str) -> u32 {
    match key_value(line) {
        Some((_, value)) if is_nothing(value) || cut::is_hash(value) => 0,
        // What a description is of.
        Some((key, _)) if line.starts_with(key) && key.eq_ignore_ascii_case("name") => weight::HARD - 1,
        Some((key, _)) => of_key(key),
        None => 0,
    }
}

/// What the line below is worth when this one is a key whose value stands there.
pub(super) fn of_next(line: &str) -> u32 {
    match key_value(line) {
        Some((key, "")) => of_key(key),
        _ => 0,
    }
}

fn is_nothing(value: &str) -> bool {
    matches!(value, "" | "<none>" | "<nil>" | "null" | "[]" | "{}" | "None" | "-")
}

/// The key of a line with a value.
pub(super) fn key(line: &str) -> Option<&str> {
    key_value(line).filter(|(_, value)| !is_nothing(value)).map(|(key, _)| key)
}

/// What a key promises.
pub(super) fn of_key(key: &str) -> u32 {
    let key = key[..key.floor_char_boundary(48)].to_ascii_lowercase();
    if STATE.iter().any(|k| key.contains(k)) {
        weight::STATE
    } else if key == "id" || NAME.iter().any(|k| key.contains(k)) && !key.contains("account") {
        weight::NAME
    } else {
        0
    }
}

fn key_value(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches([' ', '\t', '-', '*', '"']);
    let head = &line[..line.floor_char_boundary(64)];
    let at = head.find([':', '=', '：'])?;
    let key = line[..at].trim_end_matches(['"', '\'', ' ']);
    let separator = line[at..].chars().next().map_or(1, char::len_utf8);
    let value = line[at + separator..].trim_matches([' ', '\t', '"', ',']);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/');
    (!key.is_empty() && key.chars().all(plain) && key.split(' ').count() <= 4).then_some((key, value))
}

/// An exit code or a number of restarts that is not nought.
pub(super) fn is_failed_exit(line: &str) -> bool {
    static EXIT: LazyLock<Regex> = LazyLock::new(|| {
        compile(concat!(
            r#"(?i)(?:exit(?:ed)?|return(?:ed)?|退出)[ _-]?(?:with )?(?:code|status|码|代码)?\\?["']?\s*(?::|=|：)?\s*\\?["']?-?[1-9][0-9]{0,4}\b"#,
            r"|restart(?:s| ?count)?\W{1,6}[1-9][0-9]*\b|signal\W{1,6}[1-9]",
        ))
    });
    EXIT.is_match(&line.as_bytes()[..line.len().min(400)])
}
