//! How much there is of a subject.

use std::collections::BTreeSet;

use hindsight_ports::StoreError;
use hindsight_types::{ForgettingPreview, MemoryId, Subject, TenantId, Timestamp, TraceId, UserId};

use super::{
    BATCH, aliases,
    derived::{is_orphan, learned_from, sources},
    find::{ABOUT, DERIVED, belongings, shared, spare},
    runs::{self, Run, Runs, keywords},
    texts,
};
use crate::{
    collection::Collection,
    field,
    fields::micros,
    point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk, next_id},
    stored::open_key,
};

/// Runs asked about at once.
const RUNS: usize = 64;

pub(super) async fn count(
    backend: &ScopedBackend,
    tenant: &TenantId,
    subject: &Subject,
    at: Timestamp,
) -> Result<ForgettingPreview, StoreError> {
    let mut census = Census { backend, tenant, counted: ForgettingPreview::default(), seen: BTreeSet::new() };
    match subject {
        Subject::User(user) => {
            let users = aliases::of(backend, tenant, user, at).await?;
            for user in &users {
                census.user(user, micros(at)).await?;
            }
            census.merges(&users, at).await?;
        }
        Subject::Run(trace) => {
            let run = [Run { trace: trace.clone(), visibility: None }];
            census.said_by(&run, None).await?;
            census.runs(&run, None).await?;
        }
        Subject::Memory(kind, id) => {
            for collection in [Collection::of(*kind), Collection::Archive] {
                let own = census.filter().and_ids([point::id(tenant, id.0)]);
                census.add(collection, own).await?;
            }
            census.about(&[*id]).await?;
        }
        Subject::Taught(trace) => census.taught(&[trace].into()).await?,
    }
    Ok(census.counted)
}

struct Census<'a> {
    backend: &'a ScopedBackend,
    tenant: &'a TenantId,
    counted: ForgettingPreview,
    /// Derived memories that are counted: they may be of several runs.
    seen: BTreeSet<(Collection, MemoryId)>,
}

