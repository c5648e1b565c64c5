//! Messages as the different libraries write them: OpenAI's chat and response items, LangChain's messages (as
//! `model_dump` or `dumpd` gives them) and Anthropic's blocks.

use serde_json::Value;

use crate::json::{arguments_text, content_text, str_at};

/// Most levels of nesting in which messages are looked for.
const DEPTH: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Agent,
    Tool,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub call_id: String,
    pub text: String,
    pub failed: Option<bool>,
}

#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub role: Role,
    pub text: String,
    pub thought: String,
    pub calls: Vec<Call>,
    pub answers: Vec<Answer>,
}

impl Message {
    pub(crate) fn of(role: Role, text: String) -> Self {
        Self { role, text, thought: String::new(), calls: Vec::new(), answers: Vec::new() }
    }
}

/// The messages in what a model was given or gave, wherever they are in it.
pub(crate) fn messages(value: &Value) -> Vec<Message> {
    let mut found = Vec::new();
    collect(value, DEPTH, &mut found);
    found
}

fn collect(value: &Value, depth: usize, found: &mut Vec<Message>) {
    if depth == 0 {
        return;
    }
    if let Some(list) = value.as_array() {
        list.iter().for_each(|v| collect(v, depth - 1, found));
        return;
    }
    if let Some(message) = read(value) {
        found.push(message);
        return;
    }
    const INSIDE: [&str; 9] = [
        "messages",
        "generations",
        "choices",
        "message",
        "output",
        "input",
        "kwargs",
        "response",
        "chat_history",
    ];
    for key in INSIDE {
        if let Some(inner) = value.get(key).filter(|v| v.is_array() || v.is_object()) {
            let before = found.len();
            collect(inner, depth - 1, found);
            if found.len() > before {
                return;
            }
        }
    }
}

/// What came after the last words of the agent: the earlier messages were there in the call before.
pub(crate) fn news(messages: Vec<Message>) -> Vec<Message> {
    let old = messages.iter().rposition(|m| m.role == Role::Agent).map_or(0, |i| i + 1);
    messages.into_iter().skip(old).collect()
}

/// The last words of a user, else a text that stands alone.
pub(crate) fn request(value: &Value) -> Option<String> {
    let last = messages(value).into_iter().rfind(|m| m.role == Role::User && !m.text.trim().is_empty());
    last.map(|m| m.text).or_else(|| plain(value)).map(|text| text.trim().to_owned())
}

/// The last words of the agent, else a text that stands alone.
pub(crate) fn reply(value: &Value) -> Option<String> {
    let last = messages(value).into_iter().rfind(|m| m.role == Role::Agent && !m.text.trim().is_empty());
    last.map(|m| m.text).or_else(|| plain(value)).map(|text| text.trim().to_owned())
}

/// Text, alone or as the one thing an object is about.
fn plain(value: &Value) -> Option<String> {
    const NAMES: [&str; 10] =
        ["input", "question", "query", "prompt", "task", "output", "answer", "result", "text", "content"];
    let named = |key: &&str| str_at(value, key).map(str::to_owned);
    match value {
        Value::String(s) if !s.trim().is_empty() => Some(s.clone()),
        Value::Object(fields) => NAMES.iter().find_map(named).or_else(|| {
            let only = fields.values().next().filter(|_| fields.len() == 1)?;
            only.as_str().filter(|s| !s.trim().is_empty()).map(str::to_owned)
        }),
        _ => None,
    }
}

/// One message; `None` for anything else.
pub(crate) fn read(value: &Value) -> Option<Message> {
    let (fields, class) = match value.get("lc") {
        Some(_) => (value.get("kwargs")?, value.pointer("/id")?.as_array()?.last()?.as_str()),
        None => (value, None),
    };
    let kind = str_at(fields, "type");
    match kind {
        Some("function_call" | "custom_tool_call") => return Some(item_call(fields)),
        Some("function_call_output" | "custom_tool_call_output") => return Some(item_answer(fields)),
        Some("reasoning") => {
            let mut message = Message::of(Role::Agent, String::new());
            message.thought = fields.get("summary").map(content_text).unwrap_or_default();
            return Some(message);
        }
        _ => {}
    }
    let role = str_at(fields, "role").or(class).or(kind).and_then(role)?;
    let content = fields.get("content").or_else(|| fields.get("text"));
    if content.is_none() && fields.get("tool_calls").is_none() && fields.get("function_call").is_none() {
        return None;
    }
    let mut message = Message::of(role, String::new());
    message.thought = str_at(fields, "reasoning_content").unwrap_or_default().to_owned();
    take_content(&mut message, content.unwrap_or(&Value::Null));
    let lists = [fields.get("tool_calls"), fields.pointer("/additional_kwargs/tool_calls")];
    if let Some(calls) = lists.into_iter().flatten().find_map(|c| c.as_array().filter(|c| !c.is_empty())) {
        message.calls = calls.iter().filter_map(call).collect();
    }
    message.calls.extend(fields.get("function_call").and_then(call));
    if role == Role::Tool {
        message.answers.push(answer(fields, std::mem::take(&mut message.text)));
    }
    Some(message)
}

