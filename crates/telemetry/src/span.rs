//! The spans of a trace, named and attributed as the semantic conventions of OpenTelemetry say (schema
//! 1.42). They carry ids, sizes and counts; nothing that was observed, and no secret.
//!
//! They are of level DEBUG, so that the log does not repeat them, and cost next to nothing when no traces
//! are exported.

use std::sync::OnceLock;

use hindsight_ports::{Envelope, LlmUsage, Queue};
use http::HeaderMap;
use opentelemetry::trace::{SpanContext, Status, TraceContextExt as _};
use tonic::Code;
use tracing::{Span, debug_span, field::Empty};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::context;

/// Most links from a batch to the traces of its messages.
const LINKS: usize = 64;

/// The broker of this process. Work knows its queue, but not what carries it.
static BUS_SYSTEM: OnceLock<&str> = OnceLock::new();

pub(crate) fn set_bus_system(system: &'static str) {
    BUS_SYSTEM.get_or_init(|| system);
}

fn bus_system() -> &'static str {
    BUS_SYSTEM.get().copied().unwrap_or("hindsight")
}

/// A call that goes out. `headers` get the trace it belongs to.
pub fn client(path: &str, headers: &mut HeaderMap) -> Span {
    let method = path.trim_start_matches('/');
    let span = debug_span!(
        "rpc.client",
        otel.name = method,
        otel.kind = "client",
        rpc.system.name = "grpc",
        rpc.method = method,
        rpc.response.status_code = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    );
    context::inject(&span, headers);
    span
}

/// Notes the status of a call that went out.
pub fn client_ended(span: &Span, code: Code) {
    let word = code_word(code);
    span.record("rpc.response.status_code", word);
    if code != Code::Ok {
        failed(span, word);
    }
}

/// Makes a log span the server side of a call: in the trace that the caller's headers name.
pub fn serve(span: &Span, method: &str, headers: &HeaderMap) {
    context::adopt(span, headers);
    span.context().span().update_name(method.to_owned());
    span.set_attribute("rpc.system.name", "grpc");
    span.set_attribute("rpc.method", method.to_owned());
}

/// Notes the status of a call that was served. Only what is the server's fault makes the span an error.
pub fn served(span: &Span, code: Code) {
    use Code::{DataLoss, DeadlineExceeded, Internal, Unavailable, Unimplemented, Unknown};
    let word = code_word(code);
    span.set_attribute("rpc.response.status_code", word);
    if matches!(code, Unknown | DeadlineExceeded | Unimplemented | Internal | Unavailable | DataLoss) {
        span.set_attribute("error.type", word);
        span.set_status(Status::error(""));
    }
}

/// Messages on their way to the bus.
pub(crate) fn publish(queue: Queue, count: usize) -> Span {
    debug_span!(
        "bus.publish",
        otel.name = format_args!("send {queue}"),
        otel.kind = "producer",
        messaging.system = bus_system(),
        messaging.operation.name = "publish",
        messaging.operation.r#type = "send",
        messaging.destination.name = queue.name(),
        messaging.batch.message_count = count,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// The work that one message asks for, in the trace of who sent it.
pub fn process(queue: Queue, envelope: &Envelope, attempt: u32) -> Span {
    let span = debug_span!(
        "bus.process",
        otel.name = format_args!("process {queue}"),
        otel.kind = "consumer",
        messaging.system = bus_system(),
        messaging.operation.name = "process",
        messaging.operation.r#type = "process",
        messaging.destination.name = queue.name(),
        messaging.message.id = %envelope.id,
        messaging.message.body.size = envelope.payload.len(),
        hindsight.attempt = attempt,
        hindsight.tenant = envelope.tenant.as_str(),
        error.r#type = Empty,
        otel.status_code = Empty,
    );
    context::join(&span, &envelope.trace_context);
    span
}

/// The work that a batch asks for. In the trace of its messages when they have but one, else linked to the
/// traces it serves.
pub fn process_batch<'a>(queue: Queue, envelopes: impl ExactSizeIterator<Item = &'a Envelope>) -> Span {
    let span = debug_span!(
        parent: None,
        "bus.process",
        otel.name = format_args!("process {queue}"),
        otel.kind = "consumer",
        messaging.system = bus_system(),
        messaging.operation.name = "process",
        messaging.operation.r#type = "process",
        messaging.destination.name = queue.name(),
        messaging.batch.message_count = envelopes.len(),
        error.r#type = Empty,
        otel.status_code = Empty,
    );
    if span.is_disabled() {
        return span;
    }
    let mut first = None;
    let mut origins: Vec<SpanContext> = Vec::new();
    for envelope in envelopes {
        let origin = context::origin(&envelope.trace_context);
        if origin.is_valid() && origins.len() < LINKS && !origins.contains(&origin) {
            first.get_or_insert(&envelope.trace_context);
            origins.push(origin);
        }
    }
    match first {
        Some(first) if origins.iter().all(|o| o.trace_id() == origins[0].trace_id()) => {
            context::join(&span, first);
            origins.drain(1..).for_each(|o| span.add_link(o));
        }
        _ => origins.into_iter().for_each(|o| span.add_link(o)),
    }
    span
}

/// A call of the store.
pub(crate) fn store(system: &'static str, operation: &'static str, collection: &'static str) -> Span {
    debug_span!(
        "store",
        otel.name = [operation, collection].join(" ").trim_end(),
        otel.kind = "client",
        db.system.name = system,
        db.operation.name = operation,
        db.collection.name = (!collection.is_empty()).then_some(collection),
        db.operation.batch.size = Empty,
        db.response.returned_rows = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// Texts on their way to becoming vectors.
pub(crate) fn embed(model: &str, texts: usize) -> Span {
    debug_span!(
        "embed",
        otel.name = "embeddings",
        otel.kind = "client",
        gen_ai.operation.name = "embeddings",
        gen_ai.request.model = model,
        hindsight.texts = texts,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// A question to a language model.
pub(crate) fn chat(model: &str, max_tokens: u32) -> Span {
    debug_span!(
        "chat",
        otel.name = format_args!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = model,
        gen_ai.request.max_tokens = max_tokens,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// Notes what answering took.
pub(crate) fn chat_ended(span: &Span, model: &str, usage: LlmUsage) {
    span.record("gen_ai.response.model", model);
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
}

/// Marks a span as failed; `kind` is a word of the program, never a message.
pub fn failed(span: &Span, kind: &'static str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}

/// The canonical name of a status.
pub fn code_word(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
