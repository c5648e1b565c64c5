//! Attributes that anyone set to anything.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Attributes, RawSpan, SpanEvent, SpanStatus, events, span};
use crate::{Assembly, assemble, otlp::read, redact, validate};

const KEYS: [&str; 22] = [
    "gen_ai.operation.name",
    "openinference.span.kind",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.name",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.agent.name",
    "gen_ai.conversation.id",
    "input.value",
    "output.value",
    "llm.input_messages.0.message.role",
    "llm.input_messages.0.message.content",
    "llm.input_messages.0.message",
    "llm.input_messages.99999999999999999999.message.content",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name",
    "gen_ai.prompt.0.content",
    "hindsight.receipts",
    "hindsight.outcome",
    "gen_ai.usage.input_tokens",
];

fn value() -> impl Strategy<Value = Value> {
    let words = prop_oneof![
        Just("chat".to_owned()),
        Just("invoke_agent".to_owned()),
        Just("execute_tool".to_owned()),
        Just("LLM".to_owned()),
        Just("TOOL".to_owned()),
        Just("user".to_owned()),
        Just("tool".to_owned()),
        Just("[{\"role\":\"tool\",\"parts\":[{\"type\":\"tool_call_response\"}]}]".to_owned()),
        Just("[[[[[[{\"role\":\"user\",\"content\":[[\"x\"]]}]]]]]]".to_owned()),
        Just("{\"messages\":[{\"kwargs\":{\"content\":{}}}]}".to_owned()),
        "\\PC{0,40}",
    ];
    let leaf = prop_oneof![
        words.prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let keys = prop_oneof![
            Just("role"),
            Just("content"),
            Just("parts"),
            Just("type"),
            Just("tool_calls"),
            Just("name"),
            Just("function"),
            Just("0"),
            Just("message"),
            Just("id"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(keys.prop_map(str::to_owned), inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn attributes() -> impl Strategy<Value = Attributes> {
    proptest::collection::btree_map(
        proptest::sample::select(&KEYS[..]).prop_map(str::to_owned),
        value(),
        0..8,
    )
}

fn raw() -> impl Strategy<Value = RawSpan> {
    let names = prop_oneof![
        Just("gen_ai.user.message"),
        Just("gen_ai.choice"),
        Just("gen_ai.tool.message"),
        Just("exception"),
        Just("gen_ai.client.inference.operation.details"),
        Just("gen_ai.content.prompt"),
    ];
    let event =
        (names, attributes()).prop_map(|(name, attributes)| SpanEvent { name: name.to_owned(), attributes });
    (
        1..9_u64,
        0..9_u64,
        any::<u64>(),
        any::<u64>(),
        attributes(),
        proptest::collection::vec(event, 0..4),
        0..3_usize,
    )
        .prop_map(|(id, parent, start, end, attributes, events, status)| RawSpan {
            start,
            end,
            attributes,
            events,
            status: [SpanStatus::Unset, SpanStatus::Ok, SpanStatus::Error][status],
            ..span(id, parent, (0, 0), json!({}))
        })
}

proptest! {
    #[test]
    fn whatever_spans_say_a_sound_run_comes_of_it(spans in proptest::collection::vec(raw(), 0..10)) {
        let mut made = events(&spans);
        for event in &mut made {
            prop_assert!(validate::event(event).is_ok(), "{:?}", validate::event(event));
            redact::event(event);
        }
        if let Assembly::Complete(run) = assemble(made) {
            prop_assert!(validate::trajectory(&run).is_ok(), "{:?}", validate::trajectory(&run));
        }
    }
}

#[test]
fn huge_values_are_cut_and_say_so() {
    let huge = "错误 ".repeat(400_000);
    let message = json!([{ "role": "assistant", "parts": [
        { "type": "text", "content": huge }, { "type": "tool_call", "id": huge, "name": huge, "arguments": huge },
        { "type": "tool_call", "id": "x", "name": "y", "arguments": huge },
    ] }]);
    let many = vec![message[0].clone(); 2];
    let raw = span(
        1,
        0,
        (0, 1),
        json!({
            "gen_ai.operation.name": "chat", "gen_ai.output.messages": many, "gen_ai.system_instructions": huge,
            "gen_ai.agent.name": huge,
        }),
    );
    let told = read(&Attributes::new(), &raw).unwrap().unwrap();
    let weight: usize =
        told.span.steps.iter().map(|s| s.step.action_detail.len() + s.step.reflection.len()).sum();
    assert!(weight < 3 * 1024 * 1024, "{weight}");
    assert!(told.span.steps[0].step.action_detail.contains("bytes left out"));
    assert!(told.span.steps.iter().all(|s| s.call_id.len() <= 128 && s.step.action_name.len() <= 128));
    assert!(told.span.instructions.len() <= 8 * 1024);
    assert!(validate::event(&events(&[raw])[0]).is_ok());
}

#[test]
fn a_ring_of_spans_is_no_endless_way() {
    let mut ring: Vec<_> = (1..=5)
        .map(|id| {
            span(
                id,
                id % 5 + 1,
                (0, 1),
                json!({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t" }),
            )
        })
        .collect();
    ring.push(span(9, 0, (0, 2), json!({ "gen_ai.operation.name": "invoke_agent" })));
    let Assembly::Complete(run) = assemble(events(&ring)) else { panic!("the root is there") };
    assert!(run.steps.len() <= 5);
}

#[test]
fn secrets_in_spans_are_redacted() {
    let key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL";
    let raw = span(
        1,
        0,
        (0, 1),
        json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "curl",
            "gen_ai.tool.call.arguments": { "header": format!("Authorization: Bearer {key}") },
            "gen_ai.tool.call.result": format!("api_key = \"{key}\""), "hindsight.goal": format!("use {key}"),
        }),
    );
    let mut event = events(&[raw]).remove(0);
    redact::event(&mut event);
    assert!(!format!("{event:?}").contains(key), "{event:?}");
}
