//! A reader of the English Markdown rendering that knows only what `BLOCK.md` says. It gives items in the shape
//! of the JSON rendering, so that both can be compared.

use serde_json::{Map, Value, json};

const STEPS: [(&str, &str); 5] = [
    ("Path to follow (numbered as in that run)", "path"),
    ("What it did (not known to work)", "done"),
    ("Tried in vain, do not repeat", "tried"),
    ("What it found out", "found"),
    ("Dead ends", "dead_ends"),
];

const TEXTS: [(&str, &str); 13] = [
    ("What", "what"),
    ("Task", "task"),
    ("Result", "result"),
    ("In short", "summary"),
    ("When", "when"),
    ("Do", "do"),
    ("Applies", "applies"),
    ("Basis", "basis"),
    ("Tool", "tool"),
    ("Error", "error"),
    ("Called with", "arguments"),
    ("Cause", "cause"),
    ("Instead", "instead"),
];

const LISTS: [(&str, &str); 3] =
    [("Replaces", "replaces"), ("Attached", "attachments"), ("Caution", "cautions")];

const KINDS: [(&str, &str); 6] = [
    ("Fact", "fact"),
    ("Experience", "experience"),
    ("Failed attempt", "experience"),
    ("Lesson", "lesson"),
    ("Known failure", "failure_pattern"),
    ("Step of a run", "step"),
];

pub(super) struct Parsed {
    pub(super) receipt: String,
    pub(super) note: String,
    pub(super) items: Vec<Value>,
    pub(super) left_out: u64,
}

pub(super) fn parse(text: &str) -> Result<Parsed, String> {
    let mut lines = text.strip_suffix('\n').ok_or("no end of line")?.split('\n');
    let open = lines.next().unwrap_or_default();
    let receipt = between(open, "<hindsight-memory version=\"2\" receipt=\"", "\">")?.to_owned();
    let note = lines.next().unwrap_or_default().to_owned();
    expect(lines.next(), "")?;
    let (mut items, mut left_out) = (Vec::new(), 0);
    loop {
        let line = lines.next().ok_or("no closing tag")?;
        if line == "</hindsight-memory>" {
            break;
        }
        if let Some(rest) = line.strip_prefix('(') {
            let number = rest.split(' ').next().unwrap_or_default();
            left_out = number.parse().map_err(|_| line.to_owned())?;
            expect(lines.next(), "</hindsight-memory>")?;
            break;
        }
        let mut item = heading(line, items.len() + 1)?;
        let body: Vec<&str> = lines.by_ref().take_while(|l| !l.is_empty()).collect();
        fields(&body, &mut item)?;
        items.push(Value::Object(item));
    }
    match lines.next() {
        None => Ok(Parsed { receipt, note, items, left_out }),
        Some(line) => Err(format!("behind the end: {line:?}")),
    }
}

fn heading(line: &str, number: usize) -> Result<Map<String, Value>, String> {
    let rest =
        line.strip_prefix(&format!("### {number}. ")).ok_or(format!("no heading {number}: {line:?}"))?;
    let parts: Vec<&str> = rest.split(" · ").collect();
    let [title, age, sure, more @ ..] = &parts[..] else { return Err(format!("heading {line:?}")) };
    let mut item = Map::new();
    let (name, kind) = KINDS.into_iter().find(|(n, _)| title.starts_with(n)).ok_or(line)?;
    item.insert("kind".to_owned(), json!(kind));
    let mut rest = &title[name.len()..];
    if let Some(quoted) = rest.strip_prefix(" `") {
        let (intent, after) = quoted.split_once('`').ok_or(line)?;
        item.insert("intent".to_owned(), json!(intent));
        rest = after;
    }
    if !rest.is_empty() {
        let notes: Vec<&str> = between(rest, " (", ")")?.split(", ").collect();
        item.insert("notes".to_owned(), json!(notes));
    }
    item.insert("age".to_owned(), json!(age));
    let (words, number) = sure.split_once(" (").ok_or(line)?;
    let number: f64 = number.trim_end_matches(')').parse().map_err(|_| line.to_owned())?;
    item.insert("sure".to_owned(), json!(words));
    item.insert("confidence".to_owned(), json!(number));
    for part in more {
        if let Some(speaker) = part.strip_prefix("said by ") {
            item.insert("said_by".to_owned(), json!(between(speaker, "`", "`")?));
        } else {
            let sources = part.strip_prefix("from ").ok_or(format!("heading part {part:?}"))?;
            let sources: Result<Vec<&str>, String> =
                sources.split(", ").map(|s| between(s, "`", "`")).collect();
            item.insert("from".to_owned(), json!(sources?));
        }
    }
    Ok(item)
}

