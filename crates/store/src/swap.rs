//! Records that several writers change: read, decide, write what nobody changed since, and look again.

use std::collections::BTreeMap;

use hindsight_ports::StoreError;
use hindsight_types::{Scope, TenantId, Visibility};
use qdrant_client::qdrant::{PointStruct, RetrievedPoint};
use uuid::Uuid;

use crate::{
    collection::Collection,
    field, point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk},
    write::{POINTS, in_batches},
};

/// Rounds of compare-and-swap. In each round some writer succeeds, so this many must be at it to fail.
const ROUNDS: usize = 32;

/// One look at what is stored.
pub(crate) struct Round<'a> {
    pub(crate) backend: &'a ScopedBackend,
    /// What is read under this name is written under it.
    pub(crate) dense: Option<&'a str>,
}

/// What is to be done to one record.
pub(crate) trait Change: Send + Sync {
    /// What is to be written in place of what is stored. `None`: nothing more.
    fn next(
        &mut self,
        round: &Round<'_>,
        stored: Option<&RetrievedPoint>,
    ) -> impl Future<Output = Result<Option<PointStruct>, StoreError>> + Send;
}

/// Until nothing more is to be done to any of these points of one tenant. Says whether anything was written.
pub(crate) async fn swap<C: Change>(
    backend: &ScopedBackend,
    collection: Collection,
    tenant: &TenantId,
    changes: impl IntoIterator<Item = (Uuid, C)> + Send,
) -> Result<bool, StoreError> {
    let scope = Scope::new(tenant.clone(), Visibility::Tenant);
    let mut changes = changes.into_iter().collect::<BTreeMap<_, _>>().into_iter().peekable();
    let mut written = false;
    while changes.peek().is_some() {
        written |= settle(backend, collection, &scope, changes.by_ref().take(POINTS).collect()).await?;
    }
    Ok(written)
}

async fn settle<C: Change>(
    backend: &ScopedBackend,
    collection: Collection,
    scope: &Scope,
    mut pending: BTreeMap<Uuid, C>,
) -> Result<bool, StoreError> {
    let mut written = false;
    for _ in 0..ROUNDS {
        if pending.is_empty() {
            return Ok(written);
        }
        let dense = backend.dense();
        let round = Round { backend, dense: dense.as_deref() };
        let stored = stored(backend, collection, scope, pending.keys().copied()).await?;
        let mut writes: BTreeMap<Option<Option<i64>>, Vec<PointStruct>> = BTreeMap::new();
        let mut settled = Vec::new();
        for (id, change) in &mut pending {
            let now = stored.get(id);
            let Some(mut next) = change.next(&round, now).await? else {
                settled.push(*id);
                continue;
            };
            let revision = now.map(|now| point::integer(&now.payload, field::REVISION));
            let number = revision.flatten().unwrap_or(0) + 1;
            next.payload.insert(field::REVISION.to_owned(), number.into());
            writes.entry(revision).or_default().push(next);
        }
        for id in settled {
            pending.remove(&id);
        }
        for (revision, points) in writes {
            let overwrite = match revision {
                None => Overwrite::Never,
                Some(None) => Overwrite::Unrevised,
                Some(Some(revision)) => Overwrite::AtRevision(revision),
            };
            in_batches(backend, collection, points, overwrite).await?;
            written = true;
        }
    }
    if pending.is_empty() {
        return Ok(written);
    }
    Err(StoreError::Unavailable(format!(
        "{} records of {} were changed by others {ROUNDS} times in a row",
        pending.len(),
        collection.name()
    )))
}

async fn stored(
    backend: &ScopedBackend,
    collection: Collection,
    scope: &Scope,
    ids: impl ExactSizeIterator<Item = Uuid>,
) -> Result<BTreeMap<Uuid, RetrievedPoint>, StoreError> {
    let count = ids.len();
    let filter = ScopedFilter::upkeep(scope).and_ids(ids);
    let show = if collection.has_vectors() { Show::All } else { Show::Record };
    let scrolled = backend.scroll(collection, filter, Walk::ById(None), count, show).await?;
    scrolled.points.into_iter().map(|p| Ok((point::from_point_id(p.id.clone())?, p))).collect()
}
