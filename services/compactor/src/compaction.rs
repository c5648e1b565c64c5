//! Applies the policies by which memories age: begins the runs that are due, plans them, gives their tasks to the
//! workers and ends them. Whatever is decided stands in the store before anything follows from it, so whoever leads
//! next goes on where the last one was, and two who believe that they lead do nothing twice.
//!
//! ```text
//! planning ─ a page of tasks on record, then the cursor ─▶ … ─▶ working ─ open tasks published ─▶ none open ─▶ done
//! ```

mod advance;
mod due;
#[cfg(test)]
mod tests;

use std::{convert::Infallible, fmt, sync::Arc, time::Duration};

use hindsight_lifecycle::plan::{ByTenant, Planned};
use hindsight_ports::{Archive, Bus, BusError, Clock, Compactions, Ledger, PageRequest, StoreError, Upkeep};
use hindsight_runtime::Trouble;
use hindsight_types::{CompactionRun, EvidencePolicies, Policy, TenantId};
use tokio::{sync::Notify, time::Instant};

use crate::planners::Planners;
use due::Due;

/// Open runs looked at at a time.
const PAGE: usize = 100;
/// From a look at which a run is open to the next one, at first. Then twice as long each time.
const FIRST: Duration = Duration::from_millis(20);
/// At most.
const AT_WORK: Duration = Duration::from_secs(1);

/// What runs may do, and how long they are remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSettings {
    /// Between two looks at what is due.
    pub every: Duration,
    /// What is due is begun when this process has led for so long: one that was started for a single command is over
    /// before.
    pub first_after: Duration,
    /// Most tasks of one run; what is left is for the next one.
    pub tasks: usize,
    /// Tasks that are open this long while nothing waits in the queue were lost, and are published again.
    pub lost_after: Duration,
    /// Records of runs are deleted when they are older.
    pub kept: Duration,
    /// More old raw events than this begin a run before its time.
    pub old_events: u64,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(5),
            first_after: Duration::from_secs(60),
            tasks: 1_000,
            lost_after: Duration::from_secs(10 * 60),
            kept: Duration::from_secs(30 * 24 * 60 * 60),
            old_events: 200_000,
        }
    }
}

/// What upkeep needs beside the bus and the clock.
#[derive(Clone)]
pub struct CompactionParts {
    pub upkeep: Arc<dyn Upkeep>,
    pub archive: Arc<dyn Archive>,
    pub compactions: Arc<dyn Compactions>,
    pub ledger: Arc<dyn Ledger>,
    pub evidence: Arc<EvidencePolicies>,
    pub policies: Arc<ByTenant>,
    pub runs: RunSettings,
}

impl fmt::Debug for CompactionParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policies, runs, .. } = self;
        f.debug_struct("CompactionParts")
            .field("policies", policies)
            .field("runs", runs)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Compaction {
    pub(crate) runs: RunSettings,
    pub(crate) policies: Arc<ByTenant>,
    pub(crate) compactions: Arc<dyn Compactions>,
    upkeep: Arc<dyn Upkeep>,
    planners: Planners,
    bus: Arc<dyn Bus>,
    pub(crate) clock: Arc<dyn Clock>,
    /// A run was asked for.
    wake: Notify,
    due: Due,
    /// Why the last look failed.
    pub(crate) trouble: Trouble,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Bus(#[from] BusError),
}

/// What a run of a policy would do now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) planned: Vec<Planned>,
    /// There is more than one run may do.
    pub(crate) cut: bool,
}

impl Compaction {
    pub(crate) fn new(parts: CompactionParts, bus: Arc<dyn Bus>, clock: Arc<dyn Clock>) -> Self {
        let CompactionParts { upkeep, archive, compactions, ledger, evidence, policies, runs } = parts;
        let planners = Planners {
            upkeep: upkeep.clone(),
            archive,
            ledger,
            evidence,
            policies: policies.clone(),
            clock: clock.clone(),
            bus: bus.clone(),
        };
        let (wake, due, trouble) = (Notify::new(), Due::default(), Trouble::default());
        Self { runs, policies, compactions, upkeep, planners, bus, clock, wake, due, trouble }
    }

    /// For as long as this process leads.
    pub(crate) async fn lead(&self) -> Infallible {
        let begun = Instant::now();
        let (mut pause, mut at_work) = (self.runs.every, FIRST);
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wake.notified() => at_work = FIRST,
            }
            let looked = self.look(begun.elapsed() >= self.runs.first_after).await;
            pause = match looked {
                Ok(0) | Err(_) => {
                    at_work = FIRST;
                    self.runs.every
                }
                Ok(_) => {
                    let next = at_work;
                    at_work = AT_WORK.min(2 * at_work);
                    self.runs.every.min(next)
                }
            };
            if let Err(broken) = &looked {
                tracing::warn!(%broken, "upkeep cannot go on; trying again");
            }
            self.trouble.report(looked.err().map(|broken| format!("upkeep cannot go on: {broken}")));
        }
    }

    /// Begins what is due, if `begin`, and brings every open run on; says how many are open still. One that cannot go
    /// on does not hold up the others.
    pub(crate) async fn look(&self, begin: bool) -> Result<usize, Broken> {
        let mut runs = self.open().await?;
        let (mut open, mut broken) = (0, None);
        if begin {
            match self.begin_due(&runs).await {
                Ok(begun) => runs.extend(begun),
                Err(error) => broken = Some(error),
            }
        }
        for run in runs {
            let (id, tenant, policy) = (run.id, run.tenant().clone(), run.policy.as_str());
            match self.advance(run).await {
                Ok(over) => open += usize::from(!over),
                Err(error) => {
                    tracing::warn!(%tenant, %id, policy, %error, "a run of upkeep cannot go on for now");
                    broken.get_or_insert(error);
                }
            }
        }
        broken.map_or(Ok(open), Err)
    }

    async fn open(&self) -> Result<Vec<CompactionRun>, StoreError> {
        let (mut open, mut page) = (Vec::new(), PageRequest { size: PAGE, token: String::new() });
        loop {
            let found = self.compactions.open_runs(&page).await?;
            open.extend(found.items);
            if found.next_token.is_empty() {
                return Ok(open);
            }
            page.token = found.next_token;
        }
    }

    /// Begins a run that a person asks for, or finds the one that was begun for the same request.
    pub(crate) async fn request(
        &self,
        tenant: &TenantId,
        policy: Policy,
        request_id: &str,
    ) -> Result<CompactionRun, StoreError> {
        let run = CompactionRun::requested(tenant.clone(), policy, request_id, self.clock.now());
        if self.compactions.run(tenant, run.id).await?.is_none() {
            self.compactions.put_run(&run).await?;
        }
        self.wake.notify_one();
        let known = self.compactions.run(tenant, run.id).await?;
        known.ok_or_else(|| StoreError::Unavailable("the run cannot be read back; ask again".to_owned()))
    }

    /// What a run would do now. Changes nothing.
    pub(crate) async fn plan(&self, tenant: &TenantId, policy: Policy) -> Result<Plan, StoreError> {
        let (mut planned, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.planners.page(tenant, policy, &cursor).await?;
            planned.extend(page.planned);
            let cut = planned.len() > self.runs.tasks;
            if cut || page.next.is_empty() {
                planned.truncate(self.runs.tasks);
                return Ok(Plan { planned, cut });
            }
            cursor = page.next;
        }
    }
}
