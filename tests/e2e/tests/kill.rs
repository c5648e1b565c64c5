//! Acknowledged is durable, and delivered twice is done once: the process is killed twenty times while ten
//! thousand events are sent and judged.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::time::Duration;

use hindsight_e2e::{Kind, LIMIT, Server, run, step, until};
use hindsight_proto::{
    collector::v1::{RecordEventsRequest, collector_service_client::CollectorServiceClient},
    common::v1::{EvaluationState, StepLabel},
    evaluator::v1::{ListFailuresRequest, evaluator_service_client::EvaluatorServiceClient},
    memory::v1::{
        GetStatsRequest, GetStatsResponse, GetTrajectoryRequest, GetTrajectoryResponse,
        memory_service_client::MemoryServiceClient,
    },
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use tempfile::TempDir;
use tokio::time::Instant;
use tonic::transport::Channel;

const RUNS: usize = 500;
const STEPS: u32 = 18;
const EVENTS: usize = RUNS * (STEPS as usize + 2);
/// Kills while events are sent, at these many acknowledged; the others while what was sent is judged.
const KILLS_WHILE_SENDING: usize = 14;
const KILLS_WHILE_JUDGING: usize = 6;
const SEED: u64 = 20_261_107;

fn name(run: usize) -> String {
    format!("run-{run:03}")
}

fn kind(run: usize) -> Kind {
    if run % 5 == 4 { Kind::Skipped } else { Kind::Judged }
}

/// The client of the test: keeps what is not acknowledged and sends it again.
struct Sender {
    events: Vec<RecordEventsRequest>,
    acknowledged: usize,
}

impl Sender {
    fn new() -> Self {
        // Runs overlap: events of ten runs at a time take turns, each run in its own order.
        let runs: Vec<_> = (0..RUNS).map(|r| run(&name(r), STEPS, kind(r))).collect();
        let mut events = Vec::new();
        for group in runs.chunks(10) {
            for at in 0..STEPS as usize + 2 {
                events.extend(group.iter().map(|run| run[at].clone()));
            }
        }
        Self { events, acknowledged: 0 }
    }

    /// Sends from the first event that is not acknowledged until all are. At `point` acknowledged, and a
    /// little later, the server is killed with the stream open.
    async fn send(&mut self, server: Server, point: usize, later: Duration) {
        let from = self.acknowledged;
        let numbered = self.events[from..].iter().cloned().zip(1..);
        let rest: Vec<_> = numbered.map(|(e, sequence)| RecordEventsRequest { sequence, ..e }).collect();
        let mut client = CollectorServiceClient::new(server.channel().await);
        let mut answers = client.record_events(tokio_stream::iter(rest)).await.unwrap().into_inner();
        let mut server = Some(server);
        let mut kill_at = None;
        loop {
            if self.acknowledged >= point && kill_at.is_none() {
                kill_at = Some(Instant::now() + later);
            }
            let kill = async {
                match kill_at {
                    Some(at) if server.is_some() => tokio::time::sleep_until(at).await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                () = kill => server.take().unwrap().kill().await,
                answer = answers.message() => match answer {
                    Ok(Some(answer)) => {
                        assert!(answer.rejections.is_empty(), "{:?}", answer.rejections);
                        self.acknowledged = from + usize::try_from(answer.acknowledged_sequence).unwrap();
                    }
                    Ok(None) => {
                        assert_eq!(self.acknowledged, EVENTS, "ended before all were acknowledged");
                        break;
                    }
                    Err(e) => {
                        assert!(server.is_none(), "the stream broke before the kill: {e}");
                        break;
                    }
                },
            }
        }
        if let Some(server) = server {
            server.kill().await;
        }
    }
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_and_nothing_is_done_twice() {
    let dir = TempDir::new().unwrap();
    let mut rng = StdRng::seed_from_u64(SEED);
    let mut sender = Sender::new();
    assert_eq!(sender.events.len(), EVENTS);

    let mut points: Vec<_> = (0..KILLS_WHILE_SENDING).map(|_| rng.random_range(0..EVENTS)).collect();
    points.sort_unstable();
    for (kill, point) in points.into_iter().enumerate() {
        let server = start(&dir, kill, &sender).await;
        sender.send(server, point, moment(&mut rng, 40)).await;
    }
    // The last event is acknowledged and the process killed at once, with much still to be judged.
    let server = start(&dir, KILLS_WHILE_SENDING, &sender).await;
    sender.send(server, EVENTS, Duration::ZERO).await;
    assert_eq!(sender.acknowledged, EVENTS);
    for kill in 1..KILLS_WHILE_JUDGING {
        let server = start(&dir, KILLS_WHILE_SENDING + kill, &sender).await;
        tokio::time::sleep(moment(&mut rng, 2_500)).await;
        server.kill().await;
    }

    let server = Server::start(dir.path(), &[]).await;
    let stats = verify(&server).await;
    server.terminate();
    assert!(server.exit().await.success());
    let server = Server::start(dir.path(), &[]).await;
    assert_eq!(get_stats(&mut MemoryServiceClient::new(server.channel().await)).await, stats);
}

fn moment(rng: &mut StdRng, most_ms: u64) -> Duration {
    Duration::from_millis(rng.random_range(0..most_ms))
}

async fn start(dir: &TempDir, kill: usize, sender: &Sender) -> Server {
    let server = Server::start(dir.path(), &[]).await;
    let stats = get_stats(&mut MemoryServiceClient::new(server.channel().await)).await;
    let (acknowledged, stored, judged) = (sender.acknowledged, stats.events, stats.experiences);
    eprintln!("after {kill} kills: {acknowledged} acknowledged, {stored} stored, {judged} runs judged");
    server
}

/// Every event once, every run judged or skipped once, nothing else.
async fn verify(server: &Server) -> GetStatsResponse {
    let channel = server.channel().await;
    let mut memory = MemoryServiceClient::new(channel.clone());
    let mut kept_steps = 0;
    for run in 0..RUNS {
        let found = settled(&mut memory, run).await;
        check_steps(run, &found);
        kept_steps += match kind(run) {
            Kind::Judged => check_verdict(run, &found),
            Kind::Skipped => {
                assert!(found.evaluation.is_none(), "run {run}");
                0
            }
        };
    }
    let failures = EvaluatorServiceClient::new(channel).list_failures(ListFailuresRequest::default()).await;
    assert_eq!(failures.unwrap().into_inner().failures, []);
    let stats = get_stats(&mut memory).await;
    let judged = (0..RUNS).filter(|r| kind(*r) == Kind::Judged).count();
    assert_eq!(
        (stats.events, stats.experiences, stats.steps),
        (EVENTS as u64, judged as u64, kept_steps as u64),
        "{stats:?}"
    );
    stats
}

/// The run, once its evaluation has come to an end.
async fn settled(memory: &mut MemoryServiceClient<Channel>, run: usize) -> GetTrajectoryResponse {
    let request = GetTrajectoryRequest { trace_id: name(run), ..GetTrajectoryRequest::default() };
    let expected = match kind(run) {
        Kind::Judged => EvaluationState::Judged,
        Kind::Skipped => EvaluationState::Skipped,
    };
    until(&format!("{} is {expected:?}", name(run)), async || {
        let found = memory.get_trajectory(request.clone()).await.map_err(|e| e.to_string())?.into_inner();
        let record = found.record.as_ref().ok_or("no record yet")?;
        assert_ne!(record.state(), EvaluationState::Failed, "{record:?}");
        if record.state() == expected { Ok(found) } else { Err(format!("{record:?}")) }
    })
    .await
}

fn check_steps(run: usize, found: &GetTrajectoryResponse) {
    let steps = &found.trajectory.as_ref().unwrap().steps;
    assert_eq!(steps.len(), STEPS as usize, "run {run}");
    for (index, got) in steps.iter().enumerate() {
        let sent = step(&name(run), u32::try_from(index).unwrap(), kind(run));
        assert_eq!(got.step_index, sent.step_index, "run {run}");
        assert_eq!(got.action_detail, sent.action_detail, "run {run}");
        assert_eq!(got.observation, sent.observation, "run {run}");
    }
}

/// The number of steps that are kept as memories of their own.
fn check_verdict(run: usize, found: &GetTrajectoryResponse) -> usize {
    let labels = &found.evaluation.as_ref().unwrap().steps;
    let judged: Vec<_> = labels.iter().map(|l| l.step_index).collect();
    assert_eq!(judged, (0..STEPS).collect::<Vec<_>>(), "run {run}");
    labels.iter().filter(|l| l.label() != StepLabel::Redundant).count()
}

async fn get_stats(memory: &mut MemoryServiceClient<Channel>) -> GetStatsResponse {
    let request = GetStatsRequest::default();
    tokio::time::timeout(LIMIT, memory.get_stats(request)).await.unwrap().unwrap().into_inner()
}
