//! What travels over the bus: domain values to envelopes and back. Ids are derived from what a message
//! says, so sending it again makes the same message.

use std::collections::BTreeMap;

use hindsight_codec::{
    event_from_proto, event_to_proto, fact_from_proto, fact_to_proto, schema, scope_to_proto, time_to_proto,
};
use hindsight_ingest::assemble::evaluation_request_id;
use hindsight_ports::Envelope;
use hindsight_proto::event::v1::{EvaluationRequested, EventRecorded, FactRetained};
use hindsight_telemetry::context;
use hindsight_types::{Event, EventBody, EventId, Fact, Timestamp};
use prost::Message as _;
use uuid::Uuid;

/// W3C headers of the call that caused a message.
pub(crate) type TraceContext = BTreeMap<String, String>;

/// Of the call as it is traced here, else as its headers say: a trace goes on where nothing is exported.
pub(crate) fn trace_context(metadata: &tonic::metadata::MetadataMap) -> TraceContext {
    http_trace_context(metadata.as_ref())
}

/// The same of a call over plain HTTP.
pub(crate) fn http_trace_context(headers: &axum::http::HeaderMap) -> TraceContext {
    let own = context::current();
    if own.is_empty() { context::of_headers(headers) } else { own }
}

pub(crate) fn of_event(event: &Event, trace_context: &TraceContext) -> Envelope {
    Envelope {
        id: event.event_id.0,
        schema: schema::EVENT_RECORDED.to_owned(),
        tenant: event.scope.tenant.clone(),
        occurred_at: event.recorded_at,
        trace_context: trace_context.clone(),
        payload: event_to_proto(event).encode_to_vec(),
    }
}

pub(crate) fn of_fact(fact: &Fact, trace_context: &TraceContext) -> Envelope {
    let payload = FactRetained { fact: Some(fact_to_proto(fact)) }.encode_to_vec();
    Envelope {
        // A fact that says something new is a new message.
        id: Uuid::new_v5(&fact.id.0, &payload),
        schema: schema::FACT_RETAINED.to_owned(),
        tenant: fact.scope.tenant.clone(),
        occurred_at: fact.occurred_at,
        trace_context: trace_context.clone(),
        payload,
    }
}

/// The request to judge the task that `event` completes. `None`: it completes none.
pub(crate) fn evaluation_of(event: &Event, trace_context: &TraceContext, now: Timestamp) -> Option<Envelope> {
    let EventBody::Completed(completed) = &event.body else { return None };
    let count = completed.step_count;
    let id = evaluation_request_id(&event.scope.tenant, &event.trace_id, count);
    Some(asking(event, id, (count, None), trace_context, now))
}

/// The request to judge the run that spans tell of, as many as are there at `not_before`.
pub(crate) fn evaluation_of_spans(
    event: &Event,
    id: EventId,
    not_before: Timestamp,
    trace_context: &TraceContext,
    now: Timestamp,
) -> Envelope {
    asking(event, id, (0, Some(not_before)), trace_context, now)
}

fn asking(
    event: &Event,
    id: EventId,
    (step_count, not_before): (u32, Option<Timestamp>),
    trace_context: &TraceContext,
    now: Timestamp,
) -> Envelope {
    let request = EvaluationRequested {
        trace_id: event.trace_id.to_string(),
        scope: Some(scope_to_proto(&event.scope)),
        step_count,
        not_before: not_before.map(time_to_proto),
    };
    Envelope {
        id: id.0,
        schema: schema::EVALUATION_REQUESTED.to_owned(),
        tenant: event.scope.tenant.clone(),
        occurred_at: now,
        trace_context: trace_context.clone(),
        payload: request.encode_to_vec(),
    }
}

/// What a message on `Queue::Ingest` carries.
#[derive(Debug)]
pub(crate) enum Carried {
    Event(Event),
    Fact(Fact),
}

/// The error says why the message can never be read.
pub(crate) fn read(envelope: &Envelope) -> Result<Carried, String> {
    let tenant = &envelope.tenant;
    let undecodable = |e: prost::DecodeError| format!("{} cannot be decoded: {e}", envelope.schema);
    match envelope.schema.as_str() {
        schema::EVENT_RECORDED => {
            let event = EventRecorded::decode(envelope.payload.as_slice()).map_err(undecodable)?;
            event_from_proto(tenant, event).map(Carried::Event).map_err(|e| e.to_string())
        }
        schema::FACT_RETAINED => {
            let retained = FactRetained::decode(envelope.payload.as_slice()).map_err(undecodable)?;
            let fact = retained.fact.ok_or_else(|| format!("{} carries no fact", envelope.schema))?;
            fact_from_proto(tenant, fact).map(Carried::Fact).map_err(|e| e.to_string())
        }
        other => Err(format!("messages of type `{other}` are not known here")),
    }
}
