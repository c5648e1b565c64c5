use serde::{Deserialize, Serialize};

use crate::{
    Decision, Environment, Evaluation, Fact, MemoryId, OutcomeStatus, Revision, Scope, StepLabel, TaskType,
    Timestamp, TraceId, Trajectory,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MemoryKind {
    Fact,
    Experience,
    Lesson,
    FailurePattern,
    /// One step of an experience, found on its own.
    Step,
}

impl MemoryKind {
    pub const ALL: [Self; 5] = [Self::Fact, Self::Experience, Self::Lesson, Self::FailurePattern, Self::Step];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Experience => "experience",
            Self::Lesson => "lesson",
            Self::FailurePattern => "failure_pattern",
            Self::Step => "step",
        }
    }
}

/// Life of a lesson. Only `Active` ones, and `Canary` ones in their test group, are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Stage {
    #[default]
    Candidate,
    Canary,
    Active,
    Retired,
}

/// A judged run, replayable as its necessary steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experience {
    pub id: MemoryId,
    pub trajectory: Trajectory,
    pub evaluation: Evaluation,
    pub entities: Vec<String>,
    /// Later runs that it helped, by the ledger.
    pub supported: u32,
    /// Later runs that it misled, by the ledger.
    pub refuted: u32,
}

/// Situation → advice, with the basis of the decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    pub id: MemoryId,
    pub scope: Scope,
    /// What makes it the same lesson when it is learned again. Empty in lessons written before it was kept.
    pub key: String,
    pub situation: String,
    pub advice: String,
    /// Where it holds and where it may not, in words.
    pub applicability: String,
    pub basis: Decision,
    pub result: String,
    pub task_type: Option<TaskType>,
    pub environment: Environment,
    pub entities: Vec<String>,
    pub stage: Stage,
    pub source_outcome: OutcomeStatus,
    /// Runs it was learned from.
    pub sources: Vec<TraceId>,
    pub supported: u32,
    pub refuted: u32,
    pub created_at: Timestamp,
    pub last_supported_at: Timestamp,
    /// The last change of what it says. `None`: it is as it was learned.
    pub revision: Option<Revision>,
}

impl Lesson {
    /// With what the keys of rules begin: lessons that were condensed from several runs.
    pub const RULE: &str = "rule-";

    /// Whether it was condensed from several runs, and not learned from one.
    pub fn is_rule(&self) -> bool {
        self.key.starts_with(Self::RULE)
    }
}

/// What fails, why, and what to do instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailurePattern {
    pub id: MemoryId,
    pub scope: Scope,
    /// The tool that fails.
    pub action_name: String,
    /// The error with ids, numbers and times normalised; meets itself across runs.
    pub signature: String,
    /// One error as it was seen.
    pub example: String,
    /// Arguments of the call that failed, shortened.
    pub action_detail: String,
    pub cause: String,
    pub suggestion: String,
    pub environment: Environment,
    /// Runs in which it was seen; the count is their number, never an increment.
    pub sources: Vec<TraceId>,
    /// Runs that its suggestion helped, by the ledger.
    pub supported: u32,
    /// Runs that its suggestion misled, by the ledger.
    pub refuted: u32,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    /// How often it was seen lately. `None`: not counted yet.
    pub frequency: Option<Frequency>,
}

/// How many of the sources of a failure pattern are of late, when they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Frequency {
    pub counted_at: Timestamp,
    /// Runs that ended in the 7 days before.
    pub week: u32,
    /// In the 30 days before.
    pub month: u32,
}

/// One judged step, searchable on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepMemory {
    pub id: MemoryId,
    pub scope: Scope,
    pub trace_id: TraceId,
    pub step_index: u32,
    pub action_name: String,
    /// Arguments and result, digested.
    pub text: String,
    pub label: StepLabel,
    pub outcome: OutcomeStatus,
    pub recorded_at: Timestamp,
}

/// Anything that can be recalled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Memory {
    Fact(Fact),
    Experience(Box<Experience>),
    Lesson(Lesson),
    FailurePattern(FailurePattern),
    Step(StepMemory),
}

impl Memory {
    pub fn id(&self) -> MemoryId {
        match self {
            Self::Fact(m) => m.id,
            Self::Experience(m) => m.id,
            Self::Lesson(m) => m.id,
            Self::FailurePattern(m) => m.id,
            Self::Step(m) => m.id,
        }
    }

    pub fn scope(&self) -> &Scope {
        match self {
            Self::Fact(m) => &m.scope,
            Self::Experience(m) => &m.trajectory.scope,
            Self::Lesson(m) => &m.scope,
            Self::FailurePattern(m) => &m.scope,
            Self::Step(m) => &m.scope,
        }
    }

    pub fn kind(&self) -> MemoryKind {
        match self {
            Self::Fact(_) => MemoryKind::Fact,
            Self::Experience(_) => MemoryKind::Experience,
            Self::Lesson(_) => MemoryKind::Lesson,
            Self::FailurePattern(_) => MemoryKind::FailurePattern,
            Self::Step(_) => MemoryKind::Step,
        }
    }

    /// The text a person would read to know what it says. Context that only helps the search is left out.
    pub fn text(&self) -> String {
        match self {
            Self::Fact(m) => m.content.clone(),
            Self::Experience(m) => {
                format!("{}\n{}", m.trajectory.task_description, m.evaluation.summary)
            }
            Self::Lesson(m) => format!("{}\n{}", m.situation, m.advice),
            Self::FailurePattern(m) => format!("{}: {}\n{}", m.action_name, m.example, m.suggestion),
            Self::Step(m) => format!("{} {}", m.action_name, m.text),
        }
    }

    /// The text that is encoded for search: `text` with its context.
    pub fn indexed_text(&self) -> String {
        match self {
            Self::Fact(m) => m.indexed_text(),
            Self::Experience(m) => {
                let t = &m.trajectory;
                format!("{}\n{}\n{}", self.text(), t.outcome.conclusion, m.entities.join(" "))
            }
            Self::FailurePattern(m) => format!("{} {}\n{}", self.text(), m.action_detail, m.cause),
            _ => self.text(),
        }
    }
}
