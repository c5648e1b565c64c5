//! What upkeep reads of a tenant, and how raw events leave.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use hindsight_ports::{MOST_IDS, Page, PageRequest, StoreError, Upkeep};
use hindsight_text::{Kind, tokenize};
use hindsight_types::{
    EvaluationRecord, Frequency, Memory, MemoryId, MemoryKind, OpenTask, TaskType, TenantId, Timestamp,
    TraceId,
};
use qdrant_client::qdrant::Condition;
use uuid::Uuid;

use crate::{
    Store,
    collection::Collection,
    field,
    fields::micros,
    page, point,
    scoped::{ScopedFilter, Show, Walk},
    settle,
    stored::{Stored, evaluation_key, open_key},
};

/// Raw events that are looked at in one page.
const EVENTS: u32 = 1_000;
/// Events deleted with one message.
const BATCH: u32 = 500;
/// Where tenants show themselves: whoever has anything in another collection has something in one of these.
const ROOTS: [Collection; 5] = [
    Collection::Events,
    Collection::Facts,
    Collection::Lessons,
    Collection::Trajectories,
    Collection::Receipts,
];
/// Words of a goal that are compared.
const GOAL_WORDS: usize = 200;

/// What the goals of runs are told apart by: their words, whatever their order, without numbers and identifiers.
pub(crate) fn goal_key(goal: &str) -> String {
    let spoken =
        tokenize(goal).into_iter().filter(|t| matches!(t.kind, Kind::Word | Kind::Han | Kind::Bigram));
    let words: BTreeSet<String> = spoken.take(GOAL_WORDS).map(|t| t.text).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, words.join("\u{1f}").as_bytes()).to_string()
}

fn check(ids: usize) -> Result<(), StoreError> {
    if ids <= MOST_IDS {
        return Ok(());
    }
    Err(StoreError::Rejected(format!("{ids} ids: more than the {MOST_IDS} accepted")))
}

fn named<T: ToString>(field: &str, ids: &[T]) -> Condition {
    Condition::matches(field, ids.iter().map(ToString::to_string).collect::<Vec<_>>())
}

impl Store {
    async fn points_of<T: Stored>(
        &self,
        tenant: &TenantId,
        collection: Collection,
        keys: impl ExactSizeIterator<Item = Uuid>,
    ) -> Result<Vec<T>, StoreError> {
        let count = keys.len();
        check(count)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let filter = ScopedFilter::whole(tenant).and_ids(keys.map(|key| point::id(tenant, key)));
        let found = self.backend().scroll(collection, filter, Walk::ById(None), count, Show::Record).await?;
        Ok(point::decode_readable(&found.points))
    }

    /// How many points have which of these values, of those that match.
    async fn values_of<T: ToString>(
        &self,
        collection: Collection,
        filter: ScopedFilter,
        field: &str,
        ids: &[T],
    ) -> Result<Vec<(String, u64)>, StoreError> {
        check(ids.len())?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: BTreeSet<String> = ids.iter().map(ToString::to_string).collect();
        let mut found = self.backend().values(collection, filter.and(named(field, ids)), field).await?;
        // A point with several values counts for all of them.
        found.retain(|(value, _)| wanted.contains(value));
        Ok(found)
    }
}

#[async_trait]
impl Upkeep for Store {
    async fn tenants(&self) -> Result<Vec<TenantId>, StoreError> {
        let mut names = BTreeSet::new();
        for collection in ROOTS {
            names.extend(self.backend().tenants(collection).await?);
        }
        let name = |name: String| {
            TenantId::new(name.clone()).map_err(|e| StoreError::Corrupt(format!("tenant `{name}`: {e}")))
        };
        names.into_iter().map(name).collect()
    }

    async fn memories(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        page::upkeep(self.backend(), tenant, Collection::of(kind), page, |all| all).await
    }

    async fn memories_of(
        &self,
        tenant: &TenantId,
        kind: MemoryKind,
        ids: &[MemoryId],
    ) -> Result<Vec<Memory>, StoreError> {
        self.points_of(tenant, Collection::of(kind), ids.iter().map(|id| id.0)).await
    }

    async fn old_runs(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        page: &PageRequest,
    ) -> Result<Page<TraceId>, StoreError> {
        let refused = |_| StoreError::Rejected("page token: is not of this list".to_owned());
        let offset = match page.token.as_str() {
            "" => None,
            token => Some(Uuid::parse_str(token).map_err(refused)?),
        };
        let old = ScopedFilter::whole(tenant).and_before(field::RECORDED_AT, micros(before));
        let (points, next) =
            self.backend().scroll_field(Collection::Events, old, offset, EVENTS, field::TRACE_ID).await?;
        let traces: BTreeSet<&str> =
            points.iter().filter_map(|p| point::text(&p.payload, field::TRACE_ID)).collect();
        Ok(Page {
            items: traces.into_iter().filter_map(|trace| TraceId::new(trace).ok()).collect(),
            next_token: next.map(|id| id.to_string()).unwrap_or_default(),
        })
    }

