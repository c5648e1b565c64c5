//! Candidates of one kind by one arm, and the memories of those that are wanted.

use std::cmp::Reverse;

use hindsight_ports::{Arm, Candidate, CandidateId, Fetched, Search, StoreError, store::MOST_NAMES};
use hindsight_text::entity_key;
use hindsight_types::{FactStatus, Memory, MemoryKind, Period, Viewer};
use qdrant_client::qdrant::{Condition, RetrievedPoint, order_value};

use crate::{
    collection::Collection,
    field, point,
    scoped::{ScopedBackend, ScopedFilter, Show, Similar, Walk},
    stored::OBSOLETE,
};

/// Most candidates per arm, ids a search may be narrowed to, and memories fetched at once.
const LARGEST: usize = 1_000;

pub(crate) async fn search(
    backend: &ScopedBackend,
    viewer: &Viewer,
    search: &Search,
) -> Result<Vec<Candidate>, StoreError> {
    check(search)?;
    let collection = Collection::of(search.kind);
    let Some(filter) = ScopedFilter::readable(viewer, collection) else { return Ok(Vec::new()) };
    let filter = narrowed(filter, viewer, search);
    if search.limit == 0 {
        return Ok(Vec::new());
    }
    let dense = backend.dense();
    let by = Arms { backend, collection, dense: dense.as_deref(), limit: search.limit };
    match &search.arm {
        Arm::Dense(vector) if vector.is_empty() => Ok(Vec::new()),
        Arm::Dense(vector) => match by.dense {
            Some(name) => by.similarity(Similar::Dense(name, vector), filter).await,
            None => Ok(Vec::new()),
        },
        Arm::Bm25(vector) if vector.indices.is_empty() => Ok(Vec::new()),
        Arm::Bm25(vector) => by.similarity(Similar::Sparse(vector), filter).await,
        Arm::Entities(names) if names.is_empty() || !collection.has_entities() => Ok(Vec::new()),
        Arm::Entities(names) => by.time(filter.and(names_any(names))).await,
        Arm::Period(period) => by.time(within(filter, collection, *period)).await,
    }
}

/// The memories of candidates, read from the records of those alone.
pub(crate) async fn fetch(
    backend: &ScopedBackend,
    viewer: &Viewer,
    kind: MemoryKind,
    ids: &[CandidateId],
) -> Result<Vec<Fetched>, StoreError> {
    if ids.len() > LARGEST {
        return Err(StoreError::Rejected(format!("ids: more than the {LARGEST} accepted")));
    }
    let collection = Collection::of(kind);
    let Some(filter) = ScopedFilter::readable(viewer, collection) else { return Ok(Vec::new()) };
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let filter = filter.and_ids(ids.iter().map(|id| id.0));
    let found = backend.scroll(collection, filter, Walk::ById(None), ids.len(), Show::Record).await?;
    let memories: Vec<Memory> = point::decode_all(viewer, &found.points);
    let fetched = memories.into_iter().map(|memory| {
        let id = CandidateId(point::id(&viewer.tenant, memory.id().0));
        Fetched { id, memory }
    });
    // A fact may become obsolete between a search and this.
    Ok(fetched.filter(|fetched| !is_obsolete(&fetched.memory)).collect())
}

struct Arms<'a> {
    backend: &'a ScopedBackend,
    collection: Collection,
    /// The name of the dense vectors, the same for the search and for what it reads.
    dense: Option<&'a str>,
    limit: usize,
}

impl Arms<'_> {
    async fn similarity(self, to: Similar<'_>, filter: ScopedFilter) -> Result<Vec<Candidate>, StoreError> {
        let points =
            self.backend.nearest(self.collection, to, filter, self.limit, Show::Encoding(self.dense)).await?;
        let candidates = points.into_iter().map(|p| {
            let id = CandidateId(point::from_point_id(p.id)?);
            Ok(Candidate { id, score: p.score, encoding: point::encoding(p.vectors, self.dense) })
        });
        let mut candidates = candidates.collect::<Result<Vec<_>, StoreError>>()?;
        candidates.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        Ok(candidates)
    }

    /// Newest first.
    async fn time(self, filter: ScopedFilter) -> Result<Vec<Candidate>, StoreError> {
        let walk = Walk::NewestFirst(self.collection.time_field());
        let found = self
            .backend
            .scroll(self.collection, filter, walk, self.limit, Show::Encoding(self.dense))
            .await?;
        let candidates = found.points.into_iter().map(|p| {
            let at = Reverse(order(&p));
            let id = CandidateId(point::from_point_id(p.id)?);
            Ok((at, Candidate { id, score: 1.0, encoding: point::encoding(p.vectors, self.dense) }))
        });
        let mut candidates = candidates.collect::<Result<Vec<_>, StoreError>>()?;
        candidates.sort_by_key(|(at, candidate)| (*at, candidate.id));
        Ok(candidates.into_iter().map(|(_, candidate)| candidate).collect())
    }
}

/// The time by which the engine ordered a point.
pub(crate) fn order(point: &RetrievedPoint) -> i64 {
    match point.order_value.as_ref().and_then(|value| value.variant.as_ref()) {
        Some(order_value::Variant::Int(micros)) => *micros,
        Some(order_value::Variant::Float(micros)) => *micros as i64,
        None => i64::MIN,
    }
}

fn check(search: &Search) -> Result<(), StoreError> {
    let refused = |what: String| Err(StoreError::Rejected(what));
    if search.limit > LARGEST {
        return refused(format!("limit: {} is more than the {LARGEST} accepted", search.limit));
    }
    if search.ids.as_ref().is_some_and(|ids| ids.len() > LARGEST) {
        return refused(format!("ids: more than the {LARGEST} accepted"));
    }
    if search.action_name.is_some() && !Collection::of(search.kind).has_action_name() {
        let kind = search.kind.as_str();
        return refused(format!("action_name: a {kind} has none; search failure patterns or steps"));
    }
    match &search.arm {
        Arm::Dense(vector) => point::check_dense(vector),
        Arm::Bm25(vector) => point::check_sparse(vector),
        Arm::Entities(names) if names.len() > MOST_NAMES => {
            refused(format!("entities: more than the {MOST_NAMES} accepted"))
        }
        Arm::Entities(_) | Arm::Period(_) => Ok(()),
    }
}

fn narrowed(mut filter: ScopedFilter, viewer: &Viewer, search: &Search) -> ScopedFilter {
    if let Some(action) = &search.action_name {
        filter = filter.and(Condition::matches(field::ACTION_NAME, action.clone()));
    }
    if let Some(ids) = &search.ids {
        filter = filter.and_ids(ids.iter().map(|id| point::id(&viewer.tenant, id.0)));
    }
    if search.kind == MemoryKind::Fact {
        filter = filter.and_not(Condition::matches(field::STATUS, OBSOLETE.to_owned()));
    }
    filter
}

/// Memories that were written before names were indexed in one form are found as they were written.
fn names_any(names: &[String]) -> Condition {
    let mut keys: Vec<String> = names.iter().flat_map(|name| [entity_key(name), name.clone()]).collect();
    keys.sort_unstable();
    keys.dedup();
    Condition::matches(field::ENTITIES, keys)
}

fn within(filter: ScopedFilter, collection: Collection, period: Period) -> ScopedFilter {
    filter.and_within(collection.time_field(), period)
}

fn is_obsolete(memory: &Memory) -> bool {
    matches!(memory, Memory::Fact(fact) if fact.status == FactStatus::Obsolete)
}
