//! What was learned from runs that are forgotten: gone with them, or learned anew from what is left of its sources.

use hindsight_ports::{Probes, StoreError};
use hindsight_types::{Memory, Rederivation, TraceId};
use qdrant_client::qdrant::Condition;

use super::{
    BATCH, Found,
    find::{ABOUT, Target, add},
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
                        found.batch.rederived.push(rederivation(&memory, sources(&memory).to_vec()));
                        add(&mut found, collection, point)?;
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
                if left.is_empty() {
                    orphans.push(memory.id());
                } else {
                    others.push(memory.id());
                    found.batch.rederived.push(rederivation(&memory, left));
                }
                add(&mut found, collection, point)?;
            }
            from = next_id(page.next)?;
            if from.is_none() || found.batch.points.len() >= BATCH {
                break;
            }
        }
        // What is known of those that nobody teaches any more goes first, and what the others said before.
        let former = [Collection::Versions];
        for (places, of) in [(ABOUT.as_slice(), &orphans), (&former, &others)] {
            if let Some(attached) = self.attached(places, of).await? {
                return Ok(Some(attached));
            }
        }
        Ok((!found.batch.is_empty()).then_some(found))
    }
}

fn rederivation(memory: &Memory, runs: Vec<TraceId>) -> Rederivation {
    Rederivation {
        kind: memory.kind(),
        memory: memory.id(),
        visibility: memory.scope().visibility.clone(),
        runs,
    }
}
