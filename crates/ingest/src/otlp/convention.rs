//! Which convention a span follows, and what it is by it.

use hindsight_types::SpanRole;

use super::{RawSpan, value::text};

/// What the GenAI conventions call the operation of a span.
const OPERATION: &str = "gen_ai.operation.name";

/// The role of a span. `None`: it tells nothing of an agent's work.
pub(super) fn role(span: &RawSpan) -> Option<SpanRole> {
    let is_root = span.parent_span_id.bytes().all(|b| b == b'0');
    let known =
        operation(span).or_else(|| openinference(span, is_root)).or_else(|| openllmetry(span, is_root));
    known.or(is_root.then_some(SpanRole::Root))
}

fn operation(span: &RawSpan) -> Option<SpanRole> {
    match text(&span.attributes, &[OPERATION])? {
        "invoke_agent" | "invoke_workflow" => Some(SpanRole::Agent),
        "chat" | "generate_content" | "text_completion" | "completion" => Some(SpanRole::Model),
        "execute_tool" | "retrieval" => Some(SpanRole::Tool),
        _ => None,
    }
}

fn openinference(span: &RawSpan, is_root: bool) -> Option<SpanRole> {
    match text(&span.attributes, &["openinference.span.kind"])?.to_ascii_uppercase().as_str() {
        "AGENT" => Some(SpanRole::Agent),
        // Frameworks make one of every function; only the outermost is the task.
        "CHAIN" => is_root.then_some(SpanRole::Agent),
        "LLM" => Some(SpanRole::Model),
        "TOOL" | "RETRIEVER" => Some(SpanRole::Tool),
        _ => None,
    }
}

fn openllmetry(span: &RawSpan, is_root: bool) -> Option<SpanRole> {
    match text(&span.attributes, &["traceloop.span.kind"]) {
        Some("agent") => return Some(SpanRole::Agent),
        Some("workflow") => return is_root.then_some(SpanRole::Agent),
        Some("tool") => return Some(SpanRole::Tool),
        _ => {}
    }
    let request = text(&span.attributes, &["llm.request.type"]);
    // An operation that says what it is and is none of the above is none.
    let unsaid = text(&span.attributes, &[OPERATION, "openinference.span.kind"]).is_none();
    let talks = ["gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt.0.content"];
    (unsaid && (matches!(request, Some("chat" | "completion")) || text(&span.attributes, &talks).is_some()))
        .then_some(SpanRole::Model)
}
