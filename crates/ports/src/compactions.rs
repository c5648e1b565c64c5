use async_trait::async_trait;
use hindsight_types::{
    CompactionRun, CompactionRunId, CompactionTask, CompactionTaskId, Policy, TaskCounts, TenantId, Timestamp,
};

use crate::{Page, PageRequest, StoreError};

/// What upkeep does and has done: runs of policies and their tasks. Runs are led on by one process at a time and
/// survive it; tasks are ended by workers. Pages are as those of [`MemoryStore::list`](crate::MemoryStore::list).
#[async_trait]
pub trait Compactions: Send + Sync + 'static {
    /// Puts the next state of a run on record, as the revision after `next.revision`; a new run has revision 0.
    /// `false`: somebody else was quicker, and nothing was changed.
    async fn put_run(&self, next: &CompactionRun) -> Result<bool, StoreError>;

    async fn run(&self, tenant: &TenantId, id: CompactionRunId) -> Result<Option<CompactionRun>, StoreError>;

    /// Of one policy or all, the latest begun first.
    async fn runs(
        &self,
        tenant: &TenantId,
        policy: Option<Policy>,
        page: &PageRequest,
    ) -> Result<Page<CompactionRun>, StoreError>;

    /// Runs that have not ended, in no particular order; a page may be short. Of all tenants, for upkeep alone.
    async fn open_runs(&self, page: &PageRequest) -> Result<Page<CompactionRun>, StoreError>;

    /// Puts planned tasks on record. One that is there already stays as it is.
    async fn add_tasks(&self, tasks: &[CompactionTask]) -> Result<(), StoreError>;

    async fn task(
        &self,
        tenant: &TenantId,
        id: CompactionTaskId,
    ) -> Result<Option<CompactionTask>, StoreError>;

    /// The tasks of a run, or those that are still planned.
    async fn tasks(
        &self,
        tenant: &TenantId,
        run: CompactionRunId,
        open_only: bool,
        page: &PageRequest,
    ) -> Result<Page<CompactionTask>, StoreError>;

    /// Puts the end of a task on record. The first end that is told stays.
    async fn end_task(&self, task: &CompactionTask) -> Result<(), StoreError>;

    async fn count_tasks(&self, tenant: &TenantId, run: CompactionRunId) -> Result<TaskCounts, StoreError>;

    /// Deletes runs and tasks that began before this time, and says how many records that were. Of all tenants.
    async fn expire_runs(&self, before: Timestamp) -> Result<u64, StoreError>;
}
