use std::{collections::BTreeSet, io::Write as _, time::Instant};

use hindsight_client::Client;
use hindsight_e2e::{Kind, LIMIT, step, trajectory, until};
use hindsight_proto::{
    collector::v1::SubmitTrajectoryRequest,
    common::v1::{EvaluationState, StepLabel},
    evaluator::v1::ListFailuresRequest,
    memory::v1::{GetStatsRequest, GetStatsResponse, GetTrajectoryRequest, GetTrajectoryResponse},
    recall::v1::RecallRequest,
};

use crate::{Cluster, Load, Role, load::STEPS};

/// Events of a run: its start, its steps and its end.
const EVENTS: u64 = STEPS as u64 + 2;

/// Everything that was acknowledged in a cluster, to be held against what is stored.
#[derive(Debug, Default)]
pub struct Ledger {
    runs: BTreeSet<String>,
}

/// A fault that is over.
#[derive(Debug)]
pub struct Fault {
    pub name: &'static str,
    /// Runs that were acknowledged and not judged when it struck.
    pub waiting: usize,
    /// Runs acknowledged while it lasted.
    pub during: usize,
    /// When it was over.
    pub over: Instant,
}

impl Ledger {
    pub fn add(&mut self, acknowledged: impl IntoIterator<Item = String>) {
        self.runs.extend(acknowledged);
    }

    /// Runs that are acknowledged and not judged yet.
    pub async fn waiting(&self, cluster: &mut Cluster, load: &Load) -> usize {
        let stats = stats(&cluster.client(Role::Recall)).await;
        let acknowledged = self.runs.len() + load.acknowledged();
        acknowledged.saturating_sub(usize::try_from(stats.experiences).unwrap_or(usize::MAX))
    }

    /// Waits until a run submitted now is judged and recalls are whole again, ends the load, and holds the
    /// store against all that was acknowledged.
    ///
    /// # Panics
    /// When anything was lost or doubled.
    pub async fn settle(&mut self, cluster: &mut Cluster, load: Load, fault: Fault) {
        self.recovered(cluster, fault.name).await;
        let recovery = fault.over.elapsed();
        let (held, runs) = (load.acknowledged(), load.end().await);
        assert!(held > 0, "no load");
        self.add(runs.iter().cloned());
        let (lost, doubled) = self.compare(cluster).await;
        let events = runs.len() as u64 * EVENTS;
        tell(&format!(
            "| {} | {} runs, {events} events | {} waiting, {} during | {lost} | {doubled} | {:.1} s |",
            fault.name,
            runs.len(),
            fault.waiting,
            fault.during,
            recovery.as_secs_f64()
        ));
        assert_eq!((lost, doubled), (0, 0), "{}: lost, doubled", fault.name);
    }

    async fn recovered(&mut self, cluster: &mut Cluster, fault: &str) {
        let name = format!("after {fault}");
        let request = SubmitTrajectoryRequest {
            trajectory: Some(trajectory(&name, STEPS, Kind::Judged)),
            ..SubmitTrajectoryRequest::default()
        };
        let collector = cluster.client(Role::Collector);
        until("a run is taken again", async || {
            collector.submit_trajectory(request.clone()).await.map(drop).map_err(|e| e.to_string())
        })
        .await;
        let recall = cluster.client(Role::Recall);
        judged(&recall, &name).await;
        until("recalls are whole again", async || {
            let query = "a service keeps restarting".to_owned();
            let answer = recall.recall(RecallRequest { query, ..RecallRequest::default() }).await;
            let answer = answer.map_err(|e| e.to_string())?;
            if answer.degraded || answer.items.is_empty() { Err(format!("{answer:?}")) } else { Ok(()) }
        })
        .await;
        self.add([name]);
    }

    /// How many runs or parts of runs are missing, and how many are there more than once.
    async fn compare(&self, cluster: &mut Cluster) -> (u64, u64) {
        let recall = cluster.client(Role::Recall);
        let mut steps = 0;
        for run in &self.runs {
            let found = judged(&recall, run).await;
            steps += check(run, &found);
        }
        let failures = cluster.client(Role::Evaluator).list_failures(ListFailuresRequest::default()).await;
        assert_eq!(failures.unwrap_or_else(|e| panic!("{e}")).failures, [], "failed or waiting evaluations");
        let stats = stats(&recall).await;
        let runs = self.runs.len() as u64;
        let pairs = [(runs * EVENTS, stats.events), (runs, stats.experiences), (steps, stats.steps)];
        let lost = pairs.iter().map(|(expected, found)| expected.saturating_sub(*found)).sum();
        let doubled = pairs.iter().map(|(expected, found)| found.saturating_sub(*expected)).sum();
        (lost, doubled)
    }
}

/// The run, once it is judged.
async fn judged(recall: &Client, run: &str) -> GetTrajectoryResponse {
    let request = GetTrajectoryRequest { trace_id: run.to_owned(), ..GetTrajectoryRequest::default() };
    until(&format!("{run} is judged"), async || {
        let found = recall.get_trajectory(request.clone()).await.map_err(|e| e.to_string())?;
        let record = found.record.as_ref().ok_or("no record yet")?;
        if record.state() == EvaluationState::Judged { Ok(found) } else { Err(format!("{record:?}")) }
    })
    .await
}

/// Every step once, as it was sent, with a label. The number that are kept as memories of their own.
fn check(run: &str, found: &GetTrajectoryResponse) -> u64 {
    let steps = found.trajectory.as_ref().map_or(&[][..], |t| &t.steps);
    let labels = found.evaluation.as_ref().map_or(&[][..], |e| &e.steps);
    assert_eq!((steps.len(), labels.len()), (STEPS as usize, STEPS as usize), "{run}");
    for (got, index) in steps.iter().zip(0..) {
        let sent = step(run, index, Kind::Judged);
        assert_eq!(
            (got.step_index, &got.action_detail, &got.observation),
            (index, &sent.action_detail, &sent.observation),
            "{run}"
        );
    }
    labels.iter().filter(|l| l.label() != StepLabel::Redundant).count() as u64
}

async fn stats(recall: &Client) -> GetStatsResponse {
    let asked = tokio::time::timeout(LIMIT, recall.get_stats(GetStatsRequest::default())).await;
    asked.unwrap_or_else(|_| panic!("no statistics")).unwrap_or_else(|e| panic!("{e}"))
}

/// A row of the table, on standard error and in the file that `HINDSIGHT_CLUSTER_REPORT` names.
pub fn tell(row: &str) {
    let _ = writeln!(std::io::stderr(), "{row}");
    if let Some(path) = std::env::var_os("HINDSIGHT_CLUSTER_REPORT") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let written = file.and_then(|mut file| writeln!(file, "{row}"));
        written.unwrap_or_else(|e| panic!("HINDSIGHT_CLUSTER_REPORT: {e}"));
    }
}
