//! Everything that is kept of a tenant, out and in: records whole, under their ids.

mod any;
mod cursor;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hindsight_ports::{
    Encoded, Exported, Forget as _, MOST_RESTORED, MemoryStore as _, PageRequest, Restored, StoreError,
    Transfer,
};
use hindsight_types::{Archived, Evidence, Forgotten, Memory, RecordBody, TenantId};
use qdrant_client::qdrant::PointStruct;
use uuid::Uuid;

use crate::{
    Store, archive,
    collection::Collection,
    point,
    scoped::{Overwrite, ScopedFilter, Show, Walk, next_id},
    stored::Stored as _,
    write::{self, in_batches},
};
use cursor::Cursor;

/// Size of a page that asks for none.
const DEFAULT: usize = 64;
/// Larger pages are cut to this: records may be large.
const LARGEST: usize = 256;

/// In which order everything goes out and comes in. What was forgotten is known before anything else arrives, and
/// whether a run was judged before its events.
const ORDER: [Collection; 13] = [
    Collection::Forgettings,
    Collection::Evaluations,
    Collection::Events,
    Collection::OpenTasks,
    Collection::Trajectories,
    Collection::Steps,
    Collection::FailurePatterns,
    Collection::Lessons,
    Collection::Facts,
    Collection::Versions,
    Collection::Archive,
    Collection::Evidence,
    Collection::Receipts,
];

/// Work that is under way stays where it is: there is nobody elsewhere who would go on with it. A forgetting holds
/// fingerprints of what was deleted; its tombstone goes.
fn is_kept(record: &RecordBody) -> bool {
    match record {
        RecordBody::Reevaluation(_)
        | RecordBody::CompactionRun(_)
        | RecordBody::CompactionTask(_)
        | RecordBody::SubjectMerge(_)
        | RecordBody::Moved(_)
        | RecordBody::Forgetting(_) => false,
        RecordBody::Event(_)
        | RecordBody::Memory(_)
        | RecordBody::Evaluation(_)
        | RecordBody::Receipt(_)
        | RecordBody::Evidence(_)
        | RecordBody::OpenTask(_)
        | RecordBody::FormerVerdicts(_)
        | RecordBody::Feedback(_)
        | RecordBody::Review(_)
        | RecordBody::Version(_)
        | RecordBody::Forgotten(_)
        | RecordBody::Archived(_) => true,
    }
}

#[async_trait]
impl Transfer for Store {
    async fn records(&self, tenant: &TenantId, page: &PageRequest) -> Result<Exported, StoreError> {
        let mut at = Cursor::parse(tenant, &page.token)?;
        let size = if page.size == 0 { DEFAULT } else { page.size.min(LARGEST) };
        let mut exported = Exported { records: Vec::new(), unreadable: 0, next: String::new() };
        while exported.records.is_empty() && exported.unreadable == 0 {
            let Some(collection) = ORDER.get(at.place).copied() else { return Ok(exported) };
            let (filter, walk) = (ScopedFilter::whole(tenant), Walk::ById(at.from));
            let found = self.backend().scroll(collection, filter, walk, size, Show::Record).await?;
            at = match next_id(found.next)? {
                Some(id) => Cursor { from: Some(id), ..at },
                None => Cursor { place: at.place + 1, from: None },
            };
            for point in &found.points {
                match point::decode::<RecordBody>(point) {
                    Ok(record) if is_kept(&record) => exported.records.push(record),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::error!(%error, "a stored record was left out of an export");
                        exported.unreadable += 1;
                    }
                }
            }
        }
        exported.next = if at.place < ORDER.len() { at.token(tenant) } else { String::new() };
        Ok(exported)
    }

    async fn restore_all(&self, records: &[Encoded<RecordBody>]) -> Result<Vec<Restored>, StoreError> {
        if records.len() > MOST_RESTORED {
            let problem = format!("records: more than the {MOST_RESTORED} accepted at once");
            return Err(StoreError::Rejected(problem));
        }
        let present = self.present(records).await?;
        let is_there = |record: &RecordBody| {
            present.contains(&(record.collection(), point::id(&record.scope().tenant, record.key())))
        };
        let (mut sorted, mut what) = (Sorted::default(), Vec::with_capacity(records.len()));
        for record in records {
            let stays = is_there(&record.value) && !joins(&record.value);
            what.push(if stays { Restored::Present } else { Restored::Written });
            if !stays {
                sorted.add(record)?;
            }
        }
        self.put(sorted).await?;
        Ok(what)
    }
}