impl Census<'_> {
    fn filter(&self) -> ScopedFilter {
        ScopedFilter::whole(self.tenant)
    }

    async fn add(&mut self, collection: Collection, filter: ScopedFilter) -> Result<(), StoreError> {
        let count = self.backend.count(collection, filter).await?;
        *self.counted.removed.entry(collection.name().to_owned()).or_default() += count;
        Ok(())
    }

    async fn about(&mut self, memories: &[MemoryId]) -> Result<(), StoreError> {
        for collection in ABOUT {
            let filter = self.filter().and(keywords(field::MEMORY_ID, memories));
            self.add(collection, filter).await?;
        }
        Ok(())
    }

    async fn merges(&mut self, users: &[UserId], at: Timestamp) -> Result<(), StoreError> {
        let merges = aliases::merges(self.backend, self.tenant, users, at).await?;
        if !merges.is_empty() {
            self.add(Collection::Merges, aliases::moved(self.tenant, &merges)).await?;
        }
        self.add(Collection::Merges, aliases::naming(self.tenant, users, at)).await
    }

    /// What only the user may see, and what else is of the runs that others may see, too.
    async fn user(&mut self, user: &UserId, at: i64) -> Result<(), StoreError> {
        let runs = Runs { backend: self.backend, tenant: self.tenant, user, at };
        let spared = runs.since().await?;
        for collection in Collection::ALL {
            let filter = spare(belongings(self.tenant, user, collection, at), collection, &spared);
            let filter = match DERIVED.contains(&collection) && !spared.is_empty() {
                true => filter.and_not(keywords(field::SOURCES, &spared)),
                false => filter,
            };
            self.add(collection, filter).await?;
        }
        let own = runs.own();
        let all = runs.every(&spared).await?;
        for some in all.chunks(RUNS) {
            self.said_by(some, Some(&own)).await?;
            self.taught(&some.iter().map(|run| &run.trace).collect()).await?;
        }
        let shared: Vec<Run> =
            all.into_iter().filter(|run| run.visibility.as_deref() != Some(&own)).collect();
        self.runs(&shared, Some(&own)).await
    }

    /// Without what has the visibility `counted`.
    fn rest(&self, counted: Option<&String>) -> ScopedFilter {
        match counted {
            Some(counted) => self.filter().and_not(keywords(field::VISIBILITY, [counted])),
            None => self.filter(),
        }
    }

    async fn said_by(&mut self, of: &[Run], counted: Option<&String>) -> Result<(), StoreError> {
        let filter = self.rest(counted).and(keywords(field::TRACE_ID, of.iter().map(|run| &run.trace)));
        self.add(Collection::Evidence, filter).await
    }

    /// What these runs taught the whole tenant.
    async fn taught(&mut self, runs: &BTreeSet<&TraceId>) -> Result<(), StoreError> {
        for collection in DERIVED {
            let filter = shared(self.tenant).and(learned_from(runs.iter().copied()));
            self.derived(collection, filter, runs, None).await?;
        }
        Ok(())
    }

    async fn runs(&mut self, all: &[Run], counted: Option<&String>) -> Result<(), StoreError> {
        let gone: BTreeSet<&TraceId> = all.iter().map(|run| &run.trace).collect();
        for of in all.chunks(RUNS) {
            let within = [
                Collection::Steps,
                Collection::Evaluations,
                Collection::Events,
                Collection::Archive,
                Collection::Trajectories,
            ];
            for collection in within {
                let filter = self.rest(counted).and(runs::of(collection, of));
                self.add(collection, filter).await?;
            }
            let marks = of.iter().map(|run| point::id(self.tenant, open_key(self.tenant, &run.trace)));
            let filter = self.rest(counted).and_ids(marks);
            self.add(Collection::OpenTasks, filter).await?;
            let experiences: Vec<MemoryId> =
                of.iter().map(|run| MemoryId::experience(self.tenant, &run.trace)).collect();
            self.beside(&ABOUT, &experiences, &gone, counted).await?;
            for collection in DERIVED {
                let filter = self.rest(counted).and(learned_from(of.iter().map(|run| &run.trace)));
                self.derived(collection, filter, &gone, counted).await?;
            }
        }
        Ok(())
    }

    /// What stands beside memories and is not counted with a run that said it.
    async fn beside(
        &mut self,
        places: &[Collection],
        memories: &[MemoryId],
        gone: &BTreeSet<&TraceId>,
        counted: Option<&String>,
    ) -> Result<(), StoreError> {
        for memories in memories.chunks(RUNS) {
            for collection in places {
                let filter = self.rest(counted).and(keywords(field::MEMORY_ID, memories));
                let filter = match collection {
                    Collection::Evidence => filter.and_not(keywords(field::TRACE_ID, gone)),
                    _ => filter,
                };
                self.add(*collection, filter).await?;
            }
        }
        Ok(())
    }

    async fn derived(
        &mut self,
        collection: Collection,
        filter: ScopedFilter,
        gone: &BTreeSet<&TraceId>,
        counted: Option<&String>,
    ) -> Result<(), StoreError> {
        let (mut from, mut count) = (None, 0);
        let (mut orphans, mut others) = (Vec::new(), Vec::new());
        loop {
            let walk = Walk::ById(from);
            let page = self.backend.scroll(collection, filter.clone(), walk, BATCH, Show::Record).await?;
            for memory in page.points.iter().filter_map(texts::memory) {
                let lost = sources(&memory).iter().filter(|source| gone.contains(source)).count();
                if lost == 0 || !self.seen.insert((collection, memory.id())) {
                    continue;
                }
                count += 1;
                let orphan = is_orphan(&memory, sources(&memory).len() - lost);
                if orphan { &mut orphans } else { &mut others }.push(memory.id());
            }
            from = next_id(page.next)?;
            if from.is_none() {
                break;
            }
        }
        *self.counted.removed.entry(collection.name().to_owned()).or_default() += count;
        self.counted.rederived += others.len() as u64;
        self.beside(&ABOUT, &orphans, gone, counted).await?;
        self.beside(&[Collection::Versions], &others, gone, counted).await
    }
}
