use std::collections::BTreeMap;

use async_trait::async_trait;
use hindsight_types::{Evidence, Lesson, MemoryId, Review, Stage, TenantId, Viewer};

use crate::{Page, PageRequest, StoreError};

/// What runs and people say of lessons, and the stages that follow from it. Lines are written with
/// [`append_evidence`](crate::MemoryStore::append_evidence).
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Everything that was said of a memory, oldest first: the newest 2 000 lines of all users' runs and the newest
    /// 100 reviews. For upkeep alone: only what follows from it may be returned to a caller.
    async fn ledger(
        &self,
        tenant: &TenantId,
        memory: MemoryId,
    ) -> Result<(Vec<Evidence>, Vec<Review>), StoreError>;

    /// The same of several memories at once; one of which nothing was said is left out.
    async fn ledgers(
        &self,
        tenant: &TenantId,
        memories: &[MemoryId],
    ) -> Result<BTreeMap<MemoryId, (Vec<Evidence>, Vec<Review>)>, StoreError>;

    /// Keeps what a person said; one whose id is there already is left as it is.
    async fn review(&self, review: &Review) -> Result<(), StoreError>;

    /// A lesson, whoever may see it; for upkeep alone.
    async fn lesson(&self, tenant: &TenantId, lesson: MemoryId) -> Result<Option<Lesson>, StoreError>;

    /// Lessons that the viewer may see, of one stage or all, newest first; pages as those of
    /// [`list`](crate::MemoryStore::list).
    async fn lessons(
        &self,
        viewer: &Viewer,
        stage: Option<Stage>,
        page: &PageRequest,
    ) -> Result<Page<Lesson>, StoreError>;

    /// Sets the stage of a lesson exactly, forward or back, without losing what others write of it meanwhile.
    /// `false`: it had that stage already, or there is no such lesson.
    async fn restage(&self, tenant: &TenantId, lesson: MemoryId, stage: Stage) -> Result<bool, StoreError>;
}
