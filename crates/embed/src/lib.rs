//! The embedders behind [`ports::Embedder`](hindsight_ports::Embedder): a static table of words and feature
//! hashing, which need nothing, an OpenAI-compatible endpoint, and a sentence-transformers model directory.

mod directory;
mod each;
mod features;
mod hashing;
mod http;
mod spec;
mod static_table;
mod unit;

pub use directory::DirEmbedder;
pub use hashing::HashingEmbedder;
pub use http::{HttpEmbedder, HttpSettings};
pub use spec::EmbedderSpec;
pub use static_table::StaticEmbedder;
