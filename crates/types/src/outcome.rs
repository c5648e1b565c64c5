use serde::{Deserialize, Serialize};

use crate::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum OutcomeStatus {
    Success,
    Partial,
    Failure,
    #[default]
    Unknown,
}

/// Where a piece of outcome evidence comes from, most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EvidenceSource {
    TestResult,
    ExitCode,
    /// A user confirmed or corrected the result.
    User,
    /// The agent said so itself.
    AgentClaim,
    Judge,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeEvidence {
    pub source: EvidenceSource,
    pub verdict: OutcomeStatus,
    /// What was observed, in words: `3 of 3 tests pass`, `exit code 1`.
    pub detail: String,
    pub observed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outcome {
    pub status: OutcomeStatus,
    pub evidence: Vec<OutcomeEvidence>,
    /// The answer or result the task ended with.
    pub conclusion: String,
}

impl Outcome {
    /// The stated status, or, when it is unknown, the verdict of the most trusted evidence.
    pub fn resolved(&self) -> OutcomeStatus {
        if self.status != OutcomeStatus::Unknown {
            return self.status;
        }
        self.evidence.iter().min_by_key(|e| e.source).map_or(OutcomeStatus::Unknown, |e| e.verdict)
    }
}
