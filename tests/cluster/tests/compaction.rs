//! The compactor that leads dies in the middle of a run of upkeep.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::time::{Duration, Instant, SystemTime};

use hindsight_client::Client;
use hindsight_cluster::{Cluster, Role, Shape, tell};
use hindsight_e2e::{record, until};
use hindsight_proto::{
    collector::v1::{RecordEventsRequest, record_events_request::Body},
    common::v1::{CompactionPolicy, CompactionRun, CompactionRunState},
    compactor::v1::{GetRunRequest, ListRunsRequest, RunCompactionRequest},
    evaluator::v1::GetEvaluationRequest,
    event::v1::{TaskCompleted, TaskStarted},
    memory::v1::GetStatsRequest,
};

/// Runs whose raw events are old: a few tasks.
const RUNS: u64 = 220;
const AGE: Duration = Duration::from_secs(20 * 24 * 60 * 60);

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_upkeep_outlives_the_compactor_that_leads_it() {
    let shape = Shape { compactors: 2, ..Shape::of_each(1) };
    let Some(mut cluster) = Cluster::start(&shape).await else { return };
    let recall = cluster.client(Role::Recall);
    age(&mut cluster).await;
    let events = async || {
        let stats = recall.get_stats(GetStatsRequest::default()).await.map_err(|e| e.to_string())?;
        Ok::<u64, String>(stats.events)
    };
    let evaluator = cluster.client(Role::Evaluator);
    let mut looked = 0;
    until("everything is stored and looked at", async || {
        while looked < RUNS {
            let trace_id = format!("old-{looked}");
            let request = GetEvaluationRequest { trace_id, ..GetEvaluationRequest::default() };
            evaluator.get_evaluation(request).await.map_err(|e| format!("{looked} are looked at: {e}"))?;
            looked += 1;
        }
        match events().await? {
            n if n == 2 * RUNS => Ok(()),
            n => Err(format!("{n} events")),
        }
    })
    .await;

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

    // Without workers the run stays where it is; the one that leads is not the one that is asked.
    cluster.node(Role::Evaluator, 0).process.kill().await;
    let other = cluster.node(Role::Compactor, 1 - leader).client();
    let request = RunCompactionRequest {
        policies: vec![CompactionPolicy::RawEvents.into()],
        request_id: "a-run".to_owned(),
        ..RunCompactionRequest::default()
    };
    let begun = other.run_compaction(request.clone()).await.unwrap().runs.remove(0);
    let working = state(&other, &begun.id, CompactionRunState::Working).await;
    assert!(working.planned >= RUNS / 50 && working.done == 0, "{working:?}");

    cluster.node(Role::Compactor, leader).process.kill().await;
    let killed = Instant::now();
    cluster.node(Role::Evaluator, 0).process.start();
    let done = state(&other, &begun.id, CompactionRunState::Done).await;
    let took = killed.elapsed();
    assert_eq!((done.planned, done.skipped, done.failed), (done.done, 0, 0), "{done:?}");
    assert_eq!(events().await.unwrap(), 0);

    // The killed one comes back and finds nothing to do; the request again is the same run.
    cluster.node(Role::Compactor, leader).process.start();
    cluster.node(Role::Compactor, leader).ready().await;
    let again = cluster.node(Role::Compactor, leader).client().run_compaction(request).await.unwrap();
    assert_eq!(again.runs[0].ended_at, done.ended_at, "it ended twice");
    let list = ListRunsRequest { policy: CompactionPolicy::RawEvents.into(), ..ListRunsRequest::default() };
    let asked = other.list_runs(list).await.unwrap().runs;
    assert_eq!(asked.iter().filter(|run| run.id == begun.id).count(), 1);
    tell(&format!(
        "| compactor that leads a run of upkeep killed (SIGKILL) | {} tasks | {} waiting | 0 | 0 | {:.1} s |",
        done.planned,
        working.planned,
        took.as_secs_f64()
    ));
}

/// Records runs that began and ended long ago, with nothing worth judging.
async fn age(cluster: &mut Cluster) {
    let mut collector = cluster.client(Role::Collector).collector();
    let then = SystemTime::now() - AGE;
    let events = (0..RUNS).flat_map(|n| {
        let name = format!("old-{n}");
        let started =
            Body::Started(TaskStarted { goal: format!("goal of {name}"), ..TaskStarted::default() });
        let completed = Body::Completed(TaskCompleted::default());
        [started, completed].map(|body| (name.clone(), body))
    });
    let events: Vec<_> = events
        .zip(1..)
        .map(|((name, body), sequence)| RecordEventsRequest {
            sequence,
            recorded_at: Some(then.into()),
            ..record(&name, body)
        })
        .collect();
    let last = events.len() as u64;
    let mut answers = collector.record_events(tokio_stream::iter(events)).await.unwrap().into_inner();
    let mut acknowledged = 0;
    while let Some(answer) = answers.message().await.unwrap() {
        assert!(answer.rejections.is_empty(), "{:?}", answer.rejections);
        acknowledged = answer.acknowledged_sequence;
    }
    assert_eq!(acknowledged, last);
}

/// Waits until the run is in this state.
async fn state(client: &Client, id: &str, wanted: CompactionRunState) -> CompactionRun {
    until(&format!("the run is {}", wanted.as_str_name()), async || {
        let request = GetRunRequest { id: id.to_owned(), page_size: 1, page_token: String::new() };
        let run = client.get_run(request).await.map_err(|e| e.to_string())?.run.ok_or("no run")?;
        if run.state() == wanted { Ok(run) } else { Err(format!("{run:?}")) }
    })
    .await
}
