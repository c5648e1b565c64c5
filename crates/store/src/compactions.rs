//! Runs of upkeep and their tasks. A run is replaced only as it was read; a task is written when it is planned and
//! once more when it ends, and its point says by its revision which of the two it is.

use async_trait::async_trait;
use hindsight_codec::RecordBody;
use hindsight_ports::{Compactions, Page, PageRequest, StoreError};
use hindsight_types::{
    CompactionRun, CompactionRunId, CompactionTask, CompactionTaskId, Policy, Scope, TaskCounts, TaskState,
    TenantId, Timestamp,
};
use qdrant_client::qdrant::Condition;
use uuid::Uuid;

use crate::{
    Store,
    collection::Collection,
    field,
    fields::Fields,
    page, point,
    scoped::{Overwrite, ScopedFilter, Show, Walk, next_id},
    stored::Stored,
    write::{in_batches, records},
};

/// Most open runs of a page.
const LARGEST: usize = 500;
/// Records deleted with one message.
const BATCH: usize = 500;
/// Revision of a task that is planned, and of one that ended.
const PLANNED: i64 = 0;
const ENDED: i64 = 1;

/// Keywords at rest, in the place of a run's state: the states of tasks have other names.
const OPEN_RUN: &str = "run:open";
const ENDED_RUN: &str = "run:ended";

impl Stored for CompactionRun {
    fn collection(&self) -> Collection {
        Collection::Compactions
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> Uuid {
        self.id.0
    }

    fn fields(&self, fields: &mut Fields) {
        fields.text(field::POLICY, self.policy.as_str());
        fields.text(field::STATE, if self.state.is_over() { ENDED_RUN } else { OPEN_RUN });
        fields.time(field::AT, self.started_at);
        fields.integer(field::REVISION, self.revision.cast_signed());
    }

    fn to_body(&self) -> RecordBody {
        RecordBody::CompactionRun(self.clone())
    }

    fn from_body(body: RecordBody) -> Option<Self> {
        match body {
            RecordBody::CompactionRun(run) => Some(run),
            _ => None,
        }
    }
}

impl Stored for CompactionTask {
    fn collection(&self) -> Collection {
        Collection::Compactions
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> Uuid {
        self.id.0
    }

    fn fields(&self, fields: &mut Fields) {
        fields.id(field::RUN_ID, self.run.as_ref());
        fields.text(field::STATE, self.state.as_str());
        fields.time(field::AT, self.planned_at);
        let revision = if self.state == TaskState::Planned { PLANNED } else { ENDED };
        fields.integer(field::REVISION, revision);
    }

    fn to_body(&self) -> RecordBody {
        RecordBody::CompactionTask(self.clone())
    }

    fn from_body(body: RecordBody) -> Option<Self> {
        match body {
            RecordBody::CompactionTask(task) => Some(task),
            _ => None,
        }
    }
}

fn of_run(tenant: &TenantId, run: CompactionRunId) -> ScopedFilter {
    ScopedFilter::whole(tenant).and(Condition::matches(field::RUN_ID, run.to_string()))
}

fn in_state(state: &str) -> Condition {
    Condition::matches(field::STATE, state.to_owned())
}

impl Store {
    async fn compaction<T: Stored>(&self, tenant: &TenantId, key: Uuid) -> Result<Option<T>, StoreError> {
        let filter = ScopedFilter::whole(tenant).and_ids([point::id(tenant, key)]);
        let walk = Walk::ById(None);
        let found = self.backend().scroll(Collection::Compactions, filter, walk, 1, Show::Record).await?;
        found.points.first().map(point::decode).transpose()
    }
}

#[async_trait]
impl Compactions for Store {
    async fn put_run(&self, next: &CompactionRun) -> Result<bool, StoreError> {
        let known = next.revision;
        let next = CompactionRun { revision: known + 1, ..next.clone() };
        let mut mine = point::of(&next);
        // Two that write the same are told apart.
        let stamp = Uuid::now_v7().as_u64_pair().1.cast_signed();
        mine.payload.insert(field::STAMP.to_owned(), stamp.into());
        let overwrite = match known {
            0 => Overwrite::Never,
            known => Overwrite::AtRevision(known.cast_signed()),
        };
        in_batches(self.backend(), Collection::Compactions, vec![mine], overwrite).await?;
        let tenant = next.tenant();
        let filter = ScopedFilter::whole(tenant).and_ids([point::id(tenant, next.key())]);
        let walk = Walk::ById(None);
        let found = self.backend().scroll(Collection::Compactions, filter, walk, 1, Show::Record).await?;
        Ok(found.points.first().is_some_and(|p| point::integer(&p.payload, field::STAMP) == Some(stamp)))
    }

