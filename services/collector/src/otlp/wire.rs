//! OTLP as protobuf has it.

use hindsight_ingest::otlp::{Attributes, RawSpan, Resource, SpanEvent, SpanStatus};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value as Pb},
    trace::v1::{ResourceSpans, Span, status::StatusCode},
};
use serde_json::{Map, Value};

pub(super) fn resources(request: ExportTraceServiceRequest) -> Vec<Resource> {
    request.resource_spans.into_iter().map(resource).collect()
}

fn resource(spans: ResourceSpans) -> Resource {
    Resource {
        attributes: spans.resource.map(|r| attributes(r.attributes)).unwrap_or_default(),
        spans: spans.scope_spans.into_iter().flat_map(|s| s.spans).map(span).collect(),
    }
}

fn span(s: Span) -> RawSpan {
    let status = s.status.unwrap_or_default();
    RawSpan {
        trace_id: hex(&s.trace_id),
        span_id: hex(&s.span_id),
        parent_span_id: hex(&s.parent_span_id),
        name: s.name,
        start: s.start_time_unix_nano,
        end: s.end_time_unix_nano,
        attributes: attributes(s.attributes),
        events: s
            .events
            .into_iter()
            .map(|e| SpanEvent { name: e.name, attributes: attributes(e.attributes) })
            .collect(),
        status: match StatusCode::try_from(status.code) {
            Ok(StatusCode::Ok) => SpanStatus::Ok,
            Ok(StatusCode::Error) => SpanStatus::Error,
            _ => SpanStatus::Unset,
        },
        status_message: status.message,
    }
}

fn attributes(pairs: Vec<KeyValue>) -> Attributes {
    pairs.into_iter().map(|pair| (pair.key, any(pair.value))).collect()
}

/// As deep as protobuf lets it be.
fn any(value: Option<AnyValue>) -> Value {
    match value.and_then(|v| v.value) {
        None => Value::Null,
        Some(Pb::StringValue(s)) => Value::String(s),
        Some(Pb::BoolValue(b)) => Value::Bool(b),
        Some(Pb::IntValue(n)) => Value::from(n),
        Some(Pb::DoubleValue(n)) => Value::from(n),
        Some(Pb::ArrayValue(list)) => Value::Array(list.values.into_iter().map(|v| any(Some(v))).collect()),
        Some(Pb::KvlistValue(map)) => {
            Value::Object(map.values.into_iter().map(|p| (p.key, any(p.value))).collect::<Map<_, _>>())
        }
        Some(Pb::BytesValue(bytes)) => Value::String(format!("[{} bytes]", bytes.len())),
        Some(_) => Value::Null,
    }
}

fn hex(bytes: &[u8]) -> String {
    // A wrong length shows itself; how long it is does not matter.
    bytes.iter().take(32).map(|b| format!("{b:02x}")).collect()
}
