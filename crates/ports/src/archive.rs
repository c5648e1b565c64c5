use std::collections::BTreeSet;

use async_trait::async_trait;
use hindsight_types::{
    Archived, Experience, Fact, Memory, MemoryId, MemoryKind, TenantId, Timestamp, TraceId, Viewer,
};

use crate::{MemoryStore, Page, PageRequest, StoreError};

/// A memory that is to leave for the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub id: MemoryId,
    /// In words a person can check.
    pub why: String,
    /// What speaks for it from now on, when that is why it leaves.
    pub instead: Option<MemoryId>,
}

/// How memories leave: for where they are not searched any more, on disk, under their ids, from where they can be
/// brought back; or for good. No recall, list or lookup of memories finds what left.
#[async_trait]
pub trait Archive: Send + Sync + 'static {
    /// Moves memories of one kind: each is written to the archive before it is taken away from where it was, so a
    /// crash between leaves it in both places, and the next call takes it away. One that changes meanwhile stays,
    /// and so does one that was brought back before. Says which left. At most 100. For upkeep alone.
    async fn archive(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        leaving: &[Leaving],
        now: Timestamp,
    ) -> Result<BTreeSet<MemoryId>, StoreError>;

    /// Brings a memory back, and keeps on record that it was. One that was learned anew meanwhile stays as it is. The
    /// memory as it is then; `None`: the viewer has no such memory in the archive.
    async fn restore(
        &self,
        viewer: &Viewer,
        id: MemoryId,
        now: Timestamp,
    ) -> Result<Option<Memory>, StoreError>;

    /// What is on record of a memory that left, or left and came back.
    async fn archived(&self, viewer: &Viewer, id: MemoryId) -> Result<Option<Archived>, StoreError>;

    /// The same as long as it is in the archive: not of a memory that came back.
    async fn away(&self, viewer: &Viewer, id: MemoryId) -> Result<Option<Archived>, StoreError> {
        Ok(self.archived(viewer, id).await?.filter(|archived| archived.restored_at.is_none()))
    }

    /// What is in the archive now, that which left last first; pages as those of
    /// [`list`](crate::MemoryStore::list).
    async fn list_archived(&self, viewer: &Viewer, page: &PageRequest) -> Result<Page<Archived>, StoreError>;

    /// The same for all that were brought back, of a whole tenant, whoever may see them; for upkeep alone.
    async fn brought_back(&self, tenant: &TenantId, page: &PageRequest)
    -> Result<Page<Archived>, StoreError>;

    /// The same for all that left because another memory speaks for them.
    async fn spoken_for(&self, tenant: &TenantId, page: &PageRequest) -> Result<Page<Archived>, StoreError>;

    /// The same for all that left before this time and did not come back.
    async fn archived_before(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<Archived>, StoreError>;

    /// Deletes memories of one kind for good that left before this time and did not come back: first what runs and people
    /// said of them, and where the evaluations of runs stand, unless the same was learned anew meanwhile. What was said of
    /// a retired lesson stays, so that it is retired when it is learned again. Says which are gone. At most 100. For
    /// upkeep alone.
    async fn expire(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        ids: &[MemoryId],
        before: Timestamp,
    ) -> Result<BTreeSet<MemoryId>, StoreError>;

    /// Deletes facts for good, first how they were before, then the facts. One that is no longer as it was looked at
    /// stays, without what it was before. Says which are gone. All of one tenant, at most 100. For upkeep alone.
    async fn remove(&self, facts: &[Fact]) -> Result<BTreeSet<MemoryId>, StoreError>;
}

/// A judged run that the viewer may see, archived or not: what is archived is no longer served, and known as before.
pub async fn judged_run(
    store: &dyn MemoryStore,
    archive: &dyn Archive,
    viewer: &Viewer,
    trace: &TraceId,
) -> Result<Option<Experience>, StoreError> {
    if let Some(run) = store.experience(viewer, trace).await? {
        return Ok(Some(run));
    }
    let archived = archive.away(viewer, MemoryId::experience(&viewer.tenant, trace)).await?;
    Ok(archived.and_then(|archived| match archived.memory {
        Memory::Experience(run) => Some(*run),
        _ => None,
    }))
}
