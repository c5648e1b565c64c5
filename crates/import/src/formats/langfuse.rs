//! Traces of Langfuse as they are downloaded and as its API gives them: a trace with its `observations` (and `scores`),
//! `{trace, observations}`, pages of either under `data`, a session with its `traces`, or observations one by one, in
//! the spelling of the API (`startTime`) or of tables (`start_time`). Observations of type GENERATION are what the
//! model did, TOOL and RETRIEVER what tools did; a SPAN or EVENT is a tool when the model called one of its name.

use hindsight_types::{EvidenceSource, OutcomeStatus, UserId};
use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options, RecordError, UnderWay,
    json::{arguments_text, content_text, kind_of, str_at, time_at},
    message,
    spans::{self, Kind, Span, Trace, Traces},
};

pub(super) struct Langfuse;

const TYPES: [&str; 10] = [
    "SPAN",
    "EVENT",
    "GENERATION",
    "AGENT",
    "TOOL",
    "CHAIN",
    "RETRIEVER",
    "EVALUATOR",
    "EMBEDDING",
    "GUARDRAIL",
];

impl Format for Langfuse {
    fn name(&self) -> &'static str {
        "langfuse"
    }

    fn recognises(&self, record: &Value) -> bool {
        let trace = |v: &Value| observations(v).is_some();
        items(record).any(|item| trace(item) || is_observation(item))
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(TraceReader(Traces::in_any_order("langfuse", options)))
    }
}

fn is_observation(item: &Value) -> bool {
    let named = str_at(item, "type").is_some_and(|t| TYPES.contains(&t));
    named && any(item, ["traceId", "trace_id"]).is_some() && any(item, ["startTime", "start_time"]).is_some()
}

fn observations(item: &Value) -> Option<&Vec<Value>> {
    item.get("observations")?.as_array().filter(|list| list.first().is_none_or(|o| o.get("type").is_some()))
}

/// What is in a page, a session or a list; else the record itself.
fn items(record: &Value) -> impl Iterator<Item = &Value> {
    let list = ["data", "traces"].iter().find_map(|key| record.get(key)?.as_array());
    let list = record.as_array().or(list);
    let alone = list.is_none().then_some(record);
    list.into_iter().flatten().chain(alone)
}

/// A field in either spelling.
fn any<'a>(item: &'a Value, names: [&str; 2]) -> Option<&'a str> {
    names.iter().find_map(|n| str_at(item, n))
}

struct TraceReader(Traces);

