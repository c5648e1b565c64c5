//! What upkeep has to do: one file per policy.
//!
//! A planner is a pure function of rows, settings and the time. It plans what is to be done and what is not done yet,
//! so a second plan of what was carried out is empty; what a policy protects it never names. Before a worker acts it
//! reads the rows anew and asks the same function, so what changed since is left alone.

pub mod lessons;
pub mod patterns;
pub mod raw_events;
mod schedule;
mod settings;

use hindsight_types::Work;

pub use schedule::Schedule;
pub use settings::{ByTenant, Settings, Timing};

/// A piece of work with the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub work: Work,
    /// In words a person can check.
    pub why: String,
}

impl Planned {
    pub fn new(work: Work, why: impl Into<String>) -> Self {
        Self { work, why: why.into() }
    }
}
