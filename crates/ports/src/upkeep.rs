use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hindsight_types::{
    EvaluationRecord, Frequency, Memory, MemoryId, MemoryKind, TaskType, TenantId, Timestamp, TraceId,
};

use crate::{Page, PageRequest, StoreError};

/// Most ids in one question.
pub const MOST_IDS: usize = 1_000;

/// What upkeep reads of a tenant, whoever may see it, and how raw events leave. Nothing of it may be returned to a
/// caller but what follows from it. Questions name at most [`MOST_IDS`]; what is not there is left out of the answer.
/// Pages are as those of [`MemoryStore::list`](crate::MemoryStore::list).
#[async_trait]
pub trait Upkeep: Send + Sync + 'static {
    /// Everyone of whom anything is stored.
    async fn tenants(&self) -> Result<Vec<TenantId>, StoreError>;

    /// Newest first.
    async fn memories(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError>;

    /// In no particular order.
    async fn memories_of(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        ids: &[MemoryId],
    ) -> Result<Vec<Memory>, StoreError>;

    /// Runs of which there are raw events from before this time: each at least once over all pages, some on several.
    /// A page is of at most 1 000 events.
    async fn old_runs(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<TraceId>, StoreError>;

    /// How many raw events these runs have from `since` on.
    async fn events_since(
        &self,
        tenant: &TenantId,
        traces: &[TraceId],
        since: Timestamp,
    ) -> Result<BTreeMap<TraceId, u64>, StoreError>;

    /// How many raw events a tenant has from before this time.
    async fn count_old_events(&self, tenant: &TenantId, before: Timestamp) -> Result<u64, StoreError>;

    /// Deletes the raw events of these runs, and says how many.
    async fn delete_events(&self, tenant: &TenantId, traces: &[TraceId]) -> Result<u64, StoreError>;

    /// Where the evaluations of these runs stand.
    async fn evaluations(
        &self,
        tenant: &TenantId,
        traces: &[TraceId],
    ) -> Result<Vec<EvaluationRecord>, StoreError>;

    /// Which of these runs are under way, as far as is known.
    async fn open_of(&self, tenant: &TenantId, traces: &[TraceId]) -> Result<BTreeSet<TraceId>, StoreError>;

    /// How many judged runs are of this type; without one, how many of no type have a goal of the same words,
    /// numbers and identifiers aside.
    async fn count_alike(
        &self,
        tenant: &TenantId,
        task_type: Option<&TaskType>,
        goal: &str,
    ) -> Result<u64, StoreError>;

    /// How many recalls from `since` on brought these memories.
    async fn reads(
        &self,
        tenant: &TenantId,
        memories: &[MemoryId],
        since: Timestamp,
    ) -> Result<BTreeMap<MemoryId, u64>, StoreError>;

    /// When these runs ended, of those that are judged.
    async fn ends(
        &self,
        tenant: &TenantId,
        traces: &[TraceId],
    ) -> Result<BTreeMap<TraceId, Timestamp>, StoreError>;

    /// Notes how often a failure pattern was seen lately, unless that was counted later already. `false`: nothing
    /// changed, or there is no such pattern.
    async fn put_frequency(
        &self,
        tenant: &TenantId,
        pattern: MemoryId,
        frequency: Frequency,
    ) -> Result<bool, StoreError>;
}
