//! Writing records: in batches, replaced by id, kept as they are, or merged.

use std::collections::BTreeMap;

use hindsight_ports::{Encoded, Encoding, StoreError};
use hindsight_types::{Memory, Scope, Verdict};
use prost::Message;
use qdrant_client::qdrant::{Condition, PointStruct};
use uuid::Uuid;

use crate::{
    collection::Collection,
    field,
    merge::merge,
    point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Walk},
    stored::{Stored, verdict},
};

/// Most points in one message.
const POINTS: usize = 128;
/// A message is closed when it weighs more than this, so that it stays below a server's limit.
const BYTES: usize = 8 * 1024 * 1024;
/// Rounds of compare-and-swap. In each round some writer succeeds, so this many must be at it to fail.
const ROUNDS: usize = 32;

/// Writes points of one collection in messages of bounded size.
pub(crate) async fn in_batches(
    backend: &ScopedBackend,
    collection: Collection,
    points: Vec<PointStruct>,
    overwrite: Overwrite,
) -> Result<(), StoreError> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for point in points {
        let weight = point.encoded_len();
        if batch.len() == POINTS || (!batch.is_empty() && bytes + weight > BYTES) {
            backend.upsert(collection, std::mem::take(&mut batch), overwrite).await?;
            bytes = 0;
        }
        bytes += weight;
        batch.push(point);
    }
    if batch.is_empty() { Ok(()) } else { backend.upsert(collection, batch, overwrite).await }
}

/// Writes records that have no vectors.
pub(crate) async fn records<T: Stored>(
    backend: &ScopedBackend,
    collection: Collection,
    records: &[T],
    overwrite: Overwrite,
) -> Result<(), StoreError> {
    in_batches(backend, collection, records.iter().map(point::of).collect(), overwrite).await
}

/// Writes memories of any kinds.
pub(crate) async fn memories(
    backend: &ScopedBackend,
    memories: &[Encoded<Memory>],
) -> Result<(), StoreError> {
    let mut by_collection: BTreeMap<Collection, Vec<&Encoded<Memory>>> = BTreeMap::new();
    for memory in memories {
        check(&memory.value)?;
        point::check_encoding(&memory.encoding)?;
        by_collection.entry(memory.value.collection()).or_default().push(memory);
    }
    for (collection, memories) in by_collection {
        if collection.is_merged() {
            merged(backend, collection, memories).await?;
        } else {
            let points = memories.into_iter().map(encoded).collect();
            in_batches(backend, collection, points, Overwrite::Any).await?;
        }
    }
    Ok(())
}

fn check(memory: &Memory) -> Result<(), StoreError> {
    match memory {
        Memory::Fact(fact) if fact.scope.user().is_none() => {
            Err(StoreError::Rejected(format!("fact {}: scope: must be of one user", fact.id)))
        }
        _ => Ok(()),
    }
}

fn encoded(memory: &Encoded<Memory>) -> PointStruct {
    PointStruct { vectors: point::vectors(&memory.encoding), ..point::of(&memory.value) }
}

/// A merged record as it is stored.
struct Current {
    memory: Memory,
    encoding: Encoding,
    revision: i64,
}

async fn merged(
    backend: &ScopedBackend,
    collection: Collection,
    memories: Vec<&Encoded<Memory>>,
) -> Result<(), StoreError> {
    let mut by_tenant: BTreeMap<&str, BTreeMap<Uuid, Encoded<Memory>>> = BTreeMap::new();
    for memory in memories {
        let scope = memory.value.scope();
        let pending = by_tenant.entry(scope.tenant.as_str()).or_default();
        let id = point::id(&scope.tenant, memory.value.key());
        let joined = match pending.get(&id) {
            Some(other) => join(&other.value, &other.encoding, memory)?,
            // Joined with itself a record is in the form in which it is compared.
            None => join(&memory.value, &memory.encoding, memory)?,
        };
        pending.insert(id, joined);
    }
    for pending in by_tenant.into_values() {
        let mut pending = pending.into_iter().peekable();
        while pending.peek().is_some() {
            compare_and_swap(backend, collection, pending.by_ref().take(POINTS).collect()).await?;
        }
    }
    Ok(())
}

/// Reads, merges and writes what has not changed since, until nothing of `pending` is missing from the store.
async fn compare_and_swap(
    backend: &ScopedBackend,
    collection: Collection,
    mut pending: BTreeMap<Uuid, Encoded<Memory>>,
) -> Result<(), StoreError> {
    for _ in 0..ROUNDS {
        let Some(scope) = pending.values().next().map(|m| m.value.scope().clone()) else { return Ok(()) };
        let stored = current(backend, collection, &scope, pending.keys().copied()).await?;
        let mut writes: BTreeMap<Option<i64>, Vec<PointStruct>> = BTreeMap::new();
        let mut done = Vec::new();
        for (id, mine) in &pending {
            let now = stored.get(id);
            let mut next = match now {
                Some(now) => join(&now.memory, &now.encoding, mine)?,
                None => mine.clone(),
            };
            recount(backend, &mut next.value).await?;
            if now.is_some_and(|now| now.memory == next.value) {
                done.push(*id);
                continue;
            }
            let revision = now.map(|now| now.revision);
            writes.entry(revision).or_default().push(at_revision(&next, revision.unwrap_or(0) + 1));
        }
        for id in done {
            pending.remove(&id);
        }
        for (revision, points) in writes {
            let overwrite = revision.map_or(Overwrite::Never, Overwrite::AtRevision);
            in_batches(backend, collection, points, overwrite).await?;
        }
    }
    if pending.is_empty() {
        return Ok(());
    }
    Err(StoreError::Unavailable(format!(
        "{} records of {} were changed by others {ROUNDS} times in a row",
        pending.len(),
        collection.name()
    )))
}

