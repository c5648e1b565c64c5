//! A span that is a call of a tool.

use serde_json::Value;

use super::{
    RawSpan,
    message::{Role, message},
    value::{self, as_words, parse, text, words},
};

/// What such a span tells.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) name: String,
    pub(super) call_id: String,
    pub(super) arguments: String,
    pub(super) result: String,
    pub(super) failed: bool,
}

pub(super) fn of(span: &RawSpan) -> Told {
    let attributes = &span.attributes;
    let arguments = [
        "gen_ai.tool.call.arguments",
        "gen_ai.retrieval.query.text",
        "input.value",
        "traceloop.entity.input",
        "tool.parameters",
    ];
    let results =
        ["gen_ai.tool.call.result", "gen_ai.retrieval.documents", "output.value", "traceloop.entity.output"];
    let mut told = Told {
        name: name(span),
        call_id: text(attributes, &["gen_ai.tool.call.id", "tool_call.id"]).unwrap_or_default().to_owned(),
        arguments: words(attributes, &arguments).map(unwrapped).unwrap_or_default(),
        ..Told::default()
    };
    if let Some(result) = words(attributes, &results) {
        told.result(unwrapped(result));
    }
    told
}

fn name(span: &RawSpan) -> String {
    let keys = ["gen_ai.tool.name", "tool.name", "traceloop.entity.name", "gen_ai.data_source.id"];
    let by_span = || {
        let said = span.name.trim();
        said.strip_prefix("execute_tool ").or_else(|| said.strip_prefix("tools/call ")).unwrap_or(said)
    };
    let name = text(&span.attributes, &keys).unwrap_or_else(by_span).trim();
    if name.is_empty() { "tool".to_owned() } else { name.to_owned() }
}

impl Told {
    /// A message of a tool stands for its text, and says which call it answers.
    fn result(&mut self, result: String) {
        let answered = parse(&result).filter(|v| v.get("tool_call_id").is_some() || is_message(v));
        let answer =
            answered.and_then(|v| message(&v, Role::Tool)).and_then(|m| m.answers.into_iter().next());
        match answer {
            Some(answer) => {
                if self.call_id.is_empty() {
                    self.call_id = answer.id;
                }
                self.result = answer.text;
                self.failed = answer.failed;
            }
            None => self.result = result,
        }
    }
}

fn is_message(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some("tool") && value.get("content").is_some()
}

/// What OpenLLMetry wraps a call in, without the wrapping.
fn unwrapped(text: String) -> String {
    match parse(&text) {
        Some(value) if value.get("kwargs").is_some() => as_words(value::unwrapped(&value)),
        _ => text,
    }
}