    async fn events_since(
        &self,
        tenant: &TenantId,
        traces: &[TraceId],
        since: Timestamp,
    ) -> Result<BTreeMap<TraceId, u64>, StoreError> {
        let since = ScopedFilter::whole(tenant).and_between(field::RECORDED_AT, Some(micros(since)), None);
        let found = self.values_of(Collection::Events, since, field::TRACE_ID, traces).await?;
        Ok(found.into_iter().filter_map(|(trace, n)| Some((TraceId::new(trace).ok()?, n))).collect())
    }

    async fn count_old_events(&self, tenant: &TenantId, before: Timestamp) -> Result<u64, StoreError> {
        let old = ScopedFilter::whole(tenant).and_before(field::RECORDED_AT, micros(before));
        self.backend().count(Collection::Events, old).await
    }

    async fn delete_events(&self, tenant: &TenantId, traces: &[TraceId]) -> Result<u64, StoreError> {
        check(traces.len())?;
        if traces.is_empty() {
            return Ok(0);
        }
        let (mut deleted, mut from) = (0, None);
        loop {
            let of = ScopedFilter::whole(tenant).and(named(field::TRACE_ID, traces));
            let (points, next) =
                self.backend().scroll_field(Collection::Events, of, from, BATCH, field::TRACE_ID).await?;
            let ids = points.into_iter().map(|p| point::from_point_id(p.id));
            let ids = ids.collect::<Result<Vec<_>, _>>()?;
            if !ids.is_empty() {
                self.backend().delete(Collection::Events, &ids).await?;
            }
            deleted += ids.len() as u64;
            from = next;
            if from.is_none() {
                return Ok(deleted);
            }
        }
    }

    async fn evaluations(
        &self,
        tenant: &TenantId,
        traces: &[TraceId],
    ) -> Result<Vec<EvaluationRecord>, StoreError> {
        let keys = traces.iter().map(|trace| evaluation_key(tenant, trace));
        self.points_of(tenant, Collection::Evaluations, keys).await
    }

    async fn open_of(&self, tenant: &TenantId, traces: &[TraceId]) -> Result<BTreeSet<TraceId>, StoreError> {
        let keys = traces.iter().map(|trace| open_key(tenant, trace));
        let open: Vec<OpenTask> = self.points_of(tenant, Collection::OpenTasks, keys).await?;
        Ok(open.into_iter().map(|task| task.trace_id).collect())
    }

    async fn count_alike(
        &self,
        tenant: &TenantId,
        task_type: Option<&TaskType>,
        goal: &str,
    ) -> Result<u64, StoreError> {
        let alike = match task_type {
            Some(of) => Condition::matches(field::TASK_TYPE, of.to_string()),
            None => Condition::matches(field::GOAL, goal_key(goal)),
        };
        self.backend().count(Collection::Trajectories, ScopedFilter::whole(tenant).and(alike)).await
    }

    async fn reads(
        &self,
        tenant: &TenantId,
        memories: &[MemoryId],
        since: Timestamp,
    ) -> Result<BTreeMap<MemoryId, u64>, StoreError> {
        let since = ScopedFilter::whole(tenant).and_between(field::AT, Some(micros(since)), None);
        let found = self.values_of(Collection::Receipts, since, field::INJECTED, memories).await?;
        Ok(found.into_iter().filter_map(|(id, n)| Some((MemoryId::parse(&id).ok()?, n))).collect())
    }

    async fn ends(
        &self,
        tenant: &TenantId,
        traces: &[TraceId],
    ) -> Result<BTreeMap<TraceId, Timestamp>, StoreError> {
        check(traces.len())?;
        if traces.is_empty() {
            return Ok(BTreeMap::new());
        }
        let keys = traces.iter().map(|trace| MemoryId::experience(tenant, trace).0);
        let ids: BTreeMap<Uuid, &TraceId> = keys.map(|key| point::id(tenant, key)).zip(traces).collect();
        let filter = ScopedFilter::whole(tenant).and_ids(ids.keys().copied());
        let limit = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let (points, _) = self
            .backend()
            .scroll_field(Collection::Trajectories, filter, None, limit, field::ENDED_AT)
            .await?;
        let end = |p: qdrant_client::qdrant::RetrievedPoint| {
            let trace = ids.get(&point::from_point_id(p.id).ok()?)?;
            let at = Timestamp::from_microsecond(point::integer(&p.payload, field::ENDED_AT)?).ok()?;
            Some(((*trace).clone(), at))
        };
        Ok(points.into_iter().filter_map(end).collect())
    }

    async fn put_frequency(
        &self,
        tenant: &TenantId,
        pattern: MemoryId,
        frequency: Frequency,
    ) -> Result<bool, StoreError> {
        self.with_vectors(move || settle::seen(self.backend(), tenant, pattern, frequency)).await
    }
}
