//! JSON as indented `key: value` lines where it fits, else its most telling fields.

use std::{borrow::Cow, fmt::Write as _};

use serde_json::Value;

use super::{
    cut, describe,
    focus::Focus,
    lines::is_message,
    pool::{Pool, Room, weight},
    shape,
    sketch::{self, Sketch, field_trouble},
    trouble::Trouble,
};

/// Items of a list and bytes of a text that are shown, the most generous first.
const LEVELS: [(usize, usize); 3] = [(5, 240), (3, 120), (2, 60)];

/// `None` when the text is not JSON.
pub(super) fn digest(text: &str, room: Room, focus: &Focus, nested: u8) -> Option<String> {
    let budget = room.all;
    let trimmed = text.trim();
    if !trimmed.starts_with(['{', '[']) {
        return None;
    }
    let sketch = sketch::read(trimmed, focus, nested)?;
    if budget >= 300 {
        for (list, chars) in LEVELS {
            let mut out = String::new();
            Writer { out: &mut out, list, chars, limit: budget }.value("", &sketch, 0);
            if out.len() <= budget {
                return Some(out.trim_end().to_owned());
            }
        }
    }
    let mut pool = Pool::default();
    let mut path = Vec::new();
    leaves(&sketch, &mut path, focus, &mut pool);
    Some(pool.render(room, focus))
}

/// Whether a text looks like JSON on few lines: broken off, say, or deeper than a parser follows.
pub(super) fn is_like(text: &str) -> bool {
    const LINE: usize = 1000;
    text.trim_start().starts_with(['{', '[']) && text.len() / text.lines().count().max(1) > LINE
}

/// Its fields on lines of their own, without the brackets.
pub(super) fn pieces(text: &str) -> String {
    let pieces = text.split(['{', '}', '[', ']', ',', '\n']).map(str::trim);
    pieces.filter(|p| !p.is_empty()).flat_map(|p| [p, "\n"]).collect()
}

/// A line of a log that is JSON: its level and message first, then the rest, without punctuation; and its
/// shape, which is that of level, message and the names of its fields.
pub(super) fn log_line(line: &str) -> Option<(String, u64)> {
    const FIRST: &[&str] =
        &["level", "severity", "msg", "message", "error", "err", "exception", "reason", "status"];
    let line = line.trim();
    if !line.starts_with('{') || !line.ends_with('}') || line.len() > 16_000 {
        return None;
    }
    let Value::Object(fields) = serde_json::from_str(line).ok()? else { return None };
    let first = FIRST.iter().filter_map(|k| Some((*k, fields.get(*k)?)));
    let rest = fields.iter().map(|(k, v)| (&**k, v)).filter(|(k, _)| !FIRST.contains(k));
    let mut out = String::new();
    let mut said = String::new();
    for (key, value) in first.chain(rest).filter(|(_, v)| !v.is_null()) {
        let written = match value {
            Value::String(s) => write!(out, "{key}={s} "),
            other => write!(out, "{key}={other} "),
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        said.push_str(key);
        said.push(' ');
        if FIRST.contains(&key) {
            said.push_str(&value.to_string());
        }
    }
    Some((out, shape::of(&said)))
}

/// Every plain field as a candidate, under the last names of its path.
fn leaves<'a>(sketch: &'a Sketch, path: &mut Vec<&'a str>, focus: &Focus, pool: &mut Pool<'a>) {
    match sketch {
        Sketch::Fields { fields, .. } => {
            for (key, value) in fields.iter().filter(|(_, v)| !v.is_empty()) {
                path.push(key);
                leaves(value, path, focus, pool);
                path.pop();
            }
        }
        Sketch::List { items, total } => {
            if *total > 1 && items.iter().any(|i| matches!(i, Sketch::Fields { .. })) {
                leaf(path, &format!("{total} items"), weight::CONTEXT, pool);
            }
            for item in items {
                leaves(item, path, focus, pool);
            }
        }
        Sketch::Plain(text) | Sketch::Text(text) => {
            let key = path.last().copied().unwrap_or_default();
            let by_key = if cut::is_hash(text) { 0 } else { describe::of_key(key) };
            let asked = if focus.is_in(text) { weight::NAME } else { 0 };
            let weight = match field_trouble(key, sketch) {
                Trouble::Hard => weight::HARD + (asked + by_key) / 10,
                _ if describe::is_failed_exit(&format!("{key}: {text}")) => weight::HARD + 10,
                Trouble::Soft if by_key >= weight::STATE && is_message(text) => weight::ASKED,
                Trouble::Soft => weight::SOFT + (asked + by_key) / 10,
                Trouble::None => by_key.max(asked).max(weight::PLAIN),
            };
            for line in text.lines().filter(|l| !l.trim().is_empty()) {
                leaf(path, line, weight, pool);
            }
        }
    }
}

