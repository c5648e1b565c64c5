//! From candidates to the few memories that help, and the block that carries them to an agent.
//!
//! Pure: candidates, query and time come in, a ranking with the reason for every decision goes out. [`Query`]
//! takes a question apart, [`Pool`] takes in what the arms propose, names the few that are worth fetching, and
//! ranks them.
//! `score = similarity × decay × reliability × environment × trust × stage`. Similarity is absolute: when
//! nothing is near the query, nothing is returned.

pub mod block;
mod conflict;
pub mod experience;
mod factors;
mod fine;
mod pool;
mod query;
mod read;
mod select;
mod serving;
mod settings;
mod tokens;
pub mod watch;

#[cfg(test)]
mod testkit;

pub use pool::Pool;
pub use query::Query;
pub use select::{Ranked, Ranking, Request};
pub use serving::Serving;
pub use settings::{DenseScale, Settings, Weights};
pub use tokens::{count as count_tokens, warm as warm_tokenizer};
