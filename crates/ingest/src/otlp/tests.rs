mod attributes;
mod hostile;
mod order;
mod runs;

use hindsight_types::{
    Event, EventBody, OutcomeStatus, Scope, TenantId, Timestamp, Trajectory, UserId, Visibility,
};
use serde_json::{Value, json};

use super::{Attributes, RawSpan, SpanEvent, SpanStatus, event_id, read};
use crate::{Assembly, assemble};

const TRACE: &str = "5b8efff798038103d269b633813fc60c";

pub(super) fn attributes(pairs: Value) -> Attributes {
    pairs.as_object().unwrap().clone().into_iter().collect()
}

/// Span `id` of parent `parent` (0: the root), from second `from` to second `to`.
pub(super) fn span(id: u64, parent: u64, (from, to): (u64, u64), pairs: Value) -> RawSpan {
    let name = |id: u64| if id == 0 { String::new() } else { format!("{id:016x}") };
    RawSpan {
        trace_id: TRACE.to_owned(),
        span_id: name(id),
        parent_span_id: name(parent),
        name: format!("span {id}"),
        start: (1_760_000_000 + from) * 1_000_000_000,
        end: (1_760_000_000 + to) * 1_000_000_000,
        attributes: attributes(pairs),
        ..RawSpan::default()
    }
}

pub(super) fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

/// The events of these spans, as the door makes them.
pub(super) fn events(spans: &[RawSpan]) -> Vec<Event> {
    let resource = attributes(json!({ "service.name": "shop", "k8s.pod.name": "web-1", "secret": 1 }));
    let one = |raw| {
        let told = read(&resource, raw).unwrap()?;
        let scope = Scope::new(tenant(), told.user.map_or(Visibility::Tenant, Visibility::User));
        Some(Event {
            event_id: event_id(&tenant(), &told.trace_id, &told.span.span_id),
            scope,
            trace_id: told.trace_id,
            recorded_at: told.span.ended_at,
            body: EventBody::Span(Box::new(told.span)),
        })
    };
    spans.iter().filter_map(one).collect()
}

pub(super) fn run_of(spans: &[RawSpan]) -> Trajectory {
    match assemble(events(spans)) {
        Assembly::Complete(run) => *run,
        Assembly::Missing(gap) => panic!("{gap}"),
    }
}

/// What was done, one line per step.
pub(super) fn lines(run: &Trajectory) -> Vec<String> {
    let line = |s: &hindsight_types::Step| {
        format!(
            "{:?} {}({}) -> {} {:?}",
            s.action_type, s.action_name, s.action_detail, s.observation, s.status
        )
    };
    run.steps.iter().map(line).collect()
}

pub(super) fn text_parts(role: &str, text: &str) -> Value {
    json!({ "role": role, "parts": [{ "type": "text", "content": text }] })
}

/// An agent that looks a weather up, as the GenAI conventions tell it: `invoke_agent` around two `chat` and an
/// `execute_tool`.
pub(super) fn weather() -> Vec<RawSpan> {
    let system = json!([{ "type": "text", "content": "You know the weather." }]);
    let asked = text_parts("user", "巴黎天气如何？");
    let wish = json!({ "role": "assistant", "parts": [
        { "type": "reasoning", "content": "I have to look." },
        { "type": "tool_call", "id": "call_1", "name": "get_weather", "arguments": { "city": "Paris" } },
    ] });
    let heard = json!({ "role": "tool", "parts": [
        { "type": "tool_call_response", "id": "call_1", "response": "rainy, 14°C" },
    ] });
    let answer = text_parts("assistant", "It rains in Paris.");
    vec![
        span(
            1,
            0,
            (0, 9),
            json!({
                "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "weatherman",
                "gen_ai.conversation.id": "talk-1", "user.id": "ann",
                "gen_ai.input.messages": json!([asked]).to_string(),
                "gen_ai.output.messages": json!([answer]).to_string(),
            }),
        ),
        span(
            2,
            1,
            (1, 3),
            json!({
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1",
                "gen_ai.system_instructions": system.to_string(),
                "gen_ai.input.messages": json!([asked]).to_string(),
                "gen_ai.output.messages": json!([wish]).to_string(),
                "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5,
            }),
        ),
        span(
            3,
            1,
            (3, 5),
            json!({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather",
                "gen_ai.tool.call.id": "call_1",
                "gen_ai.tool.call.arguments": "{\"city\":\"Paris\"}", "gen_ai.tool.call.result": "rainy, 14°C",
            }),
        ),
        span(
            4,
            1,
            (6, 8),
            json!({
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1",
                "gen_ai.input.messages": json!([asked, wish, heard]).to_string(),
                "gen_ai.output.messages": json!([answer]).to_string(),
                "gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 7,
            }),
        ),
    ]
}

#[test]
fn a_run_by_the_genai_conventions() {
    let run = run_of(&weather());
    assert_eq!(
        lines(&run),
        [
            r#"ToolCall get_weather({"city":"Paris"}) -> rainy, 14°C Ok"#,
            "LlmReasoning (It rains in Paris.) ->  Unknown",
        ]
    );
    assert_eq!(run.trace_id.as_str(), TRACE);
    assert_eq!(run.task_description, "巴黎天气如何？");
    assert_eq!(run.outcome.conclusion, "It rains in Paris.");
    assert_eq!(run.outcome.resolved(), OutcomeStatus::Unknown);
    assert_eq!(run.steps[0].reflection, "I have to look.");
    assert_eq!(run.agent.as_ref().unwrap().as_str(), "weatherman");
    assert_eq!(run.session.as_ref().unwrap().as_str(), "talk-1");
    assert_eq!(run.scope.user(), Some(&UserId::new("ann").unwrap()));
    assert_eq!(run.user, run.scope.user().cloned());
    assert_eq!(run.environment.tags, ["k8s"]);
    let kept: Vec<_> = run.environment.attributes.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(
        kept,
        ["input_tokens=30", "k8s.pod.name=web-1", "model=m-1", "output_tokens=12", "service.name=shop"]
    );
    assert_eq!(run.started_at, Timestamp::from_second(1_760_000_000).unwrap());
    assert_eq!(run.ended_at, Timestamp::from_second(1_760_000_009).unwrap());
    assert_eq!(run.steps[0].started_at, Some(Timestamp::from_second(1_760_000_003).unwrap()));
}

pub(super) fn told(name: &str, pairs: Value) -> SpanEvent {
    SpanEvent { name: name.to_owned(), attributes: attributes(pairs) }
}

pub(super) fn failed(mut span: RawSpan, message: &str) -> RawSpan {
    (span.status, span.status_message) = (SpanStatus::Error, message.to_owned());
    span
}
