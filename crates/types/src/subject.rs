use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{MemoryId, ReceiptId, Scope, TenantId, Timestamp, TraceId, UserId, Visibility, ids::derive};

/// For so long what is written under a merged id goes to the user, and the merge can be taken back.
pub const MERGE_OPEN: Duration = Duration::from_secs(24 * 60 * 60);

/// Where a merge stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MergeState {
    /// What there is is moving.
    Merging,
    Merged,
    /// Swept a last time: the id is about to be free.
    Closed,
    /// What moved is on its way back.
    Undoing,
    Undone,
}

/// An anonymous id that turned out to be a user's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectMerge {
    /// The whole tenant: who is whom is nobody's memory.
    pub scope: Scope,
    pub from: UserId,
    pub to: UserId,
    pub state: MergeState,
    /// The name of the key that asked for it, or for its undoing.
    pub by: String,
    pub reason: String,
    pub merged_at: Timestamp,
    pub undone_at: Option<Timestamp>,
}

impl SubjectMerge {
    pub fn new(tenant: TenantId, from: UserId, to: UserId, by: &str, reason: &str, now: Timestamp) -> Self {
        Self {
            scope: Scope::new(tenant, Visibility::Tenant),
            from,
            to,
            state: MergeState::Merging,
            by: by.to_owned(),
            reason: reason.to_owned(),
            merged_at: now,
            undone_at: None,
        }
    }

    /// Under which key the last merge of an id is kept.
    pub fn key(tenant: &TenantId, from: &UserId) -> Uuid {
        derive("subject merge", &[tenant.as_str(), from.as_str()])
    }

    /// Names this merge among all of its id.
    pub fn id(&self) -> Uuid {
        let at = self.merged_at.as_nanosecond().to_string();
        derive("merge", &[self.scope.tenant.as_str(), self.from.as_str(), self.to.as_str(), &at])
    }

    pub fn open_until(&self) -> Timestamp {
        self.merged_at.checked_add(MERGE_OPEN).unwrap_or(Timestamp::MAX)
    }

    /// Whether the id is another name of the user.
    pub fn stands(&self, now: Timestamp) -> bool {
        matches!(self.state, MergeState::Merging | MergeState::Merged | MergeState::Closed)
            && now < self.open_until()
    }

    pub fn source(&self) -> Scope {
        Scope::new(self.scope.tenant.clone(), Visibility::User(self.from.clone()))
    }

    pub fn target(&self) -> Scope {
        Scope::new(self.scope.tenant.clone(), Visibility::User(self.to.clone()))
    }
}

/// Something that a merge moved, on record before it moves, so that it can be told from what was the user's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moved {
    /// A run, with everything that came of it.
    Run(TraceId),
    Receipt(ReceiptId),
    /// A statement, with every change of it: the fact by the id that it has with the user.
    Statement {
        fact: MemoryId,
        retained_at: Timestamp,
    },
    /// A memory whose id is made of its owner.
    Renamed {
        from: MemoryId,
        to: MemoryId,
    },
}

impl Moved {
    /// As it is filtered by.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Receipt(_) => "receipt",
            Self::Statement { .. } => "statement",
            Self::Renamed { .. } => "renamed",
        }
    }
}

/// A line of the log of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRecord {
    /// That of the merge.
    pub scope: Scope,
    /// [`SubjectMerge::id`].
    pub merge: Uuid,
    pub merged_at: Timestamp,
    pub moved: Moved,
}

impl MovedRecord {
    pub fn key(&self) -> Uuid {
        let merge = self.merge.to_string();
        let kind = self.moved.kind();
        match &self.moved {
            Moved::Run(trace) => derive("moved", &[&merge, kind, trace.as_str()]),
            Moved::Receipt(id) => derive("moved", &[&merge, kind, &id.to_string()]),
            Moved::Statement { fact, retained_at } => {
                let at = retained_at.as_nanosecond().to_string();
                derive("moved", &[&merge, kind, &fact.to_string(), &at])
            }
            Moved::Renamed { from, .. } => derive("moved", &[&merge, kind, &from.to_string()]),
        }
    }
}
