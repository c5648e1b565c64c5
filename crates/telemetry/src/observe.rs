//! Ports that tell what goes through them. Each wraps an adapter with spans and metrics and changes
//! nothing else.

mod bus;
mod embedder;
mod llm;
mod reembed;
mod store;

pub use bus::bus;
pub use embedder::embedder;
pub use llm::{llm, llm_breaker};
pub use reembed::reembed;
pub use store::store;
