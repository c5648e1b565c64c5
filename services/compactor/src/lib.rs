//! Looks after what nobody else looks after. One of all compactors leads; it ends tasks that were left open, deletes
//! old receipts, and has the store change its embedder when another is configured. Each of them answers operators
//! about dead letters and about that change.

mod compaction;
mod idle;
mod lead;
mod letters;
mod planners;
mod receipts;
mod reembed;
mod role;
mod service;
mod settings;

pub use compaction::{CompactionParts, RunSettings};
pub use role::Compactor;
pub use settings::CompactorSettings;

/// Name of the role, of its leadership and of its gRPC error domain.
pub(crate) const NAME: &str = "compactor";
