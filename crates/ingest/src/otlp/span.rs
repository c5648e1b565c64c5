use std::collections::BTreeMap;

use hindsight_types::{SpanId, TraceId};
use serde_json::Value;

/// Attributes as OpenTelemetry has them: values are texts, numbers, booleans, or lists and maps of these.
pub type Attributes = BTreeMap<String, Value>;

/// An event within a span.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpanEvent {
    pub name: String,
    pub attributes: Attributes,
}

/// How a span says that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpanStatus {
    #[default]
    Unset,
    Ok,
    Error,
}

/// A span as it arrives, before it is known what it tells. Ids are hexadecimal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawSpan {
    pub trace_id: String,
    pub span_id: String,
    /// Empty: the root.
    pub parent_span_id: String,
    pub name: String,
    /// Nanoseconds since 1970.
    pub start: u64,
    pub end: u64,
    pub attributes: Attributes,
    pub events: Vec<SpanEvent>,
    pub status: SpanStatus,
    pub status_message: String,
}

/// Why a span is refused. The same words for the same reason, with no text of the span in them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("a trace id is 32 hexadecimal digits, not all zero")]
    TraceId,
    #[error("a span id is 16 hexadecimal digits, not all zero")]
    SpanId,
    #[error("the user of a span cannot be one: {0}")]
    User(String),
}

/// The ids of a span: its trace, itself, its parent.
pub(super) fn ids(span: &RawSpan) -> Result<(TraceId, SpanId, Option<SpanId>), Refused> {
    let trace = hex(&span.trace_id, 32).and_then(|id| TraceId::new(id).ok()).ok_or(Refused::TraceId)?;
    let id = |text: &str| hex(text, 16).and_then(|id| SpanId::new(id).ok()).ok_or(Refused::SpanId);
    // Some send a root's parent as zeroes.
    let is_root = span.parent_span_id.bytes().all(|b| b == b'0');
    let parent = if is_root { None } else { Some(id(&span.parent_span_id)?) };
    Ok((trace, id(&span.span_id)?, parent))
}

fn hex(text: &str, digits: usize) -> Option<String> {
    let good = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    (good && text.bytes().any(|b| b != b'0')).then(|| text.to_ascii_lowercase())
}
