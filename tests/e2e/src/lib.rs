//! Runs the real `hindsight` binary and talks to it over the wire, as a client in any language would.
//!
//! The binary is the one `HINDSIGHT_BIN` names, else the one that was built beside the test.

mod data;
mod server;
pub mod traces;
mod wait;

pub use data::{Kind, record, run, step, trajectory};
pub use server::{Key, Server, keys, program};
pub use wait::{LIMIT, until};
