use async_trait::async_trait;
use hindsight_ports::{Begun, StoreError, Subjects, Tally};
use hindsight_types::{MemoryChange, MemoryKind, Scope, SubjectMerge, TenantId, Timestamp, UserId};

use super::Announced;

/// What moves is of both.
fn both(merge: &SubjectMerge) -> Vec<MemoryChange> {
    let change = |scope| MemoryKind::ALL.map(|kind| MemoryChange { kind, scope: Scope::clone(scope) });
    [merge.source(), merge.target()].iter().flat_map(change).collect()
}

#[async_trait]
impl Subjects for Announced<dyn Subjects> {
    async fn begin(&self, merge: &SubjectMerge) -> Result<Begun, StoreError> {
        self.inner.begin(merge).await
    }

    async fn carry(&self, merge: &SubjectMerge, now: Timestamp) -> Result<SubjectMerge, StoreError> {
        self.write(both(merge), self.inner.carry(merge, now)).await
    }

    async fn retract(
        &self,
        tenant: &TenantId,
        from: &UserId,
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<Begun>, StoreError> {
        self.inner.retract(tenant, from, by, reason, now).await
    }

    async fn carry_back(&self, merge: &SubjectMerge) -> Result<SubjectMerge, StoreError> {
        self.write(both(merge), self.inner.carry_back(merge)).await
    }

    async fn merge_of(&self, tenant: &TenantId, from: &UserId) -> Result<Option<SubjectMerge>, StoreError> {
        self.inner.merge_of(tenant, from).await
    }

    async fn standing(&self, scopes: &[Scope], now: Timestamp) -> Result<Vec<SubjectMerge>, StoreError> {
        self.inner.standing(scopes, now).await
    }

    async fn tally(&self, merge: &SubjectMerge) -> Result<Tally, StoreError> {
        self.inner.tally(merge).await
    }

    async fn due(&self, now: Timestamp) -> Result<Vec<SubjectMerge>, StoreError> {
        self.inner.due(now).await
    }

    async fn close(&self, merge: &SubjectMerge) -> Result<(), StoreError> {
        self.inner.close(merge).await
    }

    async fn expire(&self, now: Timestamp) -> Result<(), StoreError> {
        self.inner.expire(now).await
    }
}
