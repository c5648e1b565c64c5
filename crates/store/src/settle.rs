//! Records that meet themselves across runs: read, merge, write what nobody changed since, and look again.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_ports::{Encoded, Encoding, StoreError};
use hindsight_types::{Evidence, Lesson, Memory, Scope, Verdict};
use qdrant_client::qdrant::{Condition, PointStruct};
use uuid::Uuid;

use crate::{
    collection::Collection,
    field,
    merge::merge,
    point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk},
    stored::{Stored, verdict},
    write::{POINTS, encoded, in_batches, records},
};

/// Rounds of compare-and-swap. In each round some writer succeeds, so this many must be at it to fail.
const ROUNDS: usize = 32;

type Pending = BTreeMap<Uuid, Encoded<Memory>>;

/// A merged record as it is stored.
struct Current {
    memory: Memory,
    encoding: Encoding,
    revision: i64,
}

/// Merges memories of one collection into what is stored of them.
pub(crate) async fn memories(
    backend: &ScopedBackend,
    collection: Collection,
    memories: Vec<&Encoded<Memory>>,
) -> Result<(), StoreError> {
    let mut by_tenant: BTreeMap<&str, Pending> = BTreeMap::new();
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
            settle(backend, collection, pending.by_ref().take(POINTS).collect()).await?;
        }
    }
    Ok(())
}

/// Appends to the ledger and counts the lessons anew that the lines speak about.
pub(crate) async fn evidence(backend: &ScopedBackend, lines: &[Evidence]) -> Result<(), StoreError> {
    records(backend, Collection::Evidence, lines, Overwrite::Never).await?;
    let mut by_tenant: BTreeMap<&str, (&Scope, BTreeSet<Uuid>)> = BTreeMap::new();
    for line in lines {
        let tenant = &line.scope.tenant;
        let (_, lessons) = by_tenant.entry(tenant.as_str()).or_insert((&line.scope, BTreeSet::new()));
        lessons.insert(point::id(tenant, line.memory_id.0));
    }
    for (scope, lessons) in by_tenant.into_values() {
        let dense = backend.dense();
        let stored =
            current(backend, Collection::Lessons, scope, lessons.into_iter(), dense.as_deref()).await?;
        let pending = stored.into_iter().map(|(id, Current { memory, encoding, .. })| {
            let unchanged = Encoded { value: memory, encoding };
            (id, unchanged)
        });
        settle(backend, Collection::Lessons, pending.collect()).await?;
    }
    Ok(())
}

/// Until nothing of `pending`, all of one tenant, is missing from the store.
async fn settle(
    backend: &ScopedBackend,
    collection: Collection,
    mut pending: Pending,
) -> Result<(), StoreError> {
    for _ in 0..ROUNDS {
        let Some(scope) = pending.values().next().map(|m| m.value.scope().clone()) else { return Ok(()) };
        // What is read under a name is written under it.
        let dense = backend.dense();
        let dense = dense.as_deref();
        let stored = current(backend, collection, &scope, pending.keys().copied(), dense).await?;
        let mut writes: BTreeMap<Option<i64>, Vec<PointStruct>> = BTreeMap::new();
        let mut settled = Vec::new();
        for (id, mine) in &pending {
            let now = stored.get(id);
            let mut next = match now {
                Some(now) => join(&now.memory, &now.encoding, mine)?,
                None => mine.clone(),
            };
            if let Memory::Lesson(lesson) = &mut next.value {
                recount(backend, lesson).await?;
            }
            if now.is_some_and(|now| now.memory == next.value) {
                settled.push(*id);
                continue;
            }
            let revision = now.map(|now| now.revision);
            let point = at_revision(&next, revision.unwrap_or(0) + 1, dense);
            writes.entry(revision).or_default().push(point);
        }
        for id in settled {
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

fn at_revision(memory: &Encoded<Memory>, revision: i64, dense: Option<&str>) -> PointStruct {
    let mut point = encoded(memory, dense);
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
    dense: Option<&str>,
) -> Result<BTreeMap<Uuid, Current>, StoreError> {
    let count = ids.len();
    let filter = ScopedFilter::upkeep(scope).and_ids(ids);
    let scrolled = backend.scroll(collection, filter, Walk::ById(None), count, Show::All).await?;
    let current = scrolled.points.into_iter().map(|p| {
        let memory = point::decode(&p)?;
        let id = point::from_point_id(p.id)?;
        let revision = point::integer(&p.payload, field::REVISION)
            .ok_or_else(|| StoreError::Corrupt(format!("point {id}: has no `revision`")))?;
        Ok((id, Current { memory, encoding: point::encoding(p.vectors, dense), revision }))
    });
    current.collect()
}

/// What the ledger of its whole tenant says of a lesson. Always read after the lesson's revision: whoever adds
/// a line afterwards counts again.
async fn recount(backend: &ScopedBackend, lesson: &mut Lesson) -> Result<(), StoreError> {
    let ledger =
        ScopedFilter::upkeep(&lesson.scope).and(Condition::matches(field::MEMORY_ID, lesson.id.to_string()));
    let lines = |v| ledger.clone().and(Condition::matches(field::VERDICT, verdict(v).to_owned()));
    let (supported, refuted, last) = futures::try_join!(
        backend.count(Collection::Evidence, lines(Verdict::Supported)),
        backend.count(Collection::Evidence, lines(Verdict::Refuted)),
        backend.scroll(
            Collection::Evidence,
            lines(Verdict::Supported),
            Walk::NewestFirst(field::AT),
            1,
            Show::Record
        ),
    )?;
    lesson.supported = u32::try_from(supported).unwrap_or(u32::MAX);
    lesson.refuted = u32::try_from(refuted).unwrap_or(u32::MAX);
    if let Some(point) = last.points.first() {
        let line: Evidence = point::decode(point)?;
        lesson.last_supported_at = lesson.last_supported_at.max(line.at);
    }
    Ok(())
}
