//! Runs of LangSmith as they are exported and as LangChain's tracers keep them: objects with a `run_type`, one by one,
//! in a list or under `runs`, with or without their `child_runs`. One trace is one run of an agent. Runs of kind
//! `llm` are what the model did, `tool` and `retriever` what tools did; the others only pass things on.

use hindsight_types::{EvidenceSource, OutcomeStatus};
use serde_json::Value;

use super::{Format, Reader, Record, Sink};
use crate::{
    Options, RecordError, UnderWay,
    json::{arguments_text, content_text, items, kind_of, str_at, time_at},
    message,
    spans::{self, Kind, Span, Trace, Traces},
};

pub(super) struct LangSmith;

/// Most runs within each other.
const DEPTH: usize = 64;

impl Format for LangSmith {
    fn name(&self) -> &'static str {
        "langsmith"
    }

    fn recognises(&self, record: &Value) -> bool {
        runs(record).any(|run| run.get("run_type").is_some() && run.get("id").is_some())
    }

    fn reader(&self, options: &Options) -> Box<dyn Reader> {
        Box::new(RunReader(Traces::in_any_order("langsmith", options)))
    }
}

fn runs(record: &Value) -> impl Iterator<Item = &Value> {
    items(record, "runs")
}

struct RunReader(Traces);

impl Reader for RunReader {
    fn push(&mut self, record: Record, sink: &mut Sink) {
        for run in runs(&record.value) {
            if let Err(reason) = self.run(run, None, DEPTH, &record.error("")) {
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

impl RunReader {
    /// `around`: the trace and the run that this one is found in.
    fn run(
        &mut self,
        run: &Value,
        around: Option<(&str, &str)>,
        depth: usize,
        start: &RecordError,
    ) -> Result<(), String> {
        let kind = str_at(run, "run_type");
        let kind =
            kind.ok_or_else(|| format!("is {} without a `run_type`, so no run of LangSmith", kind_of(run)))?;
        let id = str_at(run, "id").ok_or("id: is missing")?;
        let parent = str_at(run, "parent_run_id").or(around.map(|(_, parent)| parent));
        let trace_id = str_at(run, "trace_id").or(around.map(|(trace, _)| trace)).unwrap_or(id).to_owned();
        let span = Span {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            name: str_at(run, "name").unwrap_or(kind).to_owned(),
            kind: span_kind(kind, run),
            error: str_at(run, "error").map(str::to_owned),
            started: time_at(run, "start_time"),
            ended: time_at(run, "end_time"),
        };
        let trace = self.0.of(&trace_id, start.clone());
        spans::describe(&mut trace.draft, run.pointer("/extra/metadata"));
        if parent.is_none() {
            root(trace, run);
        }
        self.0.add(&trace_id, span);
        let children = run.get("child_runs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (i, child) in children.iter().enumerate().filter(|_| depth > 0) {
            self.run(child, Some((&trace_id, id)), depth - 1, start)
                .map_err(|reason| format!("child_runs[{i}].{reason}"))?;
        }
        Ok(())
    }
}

fn root(trace: &mut Trace, run: &Value) {
    // Of a run that is told of twice, what the one record leaves out stands in the other.
    trace.goal = run.get("inputs").and_then(message::request).or_else(|| trace.goal.take());
    trace.title = str_at(run, "name").map(str::to_owned).or_else(|| trace.title.take());
    trace.reply = run.get("outputs").and_then(message::reply).or_else(|| trace.reply.take());
    let transcript = run.get("outputs").map(spans::transcript).unwrap_or_default();
    if !transcript.is_empty() {
        trace.transcript = transcript;
    }
    trace.error = str_at(run, "error").map(str::to_owned).or_else(|| trace.error.take());
    trace.ended |= run.get("end_time").is_some_and(|t| !t.is_null());
    for (key, stats) in run.get("feedback_stats").and_then(Value::as_object).into_iter().flatten() {
        let Some(average) = stats.get("avg").and_then(Value::as_f64) else { continue };
        trace.draft.attribute(&format!("feedback.{key}"), average.to_string());
        // Only what is all or nothing is a verdict; who gave it, person or program, is not said.
        let verdict = match average {
            1.0 => Some(OutcomeStatus::Success),
            0.0 => Some(OutcomeStatus::Failure),
            _ => None,
        };
        let detail = format!("feedback {key}: {average}");
        trace.verdict(key, verdict.map(|verdict| (EvidenceSource::Judge, verdict, detail)));
    }
}

fn span_kind(kind: &str, run: &Value) -> Kind {
    let filled = |v: &&Value| v.as_object().is_none_or(|fields| !fields.is_empty());
    let (inputs, outputs) = (run.get("inputs"), run.get("outputs").filter(filled));
    match kind {
        "llm" => Kind::Model {
            heard: inputs.map(spans::heard).unwrap_or_default(),
            said: outputs.map(spans::said).unwrap_or_default(),
        },
        "tool" | "retriever" => {
            let output = outputs.map(|o| o.get("output").or_else(|| o.get("documents")).unwrap_or(o));
            let answers = output.map(message::messages).unwrap_or_default();
            let answer = answers.into_iter().find_map(|m| m.answers.into_iter().next());
            let input = inputs.map(|i| i.get("input").or_else(|| i.get("query")).unwrap_or(i));
            Kind::Tool {
                call_id: answer.as_ref().map(|a| a.call_id.clone()).filter(|id| !id.is_empty()),
                arguments: arguments_text(input),
                failed: answer.as_ref().and_then(|a| a.failed),
                output: answer.map_or_else(|| output.map(content_text).unwrap_or_default(), |a| a.text),
                only_if_asked: false,
            }
        }
        _ => Kind::Other,
    }
}