    async fn run(&self, tenant: &TenantId, id: CompactionRunId) -> Result<Option<CompactionRun>, StoreError> {
        self.compaction(tenant, id.0).await
    }

    async fn runs(
        &self,
        tenant: &TenantId,
        policy: Option<Policy>,
        page: &PageRequest,
    ) -> Result<Page<CompactionRun>, StoreError> {
        page::upkeep(self.backend(), tenant, Collection::Compactions, page, |all| {
            let of = policy.map_or(Policy::ALL.to_vec(), |policy| vec![policy]);
            let names: Vec<String> = of.into_iter().map(|p| p.as_str().to_owned()).collect();
            all.and(Condition::matches(field::POLICY, names))
        })
        .await
    }

    async fn open_runs(&self, page: &PageRequest) -> Result<Page<CompactionRun>, StoreError> {
        let refused = |_| StoreError::Rejected("page token: is not of this list".to_owned());
        let offset = match page.token.as_str() {
            "" => None,
            token => Some(Uuid::parse_str(token).map_err(refused)?),
        };
        let size = page.size.clamp(1, LARGEST);
        let found = self.backend().open_compactions(&[OPEN_RUN], offset, size).await?;
        let next_token = next_id(found.next)?.map(|id| id.to_string()).unwrap_or_default();
        Ok(Page { items: point::decode_readable(&found.points), next_token })
    }

    async fn add_tasks(&self, tasks: &[CompactionTask]) -> Result<(), StoreError> {
        records(self.backend(), Collection::Compactions, tasks, Overwrite::Never).await
    }

    async fn task(
        &self,
        tenant: &TenantId,
        id: CompactionTaskId,
    ) -> Result<Option<CompactionTask>, StoreError> {
        self.compaction(tenant, id.0).await
    }

    async fn tasks(
        &self,
        tenant: &TenantId,
        run: CompactionRunId,
        open_only: bool,
        page: &PageRequest,
    ) -> Result<Page<CompactionTask>, StoreError> {
        let planned = in_state(TaskState::Planned.as_str());
        page::upkeep(self.backend(), tenant, Collection::Compactions, page, |all| {
            let all = all.and(Condition::matches(field::RUN_ID, run.to_string()));
            if open_only { all.and(planned) } else { all }
        })
        .await
    }

    async fn end_task(&self, task: &CompactionTask) -> Result<(), StoreError> {
        let task = std::slice::from_ref(task);
        records(self.backend(), Collection::Compactions, task, Overwrite::AtRevision(PLANNED)).await
    }

    async fn count_tasks(&self, tenant: &TenantId, run: CompactionRunId) -> Result<TaskCounts, StoreError> {
        let states =
            self.backend().values(Collection::Compactions, of_run(tenant, run), field::STATE).await?;
        let mut counts = TaskCounts::default();
        for (state, count) in states {
            counts.planned += count;
            match state.as_str() {
                "done" => counts.done = count,
                "skipped" => counts.skipped = count,
                "failed" => counts.failed = count,
                _ => {}
            }
        }
        Ok(counts)
    }

    async fn expire_runs(&self, before: Timestamp) -> Result<u64, StoreError> {
        let (mut expired, mut from) = (0, None);
        loop {
            let (ids, next) = self.backend().old_compactions(before, from, BATCH).await?;
            if !ids.is_empty() {
                self.backend().delete(Collection::Compactions, &ids).await?;
            }
            expired += ids.len() as u64;
            from = next;
            if from.is_none() {
                return Ok(expired);
            }
        }
    }
}