/// Names of a path that are shown.
const NAMES: usize = 2;

fn leaf<'a>(path: &[&str], value: &str, weight: u32, pool: &mut Pool<'a>) {
    let names = &path[path.len().saturating_sub(NAMES)..];
    let text = if names.is_empty() { value.to_owned() } else { format!("{}: {value}", names.join(".")) };
    let key = shape::of(&text);
    let at = 2 * pool.lines;
    pool.lines += 1;
    pool.add(at, weight, Cow::Owned(text), key);
}

struct Writer<'a> {
    out: &'a mut String,
    list: usize,
    chars: usize,
    limit: usize,
}

impl Writer<'_> {
    fn value(&mut self, key: &str, value: &Sketch, depth: usize) {
        if self.out.len() > self.limit {
            return;
        }
        match value {
            Sketch::Fields { fields, total } => {
                let inner = self.open(key, depth);
                let mut order: Vec<_> = fields.iter().collect();
                order.sort_by_key(|(k, v)| rank(k, v));
                order.into_iter().for_each(|(k, v)| self.value(k, v, inner));
                if fields.len() < *total {
                    self.line("…", &format!("{} more", total - fields.len()), inner);
                }
            }
            Sketch::List { items, total }
                if items.iter().any(|i| matches!(i, Sketch::Fields { .. } | Sketch::List { .. })) =>
            {
                self.line(key, &format!("{total} items"), depth);
                items.iter().take(self.list).for_each(|item| self.value("-", item, depth + 1));
                if *total > self.list.min(items.len()) {
                    let left = total - self.list.min(items.len());
                    self.line("-", &format!("… {left} more"), depth + 1);
                }
            }
            Sketch::List { items, total } => self.line(key, &self.scalars(items, *total), depth),
            Sketch::Plain(text) | Sketch::Text(text) => self.line(key, &self.short(text), depth),
        }
    }

    fn scalars(&self, items: &[Sketch], total: usize) -> String {
        let shown = items.iter().take(self.list * 2).map(|v| match v {
            Sketch::Text(text) | Sketch::Plain(text) => self.short(text),
            _ => String::new(),
        });
        let first: Vec<String> = shown.collect();
        let more = total - first.len();
        let rest = if more > 0 { format!(", … {more} more") } else { String::new() };
        format!("[{}{rest}]", first.join(", "))
    }

    fn short(&self, text: &str) -> String {
        if text.contains('\n') && text.len() > self.chars {
            let digest = super::lines::digest(text, Room::of(self.chars * 3), &Focus::default());
            return format!("|\n{digest}");
        }
        cut::line(text, self.chars, &Focus::default()).into_owned()
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
        // Deep structure is not pushed off the page.
        let indent = depth.min(12) * 2;
        let written = match (key, value) {
            ("", v) => writeln!(self.out, "{v}"),
            ("-", v) => writeln!(self.out, "{:indent$}- {v}", ""),
            (k, "") => writeln!(self.out, "{:indent$}{k}:", ""),
            (k, v) => writeln!(self.out, "{:indent$}{k}: {v}", ""),
        };
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
}

/// 0 for what is in trouble, names or tells a state, 1 for plain fields, 2 for structure.
fn rank(key: &str, value: &Sketch) -> u8 {
    match value {
        _ if describe::of_key(key) > 0 || field_trouble(key, value) == Trouble::Hard => 0,
        Sketch::Fields { .. } | Sketch::List { .. } => 2,
        _ => 1,
    }
}
