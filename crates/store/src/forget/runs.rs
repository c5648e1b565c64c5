//! Which runs are a user's, and what is theirs.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_ports::StoreError;
use hindsight_types::{Event, EventBody, TenantId, TraceId, UserId, Visibility};
use qdrant_client::qdrant::{Condition, Filter, Range, RetrievedPoint};
use uuid::Uuid;

use crate::{
    collection::Collection,
    field, point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk, next_id},
};

/// Records looked at per step.
const PAGE: usize = 64;
/// Most runs that are left alone because they were recorded since.
const SPARED: usize = 1_000;

/// What tells whose run it is: judged runs, archived ones, and those of which there are only events.
const ROOTS: [Collection; 3] = [Collection::Trajectories, Collection::Archive, Collection::Events];

/// A run, in the visibility in which it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) trace: TraceId,
    /// Its keyword. `None`: whatever it is.
    pub(super) visibility: Option<String>,
}

pub(super) fn any(conditions: impl IntoIterator<Item = Condition>) -> Condition {
    Filter::should(conditions.into_iter().collect::<Vec<_>>()).into()
}

pub(super) fn all(conditions: impl IntoIterator<Item = Condition>) -> Condition {
    Filter::must(conditions.into_iter().collect::<Vec<_>>()).into()
}

pub(super) fn keywords(field: &str, of: impl IntoIterator<Item = impl ToString>) -> Condition {
    Condition::matches(field, of.into_iter().map(|k| k.to_string()).collect::<Vec<String>>())
}

/// After this time, in microseconds.
pub(super) fn after(field: &str, at: i64) -> Condition {
    Condition::range(field, Range { gt: Some(at as f64), ..Default::default() })
}

/// What of a collection is of these runs.
pub(super) fn of(collection: Collection, runs: &[Run]) -> Condition {
    let mut traces: BTreeMap<Option<&String>, Vec<&TraceId>> = BTreeMap::new();
    for run in runs {
        traces.entry(run.visibility.as_ref()).or_default().push(&run.trace);
    }
    any(traces.into_iter().map(|(visibility, traces)| {
        let traces = keywords(field::TRACE_ID, traces);
        let Some(visibility) = visibility else { return traces };
        // Events that everyone may see join a run of narrower scope.
        let shared = (collection == Collection::Events).then(|| Visibility::Tenant.keyword());
        all([traces, keywords(field::VISIBILITY, shared.into_iter().chain([visibility.clone()]))])
    }))
}

/// Starts and completions: events without a place among the steps.
pub(super) fn ends() -> Condition {
    Condition::is_empty(field::STEP_INDEX)
}

/// The runs of one user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs<'a> {
    pub(super) backend: &'a ScopedBackend,
    pub(super) tenant: &'a TenantId,
    pub(super) user: &'a UserId,
    /// In microseconds.
    pub(super) at: i64,
}

