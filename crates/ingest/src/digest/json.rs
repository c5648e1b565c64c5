use std::fmt::Write as _;

use serde_json::Value;

use super::is_trouble;

/// Deeper structure is summarised: hostile nesting costs nothing.
const DEPTH: usize = 6;
const LIST: usize = 3;

/// JSON as indented `key: value` lines: what names, tells a state or speaks of trouble first, lists
/// sampled and counted. `None` when the text is not JSON.
pub(super) fn digest(text: &str, budget: usize) -> Option<String> {
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let value: Value = serde_json::from_str(trimmed).ok()?;
    // Generous first; tighter until it fits.
    let levels = [(LIST, 200), (2, 80), (1, 40)];
    let mut out = String::new();
    for (list, chars) in levels {
        out = String::new();
        Writer { out: &mut out, list, chars, limit: budget * 2 }.value("", &value, 0);
        if out.len() <= budget {
            break;
        }
    }
    Some(out.trim_end().to_owned())
}

struct Writer<'a> {
    out: &'a mut String,
    list: usize,
    chars: usize,
    limit: usize,
}

impl Writer<'_> {
    fn value(&mut self, key: &str, value: &Value, depth: usize) {
        if self.out.len() > self.limit {
            return;
        }
        match value {
            Value::Object(fields) if depth < DEPTH => {
                let inner = self.open(key, depth);
                let mut fields: Vec<_> = fields.iter().collect();
                fields.sort_by_key(|(k, v)| rank(k, v));
                fields.into_iter().for_each(|(k, v)| self.value(k, v, inner));
            }
            Value::Array(items) if depth < DEPTH && items.iter().any(|i| i.is_object() || i.is_array()) => {
                self.items(key, items, depth);
            }
            Value::Object(fields) => self.line(key, &format!("{{{} fields}}", fields.len()), depth),
            Value::Array(items) => self.line(key, &self.scalars(items), depth),
            Value::String(s) => self.line(key, &self.short(s), depth),
            other => self.line(key, &other.to_string(), depth),
        }
    }

    /// Items in trouble are shown before the others.
    fn items(&mut self, key: &str, items: &[Value], depth: usize) {
        self.line(key, &format!("{} items", items.len()), depth);
        let (bad, good): (Vec<_>, Vec<_>) = items.iter().partition(|i| in_trouble(i, 4));
        let shown = bad.iter().take(self.list * 2).chain(good.iter().take(self.list));
        let shown: Vec<&&Value> = shown.take(self.list * 2).collect();
        for item in &shown {
            self.value("-", item, depth + 1);
        }
        if shown.len() < items.len() {
            self.line("-", &format!("… {} more", items.len() - shown.len()), depth + 1);
        }
    }

    fn scalars(&self, items: &[Value]) -> String {
        let first: Vec<String> = items
            .iter()
            .take(self.list * 2)
            .map(|v| match v {
                Value::String(s) => self.short(s),
                other => other.to_string(),
            })
            .collect();
        let more = items.len().saturating_sub(self.list * 2);
        let rest = if more > 0 { format!(", … {more} more") } else { String::new() };
        format!("[{}{rest}]", first.join(", "))
    }

    fn short(&self, s: &str) -> String {
        if s.len() <= self.chars {
            s.to_owned()
        } else {
            format!("{}…", &s[..s.floor_char_boundary(self.chars)])
        }
    }

    fn open(&mut self, key: &str, depth: usize) -> usize {
        if key.is_empty() {
            return depth;
        }
        self.line(key, "", depth);
        depth + 1
    }

    fn line(&mut self, key: &str, value: &str, depth: usize) {
        let key = &key[..key.floor_char_boundary(80)];
        let indent = depth * 2;
        let written = match (key, value) {
            ("", v) => writeln!(self.out, "{v}"),
            ("-", v) => writeln!(self.out, "{:indent$}- {v}", ""),
            (k, "") => writeln!(self.out, "{:indent$}{k}:", ""),
            (k, v) => writeln!(self.out, "{:indent$}{k}: {v}", ""),
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}

/// 0 for what identifies or tells a state, 1 for plain fields, 2 for structure.
fn rank(key: &str, value: &Value) -> u8 {
    const KEYS: &[&str] = &[
        "id", "name", "status", "state", "error", "message", "reason", "code", "phase", "kind", "type",
        "title", "exit", "result", "success", "ready", "health", "count", "total",
    ];
    let key = key.to_ascii_lowercase();
    match value {
        _ if KEYS.iter().any(|k| key.contains(k)) || in_trouble(value, 1) => 0,
        Value::Object(_) | Value::Array(_) => 2,
        _ => 1,
    }
}

fn in_trouble(value: &Value, depth: usize) -> bool {
    match value {
        Value::String(s) => is_trouble(&s[..s.floor_char_boundary(400)]),
        Value::Object(fields) if depth > 0 => fields.iter().take(64).any(|(k, v)| {
            (is_trouble(k) && !matches!(v, Value::Null | Value::Bool(false))) || in_trouble(v, depth - 1)
        }),
        Value::Array(items) if depth > 0 => items.iter().take(16).any(|i| in_trouble(i, depth - 1)),
        _ => false,
    }
}
