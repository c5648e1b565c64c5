//! Moving everything that an id owns.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use hindsight_codec::RecordBody;
use hindsight_ports::{Encoded, StoreError};
use hindsight_types::{Memory, MemoryVersion, MergeState, Moved, Scope, SubjectMerge, Timestamp};
use qdrant_client::qdrant::{Condition, Filter, PointStruct, RetrievedPoint};
use uuid::Uuid;

use super::{
    log::{self, Log},
    rescope::Route,
    state,
};
use crate::{
    collection::Collection,
    field, ledger, point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk, next_id},
    stored::Stored,
    swap::{Change, Round, swap},
    versions,
    write::{self, in_batches},
};

/// Records moved at a time: with a record of at most about 1.4 MB a page stays bounded.
pub(super) const PAGE: usize = 32;
/// Looks at everything, for what is written meanwhile.
pub(super) const PASSES: usize = 16;
/// What names others comes after what it names.
const FIRST: [Collection; 4] =
    [Collection::Facts, Collection::Versions, Collection::Lessons, Collection::FailurePatterns];

/// A record as it was read.
pub(super) struct Read {
    pub(super) point: RetrievedPoint,
    pub(super) body: RecordBody,
}

/// Where a person's records can be, in the order in which they move.
pub(super) fn collections() -> impl Iterator<Item = Collection> {
    let rest = |c: &Collection| {
        !FIRST.contains(c)
            && !matches!(c, Collection::Compactions | Collection::Forgettings | Collection::Merges)
    };
    FIRST.into_iter().chain(Collection::ALL.into_iter().filter(rest))
}

pub(super) async fn carry(
    backend: &ScopedBackend,
    merge: &SubjectMerge,
    now: Timestamp,
) -> Result<SubjectMerge, StoreError> {
    let mut log = None;
    for _ in 0..PASSES {
        let standing = state::read(backend, merge).await?;
        if standing.id() != merge.id() || !standing.stands(now) {
            return Ok(standing);
        }
        let occupied = occupied(backend, &merge.source()).await?;
        let log = match &mut log {
            Some(log) => log,
            None if occupied.is_empty() => &mut Log::default(),
            None => log.insert(Log::read(backend, merge).await?),
        };
        let moved = pass(backend, merge, &occupied, log).await?;
        if moved == 0 {
            if !occupied.is_empty() {
                tracing::error!(from = %merge.from, "records that cannot be read stay where they are");
            }
            return match standing.state {
                MergeState::Merging => state::set(backend, &standing, MergeState::Merged).await,
                _ => Ok(standing),
            };
        }
    }
    Err(StoreError::Unavailable(format!("`{}` is written to all the time; try again", merge.from)))
}

/// The collections in which a scope has anything.
async fn occupied(backend: &ScopedBackend, scope: &Scope) -> Result<Vec<Collection>, StoreError> {
    let look = |collection| async move {
        let filter = ScopedFilter::exactly(scope);
        let found = backend.scroll(collection, filter, Walk::ById(None), 1, Show::Id).await?;
        Ok::<_, StoreError>((!found.points.is_empty()).then_some(collection))
    };
    Ok(try_join_all(collections().map(look)).await?.into_iter().flatten().collect())
}

