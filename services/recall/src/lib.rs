//! The read door: brings the right few memories within the caller's deadline, says why, and looks after
//! what is remembered.

mod ask;
mod cache;
mod care;
mod doctor;
mod engine;
mod explain;
mod raw;
mod receipt;
mod report;
mod rerank;
mod role;
mod search;
mod service;
mod settings;
mod transfer;
mod update;
mod watch;

pub use cache::CacheSettings;
pub use care::Care;
/// Parts of the settings.
pub use hindsight_rank::{DenseScale, Serving, Weights, watch::Policy as WatchPolicy};
pub use role::Recall;
pub use settings::RecallSettings;
pub use watch::WatchSettings;

/// Name of the role and of its gRPC error domain.
pub(crate) const NAME: &str = "recall";
