//! Messages with a `type` and a `source`.

use std::{borrow::Cow, collections::HashSet};

use hindsight_types::{AgentId, StepStatus, Trajectory};
use serde_json::Value;

use crate::{
    Options, RecordError, UnderWay,
    draft::{Draft, Mark},
    formats::status_of,
    json::{arguments_text, content_text, str_at, time_at},
};

/// Who speaks for the person.
const USERS: [&str; 3] = ["user", "user_proxy", "human"];

/// The messages in a record: itself, those of a result, or those that a line of the event log carries.
pub(super) fn messages_of(record: &Value) -> Vec<Cow<'_, Value>> {
    if let Some(list) = record.get("messages").and_then(Value::as_array) {
        let all = list.iter().all(is_message);
        return if all { list.iter().map(Cow::Borrowed).collect() } else { Vec::new() };
    }
    if is_message(record) {
        return vec![Cow::Borrowed(record)];
    }
    // Each message is logged when it is sent and again when it arrives.
    let sent = str_at(record, "delivery_stage").is_some_and(|s| s.ends_with("SEND"));
    let payload = record.get("payload").and_then(Value::as_str).filter(|_| sent);
    let Some(payload) = payload.and_then(|p| serde_json::from_str::<Value>(p).ok()) else {
        return Vec::new();
    };
    let alone = payload.get("message").cloned().into_iter();
    let several = payload.get("messages").and_then(Value::as_array).cloned().into_iter().flatten();
    alone.chain(several).filter(is_message).map(Cow::Owned).collect()
}

/// A line of the event log by which somebody outside gives agents their task.
pub(super) fn begins(record: &Value) -> bool {
    let outside = record.get("sender").is_some_and(Value::is_null);
    outside && record.get("payload").is_some() && record.get("receiver").is_some_and(Value::is_string)
}

fn is_message(value: &Value) -> bool {
    let kind = str_at(value, "type").unwrap_or_default();
    str_at(value, "source").is_some() && (kind.ends_with("Message") || kind.ends_with("Event"))
}

/// A run whose messages come one by one.
#[derive(Clone)]
pub(super) struct Talk {
    pub start: RecordError,
    draft: Draft,
    /// Name of the first message, which is one for the run.
    id: Option<String>,
    seen: HashSet<String>,
}

impl Talk {
    pub(super) fn new(start: RecordError) -> Self {
        let draft = Draft::by("autogen").at((start.line, start.element));
        Self { start, draft, id: None, seen: HashSet::new() }
    }

    /// Whether one of these was there before.
    pub(super) fn knows(&self, messages: &[Cow<'_, Value>]) -> bool {
        messages.iter().filter_map(|m| str_at(m, "id")).any(|id| self.seen.contains(id))
    }

    pub(super) fn message(&mut self, m: &Value) -> Result<(), String> {
        if let Some(id) = str_at(m, "id") {
            self.id.get_or_insert_with(|| id.to_owned());
            if !self.seen.insert(id.to_owned()) {
                return Ok(());
            }
        }
        let source = str_at(m, "source").unwrap_or_default();
        let mark = Mark { at: time_at(m, "created_at"), agent: AgentId::new(source).ok() };
        let text = || m.get("content").map(content_text).unwrap_or_default();
        let parts = m.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match str_at(m, "type").unwrap_or_default() {
            "ThoughtEvent" => self.draft.think(&text(), mark),
            "ToolCallRequestEvent" => {
                for (i, call) in parts.iter().enumerate() {
                    let name = str_at(call, "name").unwrap_or_default();
                    let arguments = arguments_text(call.get("arguments"));
                    let called = self.draft.call(str_at(call, "id"), name, arguments, mark.clone());
                    called.map_err(|reason| format!("content[{i}].name: {reason}"))?;
                }
            }
            "ToolCallExecutionEvent" => {
                for (i, result) in parts.iter().enumerate() {
                    let failed = result.get("is_error").and_then(Value::as_bool);
                    let text = result.get("content").map(content_text).unwrap_or_default();
                    let given =
                        self.draft.result(str_at(result, "call_id"), text, status_of(failed), mark.at);
                    given.map_err(|reason| format!("content[{i}].call_id: {reason}"))?;
                }
            }
            "CodeGenerationEvent" => self.code(m, &text(), &mark)?,
            "CodeExecutionEvent" => {
                let code = m.pointer("/result/exit_code").and_then(Value::as_i64);
                let output = m.pointer("/result/output").map(content_text).unwrap_or_default();
                self.draft.result(None, output, by_exit_code(code), mark.at)?;
            }
            "TextMessage" | "MultiModalMessage" | "StopMessage" | "StructuredMessage" => {
                self.draft.flush();
                if USERS.contains(&source) {
                    self.draft.user(text(), Mark { agent: None, ..mark });
                } else {
                    self.draft.say(&text(), mark);
                    self.draft.flush();
                }
            }
            // Summaries repeat results, a handover is a call of its own, the rest is machinery.
            _ => {}
        }
        Ok(())
    }

    fn code(&mut self, m: &Value, text: &str, mark: &Mark) -> Result<(), String> {
        let blocks = m.get("code_blocks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let code: Vec<&str> = blocks.iter().filter_map(|b| str_at(b, "code")).collect();
        let language = blocks.iter().find_map(|b| str_at(b, "language")).unwrap_or("python");
        self.draft.think(text.split("```").next().unwrap_or_default().trim(), mark.clone());
        self.draft.call(None, language, code.join("\n"), mark.clone())
    }

    pub(super) fn stopped(&mut self, reason: &str) {
        if !reason.is_empty() {
            self.draft.attribute("stop_reason", reason);
        }
        self.draft.ended = true;
    }

    pub(super) fn so_far(&self, options: &Options) -> Option<UnderWay> {
        self.draft.so_far(self.id.as_deref(), "autogen", options)
    }

    pub(super) fn finish(self, options: &Options) -> Result<Trajectory, String> {
        self.draft.finish(self.id.as_deref(), "autogen", options)
    }
}

/// How a program that was run says that it went.
pub(super) fn by_exit_code(code: Option<i64>) -> StepStatus {
    status_of(code.map(|c| c != 0))
}