impl Runs<'_> {
    pub(super) fn own(&self) -> String {
        Visibility::User(self.user.clone()).keyword()
    }

    fn theirs(&self) -> Condition {
        any([keywords(field::USER, [self.user]), keywords(field::VISIBILITY, [self.own()])])
    }

    /// Runs that began after the user was forgotten: they are another beginning.
    pub(super) async fn since(&self) -> Result<BTreeSet<TraceId>, StoreError> {
        let filter = ScopedFilter::whole(self.tenant).and(self.theirs());
        let late = filter.clone().and(after(field::RECORDED_AT, self.at));
        let late = self.traces(late).await?;
        if late.is_empty() {
            return Ok(late);
        }
        let early = filter.and(keywords(field::TRACE_ID, &late)).and_not(after(field::RECORDED_AT, self.at));
        let early = self.traces(early).await?;
        Ok(late.difference(&early).cloned().collect())
    }

    /// The runs of these events.
    async fn traces(&self, filter: ScopedFilter) -> Result<BTreeSet<TraceId>, StoreError> {
        let (mut traces, mut from) = (BTreeSet::new(), None);
        loop {
            let walk = Walk::ById(from);
            let found =
                self.backend.scroll(Collection::Events, filter.clone(), walk, PAGE, Show::Record).await?;
            for point in &found.points {
                traces.insert(trace(point)?);
            }
            from = next_id(found.next)?;
            if from.is_none() || traces.len() >= SPARED {
                return Ok(traces);
            }
        }
    }

    /// Some of the user's runs that there still is anything of; none only when there is nothing of any.
    pub(super) async fn some(&self, spared: &BTreeSet<TraceId>) -> Result<Vec<Run>, StoreError> {
        let mut page = self.page(spared, None).await?.0;
        if page.is_empty() {
            page = self.unmarked().await?;
        }
        Ok(page.into_iter().collect())
    }

    /// Every run of the user.
    pub(super) async fn every(&self, spared: &BTreeSet<TraceId>) -> Result<Vec<Run>, StoreError> {
        let (mut runs, mut from) = (self.unmarked().await?, None);
        loop {
            let (page, next) = self.page(spared, from).await?;
            runs.extend(page);
            if next.is_none() {
                break;
            }
            from = next;
        }
        Ok(runs.into_iter().collect())
    }

    /// In the order of their roots.
    async fn page(
        &self,
        spared: &BTreeSet<TraceId>,
        from: Option<(Collection, Uuid)>,
    ) -> Result<(BTreeSet<Run>, Option<(Collection, Uuid)>), StoreError> {
        let mut filter = ScopedFilter::whole(self.tenant).and(self.theirs());
        if !spared.is_empty() {
            filter = filter.and_not(keywords(field::TRACE_ID, spared));
        }
        let (first, offset) = from.map_or((Collection::Trajectories, None), |(c, id)| (c, Some(id)));
        let mut offset = offset;
        for (at, collection) in ROOTS.into_iter().enumerate().skip_while(|(_, root)| *root != first) {
            let filter = match collection {
                Collection::Events => filter.clone().and(ends()).and_not(after(field::RECORDED_AT, self.at)),
                Collection::Archive => filter.clone().and_not(Condition::is_empty(field::TRACE_ID)),
                _ => filter.clone(),
            };
            let walk = Walk::ById(offset.take());
            let found = self.backend.scroll(collection, filter, walk, PAGE, Show::Record).await?;
            let runs: BTreeSet<Run> = found.points.iter().map(run).collect::<Result<_, _>>()?;
            let next = next_id(found.next)?.map(|id| (collection, id));
            if !runs.is_empty() {
                let begin = ROOTS.get(at + 1).map(|root| (*root, Uuid::nil()));
                return Ok((runs, next.or(begin)));
            }
        }
        Ok((BTreeSet::new(), None))
    }

    /// Runs that everyone may see whose start was stored before starts showed their user.
    async fn unmarked(&self) -> Result<BTreeSet<Run>, StoreError> {
        let filter = ScopedFilter::whole(self.tenant)
            .and(ends())
            .and(Condition::is_empty(field::USER))
            .and_not(keywords(field::VISIBILITY, [self.own()]))
            .and_not(after(field::RECORDED_AT, self.at));
        let (mut runs, mut from) = (BTreeSet::new(), None);
        loop {
            let walk = Walk::ById(from);
            let found =
                self.backend.scroll(Collection::Events, filter.clone(), walk, PAGE, Show::Record).await?;
            for event in point::decode_readable::<Event>(&found.points) {
                if matches!(&event.body, EventBody::Started(s) if s.user.as_ref() == Some(self.user)) {
                    let visibility = Some(event.scope.visibility.keyword());
                    runs.insert(Run { trace: event.trace_id, visibility });
                }
            }
            from = next_id(found.next)?;
            if from.is_none() {
                return Ok(runs);
            }
        }
    }
}

fn run(point: &RetrievedPoint) -> Result<Run, StoreError> {
    let visibility = point::text(&point.payload, field::VISIBILITY).map(str::to_owned);
    Ok(Run { trace: trace(point)?, visibility })
}

fn trace(point: &RetrievedPoint) -> Result<TraceId, StoreError> {
    let shown = point::text(&point.payload, field::TRACE_ID).unwrap_or_default();
    TraceId::new(shown).map_err(|e| StoreError::Corrupt(format!("point {:?}: {e}", point.id)))
}
