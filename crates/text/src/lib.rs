//! Text, as retrieval sees it: tokens of English, Chinese and the identifiers that agents meet, BM25 term
//! weights over them, and a few measures of likeness. Pure and deterministic.

pub mod bm25;
mod compare;
mod entity;
mod names;
mod period;
mod scan;
mod script;
mod statement;
mod stopwords;
mod tokenize;
mod visible;

pub use compare::{overlap, similarity, token_set};
pub use entity::entity_key;
pub use names::names;
pub use period::{Mention, period};
pub use script::{is_cjk, mostly_cjk, truncate_chars};
pub use statement::{Stance, Statement};
pub use stopwords::is_stop_word;
pub use tokenize::{Kind, Token, tokenize, tokens};
pub use visible::{is_invisible, one_line};
