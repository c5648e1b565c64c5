//! OTLP as JSON: protobuf's mapping, with ids in hexadecimal. Unknown fields are passed over, numbers may be
//! texts, and enumerations may be named.

use serde_json::Value;

use super::{Attributes, RawSpan, Resource, SpanEvent, SpanStatus};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadJson {
    #[error("is no JSON: {0}")]
    Syntax(String),
    #[error("is no export of traces: an object with the list `resourceSpans` is expected")]
    Shape,
}

/// The spans of an `ExportTraceServiceRequest` (or of `TracesData`, which looks the same).
pub fn from_json(text: &[u8]) -> Result<Vec<Resource>, BadJson> {
    let root: Value = serde_json::from_slice(text).map_err(|e| BadJson::Syntax(e.to_string()))?;
    if !root.is_object() {
        return Err(BadJson::Shape);
    }
    match at(&root, "resourceSpans", "resource_spans") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(resources)) => Ok(resources.iter().map(resource).collect()),
        Some(_) => Err(BadJson::Shape),
    }
}

fn resource(value: &Value) -> Resource {
    let scopes = list(value, "scopeSpans", "scope_spans");
    let spans = scopes.iter().flat_map(|scope| list(scope, "spans", "spans"));
    let own = at(value, "resource", "resource").unwrap_or(&Value::Null);
    Resource { attributes: attributes(own), spans: spans.map(span).collect() }
}

fn span(value: &Value) -> RawSpan {
    let status = at(value, "status", "status").unwrap_or(&Value::Null);
    RawSpan {
        trace_id: text(value, "traceId", "trace_id"),
        span_id: text(value, "spanId", "span_id"),
        parent_span_id: text(value, "parentSpanId", "parent_span_id"),
        name: text(value, "name", "name"),
        start: time(value, "startTimeUnixNano", "start_time_unix_nano"),
        end: time(value, "endTimeUnixNano", "end_time_unix_nano"),
        attributes: attributes(value),
        events: list(value, "events", "events").iter().map(event).collect(),
        status: match status.get("code") {
            Some(Value::Number(n)) if n.as_u64() == Some(1) => SpanStatus::Ok,
            Some(Value::Number(n)) if n.as_u64() == Some(2) => SpanStatus::Error,
            Some(Value::String(s)) if s == "STATUS_CODE_OK" => SpanStatus::Ok,
            Some(Value::String(s)) if s == "STATUS_CODE_ERROR" => SpanStatus::Error,
            _ => SpanStatus::Unset,
        },
        status_message: text(status, "message", "message"),
    }
}

fn event(value: &Value) -> SpanEvent {
    SpanEvent { name: text(value, "name", "name"), attributes: attributes(value) }
}

fn attributes(of: &Value) -> Attributes {
    let pairs = list(of, "attributes", "attributes").iter();
    pairs.filter_map(|pair| Some((pair.get("key")?.as_str()?.to_owned(), any(pair.get("value")?)))).collect()
}

/// An `AnyValue`.
fn any(value: &Value) -> Value {
    let Value::Object(map) = value else { return Value::Null };
    let found = map.iter().find_map(|(kind, inner)| {
        Some(match kind.as_str() {
            "stringValue" | "string_value" | "boolValue" | "bool_value" => inner.clone(),
            "bytesValue" | "bytes_value" => inner.clone(),
            "intValue" | "int_value" => match inner {
                Value::String(s) => s.parse::<i64>().map_or(Value::Null, Value::from),
                other => other.clone(),
            },
            "doubleValue" | "double_value" => inner.clone(),
            "arrayValue" | "array_value" => {
                Value::Array(list(inner, "values", "values").iter().map(any).collect())
            }
            "kvlistValue" | "kvlist_value" => {
                let pairs = list(inner, "values", "values").iter();
                let pairs =
                    pairs.filter_map(|p| Some((p.get("key")?.as_str()?.to_owned(), any(p.get("value")?))));
                Value::Object(pairs.collect())
            }
            _ => return None,
        })
    });
    found.unwrap_or(Value::Null)
}

fn at<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}

fn list<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a [Value] {
    at(value, camel, snake).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text(value: &Value, camel: &str, snake: &str) -> String {
    at(value, camel, snake).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn time(value: &Value, camel: &str, snake: &str) -> u64 {
    match at(value, camel, snake) {
        Some(Value::String(s)) => s.parse().unwrap_or_default(),
        Some(Value::Number(n)) => n.as_u64().unwrap_or_default(),
        _ => 0,
    }
}
