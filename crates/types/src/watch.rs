use serde::{Deserialize, Serialize};

use crate::{SessionId, TraceId};

/// What makes the memory speak up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ReminderTrigger {
    /// A task begins, or its user wants something new.
    TaskStart,
    /// A tool is about to be called in a way that is known to fail.
    BeforeCall,
    /// A call failed.
    AfterFailure,
    /// The user asks whether something is remembered.
    Asked,
}

impl ReminderTrigger {
    pub const ALL: [Self; 4] = [Self::TaskStart, Self::BeforeCall, Self::AfterFailure, Self::Asked];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::TaskStart => "task_start",
            Self::BeforeCall => "before_call",
            Self::AfterFailure => "after_failure",
            Self::Asked => "asked",
        }
    }
}

/// The event on a stream that a receipt is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    pub trigger: ReminderTrigger,
    /// The run that the stream is about, when it was named.
    pub trace_id: Option<TraceId>,
    /// The tool that was to be called, or failed; empty for the other triggers.
    pub tool: String,
    /// The conversation or process that the stream is about, when it was named.
    pub session: Option<SessionId>,
}
