//! What happens to a run before it is judged: checked, freed of secrets, put together from its events,
//! gated, reduced to what matters; and how it is encoded for search. No I/O but the `Embedder` port, no clock.

pub mod assemble;
pub mod context;
pub mod digest;
pub mod encode;
pub mod entities;
pub mod environment;
pub mod gate;
pub mod glance;
pub mod otlp;
pub mod redact;
pub mod retain;
pub mod status;
pub mod validate;

mod pattern;
#[cfg(test)]
mod testing;

pub use assemble::{Assembly, Gap, assemble, split};
pub use gate::{GateDecision, GateSettings, gate};
