//! The write door: records, runs and facts come in here, are checked and freed of secrets, and are
//! acknowledged once the bus holds them. The ingester of the same role carries them from the bus to the
//! store and asks for the evaluation of finished tasks.

mod ingester;
mod message;
mod otlp;
mod role;
mod service;
mod settings;

pub use role::Collector;
pub use settings::CollectorSettings;

/// Name of the role and of its gRPC error domain.
pub(crate) const NAME: &str = "collector";
