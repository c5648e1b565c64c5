//! The only way to the backend. Every message that reads is built here, from a [`ScopedFilter`], and a
//! `ScopedFilter` is made from a viewer or a scope: a query over all tenants cannot be written. The two
//! exceptions are for upkeep and return nothing to a caller: [`ScopedBackend::idle_tasks`], which reads only that
//! tasks are open, [`ScopedBackend::old_receipts`], which reads only which points are to be deleted,
//! [`ScopedBackend::everything`], of which only is told whether a deleted text stands in it, and
//! [`reencode`](crate::reencode), which gives memories their vectors.

mod moving;
mod upkeep;

use std::{fmt, sync::Arc};

use hindsight_ports::{EmbedderId, StoreError, StoredVectors};
use hindsight_types::{Period, Scope, TenantId, Viewer, Visibility};
use qdrant_client::qdrant::{
    Condition, CountPoints, DeletePoints, Direction, Filter, OrderBy, PointId, PointStruct, Query,
    QueryPoints, Range, ScoredPoint, ScrollPoints, UpdateMode, UpsertPoints, VectorInput, VectorsSelector,
    WithPayloadSelector, WithVectorsSelector, query, vector_input, with_payload_selector,
    with_vectors_selector,
};
use uuid::Uuid;

use crate::{
    Scrolled, VectorBackend,
    collection::{BM25, Collection},
    field,
    fields::micros,
    point,
    prepared::Prepared,
    vectors::{Meta, State},
};

/// Which points of a collection may be read. It can only be narrowed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScopedFilter(Filter);

impl ScopedFilter {
    /// What `viewer` may read in `collection`. `None`: nothing there can be theirs.
    pub(crate) fn readable(viewer: &Viewer, collection: Collection) -> Option<Self> {
        let visibilities = match collection {
            Collection::Facts => vec![Visibility::User(viewer.user.clone()?)],
            _ => viewer.visibilities(),
        };
        Some(Self::tenant(&viewer.tenant).and(any_of(field::VISIBILITY, &visibilities)))
    }

    /// The records of exactly this scope.
    pub(crate) fn exactly(scope: &Scope) -> Self {
        let visibility = std::slice::from_ref(&scope.visibility);
        Self::tenant(&scope.tenant).and(any_of(field::VISIBILITY, visibility))
    }

    /// All records of the scope's tenant, for upkeep within the store: counting the ledger and merging a
    /// record with itself. What it reads is never returned to a caller.
    pub(crate) fn upkeep(scope: &Scope) -> Self {
        Self::tenant(&scope.tenant)
    }

    fn tenant(tenant: &TenantId) -> Self {
        Self(Filter::must([Condition::matches(field::TENANT, tenant.to_string())]))
    }

    #[must_use]
    pub(crate) fn and(mut self, condition: Condition) -> Self {
        self.0.must.push(condition);
        self
    }

    #[must_use]
    pub(crate) fn and_not(mut self, condition: Condition) -> Self {
        self.0.must_not.push(condition);
        self
    }

    #[must_use]
    pub(crate) fn and_ids(self, ids: impl IntoIterator<Item = Uuid>) -> Self {
        self.and(Condition::has_id(ids.into_iter().map(point::to_point_id)))
    }

    #[must_use]
    pub(crate) fn and_within(self, field: &str, period: Period) -> Self {
        let (from, until) = (micros(period.from) as f64, micros(period.until) as f64);
        self.and(Condition::range(field, Range { gte: Some(from), lt: Some(until), ..Default::default() }))
    }

    /// Only what is at `from` or newer and older than `until`, in microseconds.
    #[must_use]
    pub(crate) fn and_between(self, field: &str, from: Option<i64>, until: Option<i64>) -> Self {
        let (gte, lt) = (from.map(|n| n as f64), until.map(|n| n as f64));
        self.and(Condition::range(field, Range { gte, lt, ..Default::default() }))
    }

