//! Hindsight as the memory of the agent.

use std::path::Path;

use hindsight_proto::{collector::v1::SubmitTrajectoryRequest, recall::v1::RecallRequest};
use hindsight_types::Timestamp;

use crate::{
    simulated::Hindsight,
    submit::{self, Proof},
    world::{agent::Run, task::Task},
};

pub(crate) struct Product(Hindsight);

impl Product {
    /// `gated`: lessons serve only with evidence.
    pub(crate) async fn open(dir: Option<&Path>, now: Timestamp, gated: bool) -> anyhow::Result<Self> {
        let gate = if gated { "evidence" } else { "off" };
        Ok(Self(Hindsight::start(dir, now, &[("lifecycle.gate", gate)]).await?))
    }

    /// The block and its receipt.
    pub(crate) async fn recall(&self, task: &Task) -> anyhow::Result<(String, String)> {
        self.0.set_time(task.at);
        let request = RecallRequest {
            query: task.report.clone(),
            environment: Some(submit::environment(task)),
            ..RecallRequest::default()
        };
        let answer = self.0.client().recall(request).await?;
        anyhow::ensure!(!answer.degraded, "a recall missed its deadline: {:?}", answer.arms);
        Ok((answer.block, answer.receipt_id))
    }

    /// Submits a run and waits until it is judged.
    pub(crate) async fn keep(
        &self,
        task: &Task,
        run: &Run,
        receipt: Option<String>,
        proof: Proof,
    ) -> anyhow::Result<()> {
        let who = match proof {
            Proof::Check => "run",
            Proof::Claim => "claim",
        };
        let trajectory = submit::trajectory(format!("{who}-{}", task.index), task, run, receipt, proof);
        self.0.set_time(Timestamp::from_second(trajectory.ended_at.map_or(0, |at| at.seconds))?);
        let request =
            SubmitTrajectoryRequest { trajectory: Some(trajectory), ..SubmitTrajectoryRequest::default() };
        self.0.client().submit_trajectory(request).await?;
        self.0.settled().await
    }

    pub(crate) async fn close(self) {
        self.0.stop().await;
    }
}
