use std::collections::HashMap;

use futures::future::try_join3;
use hindsight_ports::{Hit, HitSearch, StoreError};
use hindsight_types::{FactStatus, Memory, MemoryKind, Viewer};
use qdrant_client::qdrant::Condition;
use uuid::Uuid;

use crate::{
    collection::Collection,
    field, point,
    scoped::{ScopedBackend, ScopedFilter, Show, Similar, Walk},
    stored::OBSOLETE,
};

/// Most candidates per arm, and most ids a search may be narrowed to.
const LARGEST: usize = 1_000;

type Scores = HashMap<Uuid, f32>;

/// Asks each arm for its candidates, then scores with the other arm what only one of them found.
pub(crate) async fn search(
    backend: &ScopedBackend,
    viewer: &Viewer,
    search: &HitSearch,
) -> Result<Vec<Hit>, StoreError> {
    check(search)?;
    let collection = Collection::of(search.kind);
    let Some(filter) = ScopedFilter::readable(viewer, collection) else { return Ok(Vec::new()) };
    let filter = narrowed(filter, viewer, search);
    let name = backend.dense();
    let name = name.as_deref().filter(|_| !search.encoding.dense.is_empty());
    let dense = name.map(|name| Similar::Dense(name, &search.encoding.dense));
    let sparse = &search.encoding.sparse;
    let sparse = (!sparse.indices.is_empty()).then_some(Similar::Sparse(sparse));
    let one = async |arm: Option<Similar<'_>>, filter: ScopedFilter, limit: usize| match arm {
        Some(arm) if limit > 0 => {
            let points = backend.nearest(collection, arm, filter, limit, Show::Id).await?;
            points.into_iter().map(|p| Ok((point::from_point_id(p.id)?, p.score))).collect()
        }
        _ => Ok(Vec::new()),
    };

    let (by_meaning, by_words) = futures::try_join!(
        one(dense, filter.clone(), search.limit),
        one(sparse, filter.clone(), search.limit)
    )?;
    let mut scores = [by_meaning, by_words].map(|found| found.into_iter().collect::<Scores>());
    let mut ids: Vec<Uuid> = scores.iter().flat_map(HashMap::keys).copied().collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(Vec::new());
    }

    let missing = [missing(&ids, &scores[0]), missing(&ids, &scores[1])];
    let only = |ids: &[Uuid]| filter.clone().and_ids(ids.iter().copied());
    let (more_meaning, more_words, found) = try_join3(
        one(dense, only(&missing[0]), missing[0].len()),
        one(sparse, only(&missing[1]), missing[1].len()),
        backend.scroll(collection, only(&ids), Walk::ById(None), ids.len(), Show::Record),
    )
    .await?;
    scores[0].extend(more_meaning);
    scores[1].extend(more_words);

    let tenant = &viewer.tenant;
    let hits = point::decode_all(viewer, &found.points).into_iter().map(|memory: Memory| {
        let id = point::id(tenant, memory.id().0);
        // What an arm does not find even among these has nothing in common with the query.
        let score =
            |arm: Option<Similar<'_>>, scores: &Scores| arm.map(|_| scores.get(&id).copied().unwrap_or(0.0));
        Hit { dense: score(dense, &scores[0]), sparse: score(sparse, &scores[1]), memory }
    });
    Ok(sorted(hits.filter(|hit| !is_obsolete(&hit.memory)).collect()))
}

fn check(search: &HitSearch) -> Result<(), StoreError> {
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
    point::check_encoding(&search.encoding)
}

fn narrowed(mut filter: ScopedFilter, viewer: &Viewer, search: &HitSearch) -> ScopedFilter {
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

fn missing(ids: &[Uuid], scores: &Scores) -> Vec<Uuid> {
    ids.iter().copied().filter(|id| !scores.contains_key(id)).collect()
}

/// A fact may become obsolete between the two rounds.
fn is_obsolete(memory: &Memory) -> bool {
    matches!(memory, Memory::Fact(fact) if fact.status == FactStatus::Obsolete)
}

/// Nearest first by meaning, then by words, then by id: the same answer every time. Ranking is not done here.
fn sorted(mut hits: Vec<Hit>) -> Vec<Hit> {
    let key = |score: Option<f32>| score.unwrap_or(f32::NEG_INFINITY);
    hits.sort_by(|a, b| {
        (key(b.dense).total_cmp(&key(a.dense)))
            .then_with(|| key(b.sparse).total_cmp(&key(a.sparse)))
            .then_with(|| a.memory.id().cmp(&b.memory.id()))
    });
    hits
}
