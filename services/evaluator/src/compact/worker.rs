//! Takes tasks of upkeep from `Queue::Compact`. One that belongs to a run is done once: its record says whether it
//! still is to be done, and how it ended. One that what happened asked for has no record; it is done, or set aside.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use hindsight_codec::{compaction_task_from_proto, schema};
use hindsight_ports::{Delivery, Envelope, StoreError};
use hindsight_proto::event::v1::CompactionRequested;
use hindsight_runtime::Trouble;
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{CompactionTask, TaskState};
use prost::Message as _;

use super::{Effect, Tools};
use crate::{
    broken::Broken,
    take::{Handle, settled},
};

const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// Attempts at a task whose dependencies are away, over about a quarter of an hour, before it is given up.
const ATTEMPTS: u32 = 20;

pub(crate) struct Worker {
    pub(crate) tools: Arc<Tools>,
    /// Why the last task could not be done for now.
    pub(crate) trouble: Trouble,
}

/// How an attempt at a task ended.
enum End {
    /// Nothing is left to do.
    Over,
    Later {
        reason: String,
    },
    Refused {
        reason: String,
    },
}

#[async_trait]
impl Handle for Worker {
    async fn deliver(&self, delivery: &Delivery) {
        let end = match read(&delivery.envelope) {
            Ok(task) => self.attempt(&task, delivery.attempt).await,
            Err(reason) => End::Refused { reason },
        };
        let outcome = match end {
            End::Over => delivery.settle.ack().await,
            End::Later { reason } => {
                let shift = delivery.attempt.saturating_sub(1).min(16);
                let wait = FIRST_DELAY.saturating_mul(1 << shift).min(LONGEST_DELAY);
                tracing::info!(id = %delivery.envelope.id, reason, ?wait, "upkeep is done later");
                delivery.settle.retry(&reason, wait).await
            }
            End::Refused { reason } => {
                tracing::error!(id = %delivery.envelope.id, reason, "upkeep could not be done");
                delivery.settle.dead_letter(&reason).await
            }
        };
        settled(delivery, outcome);
    }
}

impl Worker {
    pub(crate) fn new(tools: Tools) -> Self {
        Self { tools: Arc::new(tools), trouble: Trouble::default() }
    }

    async fn attempt(&self, task: &CompactionTask, attempt: u32) -> End {
        let done = match self.is_open(task).await {
            Ok(true) => super::run(&self.tools, task.tenant(), &task.work).await,
            Ok(false) => return End::Over,
            Err(error) => Err(error.into()),
        };
        let (state, trouble) = match done {
            Ok(Effect::Done) => (TaskState::Done, None),
            Ok(Effect::Skipped { why }) => (TaskState::Skipped { why }, None),
            Err(Broken::Final(why)) => (TaskState::Failed { why }, None),
            Err(Broken::Transient { reason, .. }) if attempt >= ATTEMPTS => {
                (TaskState::Failed { why: format!("{reason}, after {attempt} attempts") }, Some(reason))
            }
            Err(Broken::Transient { reason, .. }) => {
                self.trouble.report(Some(reason.clone()));
                return End::Later { reason };
            }
        };
        self.trouble.report(trouble);
        self.end(task, state).await
    }

    /// Whether a task is still to be done. The record of one may have left with that of its run.
    async fn is_open(&self, task: &CompactionTask) -> Result<bool, StoreError> {
        if task.run.is_none() {
            return Ok(true);
        }
        let known = self.tools.compaction.compactions.task(task.tenant(), task.id).await?;
        Ok(known.is_some_and(|known| known.state == TaskState::Planned))
    }

    async fn end(&self, task: &CompactionTask, state: TaskState) -> End {
        Metric::CompactionTasks.add(1, &[(Label::Kind, task.work.as_str()), (Label::Result, state.as_str())]);
        let (work, tenant) = (task.work.as_str(), task.tenant());
        match &state {
            TaskState::Failed { why } => tracing::warn!(%tenant, id = %task.id, work, why, "upkeep failed"),
            state => tracing::debug!(%tenant, id = %task.id, work, ?state, "upkeep"),
        }
        if task.run.is_none() {
            return match state {
                TaskState::Failed { why } => End::Refused { reason: why },
                _ => End::Over,
            };
        }
        let ended = CompactionTask { state, ended_at: Some(self.tools.clock.now()), ..task.clone() };
        match self.tools.compaction.compactions.end_task(&ended).await {
            Ok(()) => End::Over,
            Err(error) => End::Later { reason: error.to_string() },
        }
    }
}

/// The error says why the message can never be read.
fn read(envelope: &Envelope) -> Result<CompactionTask, String> {
    if envelope.schema != schema::COMPACTION_REQUESTED {
        return Err(format!("messages of type `{}` are not known here", envelope.schema));
    }
    let asked = CompactionRequested::decode(envelope.payload.as_slice())
        .map_err(|e| format!("{} cannot be decoded: {e}", envelope.schema))?;
    let task = asked.task.ok_or("it carries no task")?;
    compaction_task_from_proto(&envelope.tenant, task).map_err(|e| e.to_string())
}
