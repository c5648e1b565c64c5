use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hindsight_ports::{Forget, Probes, StoreError};
use hindsight_types::{
    Forgetting, ForgettingId, ForgettingPreview, Forgotten, MemoryChange, Scope, Subject, TenantId, Timestamp,
};

use super::Announced;

#[async_trait]
impl Forget for Announced<dyn Forget> {
    async fn forgotten(&self, tenant: &TenantId, subjects: &[Subject]) -> Result<Vec<Forgotten>, StoreError> {
        self.inner.forgotten(tenant, subjects).await
    }

    async fn entomb(&self, forgotten: &Forgotten) -> Result<(), StoreError> {
        self.inner.entomb(forgotten).await
    }

    async fn begin(&self, forgetting: &Forgetting) -> Result<Forgetting, StoreError> {
        self.inner.begin(forgetting).await
    }

    async fn forgetting(
        &self,
        tenant: &TenantId,
        id: ForgettingId,
    ) -> Result<Option<Forgetting>, StoreError> {
        self.inner.forgetting(tenant, id).await
    }

    async fn erase(&self, forgetting: &Forgetting) -> Result<(), StoreError> {
        let tenant = &forgetting.scope.tenant;
        let changes = forgetting.batch.changed.iter().map(|(kind, visibility)| MemoryChange {
            kind: *kind,
            scope: Scope::new(tenant.clone(), visibility.clone()),
        });
        self.write(changes.collect(), self.inner.erase(forgetting)).await
    }

    async fn advance(&self, forgetting: &Forgetting, now: Timestamp) -> Result<Forgetting, StoreError> {
        self.inner.advance(forgetting, now).await
    }

    async fn put(&self, forgetting: &Forgetting) -> Result<Forgetting, StoreError> {
        self.inner.put(forgetting).await
    }

    async fn preview(
        &self,
        tenant: &TenantId,
        subject: &Subject,
        at: Timestamp,
    ) -> Result<ForgettingPreview, StoreError> {
        self.inner.preview(tenant, subject, at).await
    }

    async fn remaining(&self, forgetting: &Forgetting) -> Result<BTreeMap<String, u64>, StoreError> {
        self.inner.remaining(forgetting).await
    }

    async fn held(&self, probes: &Probes) -> Result<BTreeSet<u64>, StoreError> {
        self.inner.held(probes).await
    }
}
