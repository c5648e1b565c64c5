//! Traces as frameworks make them.

use hindsight_types::{EvidenceSource, OutcomeStatus, StepStatus};
use serde_json::json;

use super::{failed, lines, run_of, span, text_parts, told, weather};

#[test]
fn openinference_spans_without_ids_of_calls() {
    let run = run_of(&[
        span(
            1,
            0,
            (0, 20),
            json!({
                "openinference.span.kind": "CHAIN", "session.id": "s-9", "user.id": "李雷",
                "input.value": json!({ "messages": [{ "role": "user", "content": "Restart web" }] }).to_string(),
                "output.value": json!({ "messages": [
                    { "type": "human", "content": "Restart web" }, { "type": "ai", "content": "It runs again." },
                ] }).to_string(),
            }),
        ),
        span(2, 1, (1, 2), json!({ "openinference.span.kind": "CHAIN", "input.value": "state" })),
        span(
            3,
            2,
            (2, 4),
            json!({
                "openinference.span.kind": "LLM", "llm.model_name": "m",
                "llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "You operate.",
                "llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": "Restart web",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": "Two things to do.",
                "llm.output_messages.0.message.tool_calls.0.tool_call.id": "a",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "kubectl",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{\"args\": \"get pod\"}",
                "llm.output_messages.0.message.tool_calls.1.tool_call.id": "b",
                "llm.output_messages.0.message.tool_calls.1.tool_call.function.name": "kubectl",
                "llm.output_messages.0.message.tool_calls.1.tool_call.function.arguments": "{\"args\": \"restart\"}",
            }),
        ),
        // In the other order than they were asked for.
        span(
            4,
            1,
            (5, 6),
            json!({
                "openinference.span.kind": "TOOL", "tool.name": "kubectl",
                "input.value": "{\"args\":\"restart\"}", "output.value": json!({
                    "type": "tool", "content": "forbidden", "tool_call_id": "b", "status": "error",
                }).to_string(),
            }),
        ),
        span(
            5,
            1,
            (6, 7),
            json!({
                "openinference.span.kind": "TOOL", "tool.name": "kubectl",
                "input.value": "{\"args\": \"get pod\"}", "output.value": "web-1 Running",
            }),
        ),
    ]);
    assert_eq!(
        lines(&run),
        [
            r#"ToolCall kubectl({"args":"restart"}) -> forbidden Error"#,
            r#"ToolCall kubectl({"args": "get pod"}) -> web-1 Running Ok"#,
        ]
    );
    assert_eq!(run.steps[1].reflection, "Two things to do.", "the thought stays with the first wish");
    assert_eq!(run.task_description, "Restart web");
    assert_eq!(run.outcome.conclusion, "It runs again.");
    assert_eq!(run.scope.user().unwrap().as_str(), "李雷");
    assert_eq!(run.environment.attributes["model"], "m");
}

#[test]
fn events_of_the_older_convention() {
    let mut first = span(2, 1, (1, 2), json!({ "gen_ai.operation.name": "chat", "gen_ai.system": "openai" }));
    first.events = vec![
        told("gen_ai.system.message", json!({ "content": "You plan." })),
        told("gen_ai.user.message", json!({ "content": "How full is the disk?" })),
        told(
            "gen_ai.choice",
            json!({
                "index": 0, "finish_reason": "tool_calls",
                "message": json!({ "role": "assistant", "tool_calls": [
                    { "id": "c1", "type": "function", "function": { "name": "df", "arguments": "{\"path\":\"/var\"}" } },
                ] }).to_string(),
            }),
        ),
    ];
    let mut second = span(3, 1, (4, 5), json!({ "gen_ai.operation.name": "chat" }));
    second.events = vec![
        told("gen_ai.user.message", json!({ "content": "How full is the disk?" })),
        told(
            "gen_ai.assistant.message",
            json!({ "tool_calls": "[{\"id\":\"c1\",\"function\":{\"name\":\"df\"}}]" }),
        ),
        told("gen_ai.tool.message", json!({ "id": "c1", "content": "98%" })),
        told("gen_ai.choice", json!({ "message": { "content": "98 percent" } })),
    ];
    let run = run_of(&[span(1, 0, (0, 6), json!({})), first, second]);
    assert_eq!(
        lines(&run),
        [r#"ToolCall df({"path":"/var"}) -> 98% Ok"#, "LlmReasoning (98 percent) ->  Unknown"]
    );
    assert_eq!(run.task_description, "How full is the disk?");
    assert_eq!(run.outcome.conclusion, "98 percent");
}

#[test]
fn openllmetry_spans() {
    let run = run_of(&[
        span(
            1,
            0,
            (0, 9),
            json!({
                "traceloop.span.kind": "workflow", "traceloop.entity.name": "support",
                "traceloop.entity.input": json!({ "args": [], "kwargs": { "question": "Where is W12?" } }).to_string(),
                "traceloop.association.properties.user_id": "7",
            }),
        ),
        span(
            2,
            1,
            (1, 2),
            json!({
                "llm.request.type": "chat",
                "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Where is W12?",
                "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.tool_calls.0.name": "order",
                "gen_ai.completion.0.tool_calls.0.arguments": "{\"id\":\"W12\"}",
                "gen_ai.completion.0.tool_calls.0.id": "x1",
            }),
        ),
        span(
            3,
            1,
            (3, 4),
            json!({
                "traceloop.span.kind": "tool", "traceloop.entity.name": "order",
                "traceloop.entity.input": json!({ "args": [], "kwargs": { "id": "W12" } }).to_string(),
                "traceloop.entity.output": "{\"status\": \"shipped\"}",
            }),
        ),
    ]);
    assert_eq!(lines(&run), [r#"ToolCall order({"id":"W12"}) -> {"status": "shipped"} Ok"#]);
    assert_eq!(run.scope.user().unwrap().as_str(), "7");
}

#[test]
fn what_only_a_model_heard_is_a_call_and_what_nobody_answered_too() {
    let wish = |id: &str, name: &str| {
        json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": { "name": name, "arguments": "{}" } },
    ] })
    };
    let run = run_of(&[
        // The span of the call before was not sampled.
        span(
            2,
            0,
            (5, 6),
            json!({
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json!([
                    text_parts("user", "go"), wish("c1", "first"),
                    { "role": "tool", "tool_call_id": "c1", "content": "Error: no such table" },
                ]).to_string(),
                "gen_ai.output.messages": json!([wish("c2", "second")]).to_string(),
            }),
        ),
    ]);
    assert_eq!(
        lines(&run),
        ["ToolCall first({}) -> Error: no such table Error", "ToolCall second({}) ->  Unknown"]
    );
}

#[test]
fn a_tool_and_its_client_are_one_call() {
    let call = |id, parent, times, pairs: serde_json::Value| {
        let mut made = span(id, parent, times, pairs);
        made.attributes.insert("gen_ai.operation.name".to_owned(), json!("execute_tool"));
        made.attributes.insert("gen_ai.tool.name".to_owned(), json!("search"));
        made
    };
    let run = run_of(&[
        span(1, 0, (0, 9), json!({ "gen_ai.operation.name": "invoke_agent" })),
        call(2, 1, (1, 5), json!({ "gen_ai.tool.call.arguments": "{\"q\":1}" })),
        call(3, 2, (2, 4), json!({ "mcp.method.name": "tools/call", "gen_ai.tool.call.result": "found" })),
        call(4, 1, (6, 7), json!({ "gen_ai.tool.call.arguments": "{\"q\":2}" })),
    ]);
    assert_eq!(
        lines(&run),
        [r#"ToolCall search({"q":1}) -> found Ok"#, r#"ToolCall search({"q":2}) ->  Unknown"#]
    );
}

#[test]
fn agents_that_call_agents_are_named_and_their_orders_are_no_words_of_a_user() {
    let chat = |text: &str| {
        json!({
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json!([text_parts("user", text)]).to_string(),
            "gen_ai.output.messages": json!([text_parts("assistant", &format!("re {text}"))]).to_string(),
        })
    };
    let agent = |name: &str| json!({ "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name });
    let run = run_of(&[
        span(1, 0, (0, 20), agent("boss")),
        span(2, 1, (1, 2), chat("build it")),
        span(3, 1, (3, 9), agent("worker")),
        span(4, 3, (4, 5), chat("an order")),
        span(5, 1, (10, 11), chat("and now?")),
    ]);
    assert_eq!(run.task_description, "build it");
    let who: Vec<_> =
        run.steps.iter().map(|s| (s.agent.as_ref().unwrap().as_str(), &*s.action_detail)).collect();
    assert_eq!(
        who,
        [("boss", "re build it"), ("worker", "re an order"), ("boss", "and now?"), ("boss", "re and now?")]
    );
}

#[test]
fn errors_are_told() {
    let mut tool = failed(span(3, 1, (3, 5), json!({ "gen_ai.operation.name": "execute_tool" })), "");
    tool.name = "execute_tool rm".to_owned();
    tool.events =
        vec![told("exception", json!({ "exception.type": "OSError", "exception.message": "busy" }))];
    let mut model =
        failed(span(4, 1, (6, 7), json!({ "gen_ai.operation.name": "chat" })), "context too long");
    model.name = "chat m".to_owned();
    let root = failed(span(1, 0, (0, 9), json!({ "gen_ai.operation.name": "invoke_agent" })), "gave up");
    let run = run_of(&[root, tool, model]);
    assert_eq!(
        lines(&run),
        ["ToolCall rm() -> OSError: busy Error", "LlmReasoning (chat m) -> context too long Error"]
    );
    assert_eq!(run.outcome.resolved(), OutcomeStatus::Failure);
    assert_eq!(run.outcome.evidence[0].source, EvidenceSource::ExitCode);
    assert!(run.outcome.evidence[0].detail.ends_with("gave up"), "{:?}", run.outcome.evidence);
}

#[test]
fn makers_of_spans_may_say_more() {
    let mut spans = weather();
    let receipt = "0190b3a0-7b1a-7cc0-8000-000000000001";
    spans[0].attributes.extend(super::attributes(json!({
        "hindsight.task_type": "weather", "hindsight.receipts": [receipt, "no receipt"],
        "hindsight.outcome": "success", "hindsight.outcome.source": "test_result",
        "hindsight.outcome.detail": "3 of 3 tests pass", "hindsight.goal": "the weather of Paris",
    })));
    let run = run_of(&spans);
    assert_eq!(run.task_type.unwrap().as_str(), "weather");
    assert_eq!(run.receipts.len(), 1);
    assert_eq!(run.task_description, "the weather of Paris");
    assert_eq!(run.outcome.resolved(), OutcomeStatus::Success);
    assert_eq!(run.outcome.evidence[0].source, EvidenceSource::TestResult);
}

#[test]
fn a_model_seen_by_two_instrumentations_speaks_once() {
    let mut spans = weather();
    let mut inner = spans[3].clone();
    (inner.span_id, inner.parent_span_id) = (format!("{:016x}", 9), spans[3].span_id.clone());
    spans.push(inner);
    assert_eq!(lines(&run_of(&spans)), lines(&run_of(&weather())));
    assert_eq!(run_of(&spans).steps[0].status, StepStatus::Ok);
}
