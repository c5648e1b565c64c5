//! What Hindsight needs from the outside, as traits in its own words. Adapters implement them; logic and
//! services know nothing else. `testkit` (a feature) holds the conformance suites that every adapter
//! passes and the wrappers that inject faults.

pub mod archive;
pub mod browse;
pub mod bus;
pub mod clock;
pub mod compactions;
pub mod embed;
pub mod forget;
pub mod history;
pub mod ledger;
pub mod llm;
pub mod probes;
pub mod reembed;
pub mod store;
pub mod subjects;
pub mod transfer;
pub mod upkeep;
pub mod vacuum;

#[cfg(feature = "testkit")]
pub mod testkit;

pub use archive::{Archive, Leaving, judged_run};
pub use browse::{Browse, Selection};
pub use bus::{
    Bus, BusError, Consumer, DeadLetter, Delivery, Envelope, Heard, Leadership, Listener, Queue, QueueStats,
    Settle,
};
pub use clock::{Clock, SystemClock};
pub use compactions::Compactions;
pub use embed::{EmbedError, Embedder, EmbedderId, Purpose, Reranker};
pub use forget::{Forget, MOST_SUBJECTS};
pub use history::{History, Revised};
pub use ledger::Ledger;
pub use llm::{JsonSchema, Llm, LlmError, LlmReply, LlmRequest, LlmUsage};
pub use probes::{MOST_PROBES, Probes};
pub use reembed::{Rebuild, Reembed, ReembedStep, StoredVectors};
pub use store::{
    Arm, Candidate, CandidateId, Encoded, Encoding, Fetched, MemoryStore, Page, PageRequest, Search,
    SparseVector, StoreError, StoreStats,
};
pub use subjects::{Begun, Subjects, Tally};
pub use transfer::{Exported, MOST_RESTORED, Restored, Transfer};
pub use upkeep::{MOST_IDS, Upkeep};
pub use vacuum::{FilesRead, Vacuum};
