//! Memories that meet themselves across runs, or that the ledger counts: whoever writes them and in whatever order,
//! nothing is lost and the counts are what the ledger says.

use std::collections::BTreeMap;

use hindsight_ports::{Encoded, Encoding, StoreError};
use hindsight_types::{
    Evidence, Frequency, Lesson, Memory, MemoryId, Scope, Stage, TenantId, Timestamp, Verdict, teacher,
};
use qdrant_client::qdrant::{Condition, PointStruct, RetrievedPoint};
use uuid::Uuid;

use crate::{
    collection::Collection,
    field,
    merge::merge,
    point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk},
    stored::{Stored, verdict},
    swap::{Change, Round, swap},
    write::encoded,
};

/// What is to be done to one memory that the ledger counts.
enum Settling {
    Merge(Encoded<Memory>),
    /// With the stamp of what was written, so that it is known again.
    Replace(Encoded<Memory>, Option<i64>),
    Recount,
    Restage(Stage),
    /// How often a failure pattern was seen lately.
    Seen(Frequency),
}

/// Merges or replaces memories of one collection.
pub(crate) async fn memories(
    backend: &ScopedBackend,
    collection: Collection,
    memories: Vec<&Encoded<Memory>>,
) -> Result<(), StoreError> {
    let mut by_tenant: BTreeMap<&TenantId, BTreeMap<Uuid, Settling>> = BTreeMap::new();
    for memory in memories {
        let scope = memory.value.scope();
        let changes = by_tenant.entry(&scope.tenant).or_default();
        let id = point::id(&scope.tenant, memory.value.key());
        let change = match changes.get(&id) {
            _ if !collection.is_merged() => Settling::Replace(memory.clone(), None),
            Some(Settling::Merge(other)) => Settling::Merge(join(other, memory)?),
            // Joined with itself a record is in the form in which it is compared.
            _ => Settling::Merge(join(memory, memory)?),
        };
        changes.insert(id, change);
    }
    for (tenant, changes) in by_tenant {
        swap(backend, collection, tenant, changes).await?;
    }
    Ok(())
}

