use serde::{Deserialize, Serialize};

use crate::{Evaluation, ReevaluationId, Scope, Timestamp, TraceId};

/// Who judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JudgeChoice {
    /// Without a model.
    #[default]
    Slice,
    /// A model alone.
    Llm,
    /// Both, and their verdicts combined.
    Both,
}

impl JudgeChoice {
    pub const ALL: [Self; 3] = [Self::Slice, Self::Llm, Self::Both];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slice => "slice",
            Self::Llm => "llm",
            Self::Both => "both",
        }
    }

    pub fn asks_model(self) -> bool {
        self != Self::Slice
    }
}

/// Most former verdicts of a run that are kept.
pub const VERDICTS_KEPT: usize = 10;
/// Most steps that the kept verdicts have together.
const STEPS_KEPT: usize = 20_000;

/// The verdicts a run had before the one it has.
#[derive(Debug, Clone, PartialEq)]
pub struct FormerVerdicts {
    pub trace_id: TraceId,
    pub scope: Scope,
    /// Newest first.
    pub verdicts: Vec<Evaluation>,
}

impl FormerVerdicts {
    /// Adds the verdict that is about to be replaced; once, however often. The oldest go when there are
    /// more than [`VERDICTS_KEPT`].
    pub fn add(&mut self, verdict: Evaluation) {
        if self.verdicts.iter().any(|v| v.evaluated_at == verdict.evaluated_at && v.judge == verdict.judge) {
            return;
        }
        self.verdicts.insert(0, verdict);
        self.verdicts.truncate(VERDICTS_KEPT);
        let mut steps = 0;
        self.verdicts.retain(|v| {
            steps += v.steps.len();
            steps <= STEPS_KEPT
        });
    }
}

/// Which runs are judged again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReevaluationTarget {
    Run(TraceId),
    /// Every judged run of the tenant whose verdict these judges made; empty: every judged run.
    Judge(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReevaluationState {
    Running,
    Done,
    /// It broke off.
    Failed {
        reason: String,
    },
}

/// Most runs that are named among those that could not be judged again.
pub const FAILURES_NAMED: usize = 50;

/// Judging runs again, in the background. Survives a restart: what is done is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reevaluation {
    pub id: ReevaluationId,
    /// Of the run, or of the tenant when it is about all runs.
    pub scope: Scope,
    pub target: ReevaluationTarget,
    /// `None`: as the settings say.
    pub judge: Option<JudgeChoice>,
    pub state: ReevaluationState,
    /// Runs there were to judge when it began.
    pub total: u64,
    /// Runs judged again.
    pub judged: u64,
    /// Runs that could not be; their verdicts stay as they were.
    pub failed: u64,
    /// The first of them, as far as `scope` may know of them, with the reason.
    pub failures: Vec<(TraceId, String)>,
    /// Which message of it is at work, from 0.
    pub page: u32,
    /// Where the next list of runs begins; empty at the end.
    pub cursor: String,
    /// Runs that are listed and not judged yet.
    pub pending: Vec<(TraceId, Scope)>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