    /// Only what is older than `micros`.
    #[must_use]
    pub(crate) fn and_before(self, field: &str, micros: i64) -> Self {
        self.and(Condition::range(field, Range { lt: Some(micros as f64), ..Default::default() }))
    }
}

fn any_of(field: &str, visibilities: &[Visibility]) -> Condition {
    Condition::matches(field, visibilities.iter().map(Visibility::keyword).collect::<Vec<_>>())
}

/// Which stored points an upsert may overwrite. Points that do not exist are always inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite<'a> {
    Any,
    Never,
    /// Only those still at this revision.
    AtRevision(i64),
    /// Only those that were never written by compare-and-swap.
    Unrevised,
    /// Only those still as they were written with one of these stamps; `None`: without any.
    Written(&'a [Option<i64>]),
}

impl Overwrite<'_> {
    fn filter(self) -> Option<Filter> {
        let revision = |n| Some(Filter::must([Condition::matches(field::REVISION, n)]));
        match self {
            Self::Any => None,
            // No point has a negative revision.
            Self::Never => revision(-1),
            Self::AtRevision(n) => revision(n),
            Self::Unrevised => {
                let any = Range { gte: Some(0.0), ..Default::default() };
                Some(Filter::must_not([Condition::range(field::REVISION, any)]))
            }
            Self::Written(stamps) => Some(written(stamps)),
        }
    }
}

impl Overwrite<'_> {
    /// What is replaced as it was read is not brought back when it was deleted meanwhile.
    fn mode(self) -> Option<i32> {
        match self {
            Self::Any | Self::Never => None,
            Self::AtRevision(_) | Self::Unrevised | Self::Written(_) => Some(UpdateMode::UpdateOnly as i32),
        }
    }
}

/// Points that were written with one of these stamps.
fn written(stamps: &[Option<i64>]) -> Filter {
    let known: Vec<i64> = stamps.iter().copied().flatten().collect();
    let unknown = stamps.contains(&None).then(|| Condition::is_empty(field::STAMP));
    let known = (!known.is_empty()).then(|| Condition::matches(field::STAMP, known));
    Filter::should(known.into_iter().chain(unknown))
}

/// What one similarity search compares with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Similar<'a> {
    /// Under this name.
    Dense(&'a str, &'a [f32]),
    Sparse(&'a hindsight_ports::SparseVector),
}

impl<'a> Similar<'a> {
    fn using(self) -> &'a str {
        match self {
            Self::Dense(name, _) => name,
            Self::Sparse(_) => BM25,
        }
    }

    fn nearest(self) -> Query {
        let variant = match self {
            Self::Dense(_, v) => vector_input::Variant::Dense(v.to_vec().into()),
            Self::Sparse(v) => vector_input::Variant::Sparse(qdrant_client::qdrant::SparseVector {
                values: v.values.clone(),
                indices: v.indices.clone(),
            }),
        };
        Query { variant: Some(query::Variant::Nearest(VectorInput { variant: Some(variant) })) }
    }
}

/// What is read of a point beside its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show<'a> {
    Id,
    Record,
    /// The words, and the dense vector of this name.
    Encoding(Option<&'a str>),
    /// The record and every vector.
    All,
}

impl Show<'_> {
    fn payload(self) -> WithPayloadSelector {
        let enable = matches!(self, Self::Record | Self::All);
        WithPayloadSelector { selector_options: Some(with_payload_selector::SelectorOptions::Enable(enable)) }
    }

    fn vectors(self) -> WithVectorsSelector {
        use with_vectors_selector::SelectorOptions::{Enable, Include};
        let options = match self {
            Self::Id | Self::Record => Enable(false),
            Self::All => Enable(true),
            Self::Encoding(dense) => {
                let names = dense.into_iter().chain([BM25]).map(str::to_owned).collect();
                Include(VectorsSelector { names })
            }
        };
        WithVectorsSelector { selector_options: Some(options) }
    }
}

