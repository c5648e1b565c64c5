//! Lines as events: `WatchRequest` in JSON, or what an agent hands to its hooks.

use hindsight_proto::recall::v1::{
    AfterCall, BeforeCall, UserMessage, WatchRequest, WatchStart, watch_request::Event,
};
use serde_json::{Map, Value};

use crate::json;

const NAME: &str = "hindsight.recall.v1.WatchRequest";

/// Fields that are JSON text, and may be given as JSON.
const ARGUMENTS: [&str; 2] = ["before_call", "after_call"];

pub(super) fn read(line: &str) -> Result<WatchRequest, String> {
    let value: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let Value::Object(mut object) = value else { return Err("is no JSON object".to_owned()) };
    if let Some(name) = object.get("hook_event_name").and_then(Value::as_str) {
        return hook(name, &object);
    }
    for call in ARGUMENTS {
        let Some(arguments) = object.get_mut(call).and_then(|call| call.get_mut("arguments")) else {
            continue;
        };
        if !arguments.is_string() {
            *arguments = Value::String(arguments.to_string());
        }
    }
    json::to_message(NAME, &Value::Object(object).to_string())
}

/// What Claude Code, and agents that do as it does, tell their hooks.
fn hook(name: &str, told: &Map<String, Value>) -> Result<WatchRequest, String> {
    let text = |key: &str| match told.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    let event = match name {
        "SessionStart" => Event::Start(WatchStart { session: text("session_id"), ..WatchStart::default() }),
        "UserPromptSubmit" => Event::Message(UserMessage { text: text("prompt") }),
        "PreToolUse" => Event::BeforeCall(BeforeCall {
            call_id: text("tool_use_id"),
            tool: text("tool_name"),
            arguments: text("tool_input"),
            description: String::new(),
        }),
        "PostToolUse" | "PostToolUseFailure" => Event::AfterCall(AfterCall {
            call_id: text("tool_use_id"),
            tool: text("tool_name"),
            arguments: text("tool_input"),
            failed: name == "PostToolUseFailure" || failed(told.get("tool_response")),
            output: if told.contains_key("error") { text("error") } else { text("tool_response") },
        }),
        other => return Err(format!("the hook `{other}` tells nothing that is watched")),
    };
    Ok(WatchRequest { sequence: 0, event: Some(event) })
}

fn failed(response: Option<&Value>) -> bool {
    let says = |key: &str, is: bool| {
        response.and_then(|r| r.get(key)).and_then(Value::as_bool).is_some_and(|said| said == is)
    };
    says("is_error", true) || says("success", false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_may_be_json_or_its_text() {
        for line in [
            r#"{"before_call": {"tool": "bash", "arguments": {"command": "ls"}}}"#,
            r#"{"before_call": {"tool": "bash", "arguments": "{\"command\":\"ls\"}"}}"#,
            r#"{"hook_event_name": "PreToolUse", "tool_name": "bash", "tool_input": {"command": "ls"}, "cwd": "/"}"#,
        ] {
            let Some(Event::BeforeCall(call)) = read(line).unwrap().event else { panic!("{line}") };
            assert_eq!((call.tool.as_str(), call.arguments.as_str()), ("bash", r#"{"command":"ls"}"#));
        }
    }

    #[test]
    fn hooks_are_events() {
        let event = |line: &str| read(line).unwrap().event.unwrap();
        let said = event(r#"{"hook_event_name": "UserPromptSubmit", "prompt": "还记得上次吗"}"#);
        assert!(matches!(said, Event::Message(said) if said.text == "还记得上次吗"));
        let after = event(
            r#"{"hook_event_name": "PostToolUse", "tool_name": "b", "tool_response": {"is_error": true, "text": "no"}}"#,
        );
        assert!(matches!(after, Event::AfterCall(call) if call.failed && call.output.contains("no")));
        let fine = event(r#"{"hook_event_name": "PostToolUse", "tool_name": "b", "tool_response": "done"}"#);
        assert!(matches!(fine, Event::AfterCall(call) if !call.failed && call.output == "done"));
        assert!(read(r#"{"hook_event_name": "PreCompact"}"#).unwrap_err().contains("PreCompact"));
    }

    #[test]
    fn what_is_no_event_is_told() {
        for line in ["", "[]", "{", r#"{"before": {}}"#, r#"{"message": {"text": 5}}"#] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
