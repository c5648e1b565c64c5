//! Requests to domain values.

use hindsight_api::status;
use hindsight_codec::{
    attachment_from_proto, fact_status_from_proto, fact_type_from_proto, optional_time_from_proto,
    outcome_from_proto, scope_or_default, step_from_proto, task_completed_from_proto,
    task_started_from_proto, time_or,
};
use hindsight_ingest::assemble;
use hindsight_proto::collector::v1::{
    CompleteTaskRequest, Consistency, RecordEventsRequest, Rejection, RetainRequest,
    record_events_request::Body,
};
use hindsight_proto::common::v1 as pb;
use hindsight_types::{
    Event, EventBody, EventId, Fact, Invalid, Scope, SessionId, TaskCompleted, TenantId, Timestamp, TraceId,
    UserId,
};

/// Longest message of a rejection.
const MESSAGE_BYTES: usize = 2048;
/// Most fields a rejection names.
const FIELDS: usize = 20;

pub(super) fn waits_for_index(consistency: i32) -> Result<bool, Invalid> {
    match Consistency::try_from(consistency) {
        Ok(Consistency::Indexed) => Ok(true),
        Ok(Consistency::Durable | Consistency::Unspecified) => Ok(false),
        Err(_) => Err(Invalid::new("consistency", format!("{consistency} is not a value of this enum"))),
    }
}

/// `inherited` is the scope of the task's start, for events that state none.
pub(super) fn event(
    tenant: &TenantId,
    request: RecordEventsRequest,
    inherited: impl FnOnce(&TraceId) -> Option<Scope>,
    now: Timestamp,
) -> Result<Event, Invalid> {
    let trace_id = TraceId::new(request.trace_id)?;
    let body = match request.body {
        Some(Body::Started(s)) => {
            EventBody::Started(task_started_from_proto(s).map_err(|e| e.within("started"))?)
        }
        Some(Body::Step(s)) => EventBody::Step(step_from_proto(s).map_err(|e| e.within("step"))?),
        Some(Body::Completed(c)) => {
            EventBody::Completed(task_completed_from_proto(c).map_err(|e| e.within("completed"))?)
        }
        None => return Err(Invalid::new("body", "is required: started, step or completed")),
    };
    let user = match &body {
        EventBody::Started(s) => s.user.as_ref(),
        _ => None,
    };
    let inherited = if matches!(body, EventBody::Started(_)) { None } else { inherited(&trace_id) };
    let scope = scope(tenant, request.scope, user, inherited)?;
    let event_id = match request.event_id.as_str() {
        "" => assemble::event_id(&scope, &trace_id, &body),
        id => EventId::parse(id)?,
    };
    // A clock that is ahead would have it outlive its user: what was recorded before a user is forgotten is told by
    // this time.
    let recorded_at = time_or("recorded_at", request.recorded_at, now)?.min(now);
    Ok(Event { event_id, scope, trace_id, recorded_at, body })
}

/// The stated scope, else the one inherited from the start of the task, else the default.
fn scope(
    tenant: &TenantId,
    stated: Option<pb::Scope>,
    user: Option<&UserId>,
    inherited: Option<Scope>,
) -> Result<Scope, Invalid> {
    let states_none = stated.as_ref().is_none_or(|s| s.level == 0);
    let scope = scope_or_default(tenant, stated, user)?;
    Ok(inherited.filter(|_| states_none).unwrap_or(scope))
}

pub(super) fn completion(
    tenant: &TenantId,
    request: CompleteTaskRequest,
    inherited: impl FnOnce(&TraceId) -> Option<Scope>,
    now: Timestamp,
) -> Result<Event, Invalid> {
    let trace_id = TraceId::new(request.trace_id)?;
    let scope = scope(tenant, request.scope, None, inherited(&trace_id))?;
    let outcome = outcome_from_proto(request.outcome).map_err(|e| e.within("outcome"))?;
    let body = EventBody::Completed(TaskCompleted { outcome, step_count: request.step_count });
    let event_id = assemble::event_id(&scope, &trace_id, &body);
    Ok(Event { event_id, scope, trace_id, recorded_at: now, body })
}

/// `CompleteTask` has the fields of the completion at its top.
pub(super) fn without_body(mut e: Invalid) -> Invalid {
    for f in &mut e.fields {
        if let Some(field) = f.field.strip_prefix("completed.") {
            f.field = field.to_owned();
        }
    }
    e
}

/// A fact that arrived at `now`, without what is derived from its words: that comes after redaction.
pub(super) fn fact(tenant: &TenantId, r: RetainRequest, now: Timestamp) -> Result<Fact, Invalid> {
    let user = UserId::new(r.user)?;
    let session = if r.session.is_empty() { None } else { Some(SessionId::new(r.session)?) };
    let occurred_at = time_or("occurred_at", r.occurred_at, now)?;
    Ok(Fact {
        context: r.context,
        speaker: r.speaker,
        session,
        intent: r.intent,
        fact_type: fact_type_from_proto(r.r#type)?,
        entities: r.entities,
        attachments: r.attachments.into_iter().map(attachment_from_proto).collect(),
        status: fact_status_from_proto(r.status)?,
        retained_at: now,
        expires_at: optional_time_from_proto("expires_at", r.expires_at)?,
        ..Fact::new(tenant, user, &r.key, &r.content, occurred_at)
    })
}

pub(super) fn rejection(sequence: u64, e: &Invalid) -> Rejection {
    let mut message = e.to_string();
    message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
    Rejection {
        sequence,
        reason: status::INVALID_FIELDS.to_owned(),
        message,
        fields: e.fields.iter().take(FIELDS).map(|f| f.field.clone()).collect(),
    }
}
