//! Settings, from four layers: defaults, a TOML file, the environment (`HINDSIGHT__SECTION__KEY`), flags.
//!
//! [`load`] finds every mistake before it gives up and says for each where it comes from. Unknown keys are
//! only warned of at start, so that a newer file does not keep an older binary from starting; [`check`]
//! counts them as mistakes, and so does `load` below `[auth]`, where a slip would open the door.

mod adapters;
mod compaction;
mod lifecycle;
mod llm;
mod load;
mod mistake;
mod model;
mod reranker;
mod section;
mod source;
mod watch;

pub use adapters::{AmqpBus, Bus, BusKind, Qdrant, Quantization, Store};
pub use compaction::Compaction;
pub use lifecycle::Lifecycle;
pub use llm::{Llm, LlmEndpoint, LlmKind};
pub use load::{Loaded, check, load};
pub use mistake::{Mistake, Mistakes};
pub use model::{
    Auth, Compactor, Config, Data, Embedder, Evaluate, Gate, HttpEmbedder, Ingest, Log, Recall, RecallCache,
    RecallWeights, Server, Telemetry,
};
pub use reranker::{HttpReranker, Reranker};
pub use source::Sources;
pub use watch::Watch;

#[cfg(test)]
mod tests;
