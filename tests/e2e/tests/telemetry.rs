//! What the process tells of itself while it serves: traces to an OTLP endpoint, metrics to Prometheus.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::{
    collections::HashSet,
    net::{Ipv4Addr, SocketAddr},
};

use hindsight_client::Client;
use hindsight_e2e::{Kind, Server, traces::Sink, trajectory};
use hindsight_proto::{
    collector::v1::{Consistency, SubmitTrajectoryRequest},
    recall::v1::RecallRequest,
};
use hindsight_telemetry::{Filter, Format, Traces, init_server};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

const SUBMIT: &str = "hindsight.collector.v1.CollectorService/SubmitTrajectory";
const RECALL: &str = "hindsight.recall.v1.RecallService/Recall";
/// Part of every observation of the run.
const OBSERVED: &str = "状态异常";

/// A port that is free now.
async fn free() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap()
}

async fn scrape(address: SocketAddr) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// The sum of all series of a metric whose labels contain `labels`.
fn sum(metrics: &str, name: &str, labels: &str) -> f64 {
    let series = metrics.lines().filter(|l| l.split(['{', ' ']).next() == Some(name) && l.contains(labels));
    series.map(|l| l.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
}

async fn work(url: &str) {
    let client = Client::remote(url, None).unwrap();
    let run = trajectory("traced-1", 8, Kind::Judged);
    let submit = SubmitTrajectoryRequest { trajectory: Some(run), consistency: Consistency::Indexed as i32 };
    client.submit_trajectory(submit).await.unwrap();
    let ask = RecallRequest { query: "service traced-1 keeps restarting".to_owned(), ..Default::default() };
    let answer = client.recall(ask).await.unwrap();
    assert!(!answer.items.is_empty() && !answer.degraded, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_one_trace_to_the_store_and_is_counted() {
    let (sink, endpoint) = Sink::serve().await;
    let (dir, admin) = (TempDir::new().unwrap(), free().await);
    let env = [
        ("HINDSIGHT__TELEMETRY__OTLP_ENDPOINT".to_owned(), endpoint.clone()),
        ("HINDSIGHT__SERVER__ADMIN_LISTEN".to_owned(), admin.to_string()),
    ];
    let server = Server::start(dir.path(), &env).await;
    let traces = Traces { endpoint: Some(endpoint), sample_ratio: 1.0 };
    let agent = init_server(Format::Human, &Filter::default(), "agent", &traces).unwrap();
    work(server.url()).await;
    let metrics = scrape(admin).await;
    // Both send what they have before they end.
    agent.shutdown().await;
    server.terminate();
    assert!(server.exit().await.success());

    let write = sink.trace(SUBMIT);
    let ingest = ["send hindsight.ingest", "process hindsight.ingest"];
    let evaluate = ["send hindsight.evaluate", "process hindsight.evaluate"];
    write.assert_line(&[SUBMIT, SUBMIT, ingest[0], ingest[1], "append_events events"]);
    write.assert_line(&[SUBMIT, ingest[1], evaluate[0], evaluate[1], "events events"]);
    write.assert_line(&[SUBMIT, ingest[1], evaluate[1], "embeddings"]);
    write.assert_line(&[SUBMIT, ingest[1], evaluate[1], "upsert"]);
    assert!(write.attribute(ingest[0], "messaging.system").contains("sqlite"));
    assert!(write.attribute(ingest[1], "messaging.destination.name").contains("hindsight.ingest"));
    assert!(write.attribute("upsert", "db.system.name").contains("qdrant"));
    let recall = sink.trace(RECALL);
    recall.assert_line(&[RECALL, RECALL, "search_bm25 trajectories"]);
    recall.assert_line(&[RECALL, RECALL, "put_receipt receipts"]);
    assert_ne!(recall.root.trace_id, write.root.trace_id);
    let services: HashSet<_> = sink.spans().into_iter().map(|(service, _)| service).collect();
    assert_eq!(services.len(), 2, "{services:?}");

    let everything = format!("{:?}", sink.spans());
    assert!(
        !everything.contains(OBSERVED) && !everything.contains("keeps restarting"),
        "observed text in spans"
    );
    assert!(!metrics.contains("traced-1"), "a trace in a label");
    let ok = |method: &str| format!("method=\"{method}\",code=\"OK\"");
    for (name, labels) in [
        ("hindsight_rpc_calls_total", ok(SUBMIT).as_str()),
        ("hindsight_rpc_duration_seconds_count", &format!("method=\"{RECALL}\"")),
        ("hindsight_bus_settled_total", "queue=\"hindsight.evaluate\",end=\"ack\",result=\"ok\""),
        ("hindsight_ingest_batch_messages_sum", ""),
        ("hindsight_store_duration_seconds_count", "operation=\"search_bm25\""),
        ("hindsight_embed_texts_total", "purpose=\"passage\""),
        ("hindsight_evaluations_total", "result=\"judged\""),
        ("hindsight_recalls_total", "result=\"hit\",degraded=\"no\""),
        ("hindsight_recall_items_total", ""),
        ("hindsight_role_ready", "role=\"evaluator\""),
    ] {
        assert!(sum(&metrics, name, labels) >= 1.0, "{name} {labels} in\n{metrics}");
    }
    assert_eq!(sum(&metrics, "hindsight_step_labels_total", ""), 8.0);
    assert!(metrics.contains("hindsight_queue_oldest_seconds{queue=\"hindsight.ingest\"}"), "{metrics}");
}
