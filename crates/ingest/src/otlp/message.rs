//! Messages to and from a model, in the shapes that conventions and frameworks give them.

use serde_json::Value;

use super::value::{as_words, field, members, parse};

/// Most messages that are read of one span.
const MESSAGES: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// A call that a model wants.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Answer {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) failed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) role: Role,
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<Call>,
    pub(super) answers: Vec<Answer>,
}

/// The messages of a list, in order; of a list of lists, too.
pub(super) fn messages(value: &Value, unsaid: Role) -> Vec<Message> {
    let mut found = Vec::new();
    for member in members(value).into_iter().take(MESSAGES) {
        match member {
            // `["user", "words"]`, as LangChain writes a message, or a batch of one conversation.
            Value::Array(pair) => match pair.as_slice() {
                [Value::String(role), content @ Value::String(_)] if role_of(role).is_some() => {
                    found.extend(of_parts(role_of(role).unwrap_or(unsaid), content));
                }
                _ => found.extend(messages(member, unsaid)),
            },
            _ => found.extend(message(member, unsaid)),
        }
    }
    found.truncate(MESSAGES);
    found
}

/// One message. `unsaid` is whose it is when it does not say.
pub(super) fn message(value: &Value, unsaid: Role) -> Option<Message> {
    let value = value.get("message").filter(|m| m.is_object()).unwrap_or(value);
    // LangChain's serialised form keeps what it says among the arguments of its constructor.
    let value = value.get("kwargs").filter(|k| k.is_object()).unwrap_or(value);
    if let Value::String(text) = value {
        return of_parts(unsaid, &Value::String(text.clone()));
    }
    let role = field(value, &["role", "type"]).and_then(Value::as_str).and_then(role_of).unwrap_or(unsaid);
    let content = field(value, &["parts", "contents", "content"]).unwrap_or(&Value::Null);
    let mut message = of_parts(role, content).unwrap_or_else(|| empty(role));
    let reasoning = field(value, &["reasoning_content", "reasoning"]).and_then(Value::as_str);
    add(&mut message.reasoning, reasoning.unwrap_or_default());
    let calls = value.get("tool_calls").map(calls).unwrap_or_default();
    let known: Vec<String> = message.calls.iter().map(|c| c.id.clone()).collect();
    message.calls.extend(calls.into_iter().filter(|c| c.id.is_empty() || !known.contains(&c.id)));
    if let Some(name) = field(value, &["function_call_name"]).and_then(Value::as_str) {
        let arguments = field(value, &["function_call_arguments_json"]).map(as_words).unwrap_or_default();
        message.calls.push(Call { id: String::new(), name: name.to_owned(), arguments });
    }
    if role == Role::Tool && message.answers.is_empty() {
        let said = |keys: &[&str]| field(value, keys).map(as_words).unwrap_or_default();
        message.answers.push(Answer {
            id: said(&["tool_call_id", "id"]),
            name: said(&["name"]),
            text: std::mem::take(&mut message.text),
            failed: field(value, &["status"]).and_then(Value::as_str) == Some("error"),
        });
    }
    (!message.is_empty()).then_some(message)
}

impl Message {
    fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
            && self.reasoning.is_empty()
            && self.calls.is_empty()
            && self.answers.is_empty()
    }
}

fn empty(role: Role) -> Message {
    Message { role, text: String::new(), reasoning: String::new(), calls: Vec::new(), answers: Vec::new() }
}

fn role_of(word: &str) -> Option<Role> {
    match word.to_ascii_lowercase().as_str() {
        "system" | "developer" => Some(Role::System),
        "user" | "human" => Some(Role::User),
        "assistant" | "ai" | "model" | "aimessagechunk" => Some(Role::Assistant),
        "tool" | "function" => Some(Role::Tool),
        _ => None,
    }
}

fn of_parts(role: Role, content: &Value) -> Option<Message> {
    let mut message = empty(role);
    match content {
        Value::Null => return None,
        Value::String(text) => match parse(text) {
            // Some instrumentations put the list of parts into a text.
            Some(Value::Array(parts))
                if parts.iter().all(|p| p.get("type").is_some()) && !parts.is_empty() =>
            {
                parts.iter().for_each(|p| part(&mut message, p));
            }
            _ => add(&mut message.text, text),
        },
        Value::Array(_) => members(content).into_iter().for_each(|p| part(&mut message, p)),
        Value::Object(map) if map.keys().all(|k| k.parse::<u64>().is_ok()) => {
            members(content).into_iter().for_each(|p| part(&mut message, p));
        }
        Value::Object(_) => part(&mut message, content),
        other => add(&mut message.text, &other.to_string()),
    }
    Some(message)
}

fn part(message: &mut Message, value: &Value) {
    let value = value.get("message_content").filter(|m| m.is_object()).unwrap_or(value);
    if let Value::String(text) = value {
        return add(&mut message.text, text);
    }
    let said = |keys: &[&str]| field(value, keys).map(as_words).unwrap_or_default();
    match value.get("type").and_then(Value::as_str).unwrap_or("text") {
        "text" | "input_text" | "output_text" | "refusal" => {
            add(&mut message.text, &said(&["content", "text", "refusal"]));
        }
        "reasoning" | "thinking" => {
            add(&mut message.reasoning, &said(&["content", "thinking", "text", "reasoning"]));
        }
        "tool_call" | "tool_use" | "function_call" | "server_tool_call" => message.calls.extend(call(value)),
        "tool_call_response" | "tool_result" | "function_call_output" | "server_tool_call_response" => {
            let result = field(value, &["response", "result", "content", "output"]);
            message.answers.push(Answer {
                id: said(&["id", "tool_use_id", "call_id", "tool_call_id"]),
                name: said(&["name"]),
                text: result.map(answer_words).unwrap_or_default(),
                failed: value.get("is_error").and_then(Value::as_bool).unwrap_or(false),
            });
        }
        other => add(&mut message.text, &format!("[{other}]")),
    }
}

/// The words of a result: those of its parts when it is a list of them.
fn answer_words(value: &Value) -> String {
    match value {
        Value::Array(parts) if parts.iter().all(|p| p.get("type").is_some()) && !parts.is_empty() => {
            of_parts(Role::User, value).map(|m| m.text).unwrap_or_default()
        }
        other => as_words(other),
    }
}

fn calls(value: &Value) -> Vec<Call> {
    match value {
        Value::String(text) => parse(text).map(|v| calls(&v)).unwrap_or_default(),
        _ => members(value).into_iter().filter_map(call).collect(),
    }
}

fn call(value: &Value) -> Option<Call> {
    let value = value.get("tool_call").filter(|c| c.is_object()).unwrap_or(value);
    let function = value.get("function").filter(|f| f.is_object());
    let name = function.and_then(|f| f.get("name")).or_else(|| value.get("name"))?.as_str()?;
    let arguments = function.and_then(|f| f.get("arguments"));
    let arguments = arguments.or_else(|| field(value, &["arguments", "args", "input"]));
    Some(Call {
        id: field(value, &["id", "call_id"]).map(as_words).unwrap_or_default(),
        name: name.to_owned(),
        arguments: arguments.map(as_words).unwrap_or_default(),
    })
}

fn add(text: &mut String, more: &str) {
    if more.trim().is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

/// The words of a text, a list of parts, or either as JSON.
pub(super) fn text_of(value: &Value) -> String {
    of_parts(Role::System, value).map(|m| m.text).unwrap_or_default()
}
