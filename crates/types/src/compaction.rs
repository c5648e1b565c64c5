//! What is done to memories as they age: policies, the runs that apply them, and the tasks of a run.

mod run;
mod work;

pub use run::{CompactionRun, CompactionTask, RunState, TaskCounts, TaskState, Trigger};
pub use work::Work;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// A rule by which memories age. Each is planned by itself, on its own schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Raw events leave, unless their run is rare and important.
    RawEvents,
    /// Lessons get the stage that their evidence says.
    Lessons,
    /// How often failure patterns were seen lately is counted anew.
    FailurePatterns,
    /// Groups that are read often are summarised into rules.
    Condense,
    /// Memories that say the same become one.
    Merge,
    /// What has decayed leaves the search; it can be restored.
    Archive,
    /// Of memories that contradict each other the older is superseded.
    Contradictions,
    /// Facts that expired, were resolved or became obsolete leave.
    Facts,
}

impl Policy {
    pub const ALL: [Self; 8] = [
        Self::RawEvents,
        Self::Lessons,
        Self::FailurePatterns,
        Self::Condense,
        Self::Merge,
        Self::Archive,
        Self::Contradictions,
        Self::Facts,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::RawEvents => "raw-events",
            Self::Lessons => "lessons",
            Self::FailurePatterns => "failure-patterns",
            Self::Condense => "condense",
            Self::Merge => "merge",
            Self::Archive => "archive",
            Self::Contradictions => "contradictions",
            Self::Facts => "facts",
        }
    }

    pub fn parse(name: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::as_str).join(", ");
            Invalid::new("policy", format!("`{name}` is not one of {names}"))
        })
    }
}

#[cfg(test)]
mod tests;
