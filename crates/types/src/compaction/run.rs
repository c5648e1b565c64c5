use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Policy, Work};
use crate::{CompactionRunId, CompactionTaskId, Scope, TenantId, Timestamp, Visibility, ids::derive};

/// Why a run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Trigger {
    /// Its time had come.
    Schedule,
    /// A person asked for it.
    Request,
    /// More had gathered than is left to wait for the schedule.
    Threshold,
}

impl Trigger {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Request => "request",
            Self::Threshold => "threshold",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RunState {
    /// Tasks are being found and put on record.
    Planning,
    /// Every task is on record; some are being worked on.
    Working,
    /// No task is open.
    Done,
    /// It could not be planned. What was planned before is done.
    Failed { reason: String },
}

impl RunState {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Working => "working",
            Self::Done => "done",
            Self::Failed { .. } => "failed",
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Failed { .. })
    }
}

/// One application of a policy to the memories of one tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionRun {
    pub id: CompactionRunId,
    /// The whole tenant.
    pub scope: Scope,
    pub policy: Policy,
    pub trigger: Trigger,
    pub state: RunState,
    /// When it was due or asked for.
    pub due_at: Timestamp,
    pub started_at: Timestamp,
    /// When its tasks were last given to the workers; `None`: not yet.
    pub published_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Where planning goes on; of no meaning once it is over.
    pub cursor: String,
    /// More was to do than one run may; the next one goes on.
    pub cut: bool,
    /// Always recounted from the tasks.
    pub counts: TaskCounts,
    /// Counts the writes, for compare-and-swap. 0: not stored yet.
    pub revision: u64,
}

impl CompactionRun {
    /// A run that is to be planned. Two that are due at the same time are the same run.
    pub fn due(
        tenant: TenantId,
        policy: Policy,
        trigger: Trigger,
        due_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        let key = format!("{}\u{1f}{}", trigger.as_str(), due_at.as_microsecond());
        Self::new(tenant, policy, trigger, due_at, now, &key)
    }

    pub fn tenant(&self) -> &TenantId {
        &self.scope.tenant
    }

    /// A run that a person asks for. The same request asks for the same run.
    pub fn requested(tenant: TenantId, policy: Policy, request_id: &str, now: Timestamp) -> Self {
        Self::new(tenant, policy, Trigger::Request, now, now, &format!("request\u{1f}{request_id}"))
    }

    fn new(
        tenant: TenantId,
        policy: Policy,
        trigger: Trigger,
        due_at: Timestamp,
        now: Timestamp,
        key: &str,
    ) -> Self {
        Self {
            id: CompactionRunId(derive("compaction run", &[tenant.as_str(), policy.as_str(), key])),
            scope: Scope::new(tenant, Visibility::Tenant),
            policy,
            trigger,
            state: RunState::Planning,
            due_at,
            started_at: now,
            published_at: None,
            ended_at: None,
            cursor: String::new(),
            cut: false,
            counts: TaskCounts::default(),
            revision: 0,
        }
    }
}

/// How many tasks of a run are in which state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskCounts {
    /// All of them.
    pub planned: u64,
    pub done: u64,
    pub skipped: u64,
    pub failed: u64,
}

impl TaskCounts {
    /// Neither done nor given up.
    pub fn open(&self) -> u64 {
        self.planned.saturating_sub(self.done + self.skipped + self.failed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    Planned,
    Done,
    /// What it was to act on is no longer so.
    Skipped {
        why: String,
    },
    Failed {
        why: String,
    },
}

impl TaskState {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Done => "done",
            Self::Skipped { .. } => "skipped",
            Self::Failed { .. } => "failed",
        }
    }
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionTask {
    pub id: CompactionTaskId,
    /// The whole tenant.
    pub scope: Scope,
    /// `None`: it was asked for by what happened, and no record of it is kept.
    pub run: Option<CompactionRunId>,
    pub work: Work,
    /// What it is for, in words a person can check.
    pub why: String,
    pub state: TaskState,
    pub planned_at: Timestamp,
    /// When its state was decided.
    pub ended_at: Option<Timestamp>,
}

impl CompactionTask {
    /// A task of a run: the same work in the same run is the same task.
    pub fn of_run(run: &CompactionRun, work: Work, why: String, now: Timestamp) -> Self {
        let id = derive("compaction task", &[&run.id.to_string(), &work.key()]);
        Self::new(id, run.scope.clone(), Some(run.id), work, why, now)
    }

    pub fn tenant(&self) -> &TenantId {
        &self.scope.tenant
    }

    /// A task of no run. `cause` tells two that are to be done one after the other apart, as the trace whose
    /// evidence asks for it.
    pub fn triggered(tenant: TenantId, work: Work, why: String, cause: &str, now: Timestamp) -> Self {
        let id = derive("compaction trigger", &[tenant.as_str(), cause, &work.key()]);
        Self::new(id, Scope::new(tenant, Visibility::Tenant), None, work, why, now)
    }

    fn new(
        id: Uuid,
        scope: Scope,
        run: Option<CompactionRunId>,
        work: Work,
        why: String,
        now: Timestamp,
    ) -> Self {
        let (id, state) = (CompactionTaskId(id), TaskState::Planned);
        Self { id, scope, run, work, why, state, planned_at: now, ended_at: None }
    }
}
