use async_trait::async_trait;
use hindsight_types::{
    Fact, FactStatus, Memory, MemoryId, MemoryKind, Revision, RevisionCause, VersionId, Viewer,
};

use crate::{Encoding, Page, PageRequest, StoreError};

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revised {
    Done,
    /// Nothing: the memory is no longer as it was looked at. Look again.
    Changed,
    /// Nothing: the memory is gone.
    Gone,
}

/// Changes of facts and lessons that leave how they were before. A fact that is retained again under its key
/// leaves its former version, too; a fact that is written once leaves nothing.
#[async_trait]
pub trait History: Send + Sync + 'static {
    /// Puts `next` in the place of `former` if what is stored is still that version. `next` has the id and scope
    /// of `former` and a revision of its own, whose time is put after that of `former` if it is not. `encoding` is
    /// of its text; `None`: the text is as before, and so is its encoding.
    async fn revise(
        &self,
        former: &Memory,
        next: &Memory,
        encoding: Option<&Encoding>,
    ) -> Result<Revised, StoreError>;

    /// How a memory was before, by the time it came to be so, newest first; without how it is.
    async fn history(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError>;

    /// One version of a memory, former or present.
    async fn version(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        version: VersionId,
    ) -> Result<Option<Memory>, StoreError>;

    /// The version that this request made, former or present.
    async fn made_by(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        request_id: &str,
    ) -> Result<Option<Memory>, StoreError>;

    /// Marks `older` obsolete, replaced by `newer`, if it is still the version that was looked at. `Done` as well
    /// when it is marked so already. Refused when the two are not of one user, or would replace each other.
    async fn supersede(
        &self,
        older: &Fact,
        newer: &Fact,
        by: &str,
        reason: &str,
        at: hindsight_types::Timestamp,
    ) -> Result<Revised, StoreError> {
        if older.scope != newer.scope || older.id == newer.id {
            let problem = format!("fact {}: {} is not another fact of its user", older.id, newer.id);
            return Err(StoreError::Rejected(problem));
        }
        if newer.superseded_by == Some(older.id) {
            let problem = format!("fact {}: it replaced {} itself", older.id, newer.id);
            return Err(StoreError::Rejected(problem));
        }
        if older.status == FactStatus::Obsolete && older.superseded_by == Some(newer.id) {
            return Ok(Revised::Done);
        }
        let mut next = older.clone();
        next.set_status(FactStatus::Obsolete, at);
        next.superseded_by = Some(newer.id);
        next.revision = Some(Revision {
            at,
            cause: RevisionCause::Superseded,
            by: by.to_owned(),
            reason: reason.to_owned(),
            request_id: String::new(),
        });
        self.revise(&Memory::Fact(older.clone()), &Memory::Fact(next), None).await
    }
}
