//! Traces of the OpenAI Agents SDK as its exporter hands them on: `trace` and `trace.span` objects, one by one, in a
//! list or under `data`. Spans of kind `generation` and `response` are what the model did, `function` what tools did;
//! `handoff` and `guardrail` are calls of those names.
//!
//! The SDK leaves the words out of `response` spans. A run of such spans alone is named after its workflow, and
//! when that has no name of its own it is refused.

use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options, RecordError, UnderWay,
    json::{arguments_text, content_text, flag_at, items, kind_of, scalar, str_at, time_at},
    spans::{self, Kind, Span, Traces},
};

pub(super) struct OpenAiAgents;

/// Where a batch has its items.
const BATCH: &str = "data";
/// The name of a workflow that nobody named.
const UNNAMED: &str = "Agent workflow";

impl Format for OpenAiAgents {
    fn name(&self) -> &'static str {
        "openai-agents"
    }

    fn recognises(&self, record: &Value) -> bool {
        items(record, BATCH).any(|item| matches!(str_at(item, "object"), Some("trace" | "trace.span")))
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(SpanReader(Traces::as_they_end("openai-agents", options)))
    }
}

struct SpanReader(Traces);

impl Reader for SpanReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        for item in items(&record.value, BATCH) {
            if let Err(reason) = self.item(item, record.error("")) {
                sink.push_back(Err(record.error(reason)));
            }
        }
        self.0.make_room(sink);
    }

    fn finish(&mut self, sink: &mut Sink) {
        self.0.finish(sink);
    }

    fn under_way(&self) -> Vec<UnderWay> {
        self.0.under_way()
    }
}

impl SpanReader {
    fn item(&mut self, item: &Value, start: RecordError) -> Result<(), String> {
        match str_at(item, "object") {
            Some("trace") => {
                let id = str_at(item, "id").ok_or("trace: has no `id`")?;
                self.trace(id, item, start);
                Ok(())
            }
            Some("trace.span") => {
                let id = str_at(item, "trace_id").ok_or("trace.span: has no `trace_id`")?.to_owned();
                let data = item.get("span_data").filter(|d| d.is_object());
                let data = data.ok_or("trace.span: has no `span_data`")?;
                let span = Span {
                    id: str_at(item, "id").ok_or("trace.span: has no `id`")?.to_owned(),
                    parent: str_at(item, "parent_id").map(str::to_owned),
                    name: name(data),
                    error: item.get("error").and_then(error),
                    started: time_at(item, "started_at"),
                    ended: time_at(item, "ended_at"),
                    kind: kind(data),
                };
                self.span(&id, data, span, start);
                Ok(())
            }
            Some(other) => Err(format!("object: `{other}` is neither `trace` nor `trace.span`")),
            None => Err(format!("is {} without an `object`, so neither a trace nor a span", kind_of(item))),
        }
    }

    fn trace(&mut self, id: &str, item: &Value, start: RecordError) {
        let trace = self.0.of(id, start);
        trace.title = str_at(item, "workflow_name").filter(|n| *n != UNNAMED).map(str::to_owned);
        trace.draft.session = str_at(item, "group_id").map(str::to_owned);
        spans::describe(&mut trace.draft, item.get("metadata"));
    }

    fn span(&mut self, id: &str, data: &Value, mut span: Span, start: RecordError) {
        let trace = self.0.of(id, start.clone());
        if let Some(model) = str_at(data, "model").filter(|_| matches!(span.kind, Kind::Model { .. })) {
            trace.draft.attribute("model", model);
        }
        if matches!(span.kind, Kind::Agent) || span.parent.is_none() {
            trace.error = trace.error.take().or_else(|| span.error.take());
        }
        // Newer versions wrap the run in a span of its own; in older ones agents may follow each other.
        let task = data.pointer("/data/sdk_span_type").and_then(Value::as_str) == Some("task");
        let ended = task && span.parent.is_none() && span.ended.is_some();
        if self.0.add(id, span) {
            self.0.of(id, start).ended = ended;
        }
    }
}

/// A handover is named as the tool by which a model asks for it.
fn name(data: &Value) -> String {
    if let Some(to) = str_at(data, "to_agent") {
        let letter = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        return format!("transfer_to_{}", to.chars().map(letter).collect::<String>());
    }
    str_at(data, "name").or_else(|| str_at(data, "type")).unwrap_or_default().to_owned()
}

fn kind(data: &Value) -> Kind {
    let text = |key: &str| arguments_text(data.get(key));
    let tool = |arguments, output, failed| Kind::Tool {
        call_id: None,
        arguments,
        output,
        failed,
        only_if_asked: false,
    };
    match str_at(data, "type").unwrap_or_default() {
        "generation" | "response" => Kind::Model {
            heard: data.get("input").map(spans::heard).unwrap_or_default(),
            said: data.get("output").or_else(|| data.get("response")).map(spans::said).unwrap_or_default(),
        },
        "function" => {
            let output = data.get("output").map(content_text).unwrap_or_default();
            tool(text("input"), output, None)
        }
        "handoff" => {
            let (from, to) = (text("from_agent"), text("to_agent"));
            tool(format!("{from} → {to}"), format!("{to} takes over"), Some(false))
        }
        "guardrail" if flag_at(data, "triggered") => tool(String::new(), "triggered".to_owned(), Some(true)),
        "agent" => Kind::Agent,
        _ => Kind::Other,
    }
}

fn error(error: &Value) -> Option<String> {
    let message = str_at(error, "message").map(str::to_owned).or_else(|| scalar(error))?;
    let detail = error.pointer("/data/error").and_then(scalar);
    Some(detail.map_or_else(|| message.clone(), |d| format!("{message}: {d}")))
}
