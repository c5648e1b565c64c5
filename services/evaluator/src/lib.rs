//! Judges finished tasks: loads the events of a run, waits until they are complete, judges every step,
//! distils lessons and failure patterns, and stores what can be recalled. What fails is a state that can
//! be listed and replayed.

mod bench;
mod broken;
mod compact;
mod credit;
mod evaluate;
mod forgotten;
mod judges;
mod message;
mod reevaluate;
mod role;
mod service;
mod settings;
mod take;
mod tell;
mod worker;

pub use compact::Compaction;
pub use role::Evaluator;
pub use settings::{EvaluatorSettings, JudgeSettings};

/// Name of the role and of its gRPC error domain.
pub(crate) const NAME: &str = "evaluator";
