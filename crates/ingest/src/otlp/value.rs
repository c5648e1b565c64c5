//! Reading attributes, which anyone may have set to anything.

use std::{collections::BTreeMap, ops::Bound};

use serde_json::{Map, Value};

use super::Attributes;

/// Longest text that is read as JSON.
const JSON_BYTES: usize = 8 * 1024 * 1024;

/// The first of these that is a text with something in it.
pub(super) fn text<'a>(attributes: &'a Attributes, keys: &[&str]) -> Option<&'a str> {
    keys.iter().filter_map(|k| attributes.get(*k)?.as_str()).find(|s| !s.trim().is_empty())
}

/// The first of these that is there, in words: a text as it is, anything else as JSON.
pub(super) fn words(attributes: &Attributes, keys: &[&str]) -> Option<String> {
    keys.iter().filter_map(|k| attributes.get(*k)).map(as_words).find(|s| !s.trim().is_empty())
}

pub(super) fn as_words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// A whole number, also one in words.
pub(super) fn count(attributes: &Attributes, keys: &[&str]) -> Option<u64> {
    keys.iter().filter_map(|k| attributes.get(*k)).find_map(|v| match v {
        Value::Number(n) => n.as_u64(),
        Value::String(s) => s.parse().ok(),
        _ => None,
    })
}

/// What stands under a key: structured, or JSON in a text.
pub(super) fn structure(value: &Value) -> Option<Value> {
    match value {
        Value::Array(_) | Value::Object(_) => Some(value.clone()),
        Value::String(s) => parse(s),
        _ => None,
    }
}

/// The list or object that a text is.
pub(super) fn parse(text: &str) -> Option<Value> {
    let trimmed = text.trim_start();
    if text.len() > JSON_BYTES || !trimmed.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(trimmed).ok()
}

/// What a function was called with or gave, without what OpenLLMetry wraps it in.
pub(super) fn unwrapped(value: &Value) -> &Value {
    let empty = |v: &Value| match v {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        other => other.is_null(),
    };
    match (value.get("args"), value.get("kwargs")) {
        (Some(args), Some(kwargs)) if empty(kwargs) => args,
        (Some(_), Some(kwargs)) => kwargs,
        _ => field(value, &["inputs", "outputs"]).unwrap_or(value),
    }
}

pub(super) fn field<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().filter_map(|k| value.get(*k)).find(|v| !v.is_null())
}

/// The value that attributes with these dots in their names were: `PREFIX.0.message.role` and so on.
pub(super) fn unflattened(attributes: &Attributes, prefix: &str) -> Option<Value> {
    let mut tree = Map::new();
    let from = (Bound::Included(prefix), Bound::Unbounded);
    let range = attributes.range::<str, _>(from).take_while(|(key, _)| key.starts_with(prefix));
    for (key, value) in range {
        let path = key[prefix.len()..].split('.');
        plant(&mut tree, path, value);
    }
    (!tree.is_empty()).then_some(Value::Object(tree))
}

fn plant<'a>(mut tree: &mut Map<String, Value>, path: impl Iterator<Item = &'a str>, value: &Value) {
    let mut path = path.peekable();
    while let Some(name) = path.next() {
        if path.peek().is_none() {
            tree.entry(name).or_insert_with(|| value.clone());
            return;
        }
        // What is a value cannot be a branch; whoever says both is believed the first.
        let Value::Object(branch) = tree.entry(name).or_insert_with(|| Value::Object(Map::new())) else {
            return;
        };
        tree = branch;
    }
}

/// The members of a list, or of a map whose keys are places in a list, in order.
pub(super) fn members(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => {
            let places = map.iter().filter_map(|(k, v)| Some((k.parse::<u64>().ok()?, v)));
            places.collect::<BTreeMap<_, _>>().into_values().collect()
        }
        _ => Vec::new(),
    }
}
