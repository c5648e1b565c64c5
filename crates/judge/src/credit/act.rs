//! Calls, taken apart: from the steps of a run, and from the words in which advice tells them.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_types::Step;
use serde_json::Value;

use crate::{
    canon,
    effect::{self, Effect},
};

/// Most of a command line, or of a text of advice, that is looked at, in bytes.
const READ: usize = 8 * 1024;
/// Most calls of one text or command line.
const ACTS: usize = 32;
/// Most arguments of one call.
const ARGUMENTS: usize = 64;
/// Between the calls of one piece of advice.
const THEN: [&str; 8] = [", then ", " and then ", " then ", "，然后", "；然后", "，再", "；", "; "];

/// One call, or one command of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Act {
    /// The tool, or the program and its verb, in lower case.
    pub(super) purpose: String,
    /// Arguments by their key; of commands the options.
    pub(super) named: BTreeMap<String, String>,
    /// Arguments that stand by themselves.
    pub(super) plain: BTreeSet<String>,
    pub(super) writes: bool,
    /// The text breaks off, so that arguments may be missing.
    pub(super) cut: bool,
    /// Of advice: arguments that tell it from what is rejected.
    pub(super) firm: BTreeSet<String>,
}

/// What a step called.
pub(super) fn of_step(step: &Step) -> Vec<Act> {
    let mut acts = of_call(&step.action_name, &step.action_detail);
    if let [only] = acts.as_mut_slice() {
        // All of the call, with its result, tells best what it does.
        only.writes |= effect::classify(step).is_write();
    }
    acts
}

/// A call by its tool and its arguments as they were recorded.
pub(super) fn of_call(name: &str, detail: &str) -> Vec<Act> {
    let arguments = canon::arguments(detail);
    if let Some(line) = effect::command_line(name, detail, arguments.as_ref()) {
        return of_line(&line);
    }
    let mut act = of_tool(name);
    match &arguments {
        // As advice tells it: by the command alone.
        Some(object @ Value::Object(map)) => match effect::command_of(detail, Some(object)) {
            Some(command) => act.plain = values(command),
            None => act.named = map.iter().take(ARGUMENTS).map(|(k, v)| (key(k), value(&shown(v)))).collect(),
        },
        Some(other) => act.plain = values(&shown(other)),
        None => (act.plain, act.cut) = (values(detail), detail.ends_with('…')),
    }
    if act.purpose.is_empty() { Vec::new() } else { vec![act] }
}

/// The calls that a text advises, in their order. Words that tell no call tell nothing that could be followed.
pub(super) fn of_text(text: &str) -> Vec<Act> {
    let text = head(text).replace('（', "(").replace('）', ")");
    steps(&text).into_iter().flat_map(of_words).take(ACTS).collect()
}

fn of_words(part: &str) -> Vec<Act> {
    if let Some((name, inner)) = told_call(part) {
        return of_told(name, inner);
    }
    let mut quoted = part.split('`').skip(1).step_by(2).peekable();
    if quoted.peek().is_some() {
        return quoted
            .flat_map(|q| told_call(q).map_or_else(|| of_line(q), |(n, i)| of_told(n, i)))
            .collect();
    }
    let known = part.is_ascii() && effect::of_command(part).1.is_some();
    if known { of_line(part) } else { Vec::new() }
}