fn fields(lines: &[&str], item: &mut Map<String, Value>) -> Result<(), String> {
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        let line = line.strip_prefix("- ").ok_or(format!("not a line of ours: {line:?}"))?;
        if let Some(label) = line.strip_suffix(':')
            && let Some((_, key)) = STEPS.into_iter().chain([("What", "what")]).find(|(l, _)| *l == label)
        {
            let mut steps = Vec::new();
            while let Some(line) = lines.next_if(|l| l.starts_with("  ")) {
                match line.strip_prefix("  - … ") {
                    Some(count) => {
                        let count: u64 =
                            count.split(' ').next().unwrap_or_default().parse().map_err(|_| *line)?;
                        item.insert(format!("{key}_left_out"), json!(count));
                    }
                    None => steps.push(step(&line[2..])?),
                }
            }
            item.insert(key.to_owned(), json!(steps));
            continue;
        }
        let (label, text) = line.split_once(": ").ok_or(format!("no label: {line:?}"))?;
        if let Some((_, key)) = LISTS.into_iter().find(|(l, _)| *l == label) {
            let list = item.entry(key).or_insert_with(|| json!([]));
            list.as_array_mut().ok_or(label)?.push(json!(text));
        } else {
            let known = TEXTS.into_iter().chain([("Why here", "why")]).find(|(l, _)| *l == label);
            let (_, key) = known.ok_or(format!("not a label of ours: {label:?}"))?;
            if item.insert(key.to_owned(), json!(text)).is_some() {
                return Err(format!("twice: {label}"));
            }
        }
    }
    Ok(())
}

fn step(line: &str) -> Result<Value, String> {
    let (index, rest) = line.split_once(". ").ok_or(format!("not a step: {line:?}"))?;
    let index: u32 = index.parse().map_err(|_| format!("not a step: {line:?}"))?;
    let mut out = Map::new();
    out.insert("step".to_owned(), json!(index));
    let mut parts = rest.split(" · ");
    let act = parts.next().unwrap_or_default();
    let (act, result) = act.split_once(" → ").map_or((act, None), |(act, result)| (act, Some(result)));
    let mut put = |key: &str, text: &str| {
        if !text.is_empty() {
            out.insert(key.to_owned(), json!(text));
        }
    };
    match act.strip_prefix('`').and_then(|a| a.split_once('`')) {
        Some((tool, input)) => {
            put("tool", tool);
            put("input", input.trim_start());
        }
        None => put("input", between(act, "\"", "\"")?),
    }
    put("result", result.unwrap_or_default());
    for part in parts {
        match part.split_once(": ").or(Some((part, ""))) {
            Some((verdict @ ("misleading" | "failed"), reason)) => {
                put("verdict", verdict);
                put("reason", reason);
            }
            _ => put("why", part),
        }
    }
    Ok(Value::Object(out))
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Result<&'a str, String> {
    let inner = text.strip_prefix(start).and_then(|t| t.strip_suffix(end));
    inner.ok_or_else(|| format!("{text:?} is not {start}…{end}"))
}

fn expect(line: Option<&str>, expected: &str) -> Result<(), String> {
    if line == Some(expected) { Ok(()) } else { Err(format!("{line:?} is not {expected:?}")) }
}
