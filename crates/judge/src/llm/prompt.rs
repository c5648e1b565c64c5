//! The question. What we say is in a file with a version; what was observed stands between two lines, one JSON object per
//! line, and cannot get out: a JSON string has no line break, so no text of a run can begin a line, and the
//! lines that hold it are the only ones that begin with a brace.

use hindsight_ports::JsonSchema;
use hindsight_text::{is_cjk, one_line};
use hindsight_types::{OutcomeStatus, Trajectory};
use serde_json::json;

use super::{entry::Entry, window::Window};

/// Raised with every change of the file, so that a verdict names the words it was asked for in.
pub const VERSION: &str = "judge-v1";
pub(super) const SYSTEM: &str = include_str!("../../prompts/judge-v1.md");

pub(crate) const BEGINS: &str = "=== RUN BEGINS ===";
pub(crate) const ENDS: &str = "=== RUN ENDS ===";

/// Characters of the task and of the conclusion.
const TASK: usize = 600;
const CONCLUSION: usize = 400;
/// Characters of an unusable answer that are shown again, and of what is said about it.
const ANSWER: usize = 2_000;
const PROBLEM: usize = 600;

/// A string of JSON that holds at most `max` visible characters of `text`, on one line. Brackets that
/// could begin a tag or a mark of a chat template (`<|im_end|>`, `[INST]`) are written as escapes, which
/// mean the same to a reader and nothing to a tokenizer.
pub(crate) fn quoted(text: &str, max: usize) -> String {
    let line = one_line(text, max + 1);
    let cut = line.char_indices().nth(max).map(|(i, _)| i);
    let shown = cut.map_or_else(|| line.clone(), |i| format!("{}…", &line[..i]));
    let json = serde_json::Value::String(shown).to_string();
    let mut out = String::with_capacity(json.len());
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '[' if chars.peek().is_some_and(|n| n.is_alphabetic() || *n == '/') => out.push_str("\\u005b"),
            _ => out.push(c),
        }
    }
    out
}

/// About how many tokens a text is: four characters of a Latin script, or one of Chinese.
pub(super) fn tokens(text: &str) -> usize {
    let (wide, narrow) =
        text.chars().fold((0, 0), |(w, n), c| if is_cjk(c) { (w + 1, n) } else { (w, n + 1) });
    wide + narrow / 4 + 1
}

/// Enough for an answer about so many entries, with reasons of some length.
pub(super) fn output_tokens(entries: usize) -> u32 {
    u32::try_from(entries).unwrap_or(u32::MAX).saturating_mul(120).saturating_add(200)
}

/// What all questions about a run have in common.
pub(super) struct Frame {
    head: String,
    tail: Option<String>,
    /// The number of the conclusion.
    pub(super) end: u32,
}

impl Frame {
    pub(super) fn of(t: &Trajectory) -> Self {
        let ended = match t.outcome.resolved() {
            OutcomeStatus::Success => "success",
            OutcomeStatus::Partial => "partial success",
            OutcomeStatus::Failure => "failure",
            OutcomeStatus::Unknown => "unknown",
        };
        let end = t.steps.last().map_or(0, |s| s.step_index + 1);
        let conclusion = &t.outcome.conclusion;
        Self {
            head: format!("{{\"task\":{},\"ended\":\"{ended}\"}}", quoted(&t.task_description, TASK)),
            tail: (!conclusion.trim().is_empty()).then(|| {
                format!("{{\"step\":{end},\"kind\":\"END\",\"do\":{}}}", quoted(conclusion, CONCLUSION))
            }),
            end,
        }
    }

    pub(super) fn question(&self, entries: &[Entry], window: &Window) -> String {
        let mut text = format!("{BEGINS}\n{}\n", self.head);
        for part in [&window.before, &window.asked, &window.ending] {
            for entry in &entries[part.clone()] {
                text.push_str(&entry.line);
                text.push('\n');
            }
        }
        if let Some(tail) = &self.tail {
            text.push_str(tail);
            text.push('\n');
        }
        let asked: Vec<String> = entries[window.asked.clone()].iter().map(|e| e.first.to_string()).collect();
        text.push_str(&format!("{ENDS}\nLabel the steps: {}.\n", asked.join(", ")));
        text
    }
}

/// What is added to a question whose answer could not be used. The answer may repeat what was observed, so it is
/// quoted like that.
pub(super) fn repair(answer: &str, problem: &str) -> String {
    format!(
        "\nYour answer could not be used. It was, quoted: {}\nWhat is wrong, quoted: {}\n\
         Answer again, in whole, and correct this.\n",
        quoted(answer, ANSWER),
        quoted(problem, PROBLEM)
    )
}

/// The shape of an answer about so many entries: a grammar that counts keeps a small model from stopping early.
/// Nothing else in it differs from run to run, since servers compile a shape once.
pub(super) fn schema(entries: usize) -> JsonSchema {
    let step = json!({
        "type": "object",
        "properties": {
            "step": {"type": "integer"},
            "label": {"type": "string", "enum": ["necessary", "redundant", "misleading", "failed"]},
            "reason": {"type": "string"},
            "used_by": {"type": "integer"},
            "used": {"type": "string"}
        },
        "required": ["step", "label", "reason", "used_by", "used"],
        "additionalProperties": false
    });
    JsonSchema {
        name: "step_labels".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"steps": {"type": "array", "items": step, "minItems": entries, "maxItems": entries}},
            "required": ["steps"],
            "additionalProperties": false
        }),
    }
}
