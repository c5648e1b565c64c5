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
mod live;
mod message;
mod spans;

use hindsight_types::{TaskType, TenantId, Timestamp, Trajectory, UserId};

pub use formats::{FORMATS, Format};
pub use importer::{Importer, ReadError};
pub use live::Live;

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
    /// What tells this input from all others, for input that grows while it is read: a run without a name is then named
    /// after it and its place in it. `None`: after its content.
    pub origin: Option<String>,
}

impl Options {
    pub fn new(tenant: TenantId, default_time: Timestamp) -> Self {
        Self {
            tenant,
            user: None,
            task_type: None,
            tags: Vec::new(),
            default_time,
            format: None,
            origin: None,
        }
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

/// A run that is still being recorded.
#[derive(Debug, Clone)]
pub struct UnderWay {
    /// As if the input ended here.
    pub run: Trajectory,
    /// Steps at its beginning that will not change any more.
    pub settled: usize,
    /// The record itself says that the run is over, though it may be taken up again.
    pub ended: bool,
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

impl UnderWay {
    /// A run of a document that may be written anew with more in it: a call without a result may still get one.
    fn of_document(run: Trajectory) -> Self {
        let open = |s: &hindsight_types::Step| {
            s.action_type == hindsight_types::ActionType::ToolCall
                && s.observation.is_empty()
                && s.status == hindsight_types::StepStatus::Unknown
        };
        let settled = run.steps.iter().position(open).unwrap_or(run.steps.len());
        Self { run, settled, ended: false }
    }
}
