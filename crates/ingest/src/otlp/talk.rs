//! What went into a span and what came out of it, by whichever convention says it.

use serde_json::Value;

use super::{
    Attributes, RawSpan,
    message::{Message, Role, message, messages},
    value::{self, structure, unflattened},
};

/// The names under which frameworks put the words that they were called with.
const ASKED: [&str; 12] = [
    "input",
    "question",
    "query",
    "prompt",
    "task",
    "goal",
    "user_input",
    "text",
    "content",
    "message",
    "output",
    "answer",
];

/// In and out of an agent or a model.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) heard: Vec<Message>,
    pub(super) said: Vec<Message>,
}

/// What is said by attributes (the GenAI conventions of today, those of OpenInference, those of OpenLLMetry),
/// else by events of the span (the GenAI conventions of before), else by the plain input and output.
pub(super) fn of(span: &RawSpan) -> Talk {
    let mut talk = by_attributes(&span.attributes);
    for event in &span.events {
        if event.name == "gen_ai.client.inference.operation.details" {
            let told = by_attributes(&event.attributes);
            fill(&mut talk, told);
        }
    }
    fill(&mut talk, by_events(span));
    fill(&mut talk, plain(&span.attributes));
    talk
}

fn fill(talk: &mut Talk, more: Talk) {
    if talk.heard.is_empty() {
        talk.heard = more.heard;
    }
    if talk.said.is_empty() {
        talk.said = more.said;
    }
}

fn by_attributes(attributes: &Attributes) -> Talk {
    let list = |key: &str, unsaid| {
        attributes.get(key).and_then(structure).map(|v| messages(&v, unsaid)).unwrap_or_default()
    };
    let flat = |prefix: &str, unsaid| {
        unflattened(attributes, prefix).map(|v| messages(&v, unsaid)).unwrap_or_default()
    };
    let first = |choices: [Vec<Message>; 3]| choices.into_iter().find(|m| !m.is_empty()).unwrap_or_default();
    Talk {
        heard: first([
            list("gen_ai.input.messages", Role::User),
            flat("llm.input_messages.", Role::User),
            flat("gen_ai.prompt.", Role::User),
        ]),
        said: first([
            list("gen_ai.output.messages", Role::Assistant),
            flat("llm.output_messages.", Role::Assistant),
            flat("gen_ai.completion.", Role::Assistant),
        ]),
    }
}

fn by_events(span: &RawSpan) -> Talk {
    let mut talk = Talk::default();
    for event in &span.events {
        let role = match event.name.as_str() {
            "gen_ai.system.message" => Role::System,
            "gen_ai.user.message" => Role::User,
            "gen_ai.assistant.message" | "gen_ai.choice" => Role::Assistant,
            "gen_ai.tool.message" => Role::Tool,
            "gen_ai.content.prompt" | "gen_ai.content.completion" => {
                let heard = event.name.ends_with("prompt");
                let (key, role) = if heard {
                    ("gen_ai.prompt", Role::User)
                } else {
                    ("gen_ai.completion", Role::Assistant)
                };
                let found = event.attributes.get(key).map(|v| any(v, role)).unwrap_or_default();
                if heard {
                    talk.heard.extend(found)
                } else {
                    talk.said.extend(found)
                }
                continue;
            }
            _ => continue,
        };
        let mut body = event.attributes.clone();
        // The message of a choice, and lists of calls, are JSON in a text.
        for key in ["message", "tool_calls"] {
            if let Some(structured) = body.get(key).and_then(structure) {
                body.insert(key.to_owned(), structured);
            }
        }
        let found = message(&Value::Object(body.into_iter().collect()), role);
        if event.name == "gen_ai.choice" { talk.said.extend(found) } else { talk.heard.extend(found) }
    }
    talk
}

fn plain(attributes: &Attributes) -> Talk {
    let of = |keys: [&str; 2], role| {
        keys.iter()
            .filter_map(|k| attributes.get(*k))
            .map(|v| any(v, role))
            .find(|m| !m.is_empty())
            .unwrap_or_default()
    };
    Talk {
        heard: of(["input.value", "traceloop.entity.input"], Role::User),
        said: of(["output.value", "traceloop.entity.output"], Role::Assistant),
    }
}

/// Messages in whatever a framework was called with or gave back.
fn any(value: &Value, unsaid: Role) -> Vec<Message> {
    let words = || message(&Value::String(value::as_words(value)), unsaid).into_iter().collect();
    let Some(found) = structure(value) else { return words() };
    let found = value::unwrapped(&found);
    let inner = value::field(found, &["messages", "chat_history"]).filter(|v| v.is_array());
    let list = messages(inner.unwrap_or(found), unsaid);
    if !list.is_empty() && (inner.is_some() || found.is_array()) {
        return list;
    }
    if found.get("role").is_some()
        && let Some(one) = message(found, unsaid)
    {
        return vec![one];
    }
    match value::field(found, &ASKED).and_then(Value::as_str) {
        Some(text) => message(&Value::String(text.to_owned()), unsaid).into_iter().collect(),
        None => words(),
    }
}
