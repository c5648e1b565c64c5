//! The archive: memories that are not searched any more, in a collection whose payload and vectors stay on disk and
//! which has no index for similarity. Words are not encoded there; they are when a memory comes back.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hindsight_codec::RecordBody;
use hindsight_ports::{Archive, Encoded, Encoding, Leaving, Page, PageRequest, SparseVector, StoreError};
use hindsight_text::bm25;
use hindsight_types::{
    Archived, Fact, Memory, MemoryId, MemoryKind, Scope, Stage, TenantId, Timestamp, TraceId, Viewer,
};
use qdrant_client::qdrant::{Condition, Filter, PointStruct, RetrievedPoint};
use uuid::Uuid;

use crate::{
    Store,
    collection::Collection,
    field,
    fields::{Fields, micros},
    page, point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk},
    stored::Stored,
    write::{self, in_batches},
};

/// Most memories that leave at once.
const MOST: usize = 100;

// Keywords at rest.
const AWAY: &str = "away";
const BACK: &str = "back";

impl Stored for Archived {
    fn collection(&self) -> Collection {
        Collection::Archive
    }

    fn scope(&self) -> &Scope {
        self.memory.scope()
    }

    fn key(&self) -> Uuid {
        self.memory.id().0
    }

    /// Those of the memory, so that it is found by whose it is and by its run.
    fn fields(&self, fields: &mut Fields) {
        self.memory.fields(fields);
        fields.time(field::ARCHIVED_AT, self.at);
        fields.text(field::STATE, if self.restored_at.is_some() { BACK } else { AWAY });
        fields.text(field::KIND, self.memory.kind().as_str());
        fields.id(field::INSTEAD, self.instead.as_ref());
    }

    fn to_body(&self) -> RecordBody {
        RecordBody::Archived(Box::new(self.clone()))
    }

    fn from_body(body: RecordBody) -> Option<Self> {
        match body {
            RecordBody::Archived(archived) => Some(*archived),
            _ => None,
        }
    }

    fn is_visible_to(&self, viewer: &Viewer) -> bool {
        self.memory.is_visible_to(viewer)
    }
}

#[async_trait]
impl Archive for Store {
    async fn archive(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        leaving: &[Leaving],
        now: Timestamp,
    ) -> Result<BTreeSet<MemoryId>, StoreError> {
        if leaving.len() > MOST {
            return Err(StoreError::Rejected(format!("leaving: more than the {MOST} accepted")));
        }
        self.with_vectors(move || depart(self.backend(), tenant, kind, leaving, now)).await
    }

    async fn restore(
        &self,
        viewer: &Viewer,
        id: MemoryId,
        now: Timestamp,
    ) -> Result<Option<Memory>, StoreError> {
        self.with_vectors(move || bring_back(self.backend(), viewer, id, now)).await
    }

    async fn archived(&self, viewer: &Viewer, id: MemoryId) -> Result<Option<Archived>, StoreError> {
        let found = look(self.backend(), viewer, id).await?;
        found.map(|point| point::decode_for(viewer, &point)).transpose()
    }

    async fn list_archived(&self, viewer: &Viewer, page: &PageRequest) -> Result<Page<Archived>, StoreError> {
        page::page(self.backend(), viewer, Collection::Archive, page, |all| all.and(is(AWAY))).await
    }

