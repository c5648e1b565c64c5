//! Hindsight as the memory of the agent.

use std::path::Path;

use hindsight_proto::{collector::v1::SubmitTrajectoryRequest, recall::v1::RecallRequest};
use hindsight_types::Timestamp;

use super::watched::Watched;
use crate::{
    simulated::Hindsight,
    submit::{self, Proof},
    upkeep,
    world::{advice::Advice, agent::Run, task::Task},
};

pub(crate) struct Product {
    hindsight: Hindsight,
    /// The night after which upkeep was done last.
    night: i64,
}

const DAY: i64 = 24 * 3600;

impl Product {
    /// `gated`: lessons serve only with evidence.
    pub(crate) async fn open(dir: Option<&Path>, now: Timestamp, gated: bool) -> anyhow::Result<Self> {
        let gate = if gated { "evidence" } else { "off" };
        let mut settings = upkeep::by_request_alone().to_vec();
        settings.push(("lifecycle.gate", gate));
        // The time of that world stands still while somebody works.
        settings.push(("watch.cool_down", "0s"));
        let hindsight = Hindsight::start(dir, now, &settings).await?;
        Ok(Self { hindsight, night: now.as_second() / DAY })
    }

    /// In the night before a task, there is upkeep.
    async fn wake(&mut self, task: &Task) -> anyhow::Result<()> {
        let night = task.at.as_second() / DAY;
        if night > self.night {
            self.night = night;
            self.hindsight.set_time(Timestamp::from_second(night * DAY)?);
            upkeep::run(&self.hindsight).await?;
        }
        self.hindsight.set_time(task.at);
        Ok(())
    }

    /// The stream of a task, and what is said at its start.
    pub(crate) async fn watch(&mut self, task: &Task) -> anyhow::Result<(Watched, Vec<Advice>)> {
        self.wake(task).await?;
        Watched::open(self.hindsight.client(), task).await
    }

    /// The block and its receipt.
    pub(crate) async fn recall(&mut self, task: &Task) -> anyhow::Result<(String, String)> {
        self.wake(task).await?;
        let request = RecallRequest {
            query: task.report.clone(),
            environment: Some(submit::environment(task)),
            ..RecallRequest::default()
        };
        let answer = self.hindsight.client().recall(request).await?;
        anyhow::ensure!(!answer.degraded, "a recall missed its deadline: {:?}", answer.arms);
        Ok((answer.block, answer.receipt_id))
    }

    /// Submits a run and waits until it is judged.
    pub(crate) async fn keep(
        &self,
        task: &Task,
        run: &Run,
        receipts: Vec<String>,
        proof: Proof,
    ) -> anyhow::Result<()> {
        let name = match proof {
            Proof::Check => submit::name(task),
            Proof::Claim => format!("claim-{}", task.index),
        };
        let trajectory = submit::trajectory(name, task, run, receipts, proof);
        self.hindsight.set_time(Timestamp::from_second(trajectory.ended_at.map_or(0, |at| at.seconds))?);
        let request =
            SubmitTrajectoryRequest { trajectory: Some(trajectory), ..SubmitTrajectoryRequest::default() };
        self.hindsight.client().submit_trajectory(request).await?;
        self.hindsight.settled().await
    }

    pub(crate) async fn close(self) {
        self.hindsight.stop().await;
    }
}