/// Whether a record is written although it is there: writing it never takes anything away.
fn joins(record: &RecordBody) -> bool {
    match record {
        RecordBody::Evidence(_) | RecordBody::Forgotten(_) => true,
        RecordBody::Memory(memory) => {
            matches!(memory, Memory::Fact(_) | Memory::Lesson(_) | Memory::FailurePattern(_))
        }
        _ => false,
    }
}

/// Records by how they are written.
#[derive(Debug, Default)]
struct Sorted {
    tombstones: Vec<Forgotten>,
    memories: Vec<Encoded<Memory>>,
    archived: Vec<(Archived, Vec<f32>)>,
    evidence: Vec<Evidence>,
    plain: BTreeMap<Collection, Vec<PointStruct>>,
}

impl Sorted {
    fn add(&mut self, record: &Encoded<RecordBody>) -> Result<(), StoreError> {
        let encoding = &record.encoding;
        match &record.value {
            RecordBody::Forgotten(forgotten) => self.tombstones.push(forgotten.clone()),
            RecordBody::Memory(memory) => {
                self.memories.push(Encoded { value: memory.clone(), encoding: encoding.clone() });
            }
            RecordBody::Archived(archived) => {
                point::check_dense(&encoding.dense)?;
                self.archived.push((Archived::clone(archived), encoding.dense.clone()));
            }
            RecordBody::Evidence(line) => self.evidence.push(line.clone()),
            body if is_kept(body) => {
                self.plain.entry(body.collection()).or_default().push(point::of(body));
            }
            _ => {
                let problem = "a record of work that is under way is not brought from elsewhere";
                return Err(StoreError::Rejected(problem.to_owned()));
            }
        }
        Ok(())
    }
}

impl Store {
    /// Where and under which points some of these records are there already.
    async fn present(
        &self,
        records: &[Encoded<RecordBody>],
    ) -> Result<BTreeSet<(Collection, Uuid)>, StoreError> {
        let mut asked: BTreeMap<(Collection, &TenantId), Vec<Uuid>> = BTreeMap::new();
        for Encoded { value, .. } in records {
            let tenant = &value.scope().tenant;
            asked.entry((value.collection(), tenant)).or_default().push(point::id(tenant, value.key()));
        }
        let mut present = BTreeSet::new();
        for ((collection, tenant), ids) in asked {
            let (count, filter) = (ids.len(), ScopedFilter::whole(tenant).and_ids(ids));
            let walk = Walk::ById(None);
            let found = self.backend().scroll(collection, filter, walk, count, Show::Id).await?;
            for point in found.points {
                present.insert((collection, point::from_point_id(point.id)?));
            }
        }
        Ok(present)
    }

    async fn put(&self, sorted: Sorted) -> Result<(), StoreError> {
        let Sorted { tombstones, memories, archived, evidence, plain } = sorted;
        for tombstone in &tombstones {
            self.entomb(tombstone).await?;
        }
        for (collection, points) in plain {
            in_batches(self.backend(), collection, points, Overwrite::Never).await?;
        }
        if !archived.is_empty() {
            self.with_vectors(|| async {
                let dense = self.backend().dense();
                let copies =
                    archived.iter().map(|(one, vector)| archive::copy(one, vector.clone(), dense.as_deref()));
                in_batches(self.backend(), Collection::Archive, copies.collect(), Overwrite::Never).await
            })
            .await?;
        }
        if !memories.is_empty() {
            self.with_vectors(|| write::memories(self.backend(), &memories)).await?;
        }
        if !evidence.is_empty() {
            self.append_evidence(&evidence).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
