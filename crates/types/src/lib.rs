//! The vocabulary of Hindsight: trajectories, steps, outcomes, evaluations, memories, scopes, receipts.
//!
//! This crate is a leaf. It knows no I/O and no protobuf: the generated types stop at the edge
//! (`hindsight-api`, `hindsight-store`), and everything between works with the types of this crate.

mod change;
mod error;
mod evaluation;
mod event;
mod fact;
mod ids;
mod memory;
mod outcome;
mod period;
mod receipt;
mod reevaluation;
mod scope;
mod trajectory;

pub mod limits;

pub use change::MemoryChange;
pub use error::{FieldError, Invalid};
pub use evaluation::{
    Evaluation, EvaluationRecord, EvaluationState, JudgedTrajectory, Judging, RejectedLesson, StepEvaluation,
    StepLabel, Vote,
};
pub use event::{Event, EventBody, OpenTask, TaskCompleted, TaskStarted};
pub use fact::{Attachment, Fact, FactStatus, FactType};
pub use ids::{
    AgentId, EventId, EvidenceId, MemoryId, ReceiptId, ReevaluationId, SessionId, TaskType, TenantId,
    TraceId, UserId,
};
pub use memory::{Experience, FailurePattern, Lesson, Memory, MemoryKind, Stage, StepMemory};
pub use outcome::{EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus};
pub use period::Period;
pub use receipt::{
    ArmReport, Asked, Evidence, Exposure, Feedback, FeedbackVerdict, Funnel, RecalledItem, Receipt,
    ScoreFactors, SimilarityParts, Verdict, Withheld, WithheldReason,
};
pub use reevaluation::{
    FAILURES_NAMED, FormerVerdicts, JudgeChoice, Reevaluation, ReevaluationState, ReevaluationTarget,
    VERDICTS_KEPT,
};
pub use scope::{Scope, Viewer, Visibility};
pub use trajectory::{ActionType, Decision, Environment, Step, StepStatus, Trajectory};

/// Points in time, always UTC.
pub type Timestamp = jiff::Timestamp;