/// Moves what is there; how many records that were.
async fn pass(
    backend: &ScopedBackend,
    merge: &SubjectMerge,
    occupied: &[Collection],
    log: &mut Log,
) -> Result<usize, StoreError> {
    let (source, target) = (merge.source(), merge.target());
    let route = |log: &Log| {
        Route::new(source.clone(), target.clone(), log.names.clone())
            .ok_or_else(|| StoreError::Corrupt(format!("the merge of `{}` is not of users", merge.from)))
    };
    // The new names of memories are known before anything that names them moves.
    let named = route(log)?;
    for collection in FIRST.into_iter().filter(|c| c.has_vectors() && occupied.contains(c)) {
        let mut pages = Pages::of(backend, collection, &source);
        while let Some(page) = pages.next(Show::Record).await? {
            let renamed = page.iter().filter_map(|read| match &read.body {
                RecordBody::Memory(memory) => {
                    let to = named.renamed(memory)?;
                    Some(Moved::Renamed { from: memory.id(), to })
                }
                _ => None,
            });
            log.note(backend, merge, renamed.collect::<Vec<_>>()).await?;
        }
    }
    let route = route(log)?;
    let mut moved = 0;
    for collection in collections().filter(|c| occupied.contains(c)) {
        let mut pages = Pages::of(backend, collection, &source);
        while let Some(page) = pages.next(show(collection)).await? {
            let traces = page.iter().flat_map(|read| log::traces_of(&read.body, &route));
            log.note(backend, merge, traces.collect::<Vec<_>>()).await?;
            moved += shift(backend, collection, &route, page).await?;
        }
    }
    Ok(moved)
}

pub(super) fn show(collection: Collection) -> Show<'static> {
    if collection.has_vectors() { Show::All } else { Show::Record }
}

/// The records of a scope in a collection, page by page. One that cannot be read is left out.
pub(super) struct Pages<'a> {
    backend: &'a ScopedBackend,
    collection: Collection,
    filter: ScopedFilter,
    from: Option<Option<Uuid>>,
}

impl<'a> Pages<'a> {
    pub(super) fn of(backend: &'a ScopedBackend, collection: Collection, scope: &Scope) -> Self {
        Self { backend, collection, filter: ScopedFilter::exactly(scope), from: Some(None) }
    }

    pub(super) async fn next(&mut self, show: Show<'_>) -> Result<Option<Vec<Read>>, StoreError> {
        let Some(from) = self.from.take() else { return Ok(None) };
        let walk = Walk::ById(from);
        let found = self.backend.scroll(self.collection, self.filter.clone(), walk, PAGE, show).await?;
        self.from = next_id(found.next)?.map(Some);
        let readable = |point: RetrievedPoint| match point::decode(&point) {
            Ok(body) => Some(Read { point, body }),
            Err(error) => {
                tracing::error!(%error, "a stored record does not move");
                None
            }
        };
        Ok(Some(found.points.into_iter().filter_map(readable).collect()))
    }
}

/// Moves records along a route; how many are on their way.
pub(super) async fn shift(
    backend: &ScopedBackend,
    collection: Collection,
    route: &Route,
    page: Vec<Read>,
) -> Result<usize, StoreError> {
    let (mut stay, mut leave) = (Vec::new(), Vec::new());
    for read in page {
        let Some(next) = route.record(read.body.clone()) else { continue };
        let renamed = next.key() != read.body.key();
        if renamed { leave.push((read, next)) } else { stay.push((read, next)) }
    }
    let count = stay.len() + leave.len();
    rescope(backend, collection, route, stay).await?;
    rename(backend, collection, route, leave).await?;
    Ok(count)
}

/// Records that keep their keys: they get another owner where they are.
async fn rescope(
    backend: &ScopedBackend,
    collection: Collection,
    route: &Route,
    records: Vec<(Read, RecordBody)>,
) -> Result<(), StoreError> {
    if records.is_empty() {
        return Ok(());
    }
    if collection.has_vectors() {
        let changes = records.iter().map(|(read, _)| {
            let id = point::id(&route.source.tenant, read.body.key());
            (id, Rescope(route))
        });
        swap(backend, collection, &route.source.tenant, changes.collect::<Vec<_>>()).await?;
        return Ok(());
    }
    let as_read = as_read(collection, records.iter().map(|(read, _)| &read.point));
    let points = records.iter().map(|(read, next)| over(&read.point, next)).collect();
    backend.replace(collection, &route.source, points, as_read).await
}

struct Rescope<'a>(&'a Route);

