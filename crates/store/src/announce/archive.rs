use std::collections::BTreeSet;

use async_trait::async_trait;
use hindsight_ports::{Archive, Leaving, Page, PageRequest, StoreError};
use hindsight_types::{
    Archived, Fact, Memory, MemoryChange, MemoryId, MemoryKind, Scope, TenantId, Timestamp, Viewer,
    Visibility,
};

use super::Announced;

/// Whose they are is known when they are gone.
fn anywhere(tenant: &TenantId, kind: MemoryKind) -> MemoryChange {
    MemoryChange { kind, scope: Scope::new(tenant.clone(), Visibility::Tenant) }
}

#[async_trait]
impl Archive for Announced<dyn Archive> {
    async fn archive(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        leaving: &[Leaving],
        now: Timestamp,
    ) -> Result<BTreeSet<MemoryId>, StoreError> {
        self.write(vec![anywhere(tenant, kind)], self.inner.archive(tenant, kind, leaving, now)).await
    }

    async fn restore(
        &self,
        viewer: &Viewer,
        id: MemoryId,
        now: Timestamp,
    ) -> Result<Option<Memory>, StoreError> {
        let found = self.inner.archived(viewer, id).await?;
        let changes = found.iter().map(|archived| MemoryChange::of(&archived.memory)).collect();
        self.write(changes, self.inner.restore(viewer, id, now)).await
    }

    async fn archived(&self, viewer: &Viewer, id: MemoryId) -> Result<Option<Archived>, StoreError> {
        self.inner.archived(viewer, id).await
    }

    async fn list_archived(&self, viewer: &Viewer, page: &PageRequest) -> Result<Page<Archived>, StoreError> {
        self.inner.list_archived(viewer, page).await
    }

    async fn brought_back(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<Page<Archived>, StoreError> {
        self.inner.brought_back(tenant, page).await
    }

    async fn spoken_for(&self, tenant: &TenantId, page: &PageRequest) -> Result<Page<Archived>, StoreError> {
        self.inner.spoken_for(tenant, page).await
    }

    async fn archived_before(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<Archived>, StoreError> {
        self.inner.archived_before(tenant, before, page).await
    }

    async fn expire(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        ids: &[MemoryId],
        before: Timestamp,
    ) -> Result<BTreeSet<MemoryId>, StoreError> {
        self.inner.expire(tenant, kind, ids, before).await
    }

    async fn remove(&self, facts: &[Fact]) -> Result<BTreeSet<MemoryId>, StoreError> {
        let of = |fact: &Fact| MemoryChange { kind: MemoryKind::Fact, scope: fact.scope.clone() };
        self.write(facts.iter().map(of).collect(), self.inner.remove(facts)).await
    }
}
