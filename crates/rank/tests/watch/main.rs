//! A stream from outside: any events in any order, with memories of several people and text that wants out.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

mod calls;
mod properties;
mod spoken;
mod world;
