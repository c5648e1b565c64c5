//! The embedders behind [`ports::Embedder`](hindsight_ports::Embedder): feature hashing that needs nothing,
//! an OpenAI-compatible endpoint, and a sentence-transformers model directory.

mod directory;
mod hashing;
mod http;
mod spec;
mod unit;

pub use directory::DirEmbedder;
pub use hashing::HashingEmbedder;
pub use http::{HttpEmbedder, HttpSettings};
pub use spec::EmbedderSpec;
