//! What was learned from runs that are forgotten: gone with them, or learned anew from what is left of its sources.

use hindsight_ports::StoreError;
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

impl Target<'_> {
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
                    found.batch.rederived.push(Rederivation {
                        kind: memory.kind(),
                        memory: memory.id(),
                        visibility: memory.scope().visibility.clone(),
                        runs: left,
                    });
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
