//! Lines as events: `WatchRequest` in JSON, or what an agent hands to its hooks.

use hindsight_proto::recall::v1::WatchRequest;
use serde_json::Value;

use super::hook::Hook;
use crate::json;

const NAME: &str = "hindsight.recall.v1.WatchRequest";

/// Fields that are JSON text, and may be given as JSON.
const ARGUMENTS: [&str; 2] = ["before_call", "after_call"];

/// An event, and the hook that it comes from.
#[derive(Debug)]
pub(super) struct Told {
    pub request: WatchRequest,
    pub hook: Option<Hook>,
}

pub(super) fn read(line: &str) -> Result<Told, String> {
    let value: Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let Value::Object(mut object) = value else { return Err("is no JSON object".to_owned()) };
    if let Some(hook) = Hook::of(&object) {
        let event = Some(hook.event(&object)?);
        return Ok(Told { request: WatchRequest { sequence: 0, event }, hook: Some(hook) });
    }
    for call in ARGUMENTS {
        let Some(arguments) = object.get_mut(call).and_then(|call| call.get_mut("arguments")) else {
            continue;
        };
        if !arguments.is_string() {
            *arguments = Value::String(arguments.to_string());
        }
    }
    let request = json::to_message(NAME, &Value::Object(object).to_string())?;
    Ok(Told { request, hook: None })
}

#[cfg(test)]
mod tests {
    use hindsight_proto::recall::v1::watch_request::Event;

    use super::*;

    #[test]
    fn arguments_may_be_json_or_its_text() {
        for line in [
            r#"{"before_call": {"tool": "bash", "arguments": {"command": "ls"}}}"#,
            r#"{"before_call": {"tool": "bash", "arguments": "{\"command\":\"ls\"}"}}"#,
            r#"{"hook_event_name": "PreToolUse", "tool_name": "bash", "tool_input": {"command": "ls"}, "cwd": "/"}"#,
        ] {
            let Some(Event::BeforeCall(call)) = read(line).unwrap().request.event else { panic!("{line}") };
            assert_eq!((call.tool.as_str(), call.arguments.as_str()), ("bash", r#"{"command":"ls"}"#));
        }
    }

    #[test]
    fn what_is_no_event_is_told() {
        for line in ["", "[]", "{", r#"{"before": {}}"#, r#"{"message": {"text": 5}}"#] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
