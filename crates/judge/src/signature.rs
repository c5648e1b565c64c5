//! Error signatures: the same failure looks the same in every run.

mod normal;

use std::borrow::Cow;
use std::sync::LazyLock;

use hindsight_text::truncate_chars;
use regex::Regex;
use serde_json::Value;

pub use normal::normalise;

/// Longest signature, in characters.
const LONGEST: usize = 200;
/// How much of an observation is searched for its error.
const SEARCHED: usize = 64 * 1024;

static TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(\d{4}-\d{2}-\d{2}[T ])?\d{1,2}:\d{2}(:\d{2})?([.,]\d+)?(Z|[+-]\d{2}:?\d{2})?\b").ok()
});

static TROUBLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"(?ix)\b(fail(ed|ure|s|ing)?|fatal|panic(ked)?|traceback|denied|refused|timed?\s?out|
        not\ found|no\ such|cannot|can't|unable|invalid|unhealthy|crash\w*|oom\w*|killed|unavailable|unauthorized|forbidden|
        conflict|exceed(ed|s)?|exhausted|no\ space|missing|unknown|rejected|degraded|evicted|restarting|exited
        |bad\ gateway|(is|are)\ (still\ )?down|(status|state|health)\w*["'\s:=：]{1,4}(down|critical|offline|dead)
        |\w*(crash-?loop|back-?off|err\w*pull|not-?ready)\w*|(http|status|code)\w*["\s:=]{1,4}5\d\d|http/[\d.]+\s[45]\d\d)\b
        |^\s*(50[0-8]|52[0-6]|40[134]|429)\s*$
        |\b\w*(error|exception)s?([^\w./]|$)|\b9\d\s?%|错误|失败|异常|超时|拒绝|不存在|无法|找不到|崩溃|已满|不足|告警|不可用|冲突|无效|报错"#,
    )
    .ok()
});

/// Trouble that a line says there is none of: `0 failed`, `no errors`.
static NONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)\b(0|no|zero|without(\ any)?)\s+(\w+\s+)?(fail(ed|ures?|ing)?|errors?|exceptions?|rejected|conflicts?)\b
        |\b\w*(fail(ed|ures?)|errors?|exceptions?)\s*[:=]\s*(0|none|null|nil)\s*([,;)]|$)
        |^\s*\w+_(errors?|exceptions?|failures?)\s*[:=]\s*$
        |(没有|未见|无|(^|\D)0\s?[个次条项]?)(任何)?(错误|失败|异常|告警|报错)|(错误|失败|异常|告警|报错)数?\s*[:：]\s*0(\D|$)",
    )
    .ok()
});

/// Whether a line speaks of trouble.
pub(crate) fn is_trouble(line: &str) -> bool {
    !word_of_trouble(line).is_empty()
}

/// The word by which a line speaks of trouble; empty when it does not.
pub(crate) fn word_of_trouble(line: &str) -> &str {
    let denied =
        |at: usize| NONE.as_ref().is_some_and(|r| r.find_iter(line).any(|none| none.range().contains(&at)));
    let mut words = TROUBLE.iter().flat_map(|r| r.find_iter(line));
    words.find(|word| !denied(word.start())).map_or("", |m| m.as_str())
}

/// Text without its times of day, white space squeezed.
pub(crate) fn timeless(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    TIME.as_ref().map_or(text.clone(), |r| r.replace_all(&text, "<time>").into_owned())
}

/// A line without its date and time.
pub(crate) fn undated(line: &str) -> String {
    TIME.as_ref().map_or_else(|| line.to_owned(), |r| r.replace_all(line, "").trim().to_owned())
}

/// The line of an observation that says what went wrong: the first that speaks of trouble, of a stack trace
/// the one that names the error; else the first line. Of JSON, the field.
pub fn error_message(observation: &str) -> Cow<'_, str> {
    let lines = lines(observation);
    let at = of_trouble(&lines).unwrap_or(0);
    lines.into_iter().nth(at).unwrap_or_default()
}

