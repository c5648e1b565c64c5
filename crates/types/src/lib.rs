//! The vocabulary of Hindsight: trajectories, steps, outcomes, evaluations, memories, scopes, receipts.
//!
//! This crate is a leaf. It knows no I/O and no protobuf: the generated types stop at the edge
//! (`hindsight-api`, `hindsight-store`), and everything between works with the types of this crate.

mod archived;
mod change;
mod compaction;
mod error;
mod evaluation;
mod event;
mod evidence;
mod fact;
mod forgetting;
mod ids;
mod memory;
mod outcome;
mod period;
mod receipt;
mod record;
mod reevaluation;
mod revision;
mod scope;
mod span;
mod subject;
mod trajectory;
mod watch;

pub mod limits;

pub use archived::Archived;
pub use change::MemoryChange;
pub use compaction::{CompactionRun, CompactionTask, Policy, RunState, TaskCounts, TaskState, Trigger, Work};
pub use error::{FieldError, Invalid};
pub use evaluation::{
    Evaluation, EvaluationRecord, EvaluationState, JudgedTrajectory, Judging, RejectedLesson, StepEvaluation,
    StepLabel, Vote,
};
pub use event::{Event, EventBody, OpenTask, TaskCompleted, TaskStarted};
pub use evidence::{
    Evidence, EvidenceOrigin, EvidencePolicies, EvidencePolicy, Exposure, Gate, Review, ReviewDecision,
    Verdict, teacher,
};
pub use fact::{Attachment, Fact, FactStatus, FactType};
pub use forgetting::{
    Batch, Correction, FilesSearched, Forgetting, ForgettingPreview, ForgettingState, Forgotten, Gap, Proof,
    Rederivation, Subject,
};
pub use ids::{
    AgentId, CompactionRunId, CompactionTaskId, EventId, EvidenceId, ForgettingId, MemoryId, ReceiptId,
    ReevaluationId, ReviewId, SessionId, SpanId, TaskType, TenantId, TraceId, UserId,
};
pub use memory::{Experience, FailurePattern, Frequency, Lesson, Memory, MemoryKind, Stage, StepMemory};
pub use outcome::{EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus};
pub use period::Period;
pub use receipt::{
    ArmReport, Asked, Feedback, FeedbackVerdict, Funnel, RecalledItem, Receipt, ScoreFactors,
    SimilarityParts, Withheld, WithheldReason,
};
pub use record::RecordBody;
pub use reevaluation::{
    FAILURES_NAMED, FormerVerdicts, JudgeChoice, Reevaluation, ReevaluationState, ReevaluationTarget,
    VERDICTS_KEPT,
};
pub use revision::{MemoryVersion, Revision, RevisionCause, VersionId};
pub use scope::{Scope, Viewer, Visibility};
pub use span::{SpanRole, SpanStep, TraceSpan, Voice};
pub use subject::{MERGE_OPEN, MergeState, Moved, MovedRecord, SubjectMerge};
pub use trajectory::{ActionType, Decision, Environment, Step, StepStatus, Trajectory};
pub use watch::{ReminderTrigger, Watched};

/// Points in time, always UTC.
pub type Timestamp = jiff::Timestamp;
