//! Anonymous ids that turn out to be users. A merge is a record; what it moves is put on record first, then written
//! under its new owner, then taken from the old one, each only as it was read. So it may break off anywhere, be done
//! by several at once and while others write, and nothing is lost or there twice. What moved can be told from what
//! was the user's, and goes back when the merge is taken back.

mod back;
mod carry;
mod log;
mod rescope;
mod state;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use hindsight_ports::{Begun, StoreError, Subjects, Tally};
use hindsight_types::{MERGE_OPEN, Scope, SubjectMerge, TenantId, Timestamp, UserId};
use uuid::Uuid;

use crate::{
    Store,
    collection::Collection,
    point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk},
    write::POINTS,
};

/// A merge is swept a last time when it is open for so long yet. Whoever wrote under the id without looking whether
/// it is merged was not at it for longer.
const LAST_SWEEP: Duration = Duration::from_secs(10 * 60);
/// For so long after a merge was taken back it is looked whether somebody still moved something meanwhile.
const STRAGGLERS: Duration = Duration::from_secs(10 * 60);
/// Merges looked at in one go.
const MERGES: usize = 64;

#[async_trait]
impl Subjects for Store {
    async fn begin(&self, merge: &SubjectMerge) -> Result<Begun, StoreError> {
        state::begin(self.backend(), merge).await
    }

    async fn carry(&self, merge: &SubjectMerge, now: Timestamp) -> Result<SubjectMerge, StoreError> {
        self.with_vectors(move || carry::carry(self.backend(), merge, now)).await
    }

    async fn retract(
        &self,
        tenant: &TenantId,
        from: &UserId,
        by: &str,
        reason: &str,
        now: Timestamp,
    ) -> Result<Option<Begun>, StoreError> {
        state::retract(self.backend(), tenant, from, (by, reason), now).await
    }

    async fn carry_back(&self, merge: &SubjectMerge) -> Result<SubjectMerge, StoreError> {
        self.with_vectors(move || back::carry_back(self.backend(), merge)).await
    }

    async fn merge_of(&self, tenant: &TenantId, from: &UserId) -> Result<Option<SubjectMerge>, StoreError> {
        Ok(merges(self.backend(), tenant, [SubjectMerge::key(tenant, from)]).await?.pop())
    }

    async fn standing(&self, scopes: &[Scope], now: Timestamp) -> Result<Vec<SubjectMerge>, StoreError> {
        let mut by_tenant: BTreeMap<&TenantId, Vec<Uuid>> = BTreeMap::new();
        for scope in scopes {
            if let Some(user) = scope.user() {
                by_tenant.entry(&scope.tenant).or_default().push(SubjectMerge::key(&scope.tenant, user));
            }
        }
        let mut standing = Vec::new();
        for (tenant, keys) in by_tenant {
            for keys in keys.chunks(POINTS) {
                standing.extend(merges(self.backend(), tenant, keys.iter().copied()).await?);
            }
        }
        standing.retain(|merge| merge.stands(now));
        Ok(standing)
    }

    async fn tally(&self, merge: &SubjectMerge) -> Result<Tally, StoreError> {
        log::tally(self.backend(), merge).await
    }

    async fn due(&self, now: Timestamp) -> Result<Vec<SubjectMerge>, StoreError> {
        self.backend().unfinished_merges(&due(now), MERGES).await
    }

    async fn close(&self, merge: &SubjectMerge) -> Result<(), StoreError> {
        state::close(self.backend(), merge).await
    }

    async fn expire(&self, now: Timestamp) -> Result<(), StoreError> {
        self.backend().forget_moved(before(now, MERGE_OPEN * 2)).await
    }
}

/// Which merges upkeep has something to do with.
pub(crate) struct Due {
    /// Merged before this: to be swept a last time.
    pub(crate) merged_before: Timestamp,
    /// Taken back after this: to be looked after once more.
    pub(crate) undone_after: Timestamp,
}

fn due(now: Timestamp) -> Due {
    Due {
        merged_before: before(now, MERGE_OPEN.saturating_sub(LAST_SWEEP)),
        undone_after: before(now, STRAGGLERS),
    }
}

fn before(now: Timestamp, span: Duration) -> Timestamp {
    now.checked_sub(span).unwrap_or(Timestamp::MIN)
}

async fn merges(
    backend: &ScopedBackend,
    tenant: &TenantId,
    keys: impl IntoIterator<Item = Uuid>,
) -> Result<Vec<SubjectMerge>, StoreError> {
    let ids: Vec<Uuid> = keys.into_iter().map(|key| point::id(tenant, key)).collect();
    let count = ids.len();
    let filter = ScopedFilter::whole(tenant).and_ids(ids);
    let found = backend.scroll(Collection::Merges, filter, Walk::ById(None), count, Show::Record).await?;
    found.points.iter().map(point::decode).collect()
}
