//! OpenAI chat messages with tool calls. The input is a list of runs (an array or JSON Lines), each an
//! object with `messages` (or `traj`), or a list of messages, which is one run.
//!
//! System messages are the agent's equipment, not part of the run, and are left out. A `reward`, a
//! `success` or a `final_label` beside the messages is evidence of the outcome.

use hindsight_types::{EvidenceSource, OutcomeStatus, UserId};
use serde_json::Value;

use super::{Format, Reader, Record, Sink, status_of};
use crate::{
    Options, RecordError, UnderWay,
    draft::{Draft, Mark},
    json::{arguments_text, content_text, kind_of, scalar, str_at, time_at},
};

pub(super) struct OpenAi;

/// Names of a run that are unique by themselves, when they are text.
const IDS: [&str; 4] = ["trace_id", "run_id", "conversation_id", "id"];
/// What else is known about a run and kept with it.
const ATTRIBUTES: [&str; 7] =
    ["task_id", "trial", "query_index", "sample_index", "total_index", "data_source", "model"];

impl Format for OpenAi {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn recognises(&self, record: &Value) -> bool {
        messages_of(record).is_some() || is_message(record)
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(ChatReader { options: options.clone(), loose: None })
    }
}

fn messages_of(record: &Value) -> Option<&Vec<Value>> {
    match record {
        Value::Array(list) if list.first().is_some_and(is_message) => Some(list),
        _ => ["messages", "traj"].iter().find_map(|key| {
            let list = record.get(key)?.as_array()?;
            Some(list).filter(|l| l.first().is_none_or(|m| m.get("role").is_some()))
        }),
    }
}

fn is_message(value: &Value) -> bool {
    str_at(value, "role").is_some()
        && value.get("type").is_none()
        && ["content", "tool_calls", "function_call"].iter().any(|key| value.get(key).is_some())
}

struct ChatReader {
    options: Options,
    /// A run whose messages come one by one, with the record it began with.
    loose: Option<Loose>,
}

struct Loose {
    draft: Draft,
    group: u64,
    start: RecordError,
}

impl Reader for ChatReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        if self.loose.as_ref().is_some_and(|l| l.group != record.group) {
            self.finish(sink);
        }
        if let Some(messages) = messages_of(&record.value) {
            sink.push_back(self.run(&record, messages).map_err(|reason| record.error(reason)));
        } else if record.value.get("role").is_some() {
            let loose = self.loose.get_or_insert_with(|| Loose {
                draft: Draft::default().at((record.line, record.element)),
                group: record.group,
                start: record.error(""),
            });
            if let Err(reason) = message(&mut loose.draft, &record.value) {
                sink.push_back(Err(record.error(reason)));
            }
        } else {
            let reason = format!(
                "is {} without `messages` or `role`, so neither a run nor a message",
                kind_of(&record.value)
            );
            sink.push_back(Err(record.error(reason)));
        }
    }

    fn finish(&mut self, sink: &mut Sink) {
        if let Some(loose) = self.loose.take() {
            let run = loose.draft.finish(None, "chat", &self.options);
            sink.push_back(run.map_err(|reason| RecordError { reason, ..loose.start }));
        }
    }

    fn under_way(&self) -> Vec<UnderWay> {
        let run = |l: &Loose| l.draft.so_far(None, "chat", &self.options);
        self.loose.as_ref().and_then(run).into_iter().collect()
    }
}

impl ChatReader {
    fn run(&self, record: &Record, messages: &[Value]) -> Result<hindsight_types::Trajectory, String> {
        let mut draft = Draft::default().at((record.line, record.element));
        let record = &record.value;
        for (i, m) in messages.iter().enumerate() {
            message(&mut draft, m).map_err(|reason| format!("messages[{i}]: {reason}"))?;
        }
        for key in ATTRIBUTES {
            if let Some(value) = record.get(key).and_then(scalar) {
                draft.attribute(key, value);
            }
        }
        draft.user = str_at(record, "user").and_then(|u| UserId::new(u).ok());
        draft.agent = str_at(record, "agent").map(str::to_owned);
        draft.session = str_at(record, "session_id").map(str::to_owned);
        outcome(&mut draft, record);
        let own_id = IDS.iter().find_map(|key| str_at(record, key));
        draft.finish(own_id, "chat", &self.options)
    }
}

fn message(draft: &mut Draft, m: &Value) -> Result<(), String> {
    let role = str_at(m, "role").ok_or_else(|| format!("is {} without a `role`", kind_of(m)))?;
    let mark = Mark { at: time_at(m, "timestamp").or_else(|| time_at(m, "created_at")), agent: None };
    let text = m.get("content").map(content_text).unwrap_or_default();
    match role {
        "system" | "developer" => Ok(()),
        "user" => {
            draft.user(text, mark);
            Ok(())
        }
        "assistant" => assistant(draft, m, &text, &mark),
        "tool" | "function" => {
            let failed = m.get("is_error").and_then(Value::as_bool);
            draft.result(str_at(m, "tool_call_id"), text, status_of(failed), mark.at)
        }
        other => {
            Err(format!("has the unknown role `{other}`; known are system, developer, user, assistant, tool"))
        }
    }
}

fn assistant(draft: &mut Draft, m: &Value, text: &str, mark: &Mark) -> Result<(), String> {
    draft.flush();
    if let Some(thought) = str_at(m, "reasoning_content").or_else(|| str_at(m, "reasoning")) {
        draft.think(thought, mark.clone());
    }
    draft.say(text, mark.clone());
    let calls = m.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for call in calls {
        let function = call.get("function").unwrap_or(call);
        call_of(draft, str_at(call, "id"), function, mark)?;
    }
    if let Some(function) = m.get("function_call").filter(|f| f.is_object()) {
        call_of(draft, None, function, mark)?;
    }
    draft.flush();
    Ok(())
}

fn call_of(draft: &mut Draft, id: Option<&str>, function: &Value, mark: &Mark) -> Result<(), String> {
    let name = str_at(function, "name").unwrap_or_default();
    draft.call(id, name, arguments_text(function.get("arguments")), mark.clone())
}

fn outcome(draft: &mut Draft, record: &Value) {
    if let Some(reward) = record.get("reward").and_then(Value::as_f64) {
        let verdict = match reward {
            r if r >= 1.0 => OutcomeStatus::Success,
            r if r <= 0.0 => OutcomeStatus::Failure,
            _ => OutcomeStatus::Partial,
        };
        draft.proof(EvidenceSource::TestResult, verdict, format!("reward {reward}"));
    }
    for key in ["success", "resolved", "is_correct"] {
        if let Some(good) = record.get(key).and_then(Value::as_bool) {
            let verdict = if good { OutcomeStatus::Success } else { OutcomeStatus::Failure };
            draft.proof(EvidenceSource::TestResult, verdict, format!("{key}: {good}"));
        }
    }
    if let Some(label) = record.get("final_label").and_then(Value::as_i64) {
        let verdict = match label {
            1.. => OutcomeStatus::Success,
            0 => OutcomeStatus::Unknown,
            _ => OutcomeStatus::Failure,
        };
        draft.proof(EvidenceSource::User, verdict, format!("a person labelled the result {label}"));
    }
}
