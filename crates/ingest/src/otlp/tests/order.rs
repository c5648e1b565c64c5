//! The same spans make the same run: in any order, sent several times, and with the help of whichever process.

use hindsight_types::EventBody;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{events, failed, lines, run_of, span, weather};
use crate::{Assembly, assemble, assemble::ending, otlp};

/// A trace of agents, models and tools that call each other at random; the last span is the root.
fn trace() -> impl Strategy<Value = Vec<super::RawSpan>> {
    let one = (0..6_u8, 0_u64..30, 0_u64..10, 0..4_u64, any::<bool>());
    proptest::collection::vec(one, 1..14).prop_map(|shape| {
        let count = shape.len() as u64;
        let mut spans: Vec<_> = shape
            .into_iter()
            .enumerate()
            .map(|(at, (kind, from, lasts, call, fails))| {
                let id = at as u64 + 1;
                // Some parents are not there.
                let parent = if call == 3 { 999 } else { (id + call) % (count + 1) + 1 };
                let made = span(id, parent, (from, from + lasts), shape_of(kind, call));
                if fails { failed(made, "exit status 1") } else { made }
            })
            .collect();
        spans.push(span(count + 1, 0, (0, 60), json!({ "gen_ai.operation.name": "invoke_agent" })));
        spans
    })
}

fn shape_of(kind: u8, call: u64) -> Value {
    let id = format!("call_{call}");
    let wish = json!([{ "role": "assistant", "parts": [
        { "type": "tool_call", "id": id, "name": "look", "arguments": { "n": call } },
    ] }]);
    match kind {
        0 => json!({ "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": format!("agent {call}") }),
        1 => json!({ "gen_ai.operation.name": "chat", "gen_ai.output.messages": wish.to_string() }),
        2 => json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "gen_ai.tool.call.id": id,
            "gen_ai.tool.call.result": format!("found {call}"),
        }),
        3 => json!({
            "openinference.span.kind": "TOOL", "tool.name": "look", "input.value": json!({ "n": call }).to_string(),
        }),
        4 => json!({
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "找一找",
            "llm.input_messages.1.message.role": "tool", "llm.input_messages.1.message.tool_call_id": id,
            "llm.input_messages.1.message.content": format!("heard {call}"),
            "llm.output_messages.0.message.content": format!("answer {call}"),
        }),
        _ => json!({ "http.request.method": "GET", "user.id": "someone" }),
    }
}

proptest! {
    #[test]
    fn order_and_repetition_change_nothing(spans in trace(), seed in any::<u64>(), repeated in 0..5_usize) {
        let once = assemble(events(&spans));
        let mut sent = spans.clone();
        sent.extend(spans.iter().take(repeated).cloned());
        shuffle(&mut sent, seed);
        prop_assert_eq!(&assemble(events(&sent)), &once);
        let Assembly::Complete(run) = once else { return Err(TestCaseError::fail("the root is there")) };
        prop_assert!(run.steps.iter().enumerate().all(|(at, s)| s.step_index as usize == at));
        prop_assert!(crate::validate::trajectory(&run).is_ok(), "{:?}", crate::validate::trajectory(&run));
    }

    #[test]
    fn every_call_that_was_made_is_a_step(spans in trace()) {
        let run = run_of(&spans);
        let made = |name: &str| spans.iter().filter(|s| s.attributes.values().any(|v| v == name)).count();
        let calls = run.steps.iter().filter(|s| s.action_name == "look").count();
        // Calls within calls of the same tool are one.
        prop_assert!(calls > 0 || made("execute_tool") + made("TOOL") == 0, "{:?}", lines(&run));
        prop_assert!(run.steps.len() <= 2 * spans.len() + spans.len());
    }
}

fn shuffle<T>(items: &mut [T], mut seed: u64) {
    for at in (1..items.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(at, (seed >> 33) as usize % (at + 1));
    }
}

#[test]
fn the_root_ends_a_run_and_without_it_idleness_does() {
    let spans = weather();
    let without_root = events(&spans[1..]);
    let Assembly::Missing(gap) = assemble(without_root.clone()) else { panic!("it has no end") };
    assert_eq!(gap.which, ["completion"]);
    assert_eq!(otlp::last_look(&without_root), None);

    let end = ending(&without_root).unwrap();
    assert!(matches!(&end.body, EventBody::Completed(c) if c.step_count == 3));
    let mut ended = without_root.clone();
    ended.push(end);
    assert_eq!(ending(&ended), None);
    let Assembly::Complete(run) = assemble(ended.clone()) else { panic!("it was ended") };
    assert_eq!(run.task_description, "巴黎天气如何？");
    assert_eq!(run.outcome.conclusion, "It rains in Paris.");

    // The root after all: the same run as if it had come in time.
    ended.extend(events(&spans[..1]));
    assert_eq!(otlp::last_look(&ended), Some(4));
    assert_eq!(assemble(ended), assemble(events(&spans)));
    assert_eq!(ending(&events(&spans)), None);
}

#[test]
fn what_was_said_by_hand_of_the_outcome_counts() {
    let mut all = events(&weather());
    let mut end = ending(&events(&weather()[1..])).unwrap();
    if let EventBody::Completed(completed) = &mut end.body {
        completed.outcome.status = hindsight_types::OutcomeStatus::Failure;
    }
    all.push(end);
    let Assembly::Complete(run) = assemble(all) else { panic!("it was ended") };
    assert_eq!(run.outcome.status, hindsight_types::OutcomeStatus::Failure);
    assert_eq!(run.outcome.conclusion, "It rains in Paris.");
    assert_eq!(run.steps.len(), 2);
}

#[test]
fn spans_of_another_user_never_join() {
    let mut spans = weather();
    spans[2].attributes.insert("user.id".to_owned(), json!("ben"));
    let run = run_of(&spans);
    assert_eq!(run.scope.user().unwrap().as_str(), "ann");
    // What the model heard of the call is Ann's.
    assert_eq!(lines(&run).len(), 2);
    assert!(
        run.steps.iter().all(|s| s.ended_at != Some(super::Timestamp::from_second(1_760_000_005).unwrap()))
    );
}

#[test]
fn a_run_that_is_recorded_by_steps_is_told_by_them() {
    let recorded = crate::split(crate::testing::run(2));
    let mut both = recorded.clone();
    both.extend(events(&weather()));
    let trace = recorded[0].trace_id.clone();
    both.iter_mut().for_each(|e| e.trace_id = trace.clone());
    both.retain(|e| e.scope.user().is_none());
    assert_eq!(assemble(both), assemble(recorded));
}
