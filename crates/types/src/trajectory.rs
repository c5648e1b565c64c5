use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{AgentId, Outcome, ReceiptId, Scope, SessionId, TaskType, Timestamp, TraceId, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ActionType {
    ToolCall,
    /// Text the model produced: reasoning, a plan, an answer to the user.
    LlmReasoning,
    UserInput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum StepStatus {
    Ok,
    Error,
    #[default]
    Unknown,
}

/// Why this action and not another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Decision {
    pub chosen: String,
    pub rejected: Vec<String>,
    pub rationale: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub step_index: u32,
    pub action_type: ActionType,
    /// Tool name for a tool call; empty otherwise.
    pub action_name: String,
    /// Arguments of the call, or the text of the reasoning or the user's words.
    pub action_detail: String,
    /// What came back.
    pub observation: String,
    pub status: StepStatus,
    pub decision: Option<Decision>,
    /// What the agent thought about this step, where it said so.
    pub reflection: String,
    /// The agent that acted, in a run of several.
    pub agent: Option<AgentId>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Where a run took place. `tags` are compared at recall (`docker`, `k8s`, `bare-metal`, …).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    pub tags: Vec<String>,
    pub attributes: BTreeMap<String, String>,
}

/// One task from its goal to its conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trajectory {
    pub trace_id: TraceId,
    pub scope: Scope,
    pub session: Option<SessionId>,
    pub user: Option<UserId>,
    pub agent: Option<AgentId>,
    pub task_type: Option<TaskType>,
    pub task_description: String,
    /// Ordered by `step_index`, without gaps.
    pub steps: Vec<Step>,
    pub outcome: Outcome,
    pub environment: Environment,
    /// The recalls that shaped this run.
    pub receipts: Vec<ReceiptId>,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
}
