//! The JSON of one line.

use std::collections::BTreeMap;

use hindsight_types as types;
use hindsight_types::Timestamp;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trajectory {
    pub trace_id: String,
    pub scope: Option<Scope>,
    pub session: Option<String>,
    pub user: Option<String>,
    pub agent: Option<String>,
    pub task_type: Option<String>,
    pub task_description: String,
    /// Read one by one, so that an error names its step.
    pub steps: Vec<Value>,
    #[serde(default)]
    pub outcome: Outcome,
    #[serde(default)]
    pub environment: Environment,
    #[serde(default)]
    pub receipts: Vec<String>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub step_index: Option<u32>,
    pub action_type: ActionType,
    #[serde(default)]
    pub action_name: String,
    #[serde(default)]
    pub action_detail: String,
    #[serde(default)]
    pub observation: String,
    #[serde(default)]
    pub status: StepStatus,
    pub decision: Option<Decision>,
    #[serde(default)]
    pub reflection: String,
    pub agent: Option<String>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decision {
    chosen: String,
    #[serde(default)]
    rejected: Vec<String>,
    #[serde(default)]
    rationale: String,
}

impl From<Decision> for types::Decision {
    fn from(d: Decision) -> Self {
        Self { chosen: d.chosen, rejected: d.rejected, rationale: d.rationale }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Environment {
    #[serde(default)]
    pub tags: Vec<String>,
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outcome {
    #[serde(default)]
    status: OutcomeStatus,
    #[serde(default)]
    evidence: Vec<OutcomeEvidence>,
    #[serde(default)]
    conclusion: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutcomeEvidence {
    source: EvidenceSource,
    verdict: OutcomeStatus,
    #[serde(default)]
    detail: String,
    observed_at: Option<Timestamp>,
}

impl From<Outcome> for types::Outcome {
    fn from(o: Outcome) -> Self {
        let evidence = o.evidence.into_iter().map(|e| types::OutcomeEvidence {
            source: e.source.into(),
            verdict: e.verdict.into(),
            detail: e.detail,
            observed_at: e.observed_at,
        });
        Self {
            status: o.status.into(),
            evidence: evidence.collect(),
            conclusion: crate::clip::clip(o.conclusion, types::limits::TEXT_BYTES),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scope {
    #[serde(default)]
    pub level: ScopeLevel,
    #[serde(default)]
    pub id: String,
}

/// An enum read from its short or its full name, and turned into the domain's.
macro_rules! names {
    ($name:ident { $($variant:ident = $short:literal | $full:literal),+ $(,)? }
     $($domain:path { $($from:ident => $to:ident),+ $(,)? })?) => {
        #[derive(Clone, Copy, Deserialize)]
        pub(super) enum $name {
            $(#[serde(rename = $short, alias = $full)] $variant),+
        }
        $(impl From<$name> for $domain {
            fn from(value: $name) -> Self {
                match value { $($name::$from => Self::$to),+ }
            }
        })?
    };
}

names!(ActionType {
    ToolCall = "TOOL_CALL" | "ACTION_TYPE_TOOL_CALL",
    LlmReasoning = "LLM_REASONING" | "ACTION_TYPE_LLM_REASONING",
    UserInput = "USER_INPUT" | "ACTION_TYPE_USER_INPUT",
} types::ActionType { ToolCall => ToolCall, LlmReasoning => LlmReasoning, UserInput => UserInput });

names!(StepStatus {
    Ok = "OK" | "STEP_STATUS_OK",
    Error = "ERROR" | "STEP_STATUS_ERROR",
    Unspecified = "UNSPECIFIED" | "STEP_STATUS_UNSPECIFIED",
} types::StepStatus { Ok => Ok, Error => Error, Unspecified => Unknown });

names!(OutcomeStatus {
    Success = "SUCCESS" | "OUTCOME_STATUS_SUCCESS",
    Partial = "PARTIAL" | "OUTCOME_STATUS_PARTIAL",
    Failure = "FAILURE" | "OUTCOME_STATUS_FAILURE",
    Unknown = "UNKNOWN" | "OUTCOME_STATUS_UNKNOWN",
    Unspecified = "UNSPECIFIED" | "OUTCOME_STATUS_UNSPECIFIED",
} types::OutcomeStatus {
    Success => Success, Partial => Partial, Failure => Failure, Unknown => Unknown, Unspecified => Unknown
});

names!(EvidenceSource {
    TestResult = "TEST_RESULT" | "EVIDENCE_SOURCE_TEST_RESULT",
    ExitCode = "EXIT_CODE" | "EVIDENCE_SOURCE_EXIT_CODE",
    User = "USER" | "EVIDENCE_SOURCE_USER",
    AgentClaim = "AGENT_CLAIM" | "EVIDENCE_SOURCE_AGENT_CLAIM",
    Judge = "JUDGE" | "EVIDENCE_SOURCE_JUDGE",
} types::EvidenceSource {
    TestResult => TestResult, ExitCode => ExitCode, User => User, AgentClaim => AgentClaim, Judge => Judge
});

names!(ScopeLevel {
    Tenant = "TENANT" | "SCOPE_LEVEL_TENANT",
    User = "USER" | "SCOPE_LEVEL_USER",
    Task = "TASK" | "SCOPE_LEVEL_TASK",
    Agent = "AGENT" | "SCOPE_LEVEL_AGENT",
    Unspecified = "UNSPECIFIED" | "SCOPE_LEVEL_UNSPECIFIED",
});

macro_rules! unspecified_by_default {
    ($($name:ident),+) => {
        $(impl Default for $name {
            fn default() -> Self {
                Self::Unspecified
            }
        })+
    };
}

unspecified_by_default!(StepStatus, OutcomeStatus, ScopeLevel);