/// Counts anew what the ledger says of these memories, of whatever kinds they are.
pub(crate) async fn recount(
    backend: &ScopedBackend,
    tenant: &TenantId,
    memories: &[MemoryId],
) -> Result<(), StoreError> {
    for collection in Collection::ALL.into_iter().filter(|c| c.is_counted()) {
        let changes = memories.iter().map(|id| (point::id(tenant, id.0), Settling::Recount));
        swap(backend, collection, tenant, changes.collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// Sets the stage of a lesson exactly. `false`: it has that stage, or there is no such lesson.
pub(crate) async fn restage(
    backend: &ScopedBackend,
    tenant: &TenantId,
    lesson: MemoryId,
    stage: Stage,
) -> Result<bool, StoreError> {
    let change = (point::id(tenant, lesson.0), Settling::Restage(stage));
    swap(backend, Collection::Lessons, tenant, [change]).await
}

/// Notes how often a failure pattern was seen lately, unless that was counted later already.
pub(crate) async fn seen(
    backend: &ScopedBackend,
    tenant: &TenantId,
    pattern: MemoryId,
    frequency: Frequency,
) -> Result<bool, StoreError> {
    let change = (point::id(tenant, pattern.0), Settling::Seen(frequency));
    swap(backend, Collection::FailurePatterns, tenant, [change]).await
}

impl Change for Settling {
    async fn next(
        &mut self,
        round: &Round<'_>,
        stored: Option<&RetrievedPoint>,
    ) -> Result<Option<PointStruct>, StoreError> {
        if let Self::Replace(mine, written) = self {
            let stamp = stored.and_then(|p| point::integer(&p.payload, field::STAMP));
            if written.is_some() && *written == stamp {
                return Ok(None);
            }
            count(round.backend, &mut mine.value).await?;
            let point = encoded(mine, round.dense);
            *written = point::integer(&point.payload, field::STAMP);
            return Ok(Some(point));
        }
        let now = stored.map(|point| current(point, round.dense)).transpose()?;
        let mut next = match (&*self, &now) {
            (Self::Merge(mine), Some(now)) => join(now, mine)?,
            (Self::Merge(mine), None) => mine.clone(),
            (_, Some(now)) => now.clone(),
            (_, None) => return Ok(None),
        };
        if let (Self::Restage(stage), Memory::Lesson(lesson)) = (&*self, &mut next.value) {
            lesson.stage = *stage;
        }
        if let (Self::Seen(frequency), Memory::FailurePattern(pattern)) = (&*self, &mut next.value) {
            pattern.frequency = pattern.frequency.max(Some(*frequency));
        }
        count(round.backend, &mut next.value).await?;
        let unchanged = now.is_some_and(|now| now.value == next.value);
        Ok((!unchanged).then(|| encoded(&next, round.dense)))
    }
}

fn current(point: &RetrievedPoint, dense: Option<&str>) -> Result<Encoded<Memory>, StoreError> {
    Ok(Encoded { value: point::decode(point)?, encoding: point::encoding(point.vectors.clone(), dense) })
}

/// `theirs` and `mine` as one, with the encoding of the text that remained.
fn join(theirs: &Encoded<Memory>, mine: &Encoded<Memory>) -> Result<Encoded<Memory>, StoreError> {
    let value = merge(&theirs.value, &mine.value).ok_or_else(|| {
        let (id, kind) = (mine.value.id(), mine.value.kind().as_str());
        StoreError::Rejected(format!("{kind} {id}: the same id is in use in another scope"))
    })?;
    let is_mine = value.indexed_text() == mine.value.indexed_text();
    let encoding: &Encoding = if is_mine { &mine.encoding } else { &theirs.encoding };
    Ok(Encoded { value, encoding: encoding.clone() })
}

/// What the ledger of its whole tenant says of a memory. Always read after the memory's revision: whoever adds
/// a line afterwards counts again.
async fn count(backend: &ScopedBackend, memory: &mut Memory) -> Result<(), StoreError> {
    let counted = Counted::of(backend, memory.scope(), memory.id()).await?;
    match memory {
        Memory::Lesson(lesson) => {
            (lesson.supported, lesson.refuted) = (counted.supported, counted.refuted);
            match own_verdict(backend, lesson).await? {
                Some(Verdict::Supported) => lesson.supported = lesson.supported.saturating_sub(1),
                Some(Verdict::Refuted) => lesson.refuted = lesson.refuted.saturating_sub(1),
                Some(Verdict::Ignored) | None => {}
            }
            if let Some(at) = counted.last_supported_at {
                lesson.last_supported_at = lesson.last_supported_at.max(at);
            }
        }
        Memory::Experience(run) => (run.supported, run.refuted) = (counted.supported, counted.refuted),
        Memory::FailurePattern(pattern) => {
            (pattern.supported, pattern.refuted) = (counted.supported, counted.refuted);
        }
        Memory::Fact(_) | Memory::Step(_) => {}
    }
    Ok(())
}

/// What the run that taught a lesson says of it, which does not count.
async fn own_verdict(backend: &ScopedBackend, lesson: &Lesson) -> Result<Option<Verdict>, StoreError> {
    let sources: Vec<String> = lesson.sources.iter().map(ToString::to_string).collect();
    let (count, of_memory) = (sources.len(), Condition::matches(field::MEMORY_ID, lesson.id.to_string()));
    let own = ScopedFilter::upkeep(&lesson.scope).and(of_memory);
    let own = own.and(Condition::matches(field::TRACE_ID, sources));
    // Most often one of them says nothing.
    if count == 0 || backend.count(Collection::Evidence, own.clone()).await? < count as u64 {
        return Ok(None);
    }
    let found = backend.scroll(Collection::Evidence, own, Walk::ById(None), 2 * count, Show::Record).await?;
    let lines: Vec<Evidence> = found.points.iter().map(point::decode).collect::<Result<_, _>>()?;
    let teacher = teacher(&lesson.sources, &lines);
    Ok(lines.iter().find(|line| Some(&line.trace_id) == teacher).map(|line| line.verdict))
}

struct Counted {
    supported: u32,
    refuted: u32,
    last_supported_at: Option<Timestamp>,
}

impl Counted {
    async fn of(backend: &ScopedBackend, scope: &Scope, memory: MemoryId) -> Result<Self, StoreError> {
        let ledger =
            ScopedFilter::upkeep(scope).and(Condition::matches(field::MEMORY_ID, memory.to_string()));
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
        let last = last.points.first().map(point::decode::<Evidence>).transpose()?;
        Ok(Self {
            supported: u32::try_from(supported).unwrap_or(u32::MAX),
            refuted: u32::try_from(refuted).unwrap_or(u32::MAX),
            last_supported_at: last.map(|line| line.at),
        })
    }
}
