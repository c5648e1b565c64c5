use async_trait::async_trait;
use hindsight_types::{
    EvaluationRecord, Event, Evidence, Experience, Fact, Feedback, FormerVerdicts, Memory, MemoryId,
    MemoryKind, OpenTask, Period, Receipt, ReceiptId, Reevaluation, ReevaluationId, Scope, SessionId,
    TenantId, Timestamp, TraceId, Viewer,
};

use uuid::Uuid;

use crate::EmbedderId;

#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Worth another try.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// What is stored cannot be read back.
    #[error("stored record unreadable: {0}")]
    Corrupt(String),
    /// The request itself is wrong.
    #[error("store refused the request: {0}")]
    Rejected(String),
}

impl StoreError {
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}

/// Sorted by index, without repeats.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseVector {
    pub indices: Vec<u32>,
    pub values: Vec<f32>,
}

/// How a text is found: meaning (dense, unit length) and words (sparse, BM25 term weights without IDF,
/// which the engine applies).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Encoding {
    pub dense: Vec<f32>,
    pub sparse: SparseVector,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Encoded<T> {
    pub value: T,
    pub encoding: Encoding,
}

/// Most names that one search may look for.
pub const MOST_NAMES: usize = 256;

/// By what one search finds memories.
#[derive(Debug, Clone, PartialEq)]
pub enum Arm {
    /// Nearness of meaning. A memory without a dense vector is not found.
    Dense(Vec<f32>),
    /// Words in common, weighed by rarity.
    Bm25(SparseVector),
    /// Memories that name one of these people, things or identifiers, whatever its case and width. Only facts,
    /// experiences and lessons name any.
    Entities(Vec<String>),
    /// Memories of a period, by the time that `list` sorts by.
    Period(Period),
}

impl Arm {
    /// As receipts name it: `dense`, `bm25`, `entities`, `period`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Dense(_) => "dense",
            Self::Bm25(_) => "bm25",
            Self::Entities(_) => "entities",
            Self::Period(_) => "period",
        }
    }
}

/// A search over one kind of memory by one arm. What may be seen is decided by the viewer alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    pub kind: MemoryKind,
    pub arm: Arm,
    /// Most candidates.
    pub limit: usize,
    /// Only this tool's failure patterns or steps.
    pub action_name: Option<String>,
    /// Only these, among what the viewer may see.
    pub ids: Option<Vec<MemoryId>>,
}

/// The store's own key of a memory among those of its kind. Stands for the memory until it is fetched: a
/// search reads vectors and no records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CandidateId(pub Uuid);

/// What an arm proposes.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub id: CandidateId,
    /// Cosine (−1 to 1); sum of BM25 (unbounded, depends on the query and on what else is stored); 1 for
    /// entities and periods.
    pub score: f32,
    /// As stored, so that every arm's measure of the candidate can be taken without asking again.
    pub encoding: Encoding,
}

