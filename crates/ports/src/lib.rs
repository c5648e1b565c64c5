//! What Hindsight needs from the outside, as traits in its own words. Adapters implement them; logic and
//! services know nothing else. `testkit` (a feature) holds the conformance suites that every adapter
//! passes and the wrappers that inject faults.

pub mod bus;
pub mod clock;
pub mod embed;
pub mod llm;
pub mod reembed;
pub mod store;

#[cfg(feature = "testkit")]
pub mod testkit;

pub use bus::{
    Bus, BusError, Consumer, DeadLetter, Delivery, Envelope, Heard, Leadership, Listener, Queue, QueueStats,
    Settle,
};
pub use clock::{Clock, SystemClock};
pub use embed::{EmbedError, Embedder, EmbedderId, Purpose, Reranker};
pub use llm::{JsonSchema, Llm, LlmError, LlmReply, LlmRequest, LlmUsage};
pub use reembed::{Rebuild, Reembed, ReembedStep, StoredVectors};
pub use store::{
    Arm, Candidate, CandidateId, Encoded, Encoding, Fetched, MemoryStore, Page, PageRequest, Search,
    SparseVector, StoreError, StoreStats,
};
