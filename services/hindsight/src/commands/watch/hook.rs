//! What an agent hands to its hooks, and what it takes from them: the contract of Claude Code, which others share.
//! One JSON object comes on standard input; what is to reach the model goes out as `additionalContext`.

use hindsight_proto::recall::v1::{AfterCall, BeforeCall, UserMessage, WatchStart, watch_request::Event};
use serde_json::{Map, Value, json};

/// The hook that a line comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hook {
    name: String,
    session: String,
}

impl Hook {
    /// `None`: the object is not from a hook.
    pub(super) fn of(told: &Map<String, Value>) -> Option<Self> {
        let name = told.get("hook_event_name")?.as_str()?.to_owned();
        Some(Self { name, session: text(told, "session_id") })
    }

    /// What the hook tells, as an event.
    pub(super) fn event(&self, told: &Map<String, Value>) -> Result<Event, String> {
        let text = |key: &str| text(told, key);
        Ok(match self.name.as_str() {
            "SessionStart" => Event::Start(WatchStart::default()),
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
                failed: self.failed(told),
                output: if told.contains_key("error") { text("error") } else { text("tool_response") },
            }),
            other => return Err(format!("the hook `{other}` tells nothing that is watched")),
        })
    }

    /// A call that the user broke off did not fail.
    fn failed(&self, told: &Map<String, Value>) -> bool {
        let says = |value: Option<&Value>, is: bool| value.and_then(Value::as_bool) == Some(is);
        let response = |key: &str| told.get("tool_response").and_then(|r| r.get(key));
        let failed = self.name == "PostToolUseFailure"
            || says(response("is_error"), true)
            || says(response("success"), false);
        failed && !says(told.get("is_interrupt"), true)
    }

    /// The start of the agent's session: what the options say, with the session's own name. The run that an import
    /// makes of the session has that name, too.
    pub(super) fn start(&self, mut start: WatchStart) -> WatchStart {
        for name in [&mut start.session, &mut start.trace_id] {
            if name.is_empty() {
                name.clone_from(&self.session);
            }
        }
        start
    }

    /// What the agent takes from this hook.
    pub(super) fn answer(&self, block: &str) -> Value {
        json!({"hookSpecificOutput": {"hookEventName": self.name, "additionalContext": block}})
    }
}

fn text(told: &Map<String, Value>, key: &str) -> String {
    match told.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: Value) -> (Hook, Result<Event, String>) {
        let object = line.as_object().unwrap();
        let hook = Hook::of(object).unwrap();
        let event = hook.event(object);
        (hook, event)
    }

    #[test]
    fn hooks_are_events() {
        let event = |line: Value| told(line).1.unwrap();
        let said = event(json!({"hook_event_name": "UserPromptSubmit", "prompt": "还记得上次吗"}));
        assert!(matches!(said, Event::Message(said) if said.text == "还记得上次吗"));
        let after = event(json!({"hook_event_name": "PostToolUse", "tool_name": "b",
            "tool_response": {"is_error": true, "text": "no"}}));
        assert!(matches!(after, Event::AfterCall(call) if call.failed && call.output.contains("no")));
        let fine =
            event(json!({"hook_event_name": "PostToolUse", "tool_name": "b", "tool_response": "done"}));
        assert!(matches!(fine, Event::AfterCall(call) if !call.failed && call.output == "done"));
        let (_, other) = told(json!({"hook_event_name": "PreCompact"}));
        assert!(other.unwrap_err().contains("PreCompact"));
    }

    #[test]
    fn a_call_fails_by_itself_and_not_by_the_user() {
        let failed = |interrupted: bool| {
            let line = json!({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash",
                "tool_input": {"command": "make"}, "error": "exit 2", "is_interrupt": interrupted});
            let Event::AfterCall(call) = told(line).1.unwrap() else { panic!("a call that came back") };
            assert_eq!(call.output, "exit 2");
            call.failed
        };
        assert!(failed(false) && !failed(true));
    }

    #[test]
    fn an_answer_names_its_hook_and_a_start_its_session() {
        let (hook, event) = told(json!({"hook_event_name": "SessionStart", "session_id": "s-1"}));
        assert!(matches!(event, Ok(Event::Start(_))));
        let expected =
            json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "记得"}});
        assert_eq!(hook.answer("记得"), expected);
        let own = WatchStart { user: "anna".into(), trace_id: "mine".into(), ..WatchStart::default() };
        assert_eq!(hook.start(own.clone()), WatchStart { session: "s-1".into(), ..own });
        assert_eq!(hook.start(WatchStart::default()).trace_id, "s-1");
    }
}
