//! The JSON rendering: one object, one line per item. Keys never change with the language.

use hindsight_types::ReceiptId;
use serde_json::Value as Json;

use super::{
    Language, TAG, VERSION,
    entry::{Entry, StepLine, Value},
};

pub(super) fn head(receipt: ReceiptId, language: Language) -> String {
    let note = Json::from(language.note());
    format!(
        "{{\"format\":\"{TAG}\",\"version\":{VERSION},\"receipt\":\"{receipt}\",\"note\":{note},\"items\":[\n"
    )
}

pub(super) fn tail(left_out: usize) -> String {
    format!("],\"left_out\":{left_out}}}\n")
}

pub(super) fn item(before: usize, entry: &Entry, language: Language) -> String {
    let comma = if before == 0 { "" } else { "," };
    let mut item = Object::default();
    item.text("kind", entry.kind.as_str());
    item.text("intent", &entry.intent);
    item.texts("notes", &entry.notes);
    item.text("age", &entry.age);
    item.text("sure", entry.sure(language));
    item.json("confidence", &format!("{:.2}", entry.confidence));
    item.text("said_by", &entry.speaker);
    item.texts("from", &entry.sources);
    for (key, value) in &entry.lines {
        let name = key.json();
        match value {
            Value::Text(text) => item.text(name, text),
            Value::Texts(texts) => item.texts(name, texts),
            Value::Steps(steps) => {
                let shown: Vec<String> = steps.shown.iter().map(step).collect();
                item.json(name, &format!("[{}]", shown.join(",")));
                if steps.left_out > 0 {
                    item.json(&format!("{name}_left_out"), &steps.left_out.to_string());
                }
            }
        }
    }
    format!("{comma}{}\n", item.end())
}

fn step(step: &StepLine) -> String {
    let mut out = Object::default();
    out.json("step", &step.index.to_string());
    out.text("tool", &step.tool);
    out.text("input", &step.input);
    out.text("result", &step.result);
    out.text("instead_of", &step.rejected);
    out.text("because", &step.because);
    out.text("verdict", step.verdict);
    out.text("reason", &step.reason);
    out.end()
}

/// An object in the making, keys in the order in which they are added; empty texts are not.
#[derive(Default)]
struct Object(String);

impl Object {
    fn json(&mut self, key: &str, json: &str) {
        let before = if self.0.is_empty() { '{' } else { ',' };
        self.0.push(before);
        self.0.push_str(&format!("{}:{json}", Json::from(key)));
    }

    fn text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.json(key, &Json::from(text).to_string());
        }
    }

    fn texts(&mut self, key: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.json(key, &Json::from(texts).to_string());
        }
    }

    fn end(self) -> String {
        if self.0.is_empty() { "{}".to_owned() } else { format!("{}}}", self.0) }
    }
}
