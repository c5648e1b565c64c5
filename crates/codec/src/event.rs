use hindsight_proto::event::v1::{
    EventRecorded, TaskCompleted as PbCompleted, TaskStarted as PbStarted, event_recorded::Body,
};
use hindsight_types::{
    AgentId, Event, EventBody, EventId, Invalid, SessionId, TaskCompleted, TaskStarted, TaskType, TenantId,
    TraceId, UserId,
};

use crate::{
    scope::{optional, scope_from_proto, scope_to_proto, text},
    span::{span_from_proto, span_to_proto},
    time::{time_from_proto, time_to_proto},
    trajectory::*,
};

pub fn event_to_proto(e: &Event) -> EventRecorded {
    EventRecorded {
        event_id: e.event_id.to_string(),
        scope: Some(scope_to_proto(&e.scope)),
        trace_id: e.trace_id.to_string(),
        recorded_at: Some(time_to_proto(e.recorded_at)),
        body: Some(match &e.body {
            EventBody::Started(s) => Body::Started(started_to_proto(s)),
            EventBody::Step(s) => Body::Step(step_to_proto(s)),
            EventBody::Completed(c) => Body::Completed(PbCompleted {
                outcome: Some(outcome_to_proto(&c.outcome)),
                step_count: c.step_count,
            }),
            EventBody::Span(s) => Body::Span(span_to_proto(s)),
        }),
    }
}

pub fn event_from_proto(tenant: &TenantId, e: EventRecorded) -> Result<Event, Invalid> {
    Ok(Event {
        event_id: EventId::parse(&e.event_id)?,
        scope: scope_from_proto(tenant, e.scope)?,
        trace_id: TraceId::new(e.trace_id)?,
        recorded_at: time_from_proto("recorded_at", e.recorded_at)?,
        body: match e.body {
            Some(Body::Started(s)) => {
                EventBody::Started(task_started_from_proto(s).map_err(|e| e.within("started"))?)
            }
            Some(Body::Step(s)) => EventBody::Step(step_from_proto(s).map_err(|e| e.within("step"))?),
            Some(Body::Completed(c)) => {
                EventBody::Completed(task_completed_from_proto(c).map_err(|e| e.within("completed"))?)
            }
            Some(Body::Span(s)) => {
                EventBody::Span(Box::new(span_from_proto(s).map_err(|e| e.within("span"))?))
            }
            None => return Err(Invalid::new("body", "is required: started, step, completed or span")),
        },
    })
}

pub(crate) fn started_to_proto(s: &TaskStarted) -> PbStarted {
    PbStarted {
        goal: s.goal.clone(),
        session: text(s.session.as_ref()),
        user: text(s.user.as_ref()),
        agent: text(s.agent.as_ref()),
        task_type: text(s.task_type.as_ref()),
        environment: Some(environment_to_proto(&s.environment)),
        receipts: s.receipts.iter().map(ToString::to_string).collect(),
    }
}

pub fn task_started_from_proto(s: PbStarted) -> Result<TaskStarted, Invalid> {
    Ok(TaskStarted {
        goal: s.goal,
        session: optional(s.session, SessionId::new)?,
        user: optional(s.user, UserId::new)?,
        agent: optional(s.agent, AgentId::new)?,
        task_type: optional(s.task_type, TaskType::new)?,
        environment: environment_from_proto(s.environment),
        receipts: receipts_from_proto(&s.receipts)?,
    })
}

pub fn task_completed_from_proto(c: PbCompleted) -> Result<TaskCompleted, Invalid> {
    Ok(TaskCompleted {
        outcome: outcome_from_proto(c.outcome).map_err(|e| e.within("outcome"))?,
        step_count: c.step_count,
    })
}