fn role(name: &str) -> Option<Role> {
    Some(match name {
        "system" | "developer" | "SystemMessage" => Role::System,
        "user" | "human" | "HumanMessage" | "HumanMessageChunk" => Role::User,
        "assistant" | "ai" | "AIMessage" | "AIMessageChunk" | "model" => Role::Agent,
        "tool" | "function" | "ToolMessage" | "FunctionMessage" => Role::Tool,
        _ => return None,
    })
}

fn item_call(item: &Value) -> Message {
    let mut message = Message::of(Role::Agent, String::new());
    message.calls.push(Call {
        id: str_at(item, "call_id").or_else(|| str_at(item, "id")).unwrap_or_default().to_owned(),
        name: str_at(item, "name").unwrap_or_default().to_owned(),
        arguments: arguments_text(item.get("arguments").or_else(|| item.get("input"))),
    });
    message
}

fn item_answer(item: &Value) -> Message {
    let mut message = Message::of(Role::Tool, String::new());
    let text = item.get("output").map(content_text).unwrap_or_default();
    message.answers.push(answer(item, text));
    message
}

fn answer(fields: &Value, text: String) -> Answer {
    let ids = ["tool_call_id", "call_id", "tool_use_id"];
    let failed = match str_at(fields, "status") {
        Some("error") => Some(true),
        Some("success") => Some(false),
        _ => fields.get("is_error").and_then(Value::as_bool),
    };
    Answer {
        call_id: ids.iter().find_map(|k| str_at(fields, k)).unwrap_or_default().to_owned(),
        text,
        failed,
    }
}

fn call(value: &Value) -> Option<Call> {
    let function = value.get("function").unwrap_or(value);
    Some(Call {
        id: str_at(value, "id").unwrap_or_default().to_owned(),
        name: str_at(function, "name")?.to_owned(),
        arguments: arguments_text(function.get("arguments").or_else(|| function.get("args"))),
    })
}

/// Text stays text; blocks that call, answer or think are that.
fn take_content(message: &mut Message, content: &Value) {
    let Some(blocks) = content.as_array() else {
        message.text = content_text(content);
        return;
    };
    let mut rest = Vec::new();
    for block in blocks {
        match str_at(block, "type").unwrap_or_default() {
            "tool_use" | "tool_call" => {
                if let Some(name) = str_at(block, "name") {
                    let id = str_at(block, "id").unwrap_or_default().to_owned();
                    let arguments = arguments_text(block.get("input").or_else(|| block.get("args")));
                    message.calls.push(Call { id, name: name.to_owned(), arguments });
                }
            }
            "tool_result" => {
                let text = block.get("content").map(content_text).unwrap_or_default();
                message.answers.push(answer(block, text));
            }
            "thinking" | "reasoning" => {
                let text = str_at(block, "thinking").or_else(|| str_at(block, "reasoning"));
                message.thought.push_str(text.unwrap_or_default());
            }
            _ => rest.push(block.clone()),
        }
    }
    message.text = content_text(&Value::Array(rest));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_dialect_says_the_same() {
        let call = json!({"name": "look", "args": {"q": "订单"}, "id": "c1", "type": "tool_call"});
        let openai = json!({"role": "assistant", "content": "Look.", "tool_calls":
            [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"q\":\"订单\"}"}}]});
        let dumped = json!({"type": "ai", "content": "Look.", "tool_calls": [call]});
        let constructed = json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"type": "ai", "content": "Look.", "tool_calls": [call]}});
        let blocks = json!({"role": "assistant", "content": [{"type": "text", "text": "Look."},
            {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "订单"}}]});
        let result = json!({"generations": [[{"text": "Look.", "message": constructed}]]});
        for value in [openai, dumped, constructed.clone(), blocks, result, json!([[constructed]])] {
            let [message] = &messages(&value)[..] else { panic!("{value}") };
            assert_eq!((message.role, message.text.as_str()), (Role::Agent, "Look."), "{value}");
            let call = &message.calls[0];
            assert_eq!((&*call.id, &*call.name, &*call.arguments), ("c1", "look", r#"{"q":"订单"}"#));
        }
    }

    #[test]
    fn only_what_is_new_is_heard() {
        let said = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
            {"type": "function_call_output", "call_id": "c", "output": "d"}, {"role": "user", "content": "e"}]);
        let heard = news(messages(&said));
        assert_eq!(heard.len(), 2);
        assert_eq!(heard[0].answers[0].text, "d");
        assert_eq!(request(&said).as_deref(), Some("e"));
        assert_eq!(reply(&json!({"answer": " yes "})).as_deref(), Some("yes"));
        assert_eq!(request(&json!({"a": 1, "b": 2})), None);
    }
}
