//! The role over a real store, called through its gRPC services.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod arms;
mod chance;
mod changing;
mod common;
mod deletion;
mod doctor;
mod examples;
mod explain;
mod history;
mod lessons;
mod memory;
mod provenance;
mod recall;
mod report;
mod rerank;
mod transfer;
mod watch;
