//! The role over a real store, called through its gRPC services.

#![allow(clippy::unwrap_used, reason = "tests")]

mod arms;
mod chance;
mod changing;
mod common;
mod examples;
mod explain;
mod history;
mod lessons;
mod memory;
mod recall;
mod report;
mod rerank;
