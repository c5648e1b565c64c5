//! The embedders behind [`ports::Embedder`](hindsight_ports::Embedder): a static table of words and feature
//! hashing, which need nothing, an OpenAI-compatible endpoint, and a sentence-transformers model directory; and the rerankers behind
//! [`ports::Reranker`](hindsight_ports::Reranker).

mod directory;
mod each;
mod endpoint;
mod features;
mod hashing;
mod http;
mod rerank;
mod spec;
mod static_table;
mod unit;

pub use directory::DirEmbedder;
pub use hashing::HashingEmbedder;
pub use http::{HttpEmbedder, HttpSettings};
pub use rerank::{DirReranker, HttpReranker, HttpRerankerSettings, RerankerSpec};
pub use spec::EmbedderSpec;
pub use static_table::StaticEmbedder;
