//! Runs roles in a process: start, health, restart after a failure, ordered shutdown. With a socket
//! ([`serve`]) or without one ([`Running::routes`], for a client in the same process). [`admin`] answers
//! probes over HTTP.

pub mod admin;
mod health;
mod probes;
mod role;
mod routes;
mod running;
mod serve;
mod stop;
mod supervise;
mod trouble;

pub use axum::Router;
pub use probes::{Probes, RoleState};
pub use role::{Role, RoleError};
pub use running::{Running, RuntimeError};
pub use serve::serve;
pub use stop::{Exit, StopSignal};
pub use trouble::Trouble;

#[cfg(test)]
mod tests;
