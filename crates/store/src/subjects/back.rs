//! Taking a merge back. What it moved goes back, with every change of it and everything that came of it since; what
//! the user said or learned itself stays. A fact is the set of its versions, so the two are told apart version by
//! version; a lesson is told apart by the runs that taught it.

use hindsight_codec::RecordBody;
use hindsight_ports::{Encoded, Encoding, SparseVector, StoreError};
use hindsight_text::bm25;
use hindsight_types::{Fact, Memory, MemoryVersion, MergeState, Moved, SubjectMerge, TraceId};
use qdrant_client::qdrant::{Condition, PointStruct, RetrievedPoint};

use super::{
    carry::{PASSES, Pages, Read, collections, discard, inverse, memory, over, shift, show},
    log::Log,
    rescope::Route,
    state,
};
use crate::{
    collection::Collection,
    field, point,
    scoped::{Overwrite, ScopedBackend, ScopedFilter, Show, Walk, next_id},
    settle,
    swap::{Change, Round, swap},
    versions,
    write::{self, POINTS, in_batches},
};

pub(super) async fn carry_back(
    backend: &ScopedBackend,
    merge: &SubjectMerge,
) -> Result<SubjectMerge, StoreError> {
    let retracted = state::read(backend, merge).await?;
    let is_back = matches!(retracted.state, MergeState::Undoing | MergeState::Undone);
    if retracted.id() != merge.id() || !is_back {
        return Ok(retracted);
    }
    let mut back = Back { backend, merge: &retracted, log: Log::read(backend, merge).await? };
    for _ in 0..PASSES {
        if back.pass().await? == 0 {
            back.recount().await?;
            return match retracted.state {
                MergeState::Undoing => state::set(backend, &retracted, MergeState::Undone).await,
                _ => Ok(retracted),
            };
        }
    }
    Err(StoreError::Unavailable(format!("`{}` is written to all the time; try again", merge.to)))
}

struct Back<'a> {
    backend: &'a ScopedBackend,
    merge: &'a SubjectMerge,
    log: Log,
}