fn at_revision(memory: &Encoded<Memory>, revision: i64) -> PointStruct {
    let mut point = encoded(memory);
    point.payload.insert(field::REVISION.to_owned(), revision.into());
    point
}

/// `theirs` and `mine` as one, with the encoding of the text that remained.
fn join(theirs: &Memory, encoding: &Encoding, mine: &Encoded<Memory>) -> Result<Encoded<Memory>, StoreError> {
    let value = merge(theirs, &mine.value).ok_or_else(|| {
        let (id, kind) = (mine.value.id(), mine.value.kind().as_str());
        StoreError::Rejected(format!("{kind} {id}: the same id is in use in another scope"))
    })?;
    let is_mine = value.indexed_text() == mine.value.indexed_text();
    let encoding = if is_mine { mine.encoding.clone() } else { encoding.clone() };
    Ok(Encoded { value, encoding })
}

async fn current(
    backend: &ScopedBackend,
    collection: Collection,
    scope: &Scope,
    ids: impl ExactSizeIterator<Item = Uuid>,
) -> Result<BTreeMap<Uuid, Current>, StoreError> {
    let count = ids.len();
    let filter = ScopedFilter::upkeep(scope).and_ids(ids);
    let scrolled = backend.scroll(collection, filter, Walk::ById(None), count, true).await?;
    let current = scrolled.points.into_iter().map(|p| {
        let memory = point::decode(&p)?;
        let id = point::from_point_id(p.id)?;
        let revision = point::integer(&p.payload, field::REVISION)
            .ok_or_else(|| StoreError::Corrupt(format!("point {id}: has no `revision`")))?;
        Ok((id, Current { memory, encoding: point::encoding(p.vectors), revision }))
    });
    current.collect()
}

/// The counts of a lesson, from the ledger of its whole tenant. Always read after the lesson's revision:
/// whoever adds a line afterwards counts again.
async fn recount(backend: &ScopedBackend, memory: &mut Memory) -> Result<(), StoreError> {
    let Memory::Lesson(lesson) = memory else { return Ok(()) };
    let lines = |v: Verdict| {
        let filter = ScopedFilter::upkeep(&lesson.scope)
            .and(Condition::matches(field::MEMORY_ID, lesson.id.to_string()))
            .and(Condition::matches(field::VERDICT, verdict(v).to_owned()));
        backend.count(Collection::Evidence, filter)
    };
    let (supported, refuted) = futures::try_join!(lines(Verdict::Supported), lines(Verdict::Refuted))?;
    lesson.supported = u32::try_from(supported).unwrap_or(u32::MAX);
    lesson.refuted = u32::try_from(refuted).unwrap_or(u32::MAX);
    Ok(())
}

/// The lessons that `evidence` speaks about, counted anew.
pub(crate) async fn evidence(
    backend: &ScopedBackend,
    evidence: &[hindsight_types::Evidence],
) -> Result<(), StoreError> {
    records(backend, Collection::Evidence, evidence, Overwrite::Never).await?;
    let mut by_tenant: BTreeMap<&str, (&Scope, BTreeMap<Uuid, Vec<&hindsight_types::Evidence>>)> =
        BTreeMap::new();
    for line in evidence {
        let tenant = &line.scope.tenant;
        let (_, lines) = by_tenant.entry(tenant.as_str()).or_insert_with(|| (&line.scope, BTreeMap::new()));
        lines.entry(point::id(tenant, line.memory_id.0)).or_default().push(line);
    }
    for (scope, lines) in by_tenant.into_values() {
        let stored = current(backend, Collection::Lessons, scope, lines.keys().copied()).await?;
        let touched = stored.into_iter().map(|(id, current)| {
            let mut value = current.memory;
            if let Memory::Lesson(lesson) = &mut value {
                let supports =
                    lines.get(&id).into_iter().flatten().filter(|line| line.verdict == Verdict::Supported);
                let last = supports.map(|line| line.at).max();
                lesson.last_supported_at = lesson.last_supported_at.max(last.unwrap_or_default());
            }
            (id, Encoded { value, encoding: current.encoding })
        });
        compare_and_swap(backend, Collection::Lessons, touched.collect()).await?;
    }
    Ok(())
}
