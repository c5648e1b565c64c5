//! Reading loosely typed JSON: absent, null and of the wrong type are the same here.

use hindsight_types::Timestamp;
use serde_json::Value;

pub(crate) fn str_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|s| !s.trim().is_empty())
}

/// The items of a list, of the list under `key`, or the one that the value is.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let list = value.as_array().or_else(|| value.get(key)?.as_array());
    let alone = list.is_none().then_some(value);
    list.into_iter().flatten().chain(alone)
}

pub(crate) fn flag_at(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

pub(crate) fn time_at(value: &Value, key: &str) -> Option<Timestamp> {
    match value.get(key)? {
        // Without an offset it is taken as UTC.
        Value::String(s) => s.parse().ok().or_else(|| format!("{s}Z").parse().ok()),
        // Seconds, or milliseconds when it would otherwise lie thousands of years ahead.
        Value::Number(n) => {
            let n = n.as_f64()?;
            let seconds = if n > 1e11 { n / 1000.0 } else { n };
            Timestamp::from_millisecond((seconds * 1000.0) as i64).ok()
        }
        _ => None,
    }
}

/// A scalar as a person would write it.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(s) if !s.trim().is_empty() => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

/// The text of a message's content: a string, or a list of parts of which the texts are joined and the
/// others are named.
pub(crate) fn content_text(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(s) => s.clone(),
        Value::Array(parts) => parts.iter().map(part_text).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

fn part_text(part: &Value) -> String {
    if let Some(s) = part.as_str() {
        return s.to_owned();
    }
    for key in ["text", "refusal", "content"] {
        match part.get(key) {
            Some(Value::String(s)) => return s.clone(),
            Some(nested @ Value::Array(_)) => return content_text(nested),
            _ => {}
        }
    }
    match str_at(part, "type") {
        Some(kind) => format!("[{kind}]"),
        None => part.to_string(),
    }
}

/// Arguments as recorded: a string stays as it is, anything else becomes compact JSON.
pub(crate) fn arguments_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(s)) => s.clone(),
        Some(other) => other.to_string(),
    }
}

/// What a value is, for messages.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
