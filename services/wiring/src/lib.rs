//! Puts a process together: from settings to adapters, from adapters to roles, from roles to a server.
//! The one place that knows the adapters.

mod adapters;
pub mod data_dir;
mod embedded;
mod failure;
mod models;
mod parts;
mod prepare;
mod process;
mod reembed;
mod roles;
mod server;

pub use embedded::Embedded;
pub use failure::{Failure, code};
pub use parts::Parts;
pub use process::run;
pub use roles::{RoleName, collector, compactor, evaluator, recall};
pub use server::{begin_log, begin_telemetry, serve};
