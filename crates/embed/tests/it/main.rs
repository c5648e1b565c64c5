#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contract;
mod directory;
mod reranker;
mod support;