/// In which order a scroll walks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Walk {
    /// By point id, beginning with this one.
    ById(Option<Uuid>),
    /// By a time, newest first; the order among equal times is the engine's.
    NewestFirst(&'static str),
    /// The other way round.
    OldestFirst(&'static str),
}

pub(crate) struct ScopedBackend {
    backend: Arc<dyn VectorBackend>,
    prefix: String,
    prepared: Prepared,
}

impl fmt::Debug for ScopedBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedBackend").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl ScopedBackend {
    pub(crate) fn new(backend: Arc<dyn VectorBackend>, prefix: String) -> Self {
        Self { backend, prefix, prepared: Prepared::new() }
    }

    /// Notes what came of preparing. Success stays.
    pub(crate) fn note(&self, configured: &EmbedderId, outcome: &Result<State, StoreError>) {
        self.prepared.note(configured, outcome);
    }

    /// Notes what was read of the state of the vectors; `own`: this process has just turned it.
    pub(crate) fn learn(&self, state: &State, own: bool) {
        self.prepared.learn(state, own);
    }

    pub(crate) fn seen_generation(&self) -> Option<i64> {
        self.prepared.seen()
    }

    pub(crate) fn known_vectors(&self) -> Option<StoredVectors> {
        self.prepared.shown()
    }

    /// Reads the state of the vectors if it is changing and was not read lately. That it cannot be read now shows
    /// in the request that follows.
    pub(crate) async fn follow(&self) {
        if self.prepared.is_stale() {
            self.refresh().await;
        }
    }

    /// `true`: the dense vectors have another name now.
    pub(crate) async fn refresh(&self) -> bool {
        let before = self.dense();
        if let Ok(state) = Meta::of(self).load().await {
            self.learn(&state, false);
        }
        self.dense() != before
    }

    fn ready(&self) -> Result<(), StoreError> {
        self.prepared.check()
    }

    /// For what makes and changes collections, and for giving memories their vectors; neither returns a record.
    pub(crate) fn raw(&self) -> (&dyn VectorBackend, &str) {
        (&*self.backend, &self.prefix)
    }

    /// The name of the dense vector that this process's embedder makes: to be searched, read and written under
    /// this name and no other. It changes when the store changes its embedder, so it is asked for anew with
    /// every request. `None`: the store has no vectors of this embedder; a dense search finds nothing, and what
    /// is written is given its vector later.
    pub(crate) fn dense(&self) -> Option<Arc<str>> {
        self.prepared.dense()
    }

    fn name(&self, collection: Collection) -> String {
        format!("{}{}", self.prefix, collection.name())
    }

    pub(crate) async fn upsert(
        &self,
        collection: Collection,
        points: Vec<PointStruct>,
        overwrite: Overwrite<'_>,
    ) -> Result<(), StoreError> {
        let request = UpsertPoints {
            collection_name: self.name(collection),
            wait: Some(true),
            points,
            update_filter: overwrite.filter(),
            update_mode: overwrite.mode(),
            ..Default::default()
        };
        self.ready()?;
        self.backend.upsert(request).await
    }

    /// The nearest points with their scores.
    pub(crate) async fn nearest(
        &self,
        collection: Collection,
        to: Similar<'_>,
        filter: ScopedFilter,
        limit: usize,
        show: Show<'_>,
    ) -> Result<Vec<ScoredPoint>, StoreError> {
        let request = QueryPoints {
            collection_name: self.name(collection),
            query: Some(to.nearest()),
            using: Some(to.using().to_owned()),
            filter: Some(filter.0),
            limit: Some(limit as u64),
            with_payload: Some(show.payload()),
            with_vectors: Some(show.vectors()),
            ..Default::default()
        };
        self.ready()?;
        self.backend.query(request).await
    }

    pub(crate) async fn scroll(
        &self,
        collection: Collection,
        filter: ScopedFilter,
        walk: Walk,
        limit: usize,
        show: Show<'_>,
    ) -> Result<Scrolled, StoreError> {
        let (offset, order_by) = match walk {
            Walk::ById(offset) => (offset.map(point::to_point_id), None),
            Walk::NewestFirst(field) => (None, Some(by_time(field, Direction::Desc))),
            Walk::OldestFirst(field) => (None, Some(by_time(field, Direction::Asc))),
        };
        let request = ScrollPoints {
            collection_name: self.name(collection),
            filter: Some(filter.0),
            offset,
            limit: Some(u32::try_from(limit).unwrap_or(u32::MAX)),
            with_payload: Some(show.payload()),
            with_vectors: Some(show.vectors()),
            order_by,
            ..Default::default()
        };
        self.ready()?;
        self.backend.scroll(request).await
    }

    /// Open tasks of all tenants that were last touched before `micros`, by point id from `offset` on.
    pub(crate) async fn idle_tasks(
        &self,
        micros: i64,
        offset: Option<Uuid>,
        limit: usize,
    ) -> Result<Scrolled, StoreError> {
        let idle = ScopedFilter(Filter::default()).and_before(field::TOUCHED_AT, micros);
        self.scroll(Collection::OpenTasks, idle, Walk::ById(offset), limit, Show::Record).await
    }

    /// The points of receipts of all tenants from before `micros`, by point id from `offset` on, and where the
    /// next ones begin.
    pub(crate) async fn old_receipts(
        &self,
        micros: i64,
        offset: Option<Uuid>,
        limit: usize,
    ) -> Result<(Vec<Uuid>, Option<Uuid>), StoreError> {
        let old = ScopedFilter(Filter::default()).and_before(field::AT, micros);
        let found = self.scroll(Collection::Receipts, old, Walk::ById(offset), limit, Show::Id).await?;
        let ids = found.points.into_iter().map(|p| point::from_point_id(p.id));
        Ok((ids.collect::<Result<_, _>>()?, next_id(found.next)?))
    }

    /// The points of all tenants, by point id from `offset` on: to see whether a text stands in any of them.
    pub(crate) async fn everything(
        &self,
        collection: Collection,
        offset: Option<Uuid>,
        limit: usize,
    ) -> Result<Scrolled, StoreError> {
        let all = ScopedFilter(Filter::default());
        self.scroll(collection, all, Walk::ById(offset), limit, Show::Record).await
    }

    /// Writes the files of a collection anew; `false`: they are a server's.
    pub(crate) async fn vacuum(&self, collection: Collection) -> Result<bool, StoreError> {
        self.ready()?;
        self.backend.vacuum(&self.name(collection)).await
    }

    pub(crate) async fn delete(&self, collection: Collection, ids: &[Uuid]) -> Result<(), StoreError> {
        let ids = ids.iter().map(|id| point::to_point_id(*id)).collect::<Vec<_>>();
        let request = DeletePoints {
            collection_name: self.name(collection),
            wait: Some(true),
            points: Some(ids.into()),
            ..Default::default()
        };
        self.ready()?;
        self.backend.delete(request).await
    }

    /// Deletes whatever matches.
    pub(crate) async fn delete_matching(
        &self,
        collection: Collection,
        filter: ScopedFilter,
    ) -> Result<(), StoreError> {
        let request = DeletePoints {
            collection_name: self.name(collection),
            wait: Some(true),
            points: Some(filter.0.into()),
            ..Default::default()
        };
        self.ready()?;
        self.backend.delete(request).await
    }

    pub(crate) async fn count(
        &self,
        collection: Collection,
        filter: ScopedFilter,
    ) -> Result<u64, StoreError> {
        let request = CountPoints {
            collection_name: self.name(collection),
            filter: Some(filter.0),
            exact: Some(true),
            ..Default::default()
        };
        self.ready()?;
        self.backend.count(request).await
    }
}

fn by_time(field: &str, direction: Direction) -> OrderBy {
    OrderBy { key: field.to_owned(), direction: Some(direction as i32), start_from: None }
}

/// The id of a scrolled or retrieved point.
pub(crate) fn next_id(next: Option<PointId>) -> Result<Option<Uuid>, StoreError> {
    next.map(|id| point::from_point_id(Some(id))).transpose()
}

#[cfg(test)]
mod tests;
