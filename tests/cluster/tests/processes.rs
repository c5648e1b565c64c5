//! Processes of a cluster die, freeze and are replaced while agents work.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::time::Instant;

use hindsight_cluster::{Asking, Cluster, Fault, Ledger, Load, Role, Shape, tell};
use hindsight_e2e::{Kind, record, step, until};
use hindsight_proto::{
    collector::v1::{RecordEventsRequest, record_events_request::Body},
    common::v1::EvaluationState,
    evaluator::v1::GetEvaluationRequest,
    event::v1::TaskStarted,
    memory::v1::GetStatsRequest,
};

/// Runs acknowledged before and while a fault lasts.
const SOME: usize = 12;

/// Two processes per role.
async fn pairs() -> Option<Cluster> {
    Cluster::start(&Shape::of_each(2)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_processes_lose_and_double_nothing() {
    let Some(mut cluster) = Cluster::start(&Shape::of_each(1)).await else { return };
    let mut ledger = Ledger::default();
    for (role, name) in [
        (Role::Collector, "collector killed (SIGKILL)"),
        (Role::Evaluator, "evaluator killed (SIGKILL)"),
        (Role::Compactor, "compactor killed (SIGKILL)"),
        (Role::Recall, "recall killed (SIGKILL)"),
    ] {
        let load = Load::begin(role.program(), cluster.clients(Role::Collector));
        load.more(SOME).await;
        let waiting = ledger.waiting(&mut cluster, &load).await;
        let before = load.acknowledged();
        cluster.node(role, 0).process.kill().await;
        if role != Role::Collector {
            load.more(SOME).await;
        }
        let (during, over) = (load.acknowledged() - before, Instant::now());
        cluster.node(role, 0).process.start();
        ledger.settle(&mut cluster, load, Fault { name, waiting, during, over }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_worker_held_is_judged_by_another() {
    let Some(mut cluster) = pairs().await else { return };
    let mut ledger = Ledger::default();
    // A frozen worker is given as many runs as it may hold; all others are judged by the other worker.
    cluster.node(Role::Evaluator, 0).process.freeze();
    let load = Load::begin("held", cluster.clients(Role::Collector));
    load.more(4 * SOME).await;
    let runs = load.end().await;
    let recall = cluster.client(Role::Recall);
    let mut seen = (0, Instant::now());
    let held = until("only what the frozen worker holds is left", async || {
        let stats = recall.get_stats(GetStatsRequest::default()).await.map_err(|e| e.to_string())?;
        let left = runs.len() as u64 - stats.experiences;
        if seen.0 != left {
            seen = (left, Instant::now());
        }
        if left > 0 && left <= 4 && seen.1.elapsed().as_secs() >= 2 {
            Ok(left)
        } else {
            Err(left.to_string())
        }
    })
    .await;
    ledger.add(runs);
    let load = Load::begin("held-later", cluster.clients(Role::Collector));
    load.more(SOME).await;
    cluster.node(Role::Evaluator, 0).process.kill().await;
    let fault = Fault {
        name: "evaluator frozen with runs in hand, then killed",
        waiting: held as usize,
        during: load.acknowledged(),
        over: Instant::now(),
    };
    cluster.node(Role::Evaluator, 0).process.start();
    ledger.settle(&mut cluster, load, fault).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_fails_no_request() {
    let Some(mut cluster) = pairs().await else { return };
    let mut ledger = Ledger::default();
    let load = Load::begin("rolling", cluster.clients(Role::Collector));
    let asking = Asking::begin(cluster.clients(Role::Recall));
    load.more(SOME).await;
    let waiting = ledger.waiting(&mut cluster, &load).await;
    let before = load.acknowledged();
    for role in Role::ALL {
        for i in 0..2 {
            let node = cluster.node(role, i);
            let exit = node.process.stop().await;
            let log = node.process.log();
            assert!(exit.success() && log.contains("stop requested"), "{role:?}: {exit:?}\n{log}");
            node.process.start();
            node.ready().await;
        }
    }
    load.more(SOME).await;
    let asked = asking.end().await;
    assert!(asked.answered > 0 && asked.failed == 0 && asked.degraded == 0, "{asked:?}");
    assert_eq!(load.failed(), 0, "submissions failed although they were repeated");
    let fault = Fault {
        name: "rolling restart of all eight processes (SIGTERM)",
        waiting,
        during: load.acknowledged() - before,
        over: Instant::now(),
    };
    ledger.settle(&mut cluster, load, fault).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_compactor_leads_and_the_other_takes_over() {
    let env = [("IDLE_AFTER", "10s"), ("EVERY", "1s")];
    let env = env.map(|(k, v)| (format!("HINDSIGHT__COMPACTOR__{k}"), v.to_owned())).to_vec();
    let Some(mut cluster) = Cluster::start(&Shape { env, ..Shape::of_each(2) }).await else { return };
    let leads = |cluster: &mut Cluster, i: usize| {
        let log = cluster.node(Role::Compactor, i).process.log();
        log.matches("this compactor leads").count() > log.matches("no longer leads").count()
    };
    let leader = until("one leads", async || match (leads(&mut cluster, 0), leads(&mut cluster, 1)) {
        (true, false) => Ok(0),
        (false, true) => Ok(1),
        both => Err(format!("{both:?}")),
    })
    .await;

    abandon(&mut cluster, "left-open-1").await;
    ended(&mut cluster, "left-open-1").await;
    assert!(!leads(&mut cluster, 1 - leader), "both lead");

    abandon(&mut cluster, "left-open-2").await;
    cluster.node(Role::Compactor, leader).process.kill().await;
    let killed = Instant::now();
    until("the other takes over", async || {
        leads(&mut cluster, 1 - leader).then_some(()).ok_or(String::new())
    })
    .await;
    let took = killed.elapsed();
    ended(&mut cluster, "left-open-2").await;
    tell(&format!(
        "| leading compactor killed (SIGKILL) | 2 open tasks | 1 waiting | 0 | 0 | {:.1} s |",
        took.as_secs_f64()
    ));
}

/// Records the beginning of a task that no one ends.
async fn abandon(cluster: &mut Cluster, name: &str) {
    let started = Body::Started(TaskStarted { goal: format!("goal of {name}"), ..TaskStarted::default() });
    let steps = (0..6).map(|i| Body::Step(step(name, i, Kind::Judged)));
    let now = std::time::SystemTime::now();
    let events = std::iter::once(started).chain(steps).zip(1..).map(|(body, sequence)| RecordEventsRequest {
        sequence,
        recorded_at: Some(now.into()),
        ..record(name, body)
    });
    let events: Vec<_> = events.collect();
    let last = events.len() as u64;
    let mut collector = cluster.client(Role::Collector).collector();
    let stream = tokio_stream::iter(events);
    let mut answers = collector.record_events(stream).await.unwrap().into_inner();
    let mut acknowledged = 0;
    while let Some(answer) = answers.message().await.unwrap() {
        assert!(answer.rejections.is_empty(), "{:?}", answer.rejections);
        acknowledged = answer.acknowledged_sequence;
    }
    assert_eq!(acknowledged, last);
}

/// Waits until it was ended for its agent, and judged.
async fn ended(cluster: &mut Cluster, name: &str) {
    let evaluator = cluster.client(Role::Evaluator);
    let request = GetEvaluationRequest { trace_id: name.to_owned(), ..GetEvaluationRequest::default() };
    until(&format!("{name} is judged"), async || {
        let found = evaluator.get_evaluation(request.clone()).await.map_err(|e| e.to_string())?;
        let record = found.record.ok_or("no record")?;
        if record.state() == EvaluationState::Judged { Ok(()) } else { Err(format!("{record:?}")) }
    })
    .await;
}
