//! A store changes its embedder while it is in use, whatever happens meanwhile.
#![allow(clippy::unwrap_used, unreachable_pub)]

mod change;
mod chaos;
#[path = "../common/mod.rs"]
mod common;
mod faulty;
mod kill;
mod support;
