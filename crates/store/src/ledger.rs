//! What runs and people say of memories.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hindsight_ports::{Ledger, Page, PageRequest, StoreError};
use hindsight_types::{Evidence, Lesson, Memory, MemoryId, Review, Stage, TenantId, Verdict, Viewer};
use qdrant_client::qdrant::{Condition, PointStruct, RetrievedPoint};
use uuid::Uuid;

use crate::{
    Store,
    collection::Collection,
    field, page, point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk, next_id},
    settle,
    stored::{DECISIONS, Stored, stage, verdict},
    swap::{Change, Round, swap},
    write,
};

/// Most lines of one memory that are read. Decisions weigh the latest few dozen.
const LINES: usize = 2_000;
/// Most reviews of one lesson that are read.
const REVIEWS: usize = 100;
/// Lines read at a time, of several memories.
const PAGE: usize = 1_000;

/// Joins lines with those that are there, and counts the memories anew that they speak about.
pub(crate) async fn append(backend: &ScopedBackend, lines: &[Evidence]) -> Result<(), StoreError> {
    let mut by_tenant: BTreeMap<&TenantId, BTreeMap<Uuid, Evidence>> = BTreeMap::new();
    for line in lines {
        let tenant = &line.scope.tenant;
        let joined = by_tenant.entry(tenant).or_default().entry(point::id(tenant, line.key()));
        joined.and_modify(|other| *other = other.join(line)).or_insert_with(|| line.clone());
    }
    for (tenant, lines) in by_tenant {
        let memories: BTreeSet<MemoryId> = lines.values().map(|line| line.memory_id).collect();
        swap(backend, Collection::Evidence, tenant, lines).await?;
        settle::recount(backend, tenant, &Vec::from_iter(memories)).await?;
    }
    Ok(())
}

impl Change for Evidence {
    async fn next(
        &mut self,
        _: &Round<'_>,
        stored: Option<&RetrievedPoint>,
    ) -> Result<Option<PointStruct>, StoreError> {
        let Some(stored) = stored else { return Ok(Some(point::of(self))) };
        let stored: Self = point::decode(stored)?;
        let joined = stored.join(self);
        Ok((joined != stored).then(|| point::of(&joined)))
    }
}

/// What `viewer` may see of what runs say of a memory, oldest first.
pub(crate) fn lines(viewer: &Viewer, memory: MemoryId) -> Option<ScopedFilter> {
    Some(runs(ScopedFilter::readable(viewer, Collection::Evidence)?, memory))
}

/// Reviews lie in the same collection and have no verdict.
fn runs(filter: ScopedFilter, memory: MemoryId) -> ScopedFilter {
    let verdicts = [Verdict::Supported, Verdict::Refuted, Verdict::Ignored];
    let verdicts: Vec<String> = verdicts.into_iter().map(|v| verdict(v).to_owned()).collect();
    of(filter, memory).and(Condition::matches(field::VERDICT, verdicts))
}

fn people(filter: ScopedFilter, memory: MemoryId) -> ScopedFilter {
    let decisions: Vec<String> = DECISIONS.map(str::to_owned).into();
    of(filter, memory).and(Condition::matches(field::DECISION, decisions))
}

fn of(filter: ScopedFilter, memory: MemoryId) -> ScopedFilter {
    filter.and(Condition::matches(field::MEMORY_ID, memory.to_string()))
}

/// The newest records of a tenant.
async fn newest<T: Stored>(
    backend: &ScopedBackend,
    filter: ScopedFilter,
    most: usize,
) -> Result<Vec<T>, StoreError> {
    let walk = Walk::NewestFirst(field::AT);
    let found = backend.scroll(Collection::Evidence, filter, walk, most, Show::Record).await?;
    found.points.iter().map(point::decode).collect()
}

