use serde::{Deserialize, Serialize};

use crate::{Outcome, SpanId, Step, TaskStarted, Timestamp};

/// What a span of a trace is to the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SpanRole {
    /// An agent or a workflow at work: it says what was asked and what came of it.
    Agent,
    /// A call of a language model.
    Model,
    /// A call of a tool.
    Tool,
    /// The root of the trace, of which nothing but its end concerns the task.
    Root,
}

/// How a span knows of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Voice {
    /// It was in the input of a model: words of the user, the result of a call.
    Heard,
    /// A model said it: an answer, a call that it wants.
    Said,
    /// The span is the step.
    Done,
}

/// A step as one span tells it. Others may tell more of the same step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanStep {
    pub voice: Voice,
    /// By which spans speak of the same call; empty when the span does not say.
    pub call_id: String,
    /// Its `step_index` counts within the span; its times are those of the span.
    pub step: Step,
}

/// A span of an OpenTelemetry trace, as far as it tells of an agent's work. The spans of a trace make a
/// trajectory together, in whatever order they arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSpan {
    pub span_id: SpanId,
    /// `None`: the root, with which the task ends.
    pub parent: Option<SpanId>,
    pub role: SpanRole,
    pub name: String,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    /// What it says of the task; whose it is, is said by the scope of the event.
    pub task: TaskStarted,
    /// What the model or agent was told to be, in place of a goal when nobody asked for anything.
    pub instructions: String,
    pub steps: Vec<SpanStep>,
    pub outcome: Outcome,
}
