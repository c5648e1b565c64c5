//! What was learned from runs that are forgotten: gone with them, or learned anew from what is left of its sources.

use hindsight_ports::{Probes, StoreError};
use hindsight_types::{Memory, Rederivation, TraceId};
use qdrant_client::qdrant::{Condition, RetrievedPoint};

use super::{
    BATCH, Found,
    find::{ABOUT, Target, add},
    kept::but,
    runs::{any, keywords},
    texts,
};
use crate::{
    collection::Collection,
    field,
    merge::SOURCES,
    scoped::{ScopedFilter, Show, Walk, next_id},
};

/// Memories that may have been learned from one of these runs. Those stored before they showed their sources may.
pub(super) fn learned_from<'a>(traces: impl IntoIterator<Item = &'a TraceId>) -> Condition {
    any([keywords(field::SOURCES, traces), Condition::is_empty(field::SOURCES)])
}

pub(super) fn sources(memory: &Memory) -> &[TraceId] {
    match memory {
        Memory::Lesson(lesson) => &lesson.sources,
        Memory::FailurePattern(pattern) => &pattern.sources,
        _ => &[],
    }
}

/// Most memories that are looked through once more.
const TOLD: usize = 256;

impl Target<'_> {
    /// Memories of so many runs that they do not name all, in which something of the subject is told: their words may
    /// be those of a run that they do not name.
    pub(super) async fn told(&self, probes: &Probes) -> Result<Option<Found>, StoreError> {
        let mut found = Found::default();
        for collection in [Collection::Lessons, Collection::FailurePatterns] {
            let mut from = None;
            loop {
                let filter = ScopedFilter::whole(self.tenant).and_not(Condition::is_empty(field::SOURCES));
                let walk = Walk::ById(from);
                let page = self.backend.scroll(collection, filter, walk, BATCH, Show::Record).await?;
                for point in &page.points {
                    let Some(memory) = texts::memory(point) else { continue };
                    let bytes = texts::bytes(point).unwrap_or_default();
                    let tells = sources(&memory).len() >= SOURCES
                        && !probes.scan(bytes.as_slice()).unwrap_or_default().1.is_empty();
                    if tells {
                        let left = sources(&memory).to_vec();
                        self.anew(&mut found, collection, point, &memory, left).await?;
                    }
                }
                from = next_id(page.next)?;
                if from.is_none() || found.batch.points.len() >= TOLD {
                    break;
                }
            }
            if !found.batch.is_empty() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The next of these memories that have a source that is `gone`.
    pub(super) async fn derived(
        &self,
        collection: Collection,
        filter: ScopedFilter,
        gone: impl Fn(&Memory, &TraceId) -> bool,
    ) -> Result<Option<Found>, StoreError> {
        let (mut found, mut from) = (Found::default(), None);
        let (mut orphans, mut others) = (Vec::new(), Vec::new());
        loop {
            let walk = Walk::ById(from);
            let page = self.backend.scroll(collection, filter.clone(), walk, BATCH, Show::Record).await?;
            for point in &page.points {
                let Some(memory) = texts::memory(point) else { continue };
                let (lost, left): (Vec<_>, Vec<_>) =
                    sources(&memory).iter().cloned().partition(|source| gone(&memory, source));
                if lost.is_empty() {
                    continue;
                }
                if is_orphan(&memory, left.len()) {
                    orphans.push(memory.id());
                    add(&mut found, collection, point)?;
                } else {
                    others.push(memory.id());
                    self.anew(&mut found, collection, point, &memory, left).await?;
                }
            }
            from = next_id(page.next)?;
            if from.is_none() || found.batch.points.len() >= BATCH {
                break;
            }
        }
        // What is known of those that nobody teaches any more goes first, and what the others said before.
        if let Some(attached) = self.attached(&ABOUT, &orphans).await? {
            return Ok(Some(attached));
        }
        if !others.is_empty() {
            let former = ScopedFilter::whole(self.tenant).and(keywords(field::MEMORY_ID, &others));
            let former = but(former, &found.batch.former);
            if let Some(attached) = self.batch(Collection::Versions, former).await? {
                return Ok(Some(attached));
            }
        }
        Ok((!found.batch.is_empty()).then_some(found))
    }

    /// Has a memory be deleted, and learned anew from `runs`.
    async fn anew(
        &self,
        found: &mut Found,
        collection: Collection,
        point: &RetrievedPoint,
        memory: &Memory,
        runs: Vec<TraceId>,
    ) -> Result<(), StoreError> {
        let kept = self.kept(memory).await?;
        add(found, collection, point)?;
        let correction = kept.map(|kept| {
            found.batch.former.extend(kept.former);
            found.texts.extend(kept.texts);
            // What stays is not looked for.
            found.texts.retain(|text| kept.correction.words().all(|word| word != text));
            kept.correction
        });
        found.batch.rederived.push(Rederivation {
            kind: memory.kind(),
            memory: memory.id(),
            visibility: memory.scope().visibility.clone(),
            runs,
            correction,
        });
        Ok(())
    }
}

/// Whether nobody teaches a memory any more of whose sources so many are left. What several runs did alike is not told
/// by one of them.
pub(super) fn is_orphan(memory: &Memory, left: usize) -> bool {
    match memory {
        Memory::Lesson(lesson) if lesson.is_rule() => left < 2,
        _ => left == 0,
    }
}
