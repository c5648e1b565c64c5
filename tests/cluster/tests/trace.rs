//! One call is one trace through all processes and the broker.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::collections::HashSet;

use hindsight_cluster::{Cluster, Role, Shape};
use hindsight_e2e::{Kind, traces::Sink, trajectory};
use hindsight_proto::{
    collector::v1::{Consistency, SubmitTrajectoryRequest},
    recall::v1::RecallRequest,
};
use hindsight_telemetry::{Filter, Format, Traces, init_server};

const SUBMIT: &str = "hindsight.collector.v1.CollectorService/SubmitTrajectory";
const RECALL: &str = "hindsight.recall.v1.RecallService/Recall";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_one_trace_from_the_client_over_rabbitmq_to_the_store() {
    let (sink, endpoint) = Sink::serve().await;
    let env = vec![("HINDSIGHT__TELEMETRY__OTLP_ENDPOINT".to_owned(), endpoint.clone())];
    let Some(mut cluster) = Cluster::start(&Shape { env, ..Shape::of_each(1) }).await else { return };
    let traces = Traces { endpoint: Some(endpoint), sample_ratio: 1.0 };
    let agent = init_server(Format::Human, &Filter::default(), "agent", &traces).unwrap();

    let run = trajectory("traced-1", 8, Kind::Judged);
    let submit = SubmitTrajectoryRequest { trajectory: Some(run), consistency: Consistency::Indexed as i32 };
    cluster.client(Role::Collector).submit_trajectory(submit).await.unwrap();
    let ask = RecallRequest { query: "service traced-1 keeps restarting".to_owned(), ..Default::default() };
    let answer = cluster.client(Role::Recall).recall(ask).await.unwrap();
    assert!(!answer.items.is_empty() && !answer.degraded, "{answer:?}");

    // All send what they have before they end.
    agent.shutdown().await;
    for node in &mut cluster.nodes {
        let exit = node.process.stop().await;
        assert!(exit.success(), "{:?}: {exit:?}", node.role);
    }

    let write = sink.trace(SUBMIT);
    let ingest = ["send hindsight.ingest", "process hindsight.ingest"];
    let evaluate = ["send hindsight.evaluate", "process hindsight.evaluate"];
    write.assert_line(&[SUBMIT, SUBMIT, ingest[0], ingest[1], "append_events events"]);
    write.assert_line(&[SUBMIT, ingest[1], evaluate[0], evaluate[1], "events events"]);
    write.assert_line(&[SUBMIT, ingest[1], evaluate[1], "upsert"]);
    assert!(write.attribute(ingest[0], "messaging.system").contains("rabbitmq"));
    assert!(write.attribute("upsert", "db.system.name").contains("qdrant"));
    sink.trace(RECALL).assert_line(&[RECALL, RECALL, "search_bm25 trajectories"]);

    let of_write = |(service, span): (String, _)| write.contains(&span).then_some(service);
    let services: HashSet<_> = sink.spans().into_iter().filter_map(of_write).collect();
    let named = |name: &str| services.iter().any(|s| s.contains(name));
    assert!(
        named("agent") && named("hindsight-collector") && named("hindsight-evaluator"),
        "the trace of a run has spans of {services:?}"
    );
}
