//! From candidates to the few memories that help, and the block that carries them to an agent.
//!
//! Pure: candidates, query and time come in, a ranking with the reason for every decision goes out.
//! `score = similarity × decay × reliability × environment × trust × stage`. Similarity is absolute: when
//! nothing is near the query, nothing is returned.

pub mod block;
mod conflict;
pub mod experience;
mod factors;
mod select;
mod settings;
mod similarity;
mod tokens;

#[cfg(test)]
mod testkit;

pub use select::{Ranked, Ranking, Request, rank};
pub use settings::{DenseScale, Settings};
pub use tokens::{count as count_tokens, warm as warm_tokenizer};
