//! The role over a real store, called through its gRPC services.

#![allow(clippy::unwrap_used, reason = "tests")]

mod changing;
mod common;
mod examples;
mod memory;
mod recall;
