//! How the rate of judging grows with evaluators: real processes over RabbitMQ and a store behind a socket,
//! and a judge that takes a fixed time.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use axum::{Router, http::header::CONTENT_TYPE, routing::post};
use hindsight_client::Client;
use hindsight_cluster::{Cluster, Role, Shape};
use hindsight_e2e::{Kind, trajectory};
use hindsight_proto::{collector::v1::SubmitTrajectoryRequest, memory::v1::GetStatsRequest};
use serde_json::json;
use tokio::net::TcpListener;

use crate::report::Report;

const STEPS: u32 = 8;
/// Between two looks at how many are judged.
const LOOK: Duration = Duration::from_millis(20);
const LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Evaluator processes, each judging one run at a time.
    #[arg(long, value_delimiter = ',', default_values_t = [1_usize, 2, 4])]
    evaluators: Vec<usize>,
    /// Time that the judge takes for a run, in milliseconds.
    #[arg(long, default_value_t = 200)]
    judge_ms: u64,
    /// Runs per evaluator.
    #[arg(long, default_value_t = 60)]
    runs: usize,
}

pub(crate) async fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let judge = judge(Duration::from_millis(args.judge_ms)).await?;
    let mut one: Option<String> = None;
    for &evaluators in &args.evaluators {
        let rate = rate(&judge, evaluators, args.runs * evaluators).await?;
        let measure = format!("{evaluators} evaluator{}", if evaluators == 1 { "" } else { "s" });
        match &one {
            None => report.add(&measure, rate, "runs/s"),
            Some(first) => report.add_beside(&measure, rate, "runs/s", first),
        }
        one.get_or_insert(measure);
    }
    Ok(())
}

/// An endpoint that answers like a model, each time after `latency`.
async fn judge(latency: Duration) -> anyhow::Result<String> {
    let label =
        |i| json!({ "step": i, "label": "necessary", "reason": "its result was used", "used_by": STEPS });
    let verdict = json!({ "steps": (0..STEPS).map(label).collect::<Vec<_>>() }).to_string();
    let message = json!({ "role": "assistant", "content": verdict });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 200 });
    let answer = json!({ "model": "fixed", "choices": [choice], "usage": usage }).to_string();
    let complete = async move || {
        tokio::time::sleep(latency).await;
        ([(CONTENT_TYPE, "application/json")], answer.clone())
    };
    let router = Router::new().route("/v1/chat/completions", post(complete));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

/// Runs judged per second while all evaluators have work. The runs wait in the queue before the first
/// evaluator starts; the first and the last tenth do not count.
async fn rate(judge: &str, evaluators: usize, runs: usize) -> anyhow::Result<f64> {
    let env = [
        ("EVALUATE__JUDGE", "llm"),
        ("EVALUATE__CONCURRENCY", "1"),
        ("EVALUATE__FALL_BACK", "false"),
        ("LLM__URL", judge),
        ("LLM__MODEL", "fixed"),
    ];
    let env = env.map(|(key, value)| (format!("HINDSIGHT__{key}"), value.to_owned())).to_vec();
    let shape = Shape { collectors: 1, evaluators, recalls: 1, env, ..Shape::default() };
    let mut cluster = Cluster::start(&shape).await.context("RabbitMQ is not installed")?;
    for i in 0..evaluators {
        cluster.node(Role::Evaluator, i).process.stop().await;
    }
    let (collector, recall) = (cluster.client(Role::Collector), cluster.client(Role::Recall));
    submit(&collector, runs).await?;
    for i in 0..evaluators {
        cluster.node(Role::Evaluator, i).process.start();
    }
    let (tenth, begun) = ((runs / 10).max(1), Instant::now());
    let first = judged(&recall, tenth, begun).await?;
    let last = judged(&recall, runs - tenth, begun).await?;
    Ok((last.0 - first.0) as f64 / (last.1 - first.1).as_secs_f64())
}

async fn submit(collector: &Client, runs: usize) -> anyhow::Result<()> {
    for i in 0..runs {
        let run = trajectory(&format!("scale-{i}"), STEPS, Kind::Judged);
        let request = SubmitTrajectoryRequest { trajectory: Some(run), ..SubmitTrajectoryRequest::default() };
        collector.submit_trajectory(request).await?;
    }
    Ok(())
}

/// How many are judged and when, once these many are.
async fn judged(recall: &Client, enough: usize, begun: Instant) -> anyhow::Result<(u64, Instant)> {
    loop {
        let n = recall.get_stats(GetStatsRequest::default()).await?.experiences;
        if n >= enough as u64 {
            return Ok((n, Instant::now()));
        }
        ensure!(begun.elapsed() < LIMIT, "{n} of {enough} runs are judged after {LIMIT:?}");
        tokio::time::sleep(LOOK).await;
    }
}
