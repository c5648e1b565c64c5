//! Facts and lessons with how they were before. A record is replaced only as it was read, and what it was is kept
//! before it is replaced: whoever races, every version that anyone wrote is there in the end, and the newest
//! stands. A fact that is written once costs one write.

mod history;
mod port;

use std::{collections::BTreeMap, time::Duration};

use hindsight_ports::{Encoded, Encoding, Revised, StoreError};
use hindsight_types::{Fact, Lesson, Memory, MemoryVersion, Revision, Scope, Timestamp};
use qdrant_client::qdrant::{Condition, PointStruct};
use uuid::Uuid;

use crate::{
    collection::Collection,
    field, point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk},
    stored::Stored,
    write::{POINTS, encoded, in_batches, records},
};

pub(crate) use history::{history, made_by, version};

/// Rounds of compare-and-swap. In each round some writer succeeds, so this many must be at it to fail.
const ROUNDS: usize = 32;

type Pending = BTreeMap<Uuid, Encoded<Memory>>;

/// A memory as it is stored.
struct Current {
    memory: Memory,
    encoding: Encoding,
    /// Tells this write of it from any other. Records of long ago have none.
    stamp: Option<i64>,
    /// Counts the writes of a merged record.
    revision: Option<i64>,
}

/// What a version is to the one that is stored.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// It is stored already.
    Stored,
    /// It is older.
    Former,
    /// The stored one gives way, and is kept if it said something else.
    Replaces { leaves: bool },
}

fn place(stored: &Fact, mine: &Fact) -> Place {
    let same = stored.version() == mine.version();
    match mine.age().cmp(&stored.age()) {
        std::cmp::Ordering::Less => Place::Former,
        _ if same && stored.surroundings == mine.surroundings => Place::Stored,
        _ => Place::Replaces { leaves: !same },
    }
}

/// Writes facts. Of several versions of one the newest is written, the others are kept as former ones.
pub(crate) async fn facts(
    backend: &ScopedBackend,
    memories: Vec<&Encoded<Memory>>,
) -> Result<(), StoreError> {
    let mut by_tenant: BTreeMap<&str, (Pending, Vec<MemoryVersion>)> = BTreeMap::new();
    for memory in memories {
        let Memory::Fact(mine) = &memory.value else { continue };
        let (newest, former) = by_tenant.entry(mine.scope.tenant.as_str()).or_default();
        let id = point::id(&mine.scope.tenant, mine.id.0);
        let Some(other) = newest.get(&id) else {
            newest.insert(id, memory.clone());
            continue;
        };
        let Memory::Fact(there) = &other.value else { continue };
        if there.version() == mine.version() {
            newest.insert(id, memory.clone());
        } else if mine.age() < there.age() {
            former.push(MemoryVersion(memory.value.clone()));
        } else if let Some(replaced) = newest.insert(id, memory.clone()) {
            former.push(MemoryVersion(replaced.value));
        }
    }
    for (newest, former) in by_tenant.into_values() {
        keep(backend, &former).await?;
        let mut newest = newest.into_iter().peekable();
        while newest.peek().is_some() {
            settle(backend, newest.by_ref().take(POINTS).collect()).await?;
        }
    }
    Ok(())
}

/// Until everything of `pending`, all of one tenant, is stored or found to be older than what is.
async fn settle(backend: &ScopedBackend, mut pending: Pending) -> Result<(), StoreError> {
    for _ in 0..ROUNDS {
        let Some(scope) = pending.values().next().map(|m| m.value.scope().clone()) else { return Ok(()) };
        let dense = backend.dense();
        let dense = dense.as_deref();
        let stored = current(backend, Collection::Facts, &scope, pending.keys().copied(), dense).await?;
        let mut writes = Writes::default();
        let mut settled = Vec::new();
        for (id, mine) in &pending {
            match stored.get(id) {
                None => writes.new.push(encoded(mine, dense)),
                Some(now) => match between(&now.memory, &mine.value)? {
                    Place::Stored => settled.push(*id),
                    Place::Former => {
                        writes.former.push(MemoryVersion(mine.value.clone()));
                        settled.push(*id);
                    }
                    Place::Replaces { leaves } => {
                        if leaves {
                            writes.former.push(MemoryVersion(now.memory.clone()));
                        }
                        writes.replacing.push(encoded(mine, dense));
                        writes.stamps.push(now.stamp);
                    }
                },
            }
        }
        for id in settled {
            pending.remove(&id);
        }
        if pending.is_empty() {
            return keep(backend, &writes.former).await;
        }
        if writes.make(backend, Collection::Facts, &scope).await? {
            return Ok(());
        }
    }
    Err(busy(Collection::Facts))
}

fn between(stored: &Memory, mine: &Memory) -> Result<Place, StoreError> {
    match (stored, mine) {
        // A former version would carry one user's words to another.
        (Memory::Fact(stored), Memory::Fact(mine)) if stored.scope == mine.scope => Ok(place(stored, mine)),
        _ => Err(StoreError::Rejected(format!("fact {}: the same id is in use in another scope", mine.id()))),
    }
}

/// What one round writes.
#[derive(Default)]
struct Writes {
    former: Vec<MemoryVersion>,
    new: Vec<PointStruct>,
    replacing: Vec<PointStruct>,
    /// What is replaced.
    stamps: Vec<Option<i64>>,
}

