use std::collections::BTreeMap;

use hindsight_codec::{schema, scope_from_proto, scope_to_proto};
use hindsight_ingest::assemble::evaluation_request_id;
use hindsight_ports::Envelope;
use hindsight_proto::event::v1::EvaluationRequested;
use hindsight_types::{EvaluationRecord, Scope, Timestamp, TraceId};
use prost::Message as _;

/// A task to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(crate) trace_id: TraceId,
    pub(crate) scope: Scope,
    pub(crate) step_count: u32,
}

/// The error says why the message can never be read.
pub(crate) fn read(envelope: &Envelope) -> Result<Requested, String> {
    if envelope.schema != schema::EVALUATION_REQUESTED {
        return Err(format!("messages of type `{}` are not known here", envelope.schema));
    }
    let request = EvaluationRequested::decode(envelope.payload.as_slice())
        .map_err(|e| format!("{} cannot be decoded: {e}", envelope.schema))?;
    let trace_id = TraceId::new(request.trace_id).map_err(|e| e.to_string())?;
    let scope = scope_from_proto(&envelope.tenant, request.scope).map_err(|e| e.to_string())?;
    Ok(Requested { trace_id, scope, step_count: request.step_count })
}

/// The same request as the one the completion of the task made.
pub(crate) fn again(record: &EvaluationRecord, now: Timestamp) -> Envelope {
    let request = EvaluationRequested {
        trace_id: record.trace_id.to_string(),
        scope: Some(scope_to_proto(&record.scope)),
        step_count: record.step_count,
    };
    Envelope {
        id: evaluation_request_id(&record.scope.tenant, &record.trace_id, record.step_count).0,
        schema: schema::EVALUATION_REQUESTED.to_owned(),
        tenant: record.scope.tenant.clone(),
        occurred_at: now,
        trace_context: BTreeMap::new(),
        payload: request.encode_to_vec(),
    }
}