/// The first line, or field of JSON, that speaks of trouble; of a stack trace, the line that names the error.
pub fn trouble(observation: &str) -> Option<Cow<'_, str>> {
    let lines = lines(observation);
    let at = of_trouble(&lines)?;
    lines.into_iter().nth(at)
}

fn of_trouble(lines: &[Cow<'_, str>]) -> Option<usize> {
    let first = lines.iter().position(|l| is_trouble(l))?;
    let last = |f: fn(&str) -> bool| lines[first..].iter().rposition(|l| f(l)).map(|at| first + at);
    Some(if lines[first].starts_with("Traceback (most recent call last)") {
        last(is_trouble).unwrap_or(first)
    } else if lines[first].contains("panicked at ") {
        // What it panicked with stands below.
        first + usize::from(lines.len() > first + 1)
    } else {
        last(|l| l.starts_with("Caused by: ")).unwrap_or(first)
    })
}

/// The lines of a text; of JSON, its fields as `key: value`. Fields that are empty, or say that nothing is
/// wrong, are left out.
pub(crate) fn lines(observation: &str) -> Vec<Cow<'_, str>> {
    let text = truncate_chars(observation, SEARCHED);
    let json = text.len() == observation.len() && text.trim_start().starts_with(['{', '[']);
    if let Some(value) = json.then(|| serde_json::from_str::<Value>(text).ok()).flatten() {
        let mut out = Vec::new();
        fields("", &value, &mut out);
        // A bare code is the least that an answer says.
        out.sort_by_key(|field| field.ends_with(|c: char| c.is_ascii_digit()) && field.len() <= 24);
        return out.into_iter().map(Cow::Owned).collect();
    }
    if let Some((said, value)) = body(text) {
        let mut out = Vec::new();
        fields("", &value, &mut out);
        // What a client says before the body of an answer belongs to it.
        return match out.is_empty() {
            true => vec![Cow::Borrowed(said)],
            false => out.into_iter().map(|field| Cow::Owned(format!("{said} {field}"))).collect(),
        };
    }
    text.lines().map(str::trim).filter(|l| !l.is_empty()).map(Cow::Borrowed).collect()
}

/// A short word and the JSON body of an answer after it: `Error: 404 {"message": "no such order"}`.
fn body(text: &str) -> Option<(&str, Value)> {
    let (before, rest) = text.trim().split_at(text.trim().find('{').filter(|at| *at <= LONGEST)?);
    let before = before.trim();
    if before.is_empty() || before.contains('\n') || !rest.ends_with('}') {
        return None;
    }
    serde_json::from_str::<Value>(rest).ok().map(|value| (before, value))
}

fn fields(key: &str, value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(s)
            if s.trim().is_empty() || matches!(s.as_str(), "none" | "None" | "ok" | "OK" | "no") => {}
        Value::String(s) if key.is_empty() => out.extend(s.lines().map(str::to_owned)),
        Value::String(s) => out.extend(s.lines().map(|line| format!("{key}: {}", line.trim()))),
        Value::Number(code) if is_status(key, code.as_u64()) => out.push(format!("{key}: {code}")),
        Value::Array(items) => items.iter().for_each(|v| fields(key, v, out)),
        Value::Object(map) => map.iter().for_each(|(k, v)| fields(k, v, out)),
        _ => {}
    }
}

/// A status of HTTP that tells of trouble with the one who answered.
fn is_status(key: &str, code: Option<u64>) -> bool {
    matches!(key, "status" | "status_code" | "statusCode" | "http_code" | "code")
        && code.is_some_and(|c| (500..600).contains(&c))
}

/// The signature of the error that an observation reports; stable across runs. Empty when there is none.
pub fn error_signature(observation: &str) -> String {
    let normal = normalise(truncate_chars(&error_message(observation), 4 * LONGEST)).to_lowercase();
    truncate_chars(&normal, LONGEST).to_owned()
}

#[cfg(test)]
mod tests;
