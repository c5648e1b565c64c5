//! Codex session files ("rollouts"): `session_meta`, `turn_context`, `response_item` and `event_msg`, one
//! per line, and the older flat shape in which the items stand by themselves. One file is one run.
//! Events repeat what the items say; of them only the user's words are read, and only when new.

mod item;

use hindsight_types::StepStatus;
use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options, RecordError, UnderWay,
    draft::{Draft, Mark},
    json::{arguments_text, content_text, kind_of, str_at, time_at},
};

pub(super) struct Codex;

const KINDS: [&str; 4] = ["session_meta", "turn_context", "response_item", "event_msg"];
/// Items that stand by themselves in the flat shape.
const FLAT: [&str; 7] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "local_shell_call",
    "custom_tool_call",
    "custom_tool_call_output",
];

impl Format for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn recognises(&self, record: &Value) -> bool {
        match str_at(record, "type") {
            Some(kind) if KINDS.contains(&kind) => record.get("payload").is_some(),
            Some(kind) => FLAT.contains(&kind) && record.get("sessionId").is_none(),
            None => is_flat_header(record),
        }
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        let draft = Draft::by("codex");
        Box::new(RolloutReader { options: options.clone(), draft, id: None, start: None })
    }
}

fn is_flat_header(record: &Value) -> bool {
    str_at(record, "id").is_some()
        && str_at(record, "timestamp").is_some()
        && record.get("instructions").is_some()
}

struct RolloutReader {
    options: Options,
    draft: Draft,
    id: Option<String>,
    start: Option<RecordError>,
}

impl Reader for RolloutReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        self.start.get_or_insert_with(|| record.error(""));
        self.draft.place = self.start.as_ref().map_or((0, None), |s| (s.line, s.element));
        if let Err(reason) = self.record(&record.value) {
            sink.push_back(Err(record.error(reason)));
        }
    }

    fn finish(&mut self, sink: &mut Sink) {
        let Some(start) = self.start.take() else { return };
        let mut draft = std::mem::take(&mut self.draft);
        draft.session = self.id.clone();
        let run = draft.finish(self.id.as_deref(), "codex", &self.options);
        sink.push_back(run.map_err(|reason| RecordError { reason, ..start }));
    }

    fn under_way(&self) -> Vec<UnderWay> {
        let mut draft = self.draft.clone();
        draft.session.clone_from(&self.id);
        draft.so_far(self.id.as_deref(), "codex", &self.options).into_iter().collect()
    }
}

impl RolloutReader {
    fn record(&mut self, value: &Value) -> Result<(), String> {
        let mark = Mark { at: time_at(value, "timestamp"), agent: None };
        let payload = || value.get("payload").filter(|p| p.is_object()).ok_or("has no `payload`");
        match str_at(value, "type") {
            Some("session_meta") => self.meta(payload()?),
            Some("turn_context") => self.context(payload()?),
            Some("response_item") => self.item(payload()?, mark)?,
            Some("event_msg") => self.event(payload()?, mark),
            Some(kind) if FLAT.contains(&kind) => self.item(value, mark)?,
            // Kinds that newer versions add carry nothing of the run itself.
            Some(_) => {}
            None if is_flat_header(value) => self.meta(value),
            None if value.get("record_type").is_some() => {}
            None => return Err(format!("is {} without a `type`, so not a Codex record", kind_of(value))),
        }
        Ok(())
    }

    /// A forked session repeats the header of the one it came from: the first is its own.
    fn meta(&mut self, meta: &Value) {
        if self.id.is_some() {
            return;
        }
        self.id = str_at(meta, "id").map(str::to_owned);
        self.context(meta);
        if let Some(parent) =
            meta.pointer("/source/subagent/thread_spawn/parent_thread_id").and_then(Value::as_str)
        {
            self.draft.attribute("parent_session", parent);
        }
        if let Some(branch) = meta.pointer("/git/branch").and_then(Value::as_str) {
            self.draft.attribute("git_branch", branch);
        }
    }

    fn context(&mut self, context: &Value) {
        for key in ["cwd", "model", "cli_version"] {
            if let Some(text) = str_at(context, key) {
                self.draft.attribute(key, text);
            }
        }
    }

    fn event(&mut self, event: &Value, mark: Mark) {
        if str_at(event, "type") == Some("user_message") {
            self.user(str_at(event, "message").unwrap_or_default(), mark);
        }
    }

    fn user(&mut self, text: &str, mark: Mark) {
        if !item::is_injected(text) && !self.draft.repeats_user(text) {
            self.draft.user(text.to_owned(), mark);
        }
    }

    fn item(&mut self, item: &Value, mark: Mark) -> Result<(), String> {
        let call_id = str_at(item, "call_id").or_else(|| str_at(item, "id"));
        match str_at(item, "type").unwrap_or_default() {
            "message" => self.message(item, mark),
            "reasoning" => {
                let text = item.get("summary").map(content_text).unwrap_or_default();
                self.draft.end_saying();
                self.draft.think(&text, mark);
            }
            "function_call" | "custom_tool_call" => {
                let input = item.get("arguments").or_else(|| item.get("input"));
                let input = arguments_text(input);
                let name = item::tool_name(str_at(item, "name").unwrap_or_default(), &input).to_owned();
                self.draft.call(call_id, &name, input, mark)?;
            }
            "local_shell_call" => {
                let command = item::shell_command(item.get("action"));
                self.draft.call(call_id, "shell", command, mark)?;
            }
            "web_search_call" => {
                let query = arguments_text(item.get("action"));
                self.draft.call(call_id, "web_search", query, mark)?;
            }
            "function_call_output" | "custom_tool_call_output" => {
                let (text, status) =
                    item.get("output").map_or((String::new(), StepStatus::Unknown), item::output);
                self.draft.result(call_id, text, status, mark.at)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, item: &Value, mark: Mark) {
        let text = item.get("content").map(content_text).unwrap_or_default();
        match str_at(item, "role") {
            Some("user") => self.user(&text, mark),
            Some("assistant") => {
                self.draft.end_saying();
                self.draft.say(&text, mark);
            }
            // System and developer messages are the agent's equipment.
            _ => {}
        }
    }
}
