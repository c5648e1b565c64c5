//! The built binary from end to end.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod compact;
mod doctor;
mod evaluate;
mod lessons;
mod letters;
mod life;
mod mcp;
mod memory;
mod process;
mod recall;
mod reembed;
mod retain;
mod support;
mod transfer;
mod watch;
mod watching;
