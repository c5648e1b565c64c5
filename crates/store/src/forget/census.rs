//! How much there is of a subject.

use std::collections::BTreeSet;

use hindsight_ports::StoreError;
use hindsight_types::{ForgettingPreview, MemoryId, Subject, TenantId, Timestamp, TraceId, UserId};

use super::{
    BATCH,
    derived::{learned_from, sources},
    find::{ABOUT, DERIVED, belongings, spare},
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
    let mut census = Census { backend, tenant, counted: ForgettingPreview::default() };
    match subject {
        Subject::User(user) => census.user(user, micros(at)).await?,
        Subject::Run(trace) => {
            census.runs(&[Run { trace: trace.clone(), visibility: None }], None).await?;
        }
        Subject::Memory(kind, id) => {
            for collection in [Collection::of(*kind), Collection::Archive] {
                let own = census.filter().and_ids([point::id(tenant, id.0)]);
                census.add(collection, own).await?;
            }
            census.about(&[*id]).await?;
        }
    }
    Ok(census.counted)
}

struct Census<'a> {
    backend: &'a ScopedBackend,
    tenant: &'a TenantId,
    counted: ForgettingPreview,
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
        for shared in runs.shared(&spared).await?.chunks(RUNS) {
            self.runs(shared, Some(runs.own())).await?;
        }
        Ok(())
    }

    /// Without what has the visibility `counted`.
    async fn runs(&mut self, of: &[Run], counted: Option<String>) -> Result<(), StoreError> {
        let rest = |filter: ScopedFilter| match &counted {
            Some(counted) => filter.and_not(keywords(field::VISIBILITY, [counted])),
            None => filter,
        };
        let traces = || of.iter().map(|run| &run.trace);
        let said_by = rest(self.filter()).and(keywords(field::TRACE_ID, traces()));
        self.add(Collection::Evidence, said_by).await?;
        let within = [
            Collection::Steps,
            Collection::Evaluations,
            Collection::Events,
            Collection::Archive,
            Collection::Trajectories,
        ];
        for collection in within {
            let filter = rest(self.filter()).and(runs::of(collection, of));
            self.add(collection, filter).await?;
        }
        let marks = traces().map(|trace| point::id(self.tenant, open_key(self.tenant, trace)));
        let filter = rest(self.filter()).and_ids(marks);
        self.add(Collection::OpenTasks, filter).await?;
        let gone: BTreeSet<&TraceId> = traces().collect();
        for collection in DERIVED {
            let filter = rest(self.filter()).and(learned_from(traces()));
            self.derived(collection, filter, &gone).await?;
        }
        Ok(())
    }

    async fn derived(
        &mut self,
        collection: Collection,
        filter: ScopedFilter,
        gone: &BTreeSet<&TraceId>,
    ) -> Result<(), StoreError> {
        let (mut from, mut count) = (None, 0);
        loop {
            let walk = Walk::ById(from);
            let page = self.backend.scroll(collection, filter.clone(), walk, BATCH, Show::Record).await?;
            for memory in page.points.iter().filter_map(texts::memory) {
                let lost = sources(&memory).iter().filter(|source| gone.contains(source)).count();
                count += u64::from(lost > 0);
                self.counted.rederived += u64::from(lost > 0 && lost < sources(&memory).len());
            }
            from = next_id(page.next)?;
            if from.is_none() {
                break;
            }
        }
        *self.counted.removed.entry(collection.name().to_owned()).or_default() += count;
        Ok(())
    }
}