/// `name(arguments)` at the beginning of a text.
fn told_call(part: &str) -> Option<(&str, &str)> {
    let (name, rest) = part.trim().split_once('(')?;
    let bare =
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || "=,:;，：；。\"'`".contains(c));
    let mut depth = 1_usize;
    let closes = rest.char_indices().find(|(_, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    bare.then(|| (name, closes.map_or(rest, |(at, _)| &rest[..at])))
}

/// A call as advice writes it: the command line of a tool that runs commands, `key=value` of others.
fn of_told(name: &str, inner: &str) -> Vec<Act> {
    if effect::is_runner(name) {
        return of_line(&effect::with_program(name, inner));
    }
    let (mut act, mut last) = (of_tool(name), None);
    act.cut = inner.ends_with('…');
    for piece in inner.split(", ").take(ARGUMENTS) {
        match piece.split_once('=').filter(|(k, _)| is_key(k)) {
            Some((k, v)) => {
                act.named.insert(key(k), value(v));
                last = Some(key(k));
            }
            // A value with a comma in it.
            None => match last.as_ref().and_then(|k| act.named.get_mut(k)) {
                Some(before) => *before = format!("{before} {}", value(piece)),
                None => act.plain.extend(values(piece)),
            },
        }
    }
    if let Some(broken) = last.filter(|_| act.cut) {
        act.named.remove(&broken);
    }
    vec![act]
}

fn of_tool(name: &str) -> Act {
    let effect = effect::classify_call(name, "", Some(&Value::Null), "");
    Act { purpose: name.trim().to_lowercase(), writes: effect.is_write(), ..Act::default() }
}

fn of_line(line: &str) -> Vec<Act> {
    commands(head(line)).into_iter().filter_map(of_command).take(ACTS).collect()
}

fn of_command(command: &str) -> Option<Act> {
    let (purpose, effect) = effect::of_command(command);
    let mut act = Act {
        purpose: purpose.to_lowercase(),
        writes: effect.is_some_and(Effect::is_write),
        cut: command.trim_end().ends_with('…'),
        ..Act::default()
    };
    let mut purpose: Vec<&str> = act.purpose.split(' ').collect();
    let mut words = command.split_whitespace().filter(|w| !w.ends_with('…')).take(ARGUMENTS).peekable();
    while let Some(word) = words.next() {
        if let Some(at) = purpose.iter().position(|p| word.eq_ignore_ascii_case(p)) {
            purpose.remove(at);
        } else if let Some(option) =
            word.strip_prefix('-').filter(|o| o.starts_with(|c: char| c == '-' || c.is_alphabetic()))
        {
            let long = option.starts_with('-');
            let takes = |next: &&str| {
                !next.starts_with('-') && (long || next.starts_with(|c: char| c.is_ascii_digit()))
            };
            match option.split_once('=') {
                Some((k, v)) => drop(act.named.insert(key(k), value(v))),
                None => {
                    if let Some(next) = words.next_if(takes) {
                        act.named.insert(key(option), value(next));
                    }
                }
            }
        } else if let Some((k, v)) = word.split_once('=').filter(|(k, _)| is_key(k)) {
            act.named.insert(key(k), value(v));
        } else {
            act.plain.extend(values(word));
        }
    }
    (!act.purpose.is_empty()).then_some(act)
}

/// The parts of a text that stand one after the other, cut where no bracket and no quote is open.
fn steps(text: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth > 0 || at < from => {}
            _ => {
                if let Some(then) = THEN.iter().find(|then| text[at..].starts_with(**then)) {
                    parts.push(&text[from..at]);
                    from = at + then.len();
                }
            }
        }
    }
    parts.push(&text[from..]);
    parts
}

/// The commands of a line, cut where no quote is open.
fn commands(line: &str) -> Vec<&str> {
    let (mut parts, mut from, mut quote) = (Vec::new(), 0, None);
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\n' | ';' | '|' | '&', None) => {
                parts.push(&line[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&line[from..]);
    parts
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(READ)]
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn key(text: &str) -> String {
    text.trim_matches('-').to_lowercase()
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(s) => s.clone(),
        other => other.to_string(),
    }
}

/// A value in the form in which it is compared.
fn value(text: &str) -> String {
    let text = head(text).trim_matches(|c: char| c.is_whitespace() || "\"'`,;:()[]{}。，；".contains(c));
    let number = text.strip_suffix(".0").unwrap_or(text).replace(',', "");
    if number.parse::<f64>().is_ok() { number } else { text.to_lowercase() }
}

fn values(text: &str) -> BTreeSet<String> {
    let words = head(text).split(|c: char| c.is_whitespace() || "\"'`,;()[]{}。，；".contains(c));
    let words = words.filter(|w| !w.ends_with('…')).map(value);
    words.filter(|w| w.contains(char::is_alphanumeric)).take(ARGUMENTS).collect()
}
