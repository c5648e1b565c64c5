//! Events of LangChain and LangGraph, one per line: what `astream_events` (v2) gives, and what a callback handler is
//! called with (`event` is the method; arguments by name, or in order under `args`). A run is everything under one
//! root. Streamed chunks repeat what the end of a call says and are left out, as are events of steps that only pass
//! things on. The events carry no times; a `timestamp` that was added to them is read.

use std::collections::HashMap;

use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options, RecordError, UnderWay,
    json::{arguments_text, content_text, scalar, str_at, time_at},
    message,
    spans::{self, Kind, Span, Traces},
};

pub(super) struct LangChain;

impl Format for LangChain {
    fn name(&self) -> &'static str {
        "langchain"
    }

    fn recognises(&self, record: &Value) -> bool {
        str_at(record, "event").is_some_and(|e| e.starts_with("on_")) && record.get("run_id").is_some()
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(EventReader { traces: Traces::as_they_end("langchain", options), open: HashMap::new() })
    }
}

struct EventReader {
    traces: Traces,
    /// What has begun and not ended, by its id.
    open: HashMap<String, Open>,
}

struct Open {
    root: String,
    span: Span,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Chain,
    Model,
    Tool,
}

impl Reader for EventReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        if let Err(reason) = self.event(&record.value, record.error("")) {
            sink.push_back(Err(record.error(reason)));
        }
        self.traces.make_room(sink);
    }

    fn finish(&mut self, sink: &mut Sink) {
        self.traces.finish(sink);
    }

    fn under_way(&self) -> Vec<UnderWay> {
        self.traces.under_way()
    }
}

impl EventReader {
    fn event(&mut self, event: &Value, start: RecordError) -> Result<(), String> {
        let name = str_at(event, "event").ok_or("has no `event`, so is no event of LangChain")?;
        let subject = match name {
            _ if name.starts_with("on_chain_") => Subject::Chain,
            _ if name.starts_with("on_chat_model_") || name.starts_with("on_llm_") => Subject::Model,
            _ if name.starts_with("on_tool_") || name.starts_with("on_retriever_") => Subject::Tool,
            _ => return Ok(()),
        };
        let id = str_at(event, "run_id").ok_or("run_id: is missing")?.to_owned();
        match name.rsplit('_').next() {
            Some("start") => self.start(subject, id, event, start),
            Some("end") => self.end(&id, event, None),
            Some("error") => {
                let error = field(event, &["error"], 0).map(error_text);
                self.end(&id, event, Some(error.unwrap_or_else(|| "failed".to_owned())));
            }
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, subject: Subject, id: String, event: &Value, start: RecordError) {
        let parent =
            str_at(event, "parent_run_id").map(str::to_owned).or_else(|| parents(event).last().cloned());
        let above = parent.as_ref().and_then(|p| self.open.get(p)).map(|p| p.root.clone());
        let root = parents(event)
            .first()
            .cloned()
            .or(above)
            .or_else(|| parent.clone())
            .unwrap_or_else(|| id.clone());
        let input = field(event, &["input", "messages", "inputs", "prompts", "input_str", "query"], 1);
        let trace = self.traces.of(&root, start);
        if root == id {
            trace.goal = input.and_then(message::request);
            trace.title = named(event);
        }
        spans::describe(&mut trace.draft, event.get("metadata"));
        let span = Span {
            name: named(event).unwrap_or_default(),
            kind: match subject {
                Subject::Chain => Kind::Other,
                Subject::Model => {
                    Kind::Model { heard: input.map(spans::heard).unwrap_or_default(), said: Vec::new() }
                }
                Subject::Tool => Kind::Tool {
                    call_id: str_at(event, "tool_call_id").map(str::to_owned),
                    arguments: arguments_text(event.get("inputs").filter(|v| v.is_object()).or(input)),
                    output: String::new(),
                    failed: None,
                    only_if_asked: false,
                },
            },
            error: None,
            started: time_at(event, "timestamp"),
            ended: None,
            parent,
            id: id.clone(),
        };
        self.traces.begin(&root, &span);
        self.open.insert(id, Open { root, span });
    }

    fn end(&mut self, id: &str, event: &Value, error: Option<String>) {
        // What began before the record did is not known.
        let Some(Open { root, mut span }) = self.open.remove(id) else { return };
        let output =
            field(event, &["output", "response", "outputs", "documents"], 0).filter(|_| error.is_none());
        span.ended = time_at(event, "timestamp");
        match &mut span.kind {
            Kind::Model { said, .. } => *said = output.map(spans::said).unwrap_or_default(),
            Kind::Tool { call_id, output: text, failed, .. } => {
                let answers = output.map(message::messages).unwrap_or_default();
                if let Some(answer) = answers.into_iter().find_map(|m| m.answers.into_iter().next()) {
                    *call_id = call_id.take().or(Some(answer.call_id)).filter(|id| !id.is_empty());
                    (*text, *failed) = (answer.text, answer.failed);
                } else {
                    *text = output.map(content_text).unwrap_or_default();
                }
            }
            Kind::Agent | Kind::Other => {}
        }
        if root == id {
            let start = RecordError { line: 0, element: None, reason: String::new() };
            let trace = self.traces.of(&root, start);
            trace.reply = output.and_then(message::reply);
            trace.transcript = output.map(spans::transcript).unwrap_or_default();
            trace.error.clone_from(&error);
            trace.ended = true;
        }
        span.error = error;
        self.traces.add(&root, span);
    }
}

/// Ids of what is around it, from the outside in.
fn parents(event: &Value) -> Vec<String> {
    let list = event.get("parent_ids").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What the event carries: in `data`, by name, or in its place among the arguments.
fn field<'a>(event: &'a Value, names: &[&str], place: usize) -> Option<&'a Value> {
    let present = |v: &&Value| !v.is_null();
    let data = names.iter().find_map(|n| event.get("data")?.get(n).filter(present));
    let named = || names.iter().find_map(|n| event.get(n).filter(present));
    data.or_else(named).or_else(|| event.get("args")?.get(place).filter(present))
}

fn named(event: &Value) -> Option<String> {
    let serialized = event.get("serialized").or_else(|| event.get("args")?.get(0));
    str_at(event, "name").or_else(|| str_at(serialized?, "name")).map(str::to_owned)
}

fn error_text(error: &Value) -> String {
    str_at(error, "repr")
        .or_else(|| str_at(error, "message"))
        .map(str::to_owned)
        .or_else(|| scalar(error))
        .unwrap_or_else(|| error.to_string())
}