impl Reader for TraceReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        for item in items(&record.value) {
            if let Err(reason) = self.item(item, &record.error("")) {
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

impl TraceReader {
    fn item(&mut self, item: &Value, start: &RecordError) -> Result<(), String> {
        if let Some(list) = observations(item) {
            let head = item.get("trace").filter(|t| t.is_object()).unwrap_or(item);
            let id = str_at(head, "id").ok_or("id: is missing from the trace")?;
            let trace = self.0.of(id, start.clone());
            header(trace, head);
            let scores = item.get("scores").or_else(|| head.get("scores")).and_then(Value::as_array);
            scores.into_iter().flatten().for_each(|s| score(trace, s));
            for (i, o) in list.iter().enumerate() {
                self.observation(o, Some(id), start)
                    .map_err(|reason| format!("observations[{i}].{reason}"))?;
            }
            return Ok(());
        }
        if item.get("type").is_none()
            && item.get("id").is_some()
            && any(item, ["timestamp", "sessionId"]).is_some()
        {
            let id = str_at(item, "id").ok_or("id: is not text")?;
            header(self.0.of(id, start.clone()), item);
            return Ok(());
        }
        self.observation(item, None, start)
    }

    fn observation(&mut self, o: &Value, within: Option<&str>, start: &RecordError) -> Result<(), String> {
        let kind = str_at(o, "type")
            .ok_or_else(|| format!("type: is missing; {} is no observation", kind_of(o)))?
            .to_ascii_uppercase();
        let id = str_at(o, "id").ok_or("id: is missing")?;
        let trace_id = any(o, ["traceId", "trace_id"]).or(within).ok_or("traceId: is missing")?.to_owned();
        let (input, output) = (unpacked(o.get("input")), unpacked(o.get("output")));
        let said = any(o, ["statusMessage", "status_message"]);
        let failed = str_at(o, "level") == Some("ERROR");
        let error = failed.then(|| said.unwrap_or("failed").to_owned());
        let parent = any(o, ["parentObservationId", "parent_observation_id"]);
        let trace = self.0.of(&trace_id, start.clone());
        if parent.is_none() {
            trace.goal = trace.goal.take().or_else(|| message::request(&input));
            trace.title = trace.title.take().or_else(|| str_at(o, "name").map(str::to_owned));
            trace.reply = message::reply(&output).or_else(|| trace.reply.take());
            trace.error = trace.error.take().or_else(|| error.clone().filter(|_| kind != "TOOL"));
            trace.ended |= any(o, ["endTime", "end_time"]).is_some();
            owner(trace, o);
        }
        if let Some(model) = any(o, ["model", "providedModelName"]) {
            trace.draft.attribute("model", model);
        }
        let span = Span {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            name: str_at(o, "name").unwrap_or_default().to_owned(),
            kind: span_kind(&kind, &input, &output),
            error,
            started: time_at(o, "startTime").or_else(|| time_at(o, "start_time")),
            ended: time_at(o, "endTime").or_else(|| time_at(o, "end_time")),
        };
        self.0.add(&trace_id, span);
        Ok(())
    }
}

fn header(trace: &mut Trace, head: &Value) {
    trace.goal = message::request(&unpacked(head.get("input"))).or_else(|| trace.goal.take());
    trace.reply = message::reply(&unpacked(head.get("output"))).or_else(|| trace.reply.take());
    trace.title = str_at(head, "name").map(str::to_owned).or_else(|| trace.title.take());
    for key in ["name", "release", "version", "environment"] {
        if let Some(text) = str_at(head, key) {
            trace.draft.attribute(key, text);
        }
    }
    owner(trace, head);
    spans::describe(&mut trace.draft, head.get("metadata"));
}

fn owner(trace: &mut Trace, item: &Value) {
    if let Some(user) = any(item, ["userId", "user_id"]).and_then(|u| UserId::new(u).ok()) {
        trace.draft.user = Some(user);
    }
    if let Some(session) = any(item, ["sessionId", "session_id"]) {
        trace.draft.session = Some(session.to_owned());
    }
}

/// A score that is all or nothing is a verdict; others are kept as they are.
fn score(trace: &mut Trace, score: &Value) {
    let (Some(name), Some(value)) = (str_at(score, "name"), score.get("value").and_then(Value::as_f64))
    else {
        return;
    };
    trace.draft.attribute(&format!("score.{name}"), value.to_string());
    let verdict = match value {
        1.0 => Some(OutcomeStatus::Success),
        0.0 => Some(OutcomeStatus::Failure),
        _ => None,
    };
    let source = match str_at(score, "source") {
        Some("ANNOTATION") => EvidenceSource::User,
        _ => EvidenceSource::Judge,
    };
    let comment = str_at(score, "comment").map(|c| format!(" ({c})")).unwrap_or_default();
    let detail = format!("score {name}: {value}{comment}");
    let id = str_at(score, "id").unwrap_or(&detail).to_owned();
    trace.verdict(&id, verdict.map(|verdict| (source, verdict, detail)));
}

/// What was stored as the text of JSON is that JSON.
fn unpacked(value: Option<&Value>) -> Value {
    match value {
        Some(Value::String(text)) if text.trim_start().starts_with(['{', '[']) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        Some(Value::String(text)) if text == "null" => Value::Null,
        Some(value) => value.clone(),
        None => Value::Null,
    }
}

fn span_kind(kind: &str, input: &Value, output: &Value) -> Kind {
    let tool = |only_if_asked| Kind::Tool {
        call_id: None,
        arguments: arguments_text(Some(input)),
        output: message::messages(output)
            .into_iter()
            .find_map(|m| m.answers.into_iter().next())
            .map_or_else(|| content_text(output), |answer| answer.text),
        failed: None,
        only_if_asked,
    };
    match kind {
        "GENERATION" => Kind::Model { heard: spans::heard(input), said: spans::said(output) },
        "TOOL" | "RETRIEVER" => tool(false),
        "SPAN" | "EVENT" => tool(true),
        "AGENT" => Kind::Agent,
        _ => Kind::Other,
    }
}
