//! Spans of OpenTelemetry traces to the events of a run, and these to a trajectory.
//!
//! [`read`] says what one span tells, whatever else has arrived; [`weave`] puts together what the spans of a
//! trace tell. So spans may come in any order, over any number of exports and to any number of processes:
//! the same spans make the same trajectory.

mod convention;
mod environment;
mod json;
mod message;
mod read;
mod span;
mod talk;
mod tool;
mod value;
mod weave;

#[cfg(test)]
mod tests;

pub use json::{BadJson, from_json};
pub use read::{Told, read};
pub use span::{Attributes, RawSpan, Refused, SpanEvent, SpanStatus};
pub use weave::{ends, last_look, spans};
pub(crate) use weave::{scope_of, weave};

use hindsight_types::{EventId, SpanId, TenantId, TraceId};

/// The spans of one source with its attributes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resource {
    pub attributes: Attributes,
    pub spans: Vec<RawSpan>,
}

/// The id of the event that a span is: a span that is sent again is the same event.
pub fn event_id(tenant: &TenantId, trace: &TraceId, span: &SpanId) -> EventId {
    EventId::derived(tenant, trace, &format!("span:{span}"))
}
