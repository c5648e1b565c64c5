use serde::{Deserialize, Serialize};

use crate::{Correction, ForgettingId, MemoryId, MemoryKind, TraceId, Visibility};

/// What a worker does: small enough to be done in one go, and the same however often it is done. Before it acts
/// it looks again whether it still should.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Gives lessons the stage that their evidence says.
    Restage { lessons: Vec<MemoryId> },
    /// Deletes the raw events of runs.
    ExpireEvents { traces: Vec<TraceId> },
    /// Counts anew how often failure patterns were seen lately.
    Recount { patterns: Vec<MemoryId> },
    /// Summarises a group of experiences into a rule.
    Condense { sources: Vec<MemoryId> },
    /// Makes memories that say the same one: `keep` takes over what the others know.
    Merge { kind: MemoryKind, keep: MemoryId, duplicates: Vec<MemoryId> },
    /// Moves memories to where they are not searched: they have faded or, if `surplus`, there are enough later ones.
    Archive { kind: MemoryKind, memories: Vec<MemoryId>, surplus: bool },
    /// Deletes memories that were in the archive long enough.
    ExpireArchived { kind: MemoryKind, memories: Vec<MemoryId> },
    /// Retires what a newer memory contradicts.
    Supersede { kind: MemoryKind, newer: MemoryId, older: Vec<MemoryId> },
    /// Removes facts whose time is over.
    ExpireFacts { facts: Vec<MemoryId> },
    /// Makes derived memories anew, which were taken away with one of their sources, from the runs that are left.
    Rederive {
        kind: MemoryKind,
        memories: Vec<MemoryId>,
        runs: Vec<TraceId>,
        visibility: Visibility,
        /// Which of them a person corrected, and how.
        corrections: Vec<(MemoryId, Correction)>,
    },
    /// Carries a forgetting on.
    Forget { forgetting: ForgettingId },
}

impl Work {
    /// Most ids that one work names.
    pub const LARGEST: usize = 100;

    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Restage { .. } => "restage",
            Self::ExpireEvents { .. } => "expire-events",
            Self::Recount { .. } => "recount",
            Self::Condense { .. } => "condense",
            Self::Merge { .. } => "merge",
            Self::Archive { .. } => "archive",
            Self::ExpireArchived { .. } => "expire-archived",
            Self::Supersede { .. } => "supersede",
            Self::ExpireFacts { .. } => "expire-facts",
            Self::Rederive { .. } => "rederive",
            Self::Forget { .. } => "forget",
        }
    }

    /// The ids it names, as text, and the kind they are of where it says so.
    pub fn names(&self) -> Vec<String> {
        fn ids<'a, T: ToString + 'a>(ids: impl IntoIterator<Item = &'a T>) -> Vec<String> {
            ids.into_iter().map(ToString::to_string).collect()
        }
        match self {
            Self::Restage { lessons: of }
            | Self::Recount { patterns: of }
            | Self::Condense { sources: of }
            | Self::ExpireFacts { facts: of }
            | Self::Archive { memories: of, .. }
            | Self::ExpireArchived { memories: of, .. } => ids(of),
            Self::Rederive { memories, runs, .. } => ids(memories).into_iter().chain(ids(runs)).collect(),
            Self::Forget { forgetting } => ids([forgetting]),
            Self::Merge { keep: first, duplicates: of, .. }
            | Self::Supersede { newer: first, older: of, .. } => ids(std::iter::once(first).chain(of)),
            Self::ExpireEvents { traces } => ids(traces),
        }
    }

    /// Of which kind the memories are that it names; `None`: runs.
    pub fn kind(&self) -> Option<MemoryKind> {
        match self {
            Self::Restage { .. } => Some(MemoryKind::Lesson),
            Self::Recount { .. } => Some(MemoryKind::FailurePattern),
            Self::Condense { .. } => Some(MemoryKind::Experience),
            Self::ExpireFacts { .. } => Some(MemoryKind::Fact),
            Self::ExpireEvents { .. } | Self::Forget { .. } => None,
            Self::Merge { kind, .. }
            | Self::Archive { kind, .. }
            | Self::ExpireArchived { kind, .. }
            | Self::Supersede { kind, .. }
            | Self::Rederive { kind, .. } => Some(*kind),
        }
    }

    /// The same for the same work.
    pub(crate) fn key(&self) -> String {
        let kind = self.kind().map_or("", MemoryKind::as_str);
        let names = self
            .names()
            .iter()
            .fold(String::new(), |all, name| all + &format!("\u{1f}{}\u{1f}{name}", name.len()));
        format!("{}\u{1f}{kind}{names}", self.as_str())
    }
}