/// A candidate's memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetched {
    pub id: CandidateId,
    pub memory: Memory,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageRequest {
    pub size: usize,
    /// Opaque; empty for the first page.
    pub token: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Empty at the end.
    pub next_token: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreStats {
    pub events: u64,
    pub experiences: u64,
    pub steps: u64,
    pub failure_patterns: u64,
    pub lessons: u64,
    pub facts: u64,
}

/// Where records and memories live. Every read takes a viewer (or a full scope); every write is
/// idempotent by the id of what it writes, and durable when it returns.
#[async_trait]
pub trait MemoryStore: Send + Sync + 'static {
    /// Creates what is missing, and takes note that vectors are made by `embedder` in this process. When those in
    /// the store are another's, memories are found by their words until theirs are built ([`crate::Reembed`]).
    /// Everything else is `Unavailable` until this has succeeded once.
    async fn prepare(&self, embedder: &EmbedderId) -> Result<(), StoreError>;

    /// An event whose id is there already is left as it is.
    async fn append_events(&self, events: &[Event]) -> Result<(), StoreError>;

    /// All events of a trace recorded in this very scope: start, steps by index, completion.
    async fn events(&self, scope: &Scope, trace: &TraceId) -> Result<Vec<Event>, StoreError>;

    /// The same, whichever user of the tenant recorded them: spans of one trace need not all say whose they are. For
    /// judging, upkeep, and to tell whose a run is: nothing of it may be returned to a caller.
    async fn trace_events(&self, tenant: &TenantId, trace: &TraceId) -> Result<Vec<Event>, StoreError>;

    /// Remembers that these tasks are under way. One entry per trace; the last write counts.
    async fn mark_open(&self, tasks: &[OpenTask]) -> Result<(), StoreError>;

    /// Forgets that these tasks are under way.
    async fn clear_open(&self, tasks: &[(TenantId, TraceId)]) -> Result<(), StoreError>;

    /// Tasks under way that were not touched since `before`, in no particular order; a page may be short.
    /// Of all tenants, for upkeep alone: nothing of it may be returned to a caller.
    async fn idle_tasks(&self, before: Timestamp, page: &PageRequest) -> Result<Page<OpenTask>, StoreError>;

    /// Writes memories of any kinds. An id that exists is replaced, except that a stored fact stays which
    /// arrived later (by `retained_at`, in microseconds), and that failure patterns and lessons are merged
    /// with what is stored under their id: sources are united (at most 100 stay, the greatest ids), times span both, a lesson's stage only moves forward, and the one seen or supported last gives
    /// the text. `supported` and `refuted` are always recounted from the ledger.
    async fn upsert(&self, memories: &[Encoded<Memory>]) -> Result<(), StoreError>;

    /// Best first; entities and periods newest first; equals by id. Obsolete facts are not found; expired ones
    /// are, since ranking says why it withholds them.
    async fn search(&self, viewer: &Viewer, search: &Search) -> Result<Vec<Candidate>, StoreError>;

    /// The memories of these candidates, in no particular order; at most 1 000. One that is gone, became obsolete
    /// or is not the viewer's to see is left out.
    async fn fetch(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        ids: &[CandidateId],
    ) -> Result<Vec<Fetched>, StoreError>;

    async fn get(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        id: MemoryId,
    ) -> Result<Option<Memory>, StoreError>;

    /// Newest first. A size of 0 is the default size, too large a one is cut; a token of another list or
    /// viewer is `Rejected`.
    async fn list(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError>;

    /// What the viewer's user said in a session within `span`, and at least `beside` more facts on each side of
    /// it where there are: at most 500, in no order, obsolete ones too.
    async fn session_facts(
        &self,
        viewer: &Viewer,
        session: &SessionId,
        span: Period,
        beside: usize,
    ) -> Result<Vec<Fact>, StoreError>;

    /// The judged run of a trace.
    async fn experience(&self, viewer: &Viewer, trace: &TraceId) -> Result<Option<Experience>, StoreError>;

    async fn put_evaluation_record(&self, record: &EvaluationRecord) -> Result<(), StoreError>;

    async fn evaluation_record(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<EvaluationRecord>, StoreError>;

    /// Failed and still waiting evaluations, newest first.
    async fn unfinished_evaluations(
        &self,
        viewer: &Viewer,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError>;

    /// Judged runs of a tenant, of all its users, those judged last first; with `judge` not empty only those whose
    /// verdict these judges made. For upkeep alone: nothing of it may be returned to a caller.
    async fn judged_runs(
        &self,
        tenant: &TenantId,
        judge: &str,
        page: &PageRequest,
    ) -> Result<Page<EvaluationRecord>, StoreError>;

    /// Replaces what is kept of the former verdicts of a run.
    async fn put_former_verdicts(&self, former: &FormerVerdicts) -> Result<(), StoreError>;

    async fn former_verdicts(
        &self,
        viewer: &Viewer,
        trace: &TraceId,
    ) -> Result<Option<FormerVerdicts>, StoreError>;

    async fn put_reevaluation(&self, reevaluation: &Reevaluation) -> Result<(), StoreError>;

    async fn reevaluation(
        &self,
        viewer: &Viewer,
        id: ReevaluationId,
    ) -> Result<Option<Reevaluation>, StoreError>;

    async fn put_receipt(&self, receipt: &Receipt) -> Result<(), StoreError>;

    async fn receipt(&self, viewer: &Viewer, id: ReceiptId) -> Result<Option<Receipt>, StoreError>;

    /// Keeps what was said of memories of receipts. One per receipt and memory: the last word counts.
    async fn put_feedback(&self, feedback: &[Feedback]) -> Result<(), StoreError>;

    /// What was said of these memories of a receipt, by memory id. At most 1 000 memories.
    async fn feedback(
        &self,
        viewer: &Viewer,
        receipt: ReceiptId,
        memories: &[MemoryId],
    ) -> Result<Vec<Feedback>, StoreError>;

    /// Deletes receipts, and what was said of them, from before this time, and says how many records that were.
    /// Of all tenants, for upkeep alone. What is left after an error goes with the next call.
    async fn expire_receipts(&self, before: Timestamp) -> Result<u64, StoreError>;

    /// Adds to the ledger. A line that is there already is joined with the new one ([`Evidence::join`]), so that
    /// neither order nor repetition matters. Lessons, experiences and failure patterns it speaks about have their
    /// counts recomputed.
    async fn append_evidence(&self, evidence: &[Evidence]) -> Result<(), StoreError>;

    async fn evidence(&self, viewer: &Viewer, memory: MemoryId) -> Result<Vec<Evidence>, StoreError>;

    /// What the viewer can see, by kind.
    async fn stats(&self, viewer: &Viewer) -> Result<StoreStats, StoreError>;
}
