//! Spans of one trace that a load balancer spreads over two collectors, over RabbitMQ.

use hindsight_cluster::{Cluster, Role, Shape};
use hindsight_e2e::until;
use hindsight_proto::{common::v1::EvaluationState, memory::v1::GetTrajectoryRequest};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{ExportTraceServiceRequest, trace_service_client::TraceServiceClient},
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::{ResourceSpans, ScopeSpans, Span},
};

const TRACE: [u8; 16] = [0x0d; 16];
const CALLS: u8 = 8;

/// A call of a tool, or the root for 0. Only the calls say whose the run is.
fn span(id: u8) -> Span {
    let attributes = match id {
        0 => vec![
            ("gen_ai.operation.name", "invoke_agent".to_owned()),
            ("gen_ai.input.messages", r#"[{"role":"user","content":"磁盘满了: free /var"}]"#.to_owned()),
        ],
        n => vec![
            ("gen_ai.operation.name", "execute_tool".to_owned()),
            ("gen_ai.tool.name", "du".to_owned()),
            ("gen_ai.tool.call.arguments", format!("/var/lib/{n}")),
            ("gen_ai.tool.call.result", format!("{n}G")),
            ("user.id", "ann".to_owned()),
        ],
    };
    let pair = |(key, value): (&str, String)| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(Value::StringValue(value)) }),
        ..KeyValue::default()
    };
    let second = 1_760_000_000 + u64::from(id);
    Span {
        trace_id: TRACE.to_vec(),
        span_id: vec![id + 1; 8],
        parent_span_id: if id == 0 { vec![] } else { vec![1; 8] },
        start_time_unix_nano: second * 1_000_000_000,
        end_time_unix_nano: (second + 1) * 1_000_000_000,
        attributes: attributes.into_iter().map(pair).collect(),
        ..Span::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_of_one_trace_through_two_collectors_make_one_run() {
    let env = vec![("HINDSIGHT__INGEST__SPAN_GRACE".to_owned(), "3s".to_owned())];
    let shape = Shape { collectors: 2, evaluators: 1, recalls: 1, env, ..Shape::default() };
    let Some(mut cluster) = Cluster::start(&shape).await else { return };
    let recall = cluster.client(Role::Recall);
    let mut doors = Vec::new();
    for node in cluster.nodes.iter().filter(|n| n.role == Role::Collector) {
        doors.push(TraceServiceClient::connect(node.url()).await.unwrap_or_else(|e| panic!("{e}")));
    }
    // The root first, then the calls from the last to the first, and all once more through the other door.
    let order: Vec<u8> = std::iter::once(0).chain((1..=CALLS).rev()).chain(0..=CALLS).collect();
    for (at, id) in order.into_iter().enumerate() {
        let scope_spans = vec![ScopeSpans { spans: vec![span(id)], ..ScopeSpans::default() }];
        let resource_spans = vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }];
        let answer = doors[at % 2].export(ExportTraceServiceRequest { resource_spans }).await;
        assert_eq!(answer.unwrap_or_else(|e| panic!("{e}")).into_inner().partial_success, None);
    }
    let request = GetTrajectoryRequest { trace_id: "0d".repeat(16), user: "ann".to_owned() };
    let run = until("the run is judged", async || {
        let found = recall.get_trajectory(request.clone()).await.map_err(|e| e.to_string())?;
        let state = found.record.as_ref().map(|r| r.state());
        let whole = found.trajectory.filter(|t| t.steps.len() == usize::from(CALLS));
        whole.filter(|_| state == Some(EvaluationState::Judged)).ok_or_else(|| format!("{state:?}"))
    })
    .await;
    assert_eq!((run.user.as_str(), run.task_description.as_str()), ("ann", "磁盘满了: free /var"));
    let called: Vec<_> = run.steps.iter().map(|s| s.action_detail.clone()).collect();
    assert_eq!(called, (1..=CALLS).map(|n| format!("/var/lib/{n}")).collect::<Vec<_>>());
    let nobody = GetTrajectoryRequest { user: "ben".to_owned(), ..request };
    let seen = recall.get_trajectory(nobody).await;
    assert!(seen.is_err(), "it is Ann's: {seen:?}");
}