/// Oldest first, and of too many the newest.
fn order(lines: &mut Vec<Evidence>, reviews: &mut Vec<Review>) {
    lines.sort_by_key(|line| (line.at, line.id));
    lines.drain(..lines.len().saturating_sub(LINES));
    reviews.sort_by_key(|review| (review.at, review.id));
    reviews.drain(..reviews.len().saturating_sub(REVIEWS));
}

#[async_trait]
impl Ledger for Store {
    async fn ledger(
        &self,
        tenant: &TenantId,
        memory: MemoryId,
    ) -> Result<(Vec<Evidence>, Vec<Review>), StoreError> {
        let (mut lines, mut reviews): (Vec<Evidence>, Vec<Review>) = futures::try_join!(
            newest(self.backend(), runs(ScopedFilter::whole(tenant), memory), LINES),
            newest(self.backend(), people(ScopedFilter::whole(tenant), memory), REVIEWS),
        )?;
        order(&mut lines, &mut reviews);
        Ok((lines, reviews))
    }

    async fn ledgers(
        &self,
        tenant: &TenantId,
        memories: &[MemoryId],
    ) -> Result<BTreeMap<MemoryId, (Vec<Evidence>, Vec<Review>)>, StoreError> {
        let mut all: BTreeMap<MemoryId, (Vec<Evidence>, Vec<Review>)> = BTreeMap::new();
        let ids: Vec<String> = memories.iter().map(ToString::to_string).collect();
        let said = ScopedFilter::whole(tenant).and(Condition::matches(field::MEMORY_ID, ids));
        let mut from = (!memories.is_empty()).then_some(Walk::ById(None));
        while let Some(walk) = from {
            let found =
                self.backend().scroll(Collection::Evidence, said.clone(), walk, PAGE, Show::Record).await?;
            for point in &found.points {
                if point::text(&point.payload, field::VERDICT).is_some() {
                    let line: Evidence = point::decode(point)?;
                    all.entry(line.memory_id).or_default().0.push(line);
                } else {
                    let review: Review = point::decode(point)?;
                    all.entry(review.memory_id).or_default().1.push(review);
                }
            }
            from = next_id(found.next)?.map(|next| Walk::ById(Some(next)));
        }
        all.values_mut().for_each(|(lines, reviews)| order(lines, reviews));
        Ok(all)
    }

    async fn review(&self, review: &Review) -> Result<(), StoreError> {
        let review = std::slice::from_ref(review);
        write::records(self.backend(), Collection::Evidence, review, Overwrite::Never).await
    }

    async fn lesson(&self, tenant: &TenantId, lesson: MemoryId) -> Result<Option<Lesson>, StoreError> {
        let filter = ScopedFilter::whole(tenant).and_ids([point::id(tenant, lesson.0)]);
        let walk = Walk::ById(None);
        let found = self.backend().scroll(Collection::Lessons, filter, walk, 1, Show::Record).await?;
        let memory = found.points.first().map(point::decode::<Memory>).transpose()?;
        Ok(memory.and_then(as_lesson))
    }

    async fn lessons(
        &self,
        viewer: &Viewer,
        wanted: Option<Stage>,
        request: &PageRequest,
    ) -> Result<Page<Lesson>, StoreError> {
        let narrow = |all: ScopedFilter| match wanted {
            Some(wanted) => all.and(Condition::matches(field::STAGE, stage(wanted).to_owned())),
            None => all,
        };
        let found = page::page(self.backend(), viewer, Collection::Lessons, request, narrow).await?;
        let items = found.items.into_iter().filter_map(as_lesson).collect();
        Ok(Page { items, next_token: found.next_token })
    }

    async fn restage(&self, tenant: &TenantId, lesson: MemoryId, stage: Stage) -> Result<bool, StoreError> {
        self.with_vectors(move || settle::restage(self.backend(), tenant, lesson, stage)).await
    }
}

fn as_lesson(memory: Memory) -> Option<Lesson> {
    match memory {
        Memory::Lesson(lesson) => Some(lesson),
        _ => None,
    }
}
