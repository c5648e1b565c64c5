//! Attacks on ranking from outside: what arms and stores may bring in any order and with any content, and what
//! recalled text may try. Only the public interface is used.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod hostile;
mod invariants;
mod world;