impl Change for Rescope<'_> {
    async fn next(
        &mut self,
        _: &Round<'_>,
        stored: Option<&RetrievedPoint>,
    ) -> Result<Option<PointStruct>, StoreError> {
        let Some(stored) = stored else { return Ok(None) };
        let body: RecordBody = point::decode(stored)?;
        if *body.scope() != self.0.source {
            return Ok(None);
        }
        Ok(self.0.record(body).map(|next| over(stored, &next)))
    }
}

/// The point of `next` with whatever else `stored` has.
pub(super) fn over(stored: &RetrievedPoint, next: &RecordBody) -> PointStruct {
    let mut point = point::of(next);
    let mut payload = stored.payload.clone();
    payload.extend(point.payload);
    point.payload = payload;
    point.vectors = point::as_stored(stored.vectors.clone());
    if stored.payload.contains_key(field::STAMP) {
        write::stamp(&mut point);
    }
    point
}

/// Records whose keys are made of their owner: written under the new one, then deleted.
async fn rename(
    backend: &ScopedBackend,
    collection: Collection,
    route: &Route,
    records: Vec<(Read, RecordBody)>,
) -> Result<(), StoreError> {
    if records.is_empty() {
        return Ok(());
    }
    let dense = backend.dense();
    let (mut memories, mut versions, mut lines, mut others) = (vec![], vec![], vec![], vec![]);
    for (read, next) in &records {
        match (collection, next) {
            (Collection::Archive, _) => others.push(over(&read.point, next)),
            (_, RecordBody::Memory(memory)) => {
                let encoding = point::encoding(read.point.vectors.clone(), dense.as_deref());
                memories.push(Encoded { value: memory.clone(), encoding });
            }
            (_, RecordBody::Version(MemoryVersion(memory))) => versions.push(MemoryVersion(memory.clone())),
            (_, RecordBody::Evidence(line)) => lines.push(line.clone()),
            _ => others.push(over(&read.point, next)),
        }
    }
    write::memories(backend, &memories).await?;
    versions::keep(backend, &versions).await?;
    ledger::append(backend, &lines).await?;
    in_batches(backend, collection, others, Overwrite::Never).await?;
    let reads: Vec<Read> = records.into_iter().map(|(read, _)| read).collect();
    discard(backend, collection, &route.source, &reads).await
}

/// Deletes records as they were read.
pub(super) async fn discard(
    backend: &ScopedBackend,
    collection: Collection,
    source: &Scope,
    records: &[Read],
) -> Result<(), StoreError> {
    let ids: Vec<Uuid> = records.iter().map(|r| point::id(&source.tenant, r.body.key())).collect();
    let as_read = as_read(collection, records.iter().map(|r| &r.point));
    backend.remove(collection, source, &ids, as_read).await
}

/// Holds of points that nobody wrote to since they were read.
fn as_read<'a>(collection: Collection, points: impl Iterator<Item = &'a RetrievedPoint>) -> Condition {
    let field = match collection {
        Collection::Facts => field::STAMP,
        Collection::Evidence => field::REVISION,
        other if other.has_vectors() => field::REVISION,
        other => other.time_field(),
    };
    let values: Vec<Option<i64>> = points.map(|p| point::integer(&p.payload, field)).collect();
    let known: Vec<i64> = values.iter().copied().flatten().collect();
    let without = values.contains(&None).then(|| Condition::is_empty(field));
    let known = (!known.is_empty()).then(|| Condition::matches(field, known));
    Condition::from(Filter::should(known.into_iter().chain(without)))
}

/// Former names by present ones.
pub(super) fn inverse(log: &Log) -> BTreeMap<hindsight_types::MemoryId, hindsight_types::MemoryId> {
    log.names.iter().map(|(from, to)| (*to, *from)).collect()
}

/// A memory of a record that holds one in the open.
pub(super) fn memory(body: &RecordBody) -> Option<&Memory> {
    match body {
        RecordBody::Memory(memory) => Some(memory),
        _ => None,
    }
}
