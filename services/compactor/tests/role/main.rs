//! The role over the embedded bus and store.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod idle;
mod letters;
mod receipts;
mod reembed;
mod runs;
mod support;
