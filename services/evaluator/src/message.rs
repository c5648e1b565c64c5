use std::collections::BTreeMap;

use hindsight_codec::{
    compaction_task_to_proto, optional_time_from_proto, schema, scope_from_proto, scope_to_proto,
};
use hindsight_ingest::assemble::evaluation_request_id;
use hindsight_ports::Envelope;
use hindsight_proto::event::v1::{CompactionRequested, EvaluationRequested, ReevaluationContinued};
use hindsight_types::{
    CompactionTask, EvaluationRecord, Reevaluation, ReevaluationId, Scope, Timestamp, TraceId,
};
use prost::Message as _;
use uuid::Uuid;

/// What the queue brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    Requested(Requested),
    Continued(Continued),
}

/// A task to be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(crate) trace_id: TraceId,
    pub(crate) scope: Scope,
    pub(crate) step_count: u32,
    /// It is not looked at before.
    pub(crate) not_before: Option<Timestamp>,
}

/// A re-evaluation to be brought on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Continued {
    pub(crate) id: ReevaluationId,
    pub(crate) scope: Scope,
    pub(crate) page: u32,
}

/// The error says why the message can never be read.
pub(crate) fn read(envelope: &Envelope) -> Result<Message, String> {
    let garbled = |e| format!("{} cannot be decoded: {e}", envelope.schema);
    let payload = envelope.payload.as_slice();
    match envelope.schema.as_str() {
        schema::EVALUATION_REQUESTED => {
            let request = EvaluationRequested::decode(payload).map_err(garbled)?;
            let trace_id = TraceId::new(request.trace_id).map_err(|e| e.to_string())?;
            let scope = scope_from_proto(&envelope.tenant, request.scope).map_err(|e| e.to_string())?;
            let not_before = optional_time_from_proto("not_before", request.not_before);
            let not_before = not_before.map_err(|e| e.to_string())?;
            let step_count = request.step_count;
            Ok(Message::Requested(Requested { trace_id, scope, step_count, not_before }))
        }
        schema::REEVALUATION_CONTINUED => {
            let page = ReevaluationContinued::decode(payload).map_err(garbled)?;
            let id = ReevaluationId::parse(&page.reevaluation_id).map_err(|e| e.to_string())?;
            let scope = scope_from_proto(&envelope.tenant, page.scope).map_err(|e| e.to_string())?;
            Ok(Message::Continued(Continued { id, scope, page: page.page }))
        }
        other => Err(format!("messages of type `{other}` are not known here")),
    }
}

/// The same request as the one the completion of the task made.
pub(crate) fn again(record: &EvaluationRecord, now: Timestamp) -> Envelope {
    let request = EvaluationRequested {
        trace_id: record.trace_id.to_string(),
        scope: Some(scope_to_proto(&record.scope)),
        step_count: record.step_count,
        not_before: None,
    };
    let id = evaluation_request_id(&record.scope.tenant, &record.trace_id, record.step_count).0;
    envelope(id, schema::EVALUATION_REQUESTED, &record.scope, now, request.encode_to_vec())
}

/// Asks for the page of a re-evaluation that its record says is next.
pub(crate) fn next_page(job: &Reevaluation, now: Timestamp) -> Envelope {
    let page = ReevaluationContinued {
        reevaluation_id: job.id.to_string(),
        scope: Some(scope_to_proto(&job.scope)),
        page: job.page,
    };
    envelope(job.id.page(job.page), schema::REEVALUATION_CONTINUED, &job.scope, now, page.encode_to_vec())
}

/// Asks for a piece of upkeep.
pub(crate) fn upkeep(task: &CompactionTask) -> Envelope {
    let request = CompactionRequested { task: Some(compaction_task_to_proto(task)) };
    let (id, payload) = (task.id.0, request.encode_to_vec());
    envelope(id, schema::COMPACTION_REQUESTED, &task.scope, task.planned_at, payload)
}

fn envelope(id: Uuid, schema: &str, scope: &Scope, now: Timestamp, payload: Vec<u8>) -> Envelope {
    Envelope {
        id,
        schema: schema.to_owned(),
        tenant: scope.tenant.clone(),
        occurred_at: now,
        trace_context: BTreeMap::new(),
        payload,
    }
}
