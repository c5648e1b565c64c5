//! One call as several runs made it: what they said alike stays, what differed becomes a gap.

use std::collections::BTreeMap;

use hindsight_text::one_line;
use hindsight_types::Step;
use serde_json::Value;

use super::path::longest;

/// Arguments under which a tool takes a command line, a script or a statement.
const COMMANDS: [&str; 9] =
    ["command", "cmd", "script", "code", "sql", "statement", "query", "bash", "shell"];
/// Characters of one argument, and of the whole call.
const ARGUMENT: usize = 120;
const CALL: usize = 200;
/// Words of one argument that are compared.
const WORDS: usize = 60;

/// A call as a person would write it, with gaps where `steps` differ: `set_limit(name=<name>, limit=512m)`.
/// All must call the same tool.
pub(super) fn told(steps: &[&Step]) -> String {
    let Some(first) = steps.first() else { return String::new() };
    let name = one_line(first.action_name.trim(), CALL);
    let arguments: Vec<Arguments> = steps.iter().map(|s| Arguments::of(&s.action_detail)).collect();
    let shown = one_line(&Arguments::shared(&arguments), CALL);
    match shown.is_empty() {
        true => name,
        false if shown.starts_with(&name) => shown,
        false => format!("{name}({shown})"),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Arguments {
    Line(String),
    Fields(BTreeMap<String, String>),
}

impl Arguments {
    fn of(detail: &str) -> Self {
        match serde_json::from_str::<Value>(detail) {
            Ok(Value::Object(map)) => match COMMANDS.iter().find_map(|key| map.get(*key)?.as_str()) {
                Some(line) => Self::Line(line.to_owned()),
                None => Self::Fields(map.into_iter().map(|(k, v)| (k, plain(v))).collect()),
            },
            Ok(Value::String(line)) => Self::Line(line),
            _ => Self::Line(detail.to_owned()),
        }
    }

    fn shared(all: &[Self]) -> String {
        let mut lines = Vec::new();
        let mut maps = Vec::new();
        for arguments in all {
            match arguments {
                Self::Line(line) => lines.push(line.as_str()),
                Self::Fields(map) => maps.push(map),
            }
        }
        match (lines.is_empty(), maps.split_first()) {
            (false, None) => in_line(&lines, ""),
            (true, Some((first, rest))) => {
                let by_all = first.keys().filter(|key| rest.iter().all(|map| map.contains_key(*key)));
                let told = by_all.map(|key| {
                    let values: Vec<&str> =
                        maps.iter().filter_map(|m| m.get(key)).map(String::as_str).collect();
                    format!("{key}={}", in_line(&values, key))
                });
                told.collect::<Vec<_>>().join(", ")
            }
            // Written in two ways, it has nothing in common that could be shown.
            _ => String::new(),
        }
    }
}

fn plain(value: Value) -> String {
    match value {
        Value::String(s) => s,
        other => other.to_string(),
    }
}

/// What all lines say, word by word. `name` is what a line is called that differs as a whole.
fn in_line(lines: &[&str], name: &str) -> String {
    let lines: Vec<String> = lines.iter().map(|line| one_line(line, ARGUMENT * 4)).collect();
    let words: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').take(WORDS).collect()).collect();
    let Some((first, rest)) = words.split_first() else { return String::new() };
    if rest.iter().all(|line| line == first) {
        return one_line(&lines[0], ARGUMENT);
    }
    let shared = if rest.iter().all(|line| line.len() == first.len()) {
        let place = |at: usize| -> String {
            match rest.iter().all(|line| line[at] == first[at]) {
                true => first[at].to_owned(),
                false => gap(words.iter().map(|line| line[at]), name),
            }
        };
        (0..first.len()).map(place).collect()
    } else {
        subsequence(first, rest)
    };
    one_line(&shared.join(" "), ARGUMENT)
}

/// The words that all lines have in this order, with `…` for what stands between.
fn subsequence(first: &[&str], rest: &[Vec<&str>]) -> Vec<String> {
    // Each shared word with the number of gaps before it, in any of the lines.
    let mut shared: Vec<(&str, bool)> = first.iter().map(|word| (*word, false)).collect();
    let mut open_end = false;
    for line in rest {
        let words: Vec<&str> = shared.iter().map(|(word, _)| *word).collect();
        let pairs = longest(&words, line);
        let mut next = Vec::with_capacity(pairs.len());
        let (mut mine, mut theirs) = (0, 0);
        for (i, j) in pairs {
            let skipped = i > mine || j > theirs || shared[mine..=i].iter().any(|(_, gap)| *gap);
            next.push((shared[i].0, skipped));
            (mine, theirs) = (i + 1, j + 1);
        }
        open_end |= mine < shared.len() || theirs < line.len();
        shared = next;
    }
    let mut told: Vec<String> = Vec::new();
    for (word, gap) in shared {
        told.extend(gap.then(|| "…".to_owned()));
        told.push(word.to_owned());
    }
    told.extend(open_end.then(|| "…".to_owned()));
    told
}

/// What sort of thing stands in a place where the runs differ.
fn gap<'a>(words: impl Iterator<Item = &'a str> + Clone, name: &str) -> String {
    let all = |test: fn(&str) -> bool| words.clone().all(test);
    let kind = if all(|w| w.trim_end_matches(|c: char| c.is_alphabetic() || c == '%').parse::<f64>().is_ok())
    {
        "n"
    } else if all(|w| w.contains('/')) {
        "path"
    } else if name.is_empty() {
        "name"
    } else {
        name
    };
    format!("<{kind}>")
}
