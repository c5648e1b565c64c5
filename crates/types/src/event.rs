use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Environment, EventId, Outcome, ReceiptId, Scope, SessionId, Step, TaskType, Timestamp, TraceId,
    TraceSpan, UserId,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStarted {
    pub goal: String,
    pub session: Option<SessionId>,
    pub user: Option<UserId>,
    pub agent: Option<AgentId>,
    pub task_type: Option<TaskType>,
    pub environment: Environment,
    pub receipts: Vec<ReceiptId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCompleted {
    pub outcome: Outcome,
    /// How many steps belong to the task; judging waits until all are there. Of a run that is told by spans: how
    /// many spans were there.
    pub step_count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventBody {
    Started(TaskStarted),
    Step(Step),
    Completed(TaskCompleted),
    /// Of a run that is told by the spans of a trace.
    Span(Box<TraceSpan>),
}

/// A task that has begun and not ended, as far as is known. An index of the raw tier, not a truth: the
/// events say whether it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTask {
    pub trace_id: TraceId,
    pub scope: Scope,
    /// When an event of it last arrived, give or take the time between two touches.
    pub touched_at: Timestamp,
}

/// A task start, a step or a completion as it arrives. The raw tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Unique within the tenant; a repeated id is the same event and is stored once.
    pub event_id: EventId,
    pub scope: Scope,
    pub trace_id: TraceId,
    pub recorded_at: Timestamp,
    pub body: EventBody,
}