impl Back<'_> {
    fn route(&self) -> Result<Route, StoreError> {
        Route::new(self.merge.target(), self.merge.source(), inverse(&self.log))
            .ok_or_else(|| StoreError::Corrupt(format!("the merge of `{}` is not of users", self.merge.from)))
    }

    /// Moves back what is there; how many records that were.
    async fn pass(&mut self) -> Result<usize, StoreError> {
        let mut moved = 0;
        for collection in collections() {
            let mut pages = Pages::of(self.backend, collection, &self.merge.target());
            while let Some(mut page) = pages.next(show(collection)).await? {
                page.retain(|read| self.log.has(&read.body));
                moved += page.len();
                match collection {
                    Collection::Facts => self.facts(page).await?,
                    Collection::Versions => self.versions(page).await?,
                    Collection::Lessons | Collection::FailurePatterns => self.split(collection, page).await?,
                    _ => drop(shift(self.backend, collection, &self.route()?, page).await?),
                }
            }
        }
        Ok(moved)
    }

    /// What stays with the user is counted without the lines that went.
    async fn recount(&self) -> Result<(), StoreError> {
        let tenant = &self.merge.scope.tenant;
        let memories: Vec<_> = self.log.names.values().copied().collect();
        for memories in memories.chunks(POINTS) {
            settle::recount(self.backend, tenant, memories).await?;
        }
        Ok(())
    }

    async fn facts(&self, page: Vec<Read>) -> Result<(), StoreError> {
        let route = self.route()?;
        let dense = self.backend.dense();
        for read in page {
            let Some(Memory::Fact(fact)) = memory(&read.body) else { continue };
            let encoding = point::encoding(read.point.vectors.clone(), dense.as_deref());
            let value = route.memory(Memory::Fact(fact.clone()));
            versions::facts(self.backend, vec![&Encoded { value, encoding }]).await?;
            let stamp = point::integer(&read.point.payload, field::STAMP);
            match self.own(fact).await? {
                // Found by its words at once; upkeep gives it a vector.
                Some(own) => {
                    let encoding = words(&own);
                    let point = write::encoded(&Encoded { value: own, encoding }, dense.as_deref());
                    let stamps = [stamp];
                    let written = Overwrite::Written(&stamps);
                    in_batches(self.backend, Collection::Facts, vec![point], written).await?;
                }
                None => discard(self.backend, Collection::Facts, &self.merge.target(), &[read]).await?,
            }
        }
        Ok(())
    }

    /// The newest former version of a fact that is the user's own.
    async fn own(&self, fact: &Fact) -> Result<Option<Memory>, StoreError> {
        let filter = ScopedFilter::exactly(&self.merge.target())
            .and(Condition::matches(field::MEMORY_ID, fact.id.to_string()));
        let (mut newest, mut from): (Option<Fact>, _) = (None, None);
        loop {
            let walk = Walk::ById(from);
            let found =
                self.backend.scroll(Collection::Versions, filter.clone(), walk, POINTS, Show::Record).await?;
            for point in &found.points {
                let version: MemoryVersion = point::decode(point)?;
                let body = RecordBody::Version(version);
                let RecordBody::Version(MemoryVersion(Memory::Fact(own))) = &body else { continue };
                if !self.log.has(&body) && newest.as_ref().is_none_or(|newest| newest.age() < own.age()) {
                    newest = Some(own.clone());
                }
            }
            from = next_id(found.next)?;
            if from.is_none() {
                return Ok(newest.map(Memory::Fact));
            }
        }
    }

    async fn versions(&self, page: Vec<Read>) -> Result<(), StoreError> {
        let route = self.route()?;
        let (mut facts, mut others) = (Vec::new(), Vec::new());
        for read in &page {
            let RecordBody::Version(MemoryVersion(memory)) = &read.body else { continue };
            let memory = route.memory(memory.clone());
            match memory {
                // It may be the newest that there is now.
                Memory::Fact(_) => facts.push(Encoded { encoding: words(&memory), value: memory }),
                other => others.push(MemoryVersion(other)),
            }
        }
        versions::facts(self.backend, facts.iter().collect()).await?;
        versions::keep(self.backend, &others).await?;
        if page.is_empty() {
            return Ok(());
        }
        discard(self.backend, Collection::Versions, &self.merge.target(), &page).await
    }

    /// What the moved runs taught goes back; what others taught, too, is there twice from now on.
    async fn split(&mut self, collection: Collection, page: Vec<Read>) -> Result<(), StoreError> {
        let route = self.route()?;
        let dense = self.backend.dense();
        for read in page {
            let Some(whole) = memory(&read.body) else { continue };
            let (back, stays) = (self.part(whole, true), self.part(whole, false));
            let back = route.memory(back);
            let renamed = Moved::Renamed { from: back.id(), to: whole.id() };
            self.log.note(self.backend, self.merge, [renamed]).await?;
            let encoding = point::encoding(read.point.vectors.clone(), dense.as_deref());
            write::memories(self.backend, &[Encoded { value: back, encoding }]).await?;
            if sources(&stays).is_empty() {
                discard(self.backend, collection, &self.merge.target(), &[read]).await?;
            } else {
                let tenant = &self.merge.scope.tenant;
                let id = point::id(tenant, whole.id().0);
                swap(self.backend, collection, tenant, [(id, Own(self))]).await?;
            }
        }
        Ok(())
    }

    /// A lesson or pattern with only those of its runs that moved, or that did not.
    fn part(&self, memory: &Memory, moved: bool) -> Memory {
        let mut part = memory.clone();
        let keep = |trace: &TraceId| self.log.runs.contains(trace) == moved;
        match &mut part {
            Memory::Lesson(m) => m.sources.retain(keep),
            Memory::FailurePattern(m) => m.sources.retain(keep),
            Memory::Fact(_) | Memory::Experience(_) | Memory::Step(_) => {}
        }
        part
    }
}

/// Leaves of a lesson or pattern what is the user's own.
struct Own<'a, 'b>(&'a Back<'b>);

impl Change for Own<'_, '_> {
    async fn next(
        &mut self,
        _: &Round<'_>,
        stored: Option<&RetrievedPoint>,
    ) -> Result<Option<PointStruct>, StoreError> {
        let Some(stored) = stored else { return Ok(None) };
        let body: RecordBody = point::decode(stored)?;
        let Some(whole) = memory(&body) else { return Ok(None) };
        let own = self.0.part(whole, false);
        Ok((own != *whole).then(|| over(stored, &RecordBody::Memory(own))))
    }
}

fn sources(memory: &Memory) -> &[TraceId] {
    match memory {
        Memory::Lesson(m) => &m.sources,
        Memory::FailurePattern(m) => &m.sources,
        Memory::Fact(_) | Memory::Experience(_) | Memory::Step(_) => &[],
    }
}

fn words(memory: &Memory) -> Encoding {
    let (indices, values) = bm25::encode_document(&memory.indexed_text());
    Encoding { dense: Vec::new(), sparse: SparseVector { indices, values } }
}
