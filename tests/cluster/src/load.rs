use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hindsight_client::Client;
use hindsight_e2e::{Kind, LIMIT, trajectory, until};
use hindsight_proto::{collector::v1::SubmitTrajectoryRequest, recall::v1::RecallRequest};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Agents that submit at the same time.
const AGENTS: usize = 4;
/// Between two runs of an agent.
const PAUSE: Duration = Duration::from_millis(150);
/// Steps of a run.
pub(crate) const STEPS: u32 = 8;

/// Agents that submit runs until they are told to stop. An agent keeps a run until it is acknowledged, and
/// asks another collector when one fails it.
#[derive(Debug)]
pub struct Load {
    shared: Arc<Shared>,
    agents: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    collectors: Vec<Client>,
    next: AtomicUsize,
    /// Calls that failed although the client repeats them.
    failed: AtomicUsize,
    acknowledged: Mutex<Vec<String>>,
    stop: CancellationToken,
}

impl Load {
    /// `name` begins the names of its runs.
    pub fn begin(name: &str, collectors: Vec<Client>) -> Self {
        let shared = Arc::new(Shared {
            name: name.to_owned(),
            collectors,
            next: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            acknowledged: Mutex::default(),
            stop: CancellationToken::new(),
        });
        let mut agents = JoinSet::new();
        for agent in 0..AGENTS {
            agents.spawn(submit(shared.clone(), agent));
        }
        Self { shared, agents }
    }

    pub fn acknowledged(&self) -> usize {
        self.shared.acknowledged().len()
    }

    /// Until this many more are acknowledged.
    pub async fn more(&self, runs: usize) {
        let enough = self.acknowledged() + runs;
        until("more runs acknowledged", async || {
            let n = self.acknowledged();
            if n >= enough { Ok(()) } else { Err(format!("{n} of {enough}")) }
        })
        .await;
    }

    pub fn failed(&self) -> usize {
        self.shared.failed.load(Ordering::Relaxed)
    }

    /// What was acknowledged, once every run that was begun is.
    pub async fn end(mut self) -> Vec<String> {
        self.shared.stop.cancel();
        let joined = tokio::time::timeout(LIMIT, async {
            while let Some(agent) = self.agents.join_next().await {
                agent.unwrap_or_else(|e| panic!("{e}"));
            }
        });
        joined.await.unwrap_or_else(|_| panic!("runs are not acknowledged within {LIMIT:?}"));
        self.shared.acknowledged().clone()
    }
}

impl Shared {
    fn acknowledged(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.acknowledged.lock().unwrap_or_else(|e| panic!("{e}"))
    }
}

async fn submit(shared: Arc<Shared>, agent: usize) {
    let mut collectors = shared.collectors.iter().cycle().skip(agent);
    while !shared.stop.is_cancelled() {
        let name = format!("{}-{}", shared.name, shared.next.fetch_add(1, Ordering::Relaxed));
        let run = Some(trajectory(&name, STEPS, Kind::Judged));
        let request = SubmitTrajectoryRequest { trajectory: run, ..SubmitTrajectoryRequest::default() };
        for collector in collectors.by_ref() {
            match collector.submit_trajectory(request.clone()).await {
                Ok(_) => break,
                Err(error) => {
                    assert!(error.is_transient(), "{name}: {error}");
                    shared.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        shared.acknowledged().push(name);
        tokio::time::sleep(PAUSE).await;
    }
}

/// An agent that recalls until it is told to stop, one process after the other.
#[derive(Debug)]
pub struct Asking {
    stop: CancellationToken,
    asked: tokio::task::JoinHandle<Asked>,
}

/// How its recalls ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub answered: usize,
    /// Of the answered: those that came without all that is stored.
    pub degraded: usize,
    pub failed: usize,
    /// Answered without a receipt that can be asked for.
    pub without_receipt: usize,
}

impl Asking {
    pub fn begin(recalls: Vec<Client>) -> Self {
        let stop = CancellationToken::new();
        let asked = tokio::spawn(ask(recalls, stop.clone()));
        Self { stop, asked }
    }

    pub async fn end(self) -> Asked {
        self.stop.cancel();
        self.asked.await.unwrap_or_else(|e| panic!("{e}"))
    }
}

async fn ask(recalls: Vec<Client>, stop: CancellationToken) -> Asked {
    let mut asked = Asked::default();
    for recall in recalls.iter().cycle() {
        if stop.is_cancelled() {
            break;
        }
        let query = "a service keeps restarting 服务反复重启".to_owned();
        match recall.recall(RecallRequest { query, ..RecallRequest::default() }).await {
            Ok(answer) => {
                asked.answered += 1;
                asked.degraded += usize::from(answer.degraded);
                asked.without_receipt += usize::from(answer.receipt_id.is_empty());
            }
            Err(_) => asked.failed += 1,
        }
        tokio::time::sleep(PAUSE).await;
    }
    asked
}
