//! Calls that brought nothing, and the call by which the same tool was tried again with other arguments.

use std::collections::HashMap;

use serde_json::Value;

use crate::effect;

use super::view::View;

/// Longest result that can say that there is nothing, in bytes.
const SHORT: usize = 200;

/// Per step, the next call of the same tool, or of the same program through a shell, with other arguments
/// that went through.
pub(super) fn trace(views: &[View<'_>]) -> Vec<Option<usize>> {
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut out = vec![None; views.len()];
    for (at, view) in views.iter().enumerate().rev().filter(|(_, v)| v.is_tool()) {
        let purpose = effect::purpose(view.step);
        let after = next.get(&purpose).copied();
        out[at] = after.filter(|a| views[*a].call != view.call);
        if !view.failed() && !is_empty(&view.step.observation) {
            next.insert(purpose, at);
        }
    }
    out
}

/// Whether a result holds nothing: no text, an empty list or object, or words that say so.
pub(super) fn is_empty(result: &str) -> bool {
    const NOTHING: [&str; 16] = [
        "no results",
        "no result",
        "no matches",
        "no match",
        "not found",
        "nothing found",
        "none found",
        "0 results",
        "0 rows",
        "no rows",
        "no data",
        "no resources",
        "没有结果",
        "未找到",
        "无数据",
        "没有找到",
    ];
    let text = result.trim();
    if text.is_empty() {
        return true;
    }
    if text.len() > SHORT {
        return false;
    }
    let lower = text.to_lowercase();
    match serde_json::from_str::<Value>(text) {
        Ok(value) => holds_nothing(&value) || NOTHING.iter().any(|w| lower.contains(w)),
        Err(_) => NOTHING.iter().any(|w| lower.contains(w)),
    }
}

fn holds_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().all(holds_nothing),
        Value::Object(map) => map.values().all(holds_nothing),
        Value::String(s) => s.trim().is_empty(),
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::Bool(_) => false,
    }
}
