//! What an export says twice is one: overlapping pages, an exporter that appends again, a beginning and then its end.

use hindsight_import::Live;
use hindsight_types::{
    ActionType::{LlmReasoning, ToolCall},
    StepStatus::{Error, Unknown},
    Trajectory,
};
use serde_json::{Value, json};

use crate::support::{SAMPLES, options, outline, read};

const SPANS: [&str; 4] = ["openai-agents", "langchain", "langsmith", "langfuse"];

/// The records of a sample of spans.
fn records(text: &str) -> Vec<Value> {
    text.parse().map_or_else(
        |_| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
        |document| vec![document],
    )
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[test]
fn an_export_that_is_there_twice_is_the_same_runs() {
    for (name, text, _) in SAMPLES.iter().filter(|(.., format)| SPANS.contains(format)) {
        let once = records(text);
        let runs = read(&lines(&once)).runs;
        assert_eq!(read(&lines(&[&once[..], &once].concat())).runs, runs, "{name}: appended again");
        let each: Vec<_> = once.iter().flat_map(|record| [record.clone(), record.clone()]).collect();
        assert_eq!(read(&lines(&each)).runs, runs, "{name}: each record twice");
        let half = &once[..once.len() / 2];
        assert_eq!(read(&lines(&[&once[..], half].concat())).runs, runs, "{name}: pages that overlap");
    }
}

/// Runs under way: each as far as it is told, how much of it is settled, and whether it ended.
fn under_way(live: &Live) -> Vec<(Trajectory, usize, bool)> {
    live.under_way().into_iter().map(|u| (u.run, u.settled, u.ended)).collect()
}

#[test]
fn what_grows_by_what_it_had_said_goes_on_as_it_was() {
    let spans = |(name, _, format): &&(&str, &str, &str)| name.ends_with(".jsonl") && SPANS.contains(format);
    for (name, text, _) in SAMPLES.iter().filter(spans) {
        let text = lines(&records(text));
        let mut live = Live::new(options());
        live.feed(text.as_bytes());
        let before = under_way(&live);
        assert!(!before.is_empty(), "{name}");
        for line in text.split_inclusive('\n') {
            live.feed(line.as_bytes());
            assert_eq!(under_way(&live), before, "{name}: {line}");
        }
    }
}

/// A run of LangSmith with a tool: as it is recorded when it begins, and when it ends.
fn langsmith() -> (Vec<Value>, Vec<Value>) {
    let root = json!({"id": "r", "trace_id": "r", "name": "agent", "run_type": "chain", "start_time": "2026-05-04T08:00:00",
        "inputs": {"input": "Book a table; 订位"}});
    let tool = json!({"id": "t", "trace_id": "r", "parent_run_id": "r", "name": "book", "run_type": "tool",
        "start_time": "2026-05-04T08:00:01", "inputs": {"input": "{\"at\":\"19:00\"}"}});
    let with = |record: &Value, more: Value| {
        let mut record = record.clone();
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record
    };
    let ends = vec![
        with(&tool, json!({"end_time": "2026-05-04T08:00:02", "error": "ValueError('full')"})),
        with(
            &root,
            json!({"end_time": "2026-05-04T08:00:03", "outputs": {"output": "It is full."},
                "feedback_stats": {"solved": {"n": 1, "avg": 0.0}}}),
        ),
    ];
    (vec![root, tool], ends)
}

#[test]
fn the_record_that_has_the_end_counts_whichever_comes_first() {
    let (begins, ends) = langsmith();
    let whole = read(&lines(&ends)).runs;
    assert_eq!(outline(&whole[0]), [(ToolCall, "book", Error)]);
    assert_eq!(whole[0].outcome.conclusion, "It is full.");
    for records in [[&begins[..], &ends].concat(), [&ends[..], &begins].concat()] {
        assert_eq!(read(&lines(&records)).runs, whole);
    }
}

#[test]
fn a_verdict_that_was_changed_is_the_last_one() {
    let (_, mut ends) = langsmith();
    let mut changed = ends.last().unwrap().clone();
    changed["feedback_stats"]["solved"]["avg"] = json!(1.0);
    ends.push(changed);
    let evidence = &read(&lines(&ends)).runs[0].outcome.evidence;
    let details: Vec<_> = evidence.iter().map(|e| e.detail.as_str()).collect();
    assert_eq!(details, ["feedback solved: 1"]);
}

#[test]
fn a_span_that_has_not_ended_is_not_settled() {
    let span = |id: &str, at: (u8, Option<u8>), data: Value| {
        let time = |s: u8| format!("2026-05-04T08:00:{s:02}+00:00");
        json!({"object": "trace.span", "id": id, "trace_id": "trace_b", "parent_id": null,
            "started_at": time(at.0), "ended_at": at.1.map(time), "span_data": data})
    };
    let look = |output: Value| json!({"type": "function", "name": "look", "input": "{}", "output": output});
    let trace = json!({"object": "trace", "id": "trace_b", "workflow_name": "Find it"});
    let mut live = Live::new(options());
    live.feed(lines(&[trace, span("1", (0, None), look(Value::Null))]).as_bytes());
    let begun = &live.under_way()[0];
    assert_eq!((begun.run.steps.len(), begun.settled), (1, 0));
    let said = json!({"type": "generation", "output": [{"role": "assistant", "content": "Found."}]});
    live.feed(
        lines(&[span("1", (0, Some(2)), look("there".into())), span("2", (3, Some(4)), said)]).as_bytes(),
    );
    let ended = &live.under_way()[0];
    assert_eq!(outline(&ended.run), [(ToolCall, "look", Unknown), (LlmReasoning, "", Unknown)]);
    assert_eq!((ended.run.steps[0].observation.as_str(), ended.settled), ("there", 2));
}
