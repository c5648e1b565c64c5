//! Forgetting. The tombstone is written first, so that nothing of the subject arrives any more; then batch after
//! batch is found, put on record, deleted and counted. What leads to other records (a run to its steps, its evidence,
//! the lessons learned from it) is deleted after these, so that it can be found again after a crash.
//!
//! A user may come back while the rest is still being forgotten: what was recorded after the tombstone stays.

mod aliases;
mod census;
mod derived;
mod find;
mod held;
mod kept;
mod record;
mod runs;
mod texts;
mod vacuum;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hindsight_ports::{Forget, MOST_SUBJECTS, Probes, StoreError};
use hindsight_types::{
    Batch, Forgetting, ForgettingId, ForgettingPreview, ForgettingState, Forgotten, Subject, TenantId,
    Timestamp,
};
use uuid::Uuid;

use crate::{
    Store,
    collection::Collection,
    point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk},
    settle,
    swap::swap,
};
use find::Target;
use record::{Entomb, Put};
pub(crate) use vacuum::Vacuumed;

/// Points deleted at a time.
const BATCH: usize = 256;

#[async_trait]
impl Forget for Store {
    async fn forgotten(&self, tenant: &TenantId, subjects: &[Subject]) -> Result<Vec<Forgotten>, StoreError> {
        if subjects.len() > MOST_SUBJECTS {
            let problem = format!("subjects: more than the {MOST_SUBJECTS} accepted at once");
            return Err(StoreError::Rejected(problem));
        }
        let ids: BTreeSet<Uuid> = subjects.iter().map(|s| point::id(tenant, s.key())).collect();
        read(self.backend(), tenant, ids).await
    }

    async fn entomb(&self, forgotten: &Forgotten) -> Result<(), StoreError> {
        let tenant = &forgotten.scope.tenant;
        let id = point::id(tenant, forgotten.subject.key());
        swap(self.backend(), Collection::Forgettings, tenant, [(id, Entomb(forgotten.clone()))]).await?;
        Ok(())
    }

    async fn begin(&self, forgetting: &Forgetting) -> Result<Forgetting, StoreError> {
        let tenant = &forgetting.scope.tenant;
        if let Some(begun) = self.forgetting(tenant, forgetting.id).await? {
            return Ok(begun);
        }
        self.entomb(&forgetting.tombstone()).await?;
        self.put(forgetting).await
    }

    async fn forgetting(
        &self,
        tenant: &TenantId,
        id: ForgettingId,
    ) -> Result<Option<Forgetting>, StoreError> {
        let id = point::id(tenant, id.0);
        Ok(read::<Forgetting>(self.backend(), tenant, [id].into()).await?.pop())
    }

    async fn erase(&self, forgetting: &Forgetting) -> Result<(), StoreError> {
        let batch = &forgetting.batch;
        if batch.is_empty() {
            return Ok(());
        }
        // Whoever was quicker has done it, and what is there by now may have been learned anew.
        let tenant = &forgetting.scope.tenant;
        let known = self.forgetting(tenant, forgetting.id).await?;
        if known.is_none_or(|known| known.revision != forgetting.revision) {
            return Ok(());
        }
        let collection = collection(&batch.collection)?;
        self.backend().delete(collection, &batch.points).await?;
        if !batch.former.is_empty() {
            self.backend().delete(Collection::Versions, &batch.former).await?;
        }
        let recounted: Vec<_> = batch.recounted.iter().copied().collect();
        if recounted.is_empty() {
            return Ok(());
        }
        self.with_vectors(|| settle::recount(self.backend(), tenant, &recounted)).await
    }

    async fn advance(&self, forgetting: &Forgetting, now: Timestamp) -> Result<Forgetting, StoreError> {
        let mut next = forgetting.clone();
        let done = std::mem::take(&mut next.batch);
        if !done.is_empty() {
            *next.removed.entry(done.collection).or_default() += done.points.len() as u64;
            next.rederived += done.rederived.len() as u64;
            if !done.former.is_empty() {
                let versions = Collection::Versions.name().to_owned();
                *next.removed.entry(versions).or_default() += done.former.len() as u64;
            }
        }
        let target = Target::of(self.backend(), forgetting).await?;
        match target.next().await? {
            Some(found) => {
                let mut probes = Probes::from_fingerprints(std::mem::take(&mut next.probes));
                found.texts.iter().for_each(|text| probes.add(text));
                next.probes = probes.fingerprints().clone();
                next.batch = found.batch;
            }
            None => {
                // Once: what others say in the same words is learned anew in the same words.
                let told = match next.erased_at.replace(now) {
                    None => target.told(&Probes::from_fingerprints(next.probes.iter().copied())).await?,
                    Some(_) => None,
                };
                match told {
                    Some(found) => next.batch = found.batch,
                    None => next.state = ForgettingState::Vacuuming,
                }
            }
        }
        next.updated_at = now;
        self.put(&next).await
    }

    async fn put(&self, forgetting: &Forgetting) -> Result<Forgetting, StoreError> {
        let tenant = &forgetting.scope.tenant;
        let id = point::id(tenant, forgetting.id.0);
        swap(self.backend(), Collection::Forgettings, tenant, [(id, Put(forgetting.clone()))]).await?;
        let stored = self.forgetting(tenant, forgetting.id).await?;
        stored.ok_or_else(|| StoreError::Unavailable(format!("forgetting {} is gone", forgetting.id)))
    }

    async fn preview(
        &self,
        tenant: &TenantId,
        subject: &Subject,
        at: Timestamp,
    ) -> Result<ForgettingPreview, StoreError> {
        census::count(self.backend(), tenant, subject, at).await
    }

    async fn remaining(&self, forgetting: &Forgetting) -> Result<BTreeMap<String, u64>, StoreError> {
        let Forgetting { scope, subject, at, .. } = forgetting;
        Ok(census::count(self.backend(), &scope.tenant, subject, *at).await?.removed)
    }

    async fn held(&self, probes: &Probes) -> Result<BTreeSet<u64>, StoreError> {
        held::held(self.backend(), probes).await
    }
}

/// What is to be deleted, with the texts that are to be looked for afterwards.
#[derive(Debug, Default)]
struct Found {
    batch: Batch,
    texts: Vec<String>,
}

async fn read<T: crate::stored::Stored>(
    backend: &ScopedBackend,
    tenant: &TenantId,
    ids: BTreeSet<Uuid>,
) -> Result<Vec<T>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let count = ids.len();
    let filter = ScopedFilter::whole(tenant).and_ids(ids);
    let found =
        backend.scroll(Collection::Forgettings, filter, Walk::ById(None), count, Show::Record).await?;
    found.points.iter().map(point::decode).collect()
}

fn collection(name: &str) -> Result<Collection, StoreError> {
    let known = Collection::ALL.into_iter().find(|c| c.name() == name);
    known.ok_or_else(|| StoreError::Corrupt(format!("a forgetting names the collection `{name}`")))
}
