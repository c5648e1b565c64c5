use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Environment, MemoryId, MemoryKind, OutcomeStatus, Period, ReceiptId, Scope, TaskType, Timestamp,
    TraceId, Watched,
};

/// What a similarity was made of: how far each of the signs that a memory is meant speaks for it, 0 to 1,
/// before any weight.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SimilarityParts {
    /// Share of the question's words that it holds, by their rarity.
    pub words: f32,
    /// Cosine, on the scale of its embedder.
    pub meaning: f32,
    /// Share of the names in the question that it names.
    pub entities: f32,
    /// Whether it is of the time that the question speaks of.
    pub period: f32,
    /// Share of the question's words that its session holds.
    pub session: f32,
    /// What the reranker says; absent when none was asked.
    pub rerank: Option<f32>,
}

/// Every factor of a score; `total` is their product.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScoreFactors {
    pub similarity: f32,
    /// What `similarity` was made of; no factors of their own.
    pub parts: SimilarityParts,
    pub decay: f32,
    pub reliability: f32,
    pub environment: f32,
    pub trust: f32,
    pub stage: f32,
}

impl ScoreFactors {
    pub fn total(&self) -> f32 {
        self.similarity * self.decay * self.reliability * self.environment * self.trust * self.stage
    }
}

/// One search arm of a recall: which, over what, how it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmReport {
    pub kind: MemoryKind,
    /// `dense`, `bm25`, `entities`, `period`; `signature` for the failure that was met, `calls` for failures of calls
    /// like one that was to be made; `fetch` for reading the shortlist, `rerank` for the reranker.
    pub arm: String,
    pub candidates: u32,
    /// Empty when it answered; otherwise why it did not (`deadline`, `store unavailable`) or not in full
    /// (`embedder changing: 43 % re-encoded`).
    pub dropped: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecalledItem {
    pub memory_id: MemoryId,
    pub kind: MemoryKind,
    pub factors: ScoreFactors,
    /// Why it is here, in words.
    pub why: String,
    /// Older memories that it replaces.
    pub supersedes: Vec<MemoryId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WithheldReason {
    BelowFloor,
    Budget,
    TokenBudget,
    NearDuplicate,
    Superseded,
    Stage,
    Expired,
    /// By chance: a lesson under test, in the half of the recalls that do without it.
    Control,
    /// By chance: a proven lesson, in the few recalls that do without it.
    HoldOut,
    /// It was said on the same stream already.
    SaidBefore,
    /// All reminders of the stream were used up.
    Reminders,
    /// Something of the kind was said on the stream just before.
    CoolDown,
    /// A failure that was not seen often enough of late to warn of it.
    TooRare,
}

impl WithheldReason {
    /// Whether chance alone kept the memory back.
    pub fn is_chance(self) -> bool {
        matches!(self, Self::Control | Self::HoldOut)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Withheld {
    pub memory_id: MemoryId,
    pub kind: MemoryKind,
    pub score: f32,
    pub reason: WithheldReason,
    /// The memory that says the same or replaces it, when that is the reason.
    pub instead: Option<MemoryId>,
}

/// What a recall was asked for beside its words, and what was understood of these.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Asked {
    pub kinds: Vec<MemoryKind>,
    pub limit: u32,
    pub token_budget: u32,
    pub environment: Environment,
    pub agent: Option<AgentId>,
    pub task_type: Option<TaskType>,
    /// The moment of asking, when the caller named one; else that of the receipt.
    pub asked_at: Option<Timestamp>,
    /// IANA name; empty for UTC.
    pub time_zone: String,
    /// Candidates per kind and arm.
    pub candidates: u32,
    /// Similarity that the best of a kind had to reach.
    pub floor: f32,
    /// The time that the question speaks of.
    pub period: Option<Period>,
    /// Names that the question holds, in the form in which they are compared.
    pub names: Vec<String>,
    /// What made the memory speak up; `None` when it was asked by a call of its own.
    pub watched: Option<Watched>,
}

/// How many memories got how far. What each arm proposed is in its report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Funnel {
    /// Different ones among all that were proposed.
    pub distinct: u32,
    /// Near enough in vectors alone to be read.
    pub shortlisted: u32,
    /// Read, and withheld, by reason; all of them.
    pub withheld: Vec<(WithheldReason, u32)>,
}

/// What one recall was asked, searched, injected and withheld, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    pub id: ReceiptId,
    pub scope: Scope,
    pub query: String,
    /// `None` in receipts written before it was kept.
    pub asked: Option<Asked>,
    pub at: Timestamp,
    pub arms: Vec<ArmReport>,
    /// `None` in receipts written before it was kept.
    pub funnel: Option<Funnel>,
    pub injected: Vec<RecalledItem>,
    /// The best of them in detail, and those that chance kept back; the funnel counts all.
    pub withheld: Vec<Withheld>,
    /// True when an arm was cut or the store did not answer.
    pub degraded: bool,
    /// Why nothing was injected; empty when something was.
    pub empty_reason: String,
    pub tokens: u32,
}

/// What became of a memory that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FeedbackVerdict {
    /// Followed or quoted; whether it helped is not known.
    Used,
    Helpful,
    Harmful,
    Ignored,
}

impl FeedbackVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::Helpful => "helpful",
            Self::Harmful => "harmful",
            Self::Ignored => "ignored",
        }
    }
}

/// What was said of one memory of a receipt. One per memory: the last word counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    pub receipt_id: ReceiptId,
    pub memory_id: MemoryId,
    /// That of the receipt.
    pub scope: Scope,
    pub verdict: FeedbackVerdict,
    /// The run it was given to, when it was named.
    pub trace_id: Option<TraceId>,
    /// How that run ended.
    pub outcome: OutcomeStatus,
    pub note: String,
    pub at: Timestamp,
}
