//! Runs roles in a process: start, health, ordered shutdown.

mod role;

pub use role::{Role, RoleError};