impl Writes {
    /// Keeps what is replaced, writes, and says whether everything got there.
    async fn make(
        self,
        backend: &ScopedBackend,
        collection: Collection,
        scope: &Scope,
    ) -> Result<bool, StoreError> {
        let Self { former, new, replacing, stamps } = self;
        let all = || new.iter().chain(&replacing);
        let ids = all().map(|p| point::from_point_id(p.id.clone())).collect::<Result<Vec<_>, _>>()?;
        let written: Vec<i64> = all().filter_map(|p| point::integer(&p.payload, field::STAMP)).collect();
        keep(backend, &former).await?;
        in_batches(backend, collection, new, Overwrite::Never).await?;
        in_batches(backend, collection, replacing, Overwrite::Written(&stamps)).await?;
        let count = ids.len() as u64;
        let mine = ScopedFilter::upkeep(scope).and_ids(ids).and(Condition::matches(field::STAMP, written));
        Ok(backend.count(collection, mine).await? == count)
    }
}

/// Keeps versions; one that is kept already stays as it is.
pub(crate) async fn keep(backend: &ScopedBackend, former: &[MemoryVersion]) -> Result<(), StoreError> {
    records(backend, Collection::Versions, former, Overwrite::Never).await
}

/// Puts `next` in the place of `former` if that is still what is stored; see [`hindsight_ports::History::revise`].
pub(crate) async fn revise(
    backend: &ScopedBackend,
    former: &Memory,
    next: &Memory,
    encoding: Option<&Encoding>,
) -> Result<Revised, StoreError> {
    let next = next_of(former, next)?;
    if let Some(encoding) = encoding {
        point::check_encoding(encoding)?;
    }
    let (scope, collection) = (former.scope(), former.collection());
    let id = point::id(&scope.tenant, former.id().0);
    for _ in 0..ROUNDS {
        let dense = backend.dense();
        let dense = dense.as_deref();
        let Some(now) = current(backend, collection, scope, [id].into_iter(), dense).await?.remove(&id)
        else {
            return Ok(Revised::Gone);
        };
        if now.memory.version() == next.version() {
            return Ok(Revised::Done);
        }
        if now.memory.version() != former.version() || now.memory.scope() != scope {
            return Ok(Revised::Changed);
        }
        let Some(value) = onto(&now.memory, former, &next, encoding.is_some()) else {
            return Ok(Revised::Changed);
        };
        let encoding = encoding.cloned().unwrap_or(now.encoding);
        let mut point = encoded(&Encoded { value, encoding }, dense);
        if let Some(revision) = now.revision {
            point.payload.insert(field::REVISION.to_owned(), (revision + 1).into());
        }
        let writes = Writes {
            former: vec![MemoryVersion(now.memory)],
            replacing: vec![point],
            stamps: vec![now.stamp],
            ..Writes::default()
        };
        if writes.make(backend, collection, scope).await? {
            return Ok(Revised::Done);
        }
    }
    Err(busy(collection))
}

/// `next` as it may follow `former`: the same memory, changed by a revision that comes after.
fn next_of(former: &Memory, next: &Memory) -> Result<Memory, StoreError> {
    let refuse = |problem: &str| {
        let kind = former.kind().as_str();
        Err(StoreError::Rejected(format!("{kind} {}: {problem}", former.id())))
    };
    if former.version().is_none() {
        return refuse("its kind is not changed by hand");
    }
    if (former.kind(), former.id(), former.scope()) != (next.kind(), next.id(), next.scope()) {
        return refuse("a change keeps its kind, id and scope");
    }
    let Some(revision) = next.revision() else { return refuse("a change says who made it, when and why") };
    let after = |r: &Revision| r.at.checked_add(Duration::from_micros(1)).unwrap_or(Timestamp::MAX);
    let at = revision.at.max(former.revision().map_or(revision.at, after));
    let mut next = next.clone();
    next.set_revision(Revision { at, ..revision.clone() });
    Ok(next)
}

/// What is stored with the change that leads from `former` to `next`. `None`: the new encoding is of other
/// surroundings.
fn onto(stored: &Memory, former: &Memory, next: &Memory, encoded_anew: bool) -> Option<Memory> {
    match (stored, former, next) {
        (Memory::Fact(stored), Memory::Fact(former), Memory::Fact(next)) => {
            let moved =
                stored.surroundings != former.surroundings && next.surroundings != stored.surroundings;
            let next = Fact { surroundings: stored.surroundings.clone(), ..next.clone() };
            (!encoded_anew || !moved).then_some(Memory::Fact(next))
        }
        // What its runs say of it goes on meanwhile.
        (Memory::Lesson(stored), _, Memory::Lesson(next)) => Some(Memory::Lesson(Lesson {
            situation: next.situation.clone(),
            advice: next.advice.clone(),
            applicability: next.applicability.clone(),
            entities: next.entities.clone(),
            revision: next.revision.clone(),
            ..stored.clone()
        })),
        _ => None,
    }
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
        let (stamp, revision) =
            (point::integer(&p.payload, field::STAMP), point::integer(&p.payload, field::REVISION));
        let id = point::from_point_id(p.id)?;
        Ok((id, Current { memory, encoding: point::encoding(p.vectors, dense), stamp, revision }))
    });
    current.collect()
}

fn busy(collection: Collection) -> StoreError {
    StoreError::Unavailable(format!(
        "records of {} were changed by others {ROUNDS} times in a row",
        collection.name()
    ))
}

#[cfg(test)]
mod tests;
