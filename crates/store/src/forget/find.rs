//! What is to be deleted next.

use std::collections::BTreeSet;

use hindsight_ports::StoreError;
use hindsight_types::{
    Forgetting, Forgotten, Gap, Memory, MemoryId, MemoryKind, Scope, Subject, TenantId, Timestamp, TraceId,
    UserId, Visibility,
};
use qdrant_client::qdrant::RetrievedPoint;

use super::{
    BATCH, Found, aliases,
    derived::learned_from,
    record::Entomb,
    runs::{self, Run, Runs, after, ends, keywords},
    texts,
};
use crate::{
    collection::Collection,
    field,
    fields::micros,
    point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk},
    stored::open_key,
    swap::swap,
};

/// Where records stand that are about memories.
pub(super) const ABOUT: [Collection; 3] = [Collection::Evidence, Collection::Versions, Collection::Receipts];
/// Where what was learned from runs stands.
pub(super) const DERIVED: [Collection; 3] =
    [Collection::Lessons, Collection::FailurePatterns, Collection::Archive];

/// What is being forgotten.
pub(super) struct Target<'a> {
    pub(super) backend: &'a ScopedBackend,
    pub(super) tenant: &'a TenantId,
    scope: &'a Scope,
    subject: &'a Subject,
    until: Timestamp,
    /// The same in microseconds.
    at: i64,
    /// The user with their other ids; none when it is no user.
    pub(super) users: Vec<UserId>,
    /// Runs of the user that began since.
    pub(super) spared: BTreeSet<TraceId>,
}

impl<'a> Target<'a> {
    pub(super) async fn of(
        backend: &'a ScopedBackend,
        forgetting: &'a Forgetting,
    ) -> Result<Self, StoreError> {
        let Forgetting { scope, subject, at, .. } = forgetting;
        let (tenant, until, at) = (&scope.tenant, *at, micros(*at));
        let users = match subject {
            Subject::User(user) => aliases::of(backend, tenant, user, until).await?,
            _ => Vec::new(),
        };
        let mut spared = BTreeSet::new();
        for user in &users {
            spared.extend(Runs { backend, tenant, user, at }.since().await?);
        }
        Ok(Self { backend, tenant, scope, subject, until, at, users, spared })
    }

    /// `None`: nothing is left.
    pub(super) async fn next(&self) -> Result<Option<Found>, StoreError> {
        match self.subject {
            Subject::User(_) => {
                self.entomb(self.users.iter().skip(1).cloned().map(Subject::User)).await?;
                for user in &self.users {
                    if let Some(found) = self.of_user(user).await? {
                        return Ok(Some(found));
                    }
                }
                self.merges().await
            }
            Subject::Run(trace) => self.of_runs(&[Run { trace: trace.clone(), visibility: None }]).await,
            Subject::Memory(kind, id) => self.of_memory(*kind, *id).await,
            Subject::Taught(trace) => self.taught(trace).await,
        }
    }

    async fn of_user(&self, user: &UserId) -> Result<Option<Found>, StoreError> {
        let runs = Runs { backend: self.backend, tenant: self.tenant, user, at: self.at };
        let some = runs.some(&self.spared).await?;
        // What others may see of a run names no user: what is still to come of it is known by the run.
        let shared = some.iter().filter(|run| run.visibility.as_deref() != Some(&runs.own()));
        self.entomb(shared.map(|run| Subject::Run(run.trace.clone()))).await?;
        match self.of_runs(&some).await? {
            None => self.belongings(user).await,
            found => Ok(found),
        }
    }

    /// How other ids came to be the user's, last: it is what tells that they are.
    async fn merges(&self) -> Result<Option<Found>, StoreError> {
        let merges = aliases::merges(self.backend, self.tenant, &self.users, self.until).await?;
        if !merges.is_empty()
            && let Some(found) = self.batch(Collection::Merges, aliases::moved(self.tenant, &merges)).await?
        {
            return Ok(Some(found));
        }
        self.batch(Collection::Merges, aliases::naming(self.tenant, &self.users, self.until)).await
    }

