//! Reads runs that were recorded elsewhere and turns them into trajectories.
//!
//! Pure parsing: the caller opens the file and hands over an `impl BufRead`. Input is read as a stream,
//! one record at a time; a record that cannot be used is reported with its line and the rest goes on.
//! Reading the same input twice gives the same trajectories with the same trace ids.

mod clip;
mod draft;
pub mod formats;
mod frame;
mod importer;
mod json;

use hindsight_types::{TaskType, TenantId, Timestamp, UserId};

pub use formats::{FORMATS, Format};
pub use importer::{Importer, ReadError};

/// What the records themselves do not say.
#[derive(Clone)]
pub struct Options {
    pub tenant: TenantId,
    /// The person the runs belong to; narrows their scope to this user. What a record says goes first.
    pub user: Option<UserId>,
    pub task_type: Option<TaskType>,
    /// Environment tags added to every run.
    pub tags: Vec<String>,
    /// Start and end of runs without any time; the time the file was written is a good choice.
    pub default_time: Timestamp,
    /// `None`: recognised from the content.
    pub format: Option<&'static dyn Format>,
}

impl Options {
    pub fn new(tenant: TenantId, default_time: Timestamp) -> Self {
        Self { tenant, user: None, task_type: None, tags: Vec::new(), default_time, format: None }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("tenant", &self.tenant)
            .field("user", &self.user)
            .field("format", &self.format.map(Format::name))
            .finish_non_exhaustive()
    }
}

/// A record that could not be used. The records around it are not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RecordError {
    /// Where it begins, from 1.
    pub line: u64,
    /// Its place in the array, from 0, when the input is one.
    pub element: Option<u64>,
    pub reason: String,
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.element {
            Some(i) => write!(f, "line {}, element {i}: {}", self.line, self.reason),
            None => write!(f, "line {}: {}", self.line, self.reason),
        }
    }
}
