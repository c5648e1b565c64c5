//! When two calls, or two results, are the same.

use std::hash::{DefaultHasher, Hash, Hasher};

use hindsight_types::Step;
use serde_json::Value;

use crate::signature;

/// Results at least this long, as JSON, describe a state and not merely an acknowledgement.
const STATE_BYTES: usize = 40;

pub(crate) fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The same tool with the same arguments, whatever their spacing and the order of their keys.
pub(crate) fn call(step: &Step, arguments: Option<&Value>) -> u64 {
    match arguments {
        // Objects are kept sorted by key, so the rendering is canonical.
        Some(value) => hash_of((&step.action_name, value.to_string())),
        None => hash_of((&step.action_name, squeezed(&step.action_detail))),
    }
}

/// The same result, but for the time of day and white space. Line by line, so that a large result is not
/// copied as a whole.
pub(crate) fn result(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for line in text.lines() {
        if has_time(line) {
            signature::timeless(line).hash(&mut hasher);
        } else {
            line.split_whitespace().for_each(|word| word.hash(&mut hasher));
        }
    }
    hasher.finish()
}

/// Whether a time of day may be in it; saves the search for one.
fn has_time(line: &str) -> bool {
    let digit = |b: Option<&u8>| b.is_some_and(u8::is_ascii_digit);
    let bytes = line.as_bytes();
    line.match_indices(':').any(|(at, _)| at > 0 && digit(bytes.get(at - 1)) && digit(bytes.get(at + 1)))
}

/// Longest text that is parsed as JSON, in bytes; a larger one is compared by its lines. Bounds the memory
/// that one result takes, which as a tree is a multiple of its text.
const PARSED: usize = 1 << 20;

fn parsed(text: &str) -> Option<Value> {
    (text.len() <= PARSED && text.trim_start().starts_with(['{', '[']))
        .then(|| serde_json::from_str(text).ok())
        .flatten()
}

/// The arguments of a call, when they are JSON.
pub(crate) fn arguments(detail: &str) -> Option<Value> {
    (detail.len() <= PARSED)
        .then(|| serde_json::from_str::<Value>(detail).ok())
        .flatten()
        .filter(|v| !v.is_number())
}

/// The state that a result shows, when it is a JSON object or list of some size.
pub(crate) fn state(text: &str) -> Option<u64> {
    if text.len() < STATE_BYTES {
        return None;
    }
    parsed(text).map(|v| hash_of(v.to_string()))
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Values of arguments that say which thing is meant: those under keys such as `id`, `name`, `path`.
pub(crate) fn identity(arguments: &Value) -> Vec<String> {
    const KEYS: [&str; 12] = [
        "id",
        "name",
        "path",
        "file",
        "filename",
        "key",
        "host",
        "service",
        "namespace",
        "url",
        "target",
        "resource",
    ];
    let Some(map) = arguments.as_object() else { return Vec::new() };
    map.iter()
        .filter(|(k, _)| {
            let k = k.to_lowercase();
            KEYS.iter().any(|end| {
                k == *end || k.ends_with(&format!("_{end}")) || k.ends_with("编号") || k.ends_with("名称")
            })
        })
        .map(|(k, v)| format!("{k}={v}"))
        .collect()
}

/// Most words or pieces kept per step. Of more, those with the smallest hashes: a sample that two like
/// texts share.
const PARTS: usize = 512;
/// Shortest piece of a result that says something by itself, in bytes.
const PIECE: usize = 20;

/// The distinct words of a call's arguments, without the keys.
pub(crate) fn words(detail: &str, arguments: Option<&Value>) -> Vec<u64> {
    let mut out = Vec::new();
    let mut add = |text: &str| {
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| w.chars().count() >= 2) {
            out.push(hash_of(word.to_lowercase()));
        }
    };
    match arguments {
        Some(value) => leaves(value, &mut add),
        None => add(detail),
    }
    distinct(out)
}

/// The distinct numbers, ids and codes of a call's arguments: words with a digit.
pub(crate) fn numbers(values: &str) -> Vec<u64> {
    let words = values.split(|c: char| !c.is_alphanumeric());
    distinct(words.filter(|w| w.chars().any(|c| c.is_ascii_digit())).map(hash_of).collect())
}

/// The values of arguments without their keys, one per line; the text as it is when it is no JSON.
pub(crate) fn values(detail: &str, arguments: Option<&Value>) -> String {
    let Some(value) = arguments else { return detail.to_owned() };
    let mut out = String::new();
    scalars(value, &mut |text| {
        out.push_str(text);
        out.push('\n');
    });
    out
}

fn scalars(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::Number(n) => found(&n.to_string()),
        Value::Array(items) => items.iter().for_each(|v| scalars(v, found)),
        Value::Object(map) => map.values().for_each(|v| scalars(v, found)),
        Value::String(s) => found(s),
        _ => {}
    }
}

/// What a result is made of: the longer texts of JSON, else the lines.
pub(crate) fn pieces(result: &str) -> Vec<u64> {
    let mut out = Vec::new();
    match parsed(result) {
        Some(value) => leaves(&value, &mut |text| {
            if text.len() >= PIECE {
                out.push(hash_of(text));
            }
        }),
        None => out.extend(result.lines().map(str::trim).filter(|l| l.len() >= PIECE).map(hash_of)),
    }
    distinct(out)
}

fn leaves(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(s) => found(s),
        Value::Array(items) => items.iter().for_each(|v| leaves(v, found)),
        Value::Object(map) => map.values().for_each(|v| leaves(v, found)),
        _ => {}
    }
}

fn distinct(mut hashes: Vec<u64>) -> Vec<u64> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(PARTS);
    hashes
}