    async fn entomb(&self, subjects: impl Iterator<Item = Subject>) -> Result<(), StoreError> {
        let tombstones = subjects.map(|subject| {
            let forgotten = Forgotten { scope: self.scope.clone(), subject, at: self.until };
            (point::id(self.tenant, forgotten.subject.key()), Entomb(forgotten))
        });
        let tombstones: Vec<_> = tombstones.collect();
        swap(self.backend, Collection::Forgettings, self.tenant, tombstones).await.map(drop)
    }

    fn filter(&self) -> ScopedFilter {
        ScopedFilter::whole(self.tenant)
    }

    async fn of_runs(&self, runs: &[Run]) -> Result<Option<Found>, StoreError> {
        if runs.is_empty() {
            return Ok(None);
        }
        let traces = || runs.iter().map(|run| &run.trace);
        let everybody = Visibility::Tenant.keyword();
        let gone = |memory: &Memory, source: &TraceId| {
            let seen_by = memory.scope().visibility.keyword();
            // A run may have taught everybody before it was known whose it is.
            let of = |visibility: &String| *visibility == seen_by || seen_by == everybody;
            runs.iter().any(|run| run.trace == *source && run.visibility.as_ref().is_none_or(of))
        };
        for collection in DERIVED {
            let filter = self.filter().and(learned_from(traces()));
            if let Some(found) = self.derived(collection, filter, gone).await? {
                return Ok(Some(found));
            }
        }
        let said_by = self.filter().and(keywords(field::TRACE_ID, traces()));
        if let Some(found) = self.batch(Collection::Evidence, said_by).await? {
            return Ok(Some(found));
        }
        let experiences: Vec<MemoryId> =
            traces().map(|trace| MemoryId::experience(self.tenant, trace)).collect();
        if let Some(found) = self.attached(&ABOUT, &experiences).await? {
            return Ok(Some(found));
        }
        let of = |collection| self.filter().and(runs::of(collection, runs));
        if let Some(found) = self.steps(of(Collection::Steps)).await? {
            return Ok(Some(found));
        }
        let marks = traces().map(|trace| point::id(self.tenant, open_key(self.tenant, trace)));
        let rest = [
            (Collection::Evaluations, of(Collection::Evaluations)),
            (Collection::OpenTasks, self.filter().and_ids(marks)),
            // The start last: it is what tells whose run it is.
            (Collection::Events, of(Collection::Events).and_not(ends())),
            (Collection::Events, of(Collection::Events)),
            (Collection::Archive, of(Collection::Archive)),
            (Collection::Trajectories, of(Collection::Trajectories)),
        ];
        for (collection, filter) in rest {
            if let Some(found) = self.batch(collection, filter).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn steps(&self, filter: ScopedFilter) -> Result<Option<Found>, StoreError> {
        let walk = Walk::ById(None);
        let page = self.backend.scroll(Collection::Steps, filter, walk, BATCH, Show::Record).await?;
        let ids: Vec<_> = point::decode_readable::<Memory>(&page.points).iter().map(Memory::id).collect();
        if let Some(found) = self.attached(&ABOUT, &ids).await? {
            return Ok(Some(found));
        }
        found(Collection::Steps, &page.points)
    }

    /// What stands beside memories: evidence, reviews, former versions, feedback.
    pub(super) async fn attached(
        &self,
        places: &[Collection],
        memories: &[MemoryId],
    ) -> Result<Option<Found>, StoreError> {
        if memories.is_empty() {
            return Ok(None);
        }
        for collection in places {
            let filter = self.filter().and(keywords(field::MEMORY_ID, memories));
            if let Some(found) = self.batch(*collection, filter).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What only the user may see.
    async fn belongings(&self, user: &UserId) -> Result<Option<Found>, StoreError> {
        for collection in Collection::ALL {
            let filter = belongings(self.tenant, user, collection, self.at);
            let found = if self.spared.is_empty() {
                self.batch(collection, filter).await?
            } else if DERIVED.contains(&collection) {
                let rest = spare(filter.clone(), collection, &self.spared);
                match self.derived(collection, filter, |_, source| !self.spared.contains(source)).await? {
                    None if collection == Collection::Archive => self.batch(collection, rest).await?,
                    found => found,
                }
            } else {
                self.batch(collection, spare(filter, collection, &self.spared)).await?
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// What this run taught the whole tenant.
    async fn taught(&self, trace: &TraceId) -> Result<Option<Found>, StoreError> {
        for collection in DERIVED {
            let filter = shared(self.tenant).and(learned_from([trace]));
            if let Some(found) = self.derived(collection, filter, |_, source| source == trace).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    async fn of_memory(&self, kind: MemoryKind, id: MemoryId) -> Result<Option<Found>, StoreError> {
        let own = self.filter().and_ids([point::id(self.tenant, id.0)]);
        // The memory itself first: it must not be served any more.
        for collection in [Collection::of(kind), Collection::Archive] {
            if let Some(found) = self.batch(collection, own.clone()).await? {
                return Ok(Some(found));
            }
        }
        self.attached(&ABOUT, &[id]).await
    }

    pub(super) async fn batch(
        &self,
        collection: Collection,
        filter: ScopedFilter,
    ) -> Result<Option<Found>, StoreError> {
        let walk = Walk::ById(None);
        let page = self.backend.scroll(collection, filter, walk, BATCH, Show::Record).await?;
        let mut found = found(collection, &page.points)?;
        if let (Subject::Memory(MemoryKind::Fact, _), Some(found), Collection::Facts) =
            (self.subject, &mut found, collection)
        {
            for point in &page.points {
                let Some(Memory::Fact(fact)) = texts::memory(point) else { continue };
                let gap = |session| Gap {
                    visibility: fact.scope.visibility.clone(),
                    session,
                    at: fact.occurred_at,
                };
                found.batch.gaps.extend(fact.session.clone().map(gap));
            }
        }
        Ok(found)
    }
}

/// What the whole tenant may see.
pub(super) fn shared(tenant: &TenantId) -> ScopedFilter {
    ScopedFilter::whole(tenant).and(keywords(field::VISIBILITY, [Visibility::Tenant.keyword()]))
}

/// What of a collection only this user may see, as far as it was there by then.
pub(super) fn belongings(tenant: &TenantId, user: &UserId, collection: Collection, at: i64) -> ScopedFilter {
    let own = Visibility::User(user.clone()).keyword();
    let filter = ScopedFilter::whole(tenant).and(keywords(field::VISIBILITY, [own]));
    match arrival(collection) {
        Some(field) => filter.and_not(after(field, at)),
        None => filter,
    }
}

/// Without what is of runs that began since.
pub(super) fn spare(
    filter: ScopedFilter,
    collection: Collection,
    spared: &BTreeSet<TraceId>,
) -> ScopedFilter {
    match collection {
        Collection::Trajectories
        | Collection::Steps
        | Collection::Evaluations
        | Collection::Evidence
        | Collection::Archive => filter.and_not(keywords(field::TRACE_ID, spared)),
        _ => filter,
    }
}

/// When a record arrived, where a server said so. The others are told apart by their runs.
fn arrival(collection: Collection) -> Option<&'static str> {
    match collection {
        Collection::Events => Some(field::RECORDED_AT),
        Collection::Facts => Some(field::RETAINED_AT),
        Collection::Receipts | Collection::Evidence => Some(field::AT),
        Collection::OpenTasks => Some(field::TOUCHED_AT),
        _ => None,
    }
}

fn found(collection: Collection, points: &[RetrievedPoint]) -> Result<Option<Found>, StoreError> {
    let mut found = Found::default();
    points.iter().try_for_each(|point| add(&mut found, collection, point))?;
    Ok((!found.batch.is_empty()).then_some(found))
}

/// Has a point be deleted.
pub(super) fn add(
    found: &mut Found,
    collection: Collection,
    point: &RetrievedPoint,
) -> Result<(), StoreError> {
    let batch = &mut found.batch;
    collection.name().clone_into(&mut batch.collection);
    batch.points.push(point::from_point_id(point.id.clone())?);
    let shown = |field| point::text(&point.payload, field);
    if collection == Collection::Evidence {
        batch.recounted.extend(shown(field::MEMORY_ID).and_then(|id| MemoryId::parse(id).ok()));
    }
    let kind = MemoryKind::ALL.into_iter().find(|kind| Collection::of(*kind) == collection);
    let visibility = shown(field::VISIBILITY).and_then(|keyword| Visibility::parse(keyword).ok());
    if let Some(change) = kind.zip(visibility)
        && !batch.changed.contains(&change)
    {
        batch.changed.push(change);
    }
    found.texts.extend(texts::of(point));
    Ok(())
}
