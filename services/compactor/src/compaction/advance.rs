use std::collections::BTreeMap;

use hindsight_codec::{compaction_task_to_proto, schema};
use hindsight_ports::{Envelope, PageRequest, Queue, StoreError};
use hindsight_proto::event::v1::CompactionRequested;
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{CompactionRun, CompactionTask, RunState};
use prost::Message as _;

use super::{Broken, Compaction};
use crate::planners::Page;

/// Tasks published at a time.
const PUBLISHED: usize = 200;

impl Compaction {
    /// Brings a run on as far as it goes now, and says whether it is over.
    pub(super) async fn advance(&self, run: CompactionRun) -> Result<bool, Broken> {
        let mut run = run;
        loop {
            let next = match run.state {
                RunState::Planning => self.plan_page(&run).await?,
                RunState::Working => return self.work(run).await,
                RunState::Done | RunState::Failed { .. } => return Ok(true),
            };
            match self.put(next).await? {
                Some(stored) => run = stored,
                None => return Ok(false),
            }
        }
    }

    /// Puts a page of tasks on record and says how the run goes on. A page that was planned before, by a leader that
    /// died, has the same tasks again.
    async fn plan_page(&self, run: &CompactionRun) -> Result<CompactionRun, Broken> {
        let page = match self.planners.page(run.tenant(), run.policy, &run.cursor).await {
            Ok(page) => page,
            Err(error) if error.is_transient() => return Err(error.into()),
            Err(error) => {
                let (state, ended_at) =
                    (RunState::Failed { reason: error.to_string() }, Some(self.clock.now()));
                let counts = self.compactions.count_tasks(run.tenant(), run.id).await?;
                return Ok(CompactionRun { state, ended_at, counts, ..run.clone() });
            }
        };
        let Page { planned, next } = page;
        let room = self.runs.tasks.saturating_sub(usize::try_from(run.counts.planned).unwrap_or(usize::MAX));
        let cut = planned.len() > room;
        let now = self.clock.now();
        let tasks: Vec<CompactionTask> = planned
            .into_iter()
            .take(room)
            .map(|planned| CompactionTask::of_run(run, planned.work, planned.why, now))
            .collect();
        self.compactions.add_tasks(&tasks).await?;
        let over = cut || next.is_empty();
        let state = if over { RunState::Working } else { RunState::Planning };
        let counts = self.compactions.count_tasks(run.tenant(), run.id).await?;
        Ok(CompactionRun { state, cut, counts, cursor: next, ..run.clone() })
    }

    /// Ends a run of which no task is open, and then says so; publishes its tasks, once or when they were lost.
    async fn work(&self, run: CompactionRun) -> Result<bool, Broken> {
        let now = self.clock.now();
        let counts = self.compactions.count_tasks(run.tenant(), run.id).await?;
        if counts.open() == 0 {
            let next = CompactionRun { state: RunState::Done, ended_at: Some(now), counts, ..run };
            return Ok(self.put(next).await?.is_some());
        }
        if self.is_to_be_published(&run).await? {
            self.publish(&run).await?;
            self.put(CompactionRun { published_at: Some(now), counts, ..run }).await?;
        } else if counts != run.counts {
            self.put(CompactionRun { counts, ..run }).await?;
        }
        Ok(false)
    }

    /// Not while some of it waits: it comes then.
    async fn is_to_be_published(&self, run: &CompactionRun) -> Result<bool, Broken> {
        let Some(published_at) = run.published_at else { return Ok(true) };
        if published_at + self.runs.lost_after > self.clock.now() {
            return Ok(false);
        }
        let stats = self.bus.stats(Queue::Compact).await?;
        let lost = stats.ready + stats.delayed == 0;
        if lost {
            let (id, tenant) = (run.id, run.tenant());
            tracing::warn!(%tenant, %id, "tasks of upkeep were lost; they are published again");
        }
        Ok(lost)
    }

    async fn publish(&self, run: &CompactionRun) -> Result<(), Broken> {
        let mut page = PageRequest { size: PUBLISHED, token: String::new() };
        loop {
            let found = self.compactions.tasks(run.tenant(), run.id, true, &page).await?;
            if !found.items.is_empty() {
                self.bus.publish(Queue::Compact, found.items.iter().map(envelope).collect()).await?;
            }
            if found.next_token.is_empty() {
                return Ok(());
            }
            page.token = found.next_token;
        }
    }

    /// Puts the next state on record. `None`: somebody else leads the run on.
    pub(super) async fn put(&self, next: CompactionRun) -> Result<Option<CompactionRun>, StoreError> {
        if !self.compactions.put_run(&next).await? {
            return Ok(None);
        }
        let next = CompactionRun { revision: next.revision + 1, ..next };
        if next.state.is_over() {
            tell(&next);
        }
        Ok(Some(next))
    }
}

fn tell(run: &CompactionRun) {
    let (policy, state) = (run.policy.as_str(), run.state.as_str());
    Metric::CompactionRuns.add(1, &[(Label::Kind, policy), (Label::Result, state)]);
    let (tenant, id, cut) = (run.tenant(), run.id, run.cut);
    let hindsight_types::TaskCounts { planned, done, skipped, failed } = run.counts;
    match &run.state {
        RunState::Failed { reason } => {
            tracing::error!(%tenant, %id, policy, reason, "upkeep cannot be planned")
        }
        _ if planned == 0 => tracing::debug!(%tenant, %id, policy, "upkeep had nothing to do"),
        _ => tracing::info!(%tenant, %id, policy, planned, done, skipped, failed, cut, "upkeep is done"),
    }
}

fn envelope(task: &CompactionTask) -> Envelope {
    Envelope {
        id: task.id.0,
        schema: schema::COMPACTION_REQUESTED.to_owned(),
        tenant: task.tenant().clone(),
        occurred_at: task.planned_at,
        trace_context: BTreeMap::new(),
        payload: CompactionRequested { task: Some(compaction_task_to_proto(task)) }.encode_to_vec(),
    }
}
