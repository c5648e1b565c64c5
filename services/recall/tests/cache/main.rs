//! What recall keeps in memory is never older than what is stored: two replicas of the role on one store, with
//! a writer beside them, over each bus.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;
mod outage;
mod replicas;