    async fn brought_back(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> Result<Page<Archived>, StoreError> {
        page::upkeep(self.backend(), tenant, Collection::Archive, page, |all| all.and(is(BACK))).await
    }

    async fn spoken_for(&self, tenant: &TenantId, page: &PageRequest) -> Result<Page<Archived>, StoreError> {
        let another = || Condition::is_empty(field::INSTEAD);
        page::upkeep(self.backend(), tenant, Collection::Archive, page, |all| {
            all.and(is(AWAY)).and_not(another())
        })
        .await
    }

    async fn archived_before(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<Archived>, StoreError> {
        let old = |all: ScopedFilter| all.and(is(AWAY)).and_before(field::ARCHIVED_AT, micros(before));
        page::upkeep(self.backend(), tenant, Collection::Archive, page, old).await
    }

    async fn expire(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        ids: &[MemoryId],
        before: Timestamp,
    ) -> Result<BTreeSet<MemoryId>, StoreError> {
        if ids.len() > MOST {
            return Err(StoreError::Rejected(format!("ids: more than the {MOST} accepted")));
        }
        expire(self.backend(), tenant, kind, ids, before).await
    }

    async fn remove(&self, facts: &[Fact]) -> Result<BTreeSet<MemoryId>, StoreError> {
        let Some(first) = facts.first() else { return Ok(BTreeSet::new()) };
        let tenant = &first.scope.tenant;
        if facts.len() > MOST || facts.iter().any(|fact| fact.scope.tenant != *tenant) {
            return Err(StoreError::Rejected(format!("facts: at most {MOST}, all of one tenant")));
        }
        end(self.backend(), tenant, facts).await
    }
}

fn is(state: &str) -> Condition {
    Condition::matches(field::STATE, state.to_owned())
}

async fn depart(
    backend: &ScopedBackend,
    tenant: &TenantId,
    kind: MemoryKind,
    leaving: &[Leaving],
    now: Timestamp,
) -> Result<BTreeSet<MemoryId>, StoreError> {
    let mut leaving: BTreeMap<Uuid, &Leaving> =
        leaving.iter().map(|l| (point::id(tenant, l.id.0), l)).collect();
    let all = ScopedFilter::whole(tenant);
    for stays in points(backend, Collection::Archive, all.clone().and(is(BACK)), &leaving, Show::Id).await? {
        leaving.remove(&point::from_point_id(stays.id)?);
    }
    let dense = backend.dense();
    let there = points(backend, Collection::of(kind), all.clone(), &leaving, Show::All).await?;
    let (mut copies, mut unchanged, mut left) = (Vec::new(), Vec::new(), BTreeSet::new());
    for point in there {
        let id = point::from_point_id(point.id.clone())?;
        let memory = match point::decode::<Memory>(&point) {
            Ok(memory) => memory,
            Err(error) => {
                tracing::error!(%error, "a stored record cannot leave for the archive");
                continue;
            }
        };
        let Some(Leaving { why, instead, .. }) = leaving.get(&id) else { continue };
        left.insert(memory.id());
        unchanged.push(as_read(&point));
        let dense_vector = point::encoding(point.vectors, dense.as_deref()).dense;
        let archived = Archived { memory, at: now, why: why.clone(), instead: *instead, restored_at: None };
        copies.push(copy(&archived, dense_vector, dense.as_deref()));
    }
    if left.is_empty() {
        return Ok(left);
    }
    in_batches(backend, Collection::Archive, copies, Overwrite::Any).await?;
    let gone = all.clone().and(Filter::should(unchanged).into());
    backend.delete_matching(Collection::of(kind), gone).await?;
    for stays in points(backend, Collection::of(kind), all, &leaving, Show::Record).await? {
        left.remove(&point::decode::<Memory>(&stays)?.id());
    }
    Ok(left)
}

async fn expire(
    backend: &ScopedBackend,
    tenant: &TenantId,
    kind: MemoryKind,
    ids: &[MemoryId],
    before: Timestamp,
) -> Result<BTreeSet<MemoryId>, StoreError> {
    let all = ScopedFilter::whole(tenant);
    let points = |ids: &BTreeSet<MemoryId>| all.clone().and_ids(ids.iter().map(|id| point::id(tenant, id.0)));
    let old =
        |ids: &BTreeSet<MemoryId>| points(ids).and(is(AWAY)).and_before(field::ARCHIVED_AT, micros(before));
    let read = |collection, filter| backend.scroll(collection, filter, Walk::ById(None), MOST, Show::Record);
    let found = read(Collection::Archive, old(&ids.iter().copied().collect())).await?;
    let expired: Vec<Archived> = point::decode_readable(&found.points);
    let gone: BTreeSet<MemoryId> = expired.iter().map(|one| one.memory.id()).collect();
    if gone.is_empty() {
        return Ok(gone);
    }
    let anew = read(Collection::of(kind), points(&gone)).await?;
    let anew: Vec<Memory> = point::decode_readable(&anew.points);
    let anew: BTreeSet<MemoryId> = anew.iter().map(Memory::id).collect();
    let left: Vec<&Memory> = expired.iter().map(|e| &e.memory).filter(|m| !anew.contains(&m.id())).collect();
    // What retired a lesson retires it again when it is learned again.
    let refuted = |memory: &Memory| matches!(memory, Memory::Lesson(m) if m.stage == Stage::Retired);
    let said = left.iter().filter(|memory| !refuted(memory));
    let said: Vec<String> = said.map(|memory| memory.id().to_string()).collect();
    if !said.is_empty() {
        let said = all.clone().and(Condition::matches(field::MEMORY_ID, said));
        backend.delete_matching(Collection::Evidence, said).await?;
    }
    let runs: Vec<String> = left.iter().filter_map(|memory| run(memory)).map(ToString::to_string).collect();
    if !runs.is_empty() {
        let judged = all.clone().and(Condition::matches(field::TRACE_ID, runs));
        backend.delete_matching(Collection::Evaluations, judged).await?;
    }
    backend.delete_matching(Collection::Archive, old(&gone)).await?;
    Ok(gone)
}

fn run(memory: &Memory) -> Option<&TraceId> {
    match memory {
        Memory::Experience(run) => Some(&run.trajectory.trace_id),
        _ => None,
    }
}

async fn end(
    backend: &ScopedBackend,
    tenant: &TenantId,
    facts: &[Fact],
) -> Result<BTreeSet<MemoryId>, StoreError> {
    let all = ScopedFilter::whole(tenant);
    let points: Vec<Uuid> = facts.iter().map(|fact| point::id(tenant, fact.id.0)).collect();
    let looked_at: BTreeMap<MemoryId, _> = facts.iter().map(|f| (f.id, f.version())).collect();
    let read = || async {
        let ids = all.clone().and_ids(points.clone());
        let walk = Walk::ById(None);
        Ok::<_, StoreError>(
            backend.scroll(Collection::Facts, ids, walk, points.len(), Show::Record).await?.points,
        )
    };
    let (mut unchanged, mut ended) = (Vec::new(), BTreeSet::new());
    for point in read().await? {
        let memory: Memory = point::decode(&point)?;
        if memory.version().is_some_and(|version| looked_at.get(&memory.id()) == Some(&version)) {
            ended.insert(memory.id());
            unchanged.push(as_read(&point));
        }
    }
    if ended.is_empty() {
        return Ok(ended);
    }
    let ids: Vec<String> = ended.iter().map(MemoryId::to_string).collect();
    let former = all.clone().and(Condition::matches(field::MEMORY_ID, ids));
    backend.delete_matching(Collection::Versions, former).await?;
    backend.delete_matching(Collection::Facts, all.clone().and(Filter::should(unchanged).into())).await?;
    for stays in read().await? {
        ended.remove(&point::decode::<Memory>(&stays)?.id());
    }
    Ok(ended)
}

/// That a point is still as it was read.
fn as_read(point: &RetrievedPoint) -> Condition {
    let written = |field: &str| match point::integer(&point.payload, field) {
        Some(value) => Condition::matches(field, value),
        None => Condition::is_empty(field),
    };
    let same = [written(field::STAMP), written(field::REVISION)];
    Filter::must(point.id.clone().map(|id| Condition::has_id([id])).into_iter().chain(same)).into()
}

pub(crate) fn copy(archived: &Archived, dense_vector: Vec<f32>, dense: Option<&str>) -> PointStruct {
    let encoding = Encoding { dense: dense_vector, sparse: SparseVector::default() };
    let mut point = point::of(archived);
    write::stamp(&mut point);
    PointStruct { vectors: point::vectors(&encoding, dense), ..point }
}

async fn bring_back(
    backend: &ScopedBackend,
    viewer: &Viewer,
    id: MemoryId,
    now: Timestamp,
) -> Result<Option<Memory>, StoreError> {
    let Some(found) = look(backend, viewer, id).await? else { return Ok(None) };
    let archived: Archived = point::decode_for(viewer, &found)?;
    let (dense, kind) = (backend.dense(), archived.memory.kind());
    let dense_vector = point::encoding(found.vectors, dense.as_deref()).dense;
    let scope = archived.memory.scope().clone();
    let own = ScopedFilter::exactly(&scope).and_ids([point::id(&viewer.tenant, id.0)]);
    let there = || async {
        let walk = Walk::ById(None);
        let hot = backend.scroll(Collection::of(kind), own.clone(), walk, 1, Show::Record).await?;
        hot.points.first().map(|point| point::decode_for::<Memory>(viewer, point)).transpose()
    };
    let mut now_there = there().await?;
    if now_there.is_none() && archived.restored_at.is_none() {
        let (indices, values) = bm25::encode_document(&archived.memory.indexed_text());
        let encoding = Encoding { dense: dense_vector.clone(), sparse: SparseVector { indices, values } };
        let memory = Encoded { value: archived.memory.clone(), encoding };
        write::memories(backend, std::slice::from_ref(&memory)).await?;
        now_there = there().await?;
    }
    if now_there.is_some() && archived.restored_at.is_none() {
        let back = Archived { restored_at: Some(now), ..archived };
        let point = copy(&back, dense_vector, dense.as_deref());
        in_batches(backend, Collection::Archive, vec![point], Overwrite::Any).await?;
    }
    Ok(now_there)
}

/// The point of a memory in the archive, if `viewer` may see it.
async fn look(
    backend: &ScopedBackend,
    viewer: &Viewer,
    id: MemoryId,
) -> Result<Option<RetrievedPoint>, StoreError> {
    let Some(filter) = ScopedFilter::readable(viewer, Collection::Archive) else { return Ok(None) };
    let filter = filter.and_ids([point::id(&viewer.tenant, id.0)]);
    let found = backend.scroll(Collection::Archive, filter, Walk::ById(None), 1, Show::All).await?;
    Ok(found.points.into_iter().next())
}

async fn points(
    backend: &ScopedBackend,
    collection: Collection,
    filter: ScopedFilter,
    wanted: &BTreeMap<Uuid, &Leaving>,
    show: Show<'_>,
) -> Result<Vec<RetrievedPoint>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let filter = filter.and_ids(wanted.keys().copied());
    Ok(backend.scroll(collection, filter, Walk::ById(None), wanted.len(), show).await?.points)
}
