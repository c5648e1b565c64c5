//! The door for OpenTelemetry traces, over gRPC and HTTP, and the way of spans to a run.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{io::Write as _, sync::Arc, time::Duration};

use axum::{body::Body, http::Request, response::Response};
use flate2::{Compression, write::GzEncoder};
use hindsight_api::{EdgeLayer, Key, KeyHash, Keyring, Permission};
use hindsight_bus_local::LocalBusOptions;
use hindsight_collector::{Collector, CollectorSettings};
use hindsight_ingest::{Assembly, assemble};
use hindsight_ports::{
    Bus, MemoryStore as _, PageRequest, Queue, SystemClock,
    testkit::bus::{BusFaults, FaultyBus},
};
use hindsight_proto::event::v1::EvaluationRequested;
use hindsight_runtime::Role as _;
use hindsight_types::{Event, TraceId, Trajectory};
use http_body_util::BodyExt as _;
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse, trace_service_client::TraceServiceClient,
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::{ResourceSpans, ScopeSpans, Span},
};
use prost::Message as _;
use serde_json::json;
use support::{Bytes8, House, tenant, until};
use tonic::{Code, codec::CompressionEncoding, service::RoutesBuilder};
use tower::{Layer as _, ServiceExt as _};

const TRACE: [u8; 16] = [7; 16];
const SECOND: u64 = 1_000_000_000;

fn span(id: u8, parent: u8, second: u64, attributes: &[(&str, &str)]) -> Span {
    let pair = |(key, value): &(&str, &str)| KeyValue {
        key: (*key).to_owned(),
        value: Some(AnyValue { value: Some(Value::StringValue((*value).to_owned())) }),
        ..Default::default()
    };
    Span {
        trace_id: TRACE.to_vec(),
        span_id: vec![id; 8],
        parent_span_id: if parent == 0 { vec![] } else { vec![parent; 8] },
        name: format!("span {id}"),
        start_time_unix_nano: (1_760_000_000 + second) * SECOND,
        end_time_unix_nano: (1_760_000_001 + second) * SECOND,
        attributes: attributes.iter().map(pair).collect(),
        ..Default::default()
    }
}

fn tool(id: u8, result: &str) -> Span {
    let told = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "kubectl"),
        ("gen_ai.tool.call.arguments", "{\"args\":\"get pod\"}"),
        ("gen_ai.tool.call.result", result),
    ];
    span(id, 1, u64::from(id), &told)
}

/// The root, named by a user, last.
fn spans() -> Vec<Span> {
    let asked = r#"[{"role":"user","parts":[{"type":"text","content":"web 挂了"}]}]"#;
    let agent =
        [("gen_ai.operation.name", "invoke_agent"), ("user.id", "ann"), ("gen_ai.input.messages", asked)];
    vec![
        tool(2, "web-1 CrashLoopBackOff"),
        tool(3, "web-2 Running"),
        tool(4, "web-3 Running"),
        span(1, 0, 0, &agent),
    ]
}

fn request(spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope_spans = vec![ScopeSpans { spans, ..Default::default() }];
    ExportTraceServiceRequest { resource_spans: vec![ResourceSpans { scope_spans, ..Default::default() }] }
}

async fn export(collector: &Collector, spans: Vec<Span>) -> ExportTraceServiceResponse {
    let mut routes = RoutesBuilder::default();
    collector.register(&mut routes);
    let edge = EdgeLayer::new(Keyring::open(tenant())).layer(routes.routes());
    let client = TraceServiceClient::new(edge).send_compressed(CompressionEncoding::Gzip);
    client.clone().export(request(spans)).await.unwrap().into_inner()
}

async fn events(house: &House, count: usize) -> Vec<Event> {
    let trace = TraceId::new("07".repeat(16)).unwrap();
    until("spans in the store", || async {
        let found = house.plain.trace_events(&tenant(), &trace).await.unwrap();
        (found.len() >= count).then_some(found)
    })
    .await
}

async fn run(house: &House, count: usize) -> Trajectory {
    match assemble(events(house, count).await) {
        Assembly::Complete(run) => *run,
        Assembly::Missing(gap) => panic!("{gap}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_of_one_trace_may_come_to_several_collectors_in_any_order() {
    let house = House::new().await.run();
    export(&house.collector, spans()).await;
    let at_once = run(&house, 4).await;
    assert_eq!(at_once.task_description, "web 挂了");
    assert_eq!(at_once.scope.user().unwrap().as_str(), "ann");
    assert_eq!(at_once.steps.len(), 3);
    house.stop().await;

    let house = House::new().await.run();
    let (bus, store) = (house.bus.clone(), house.store.clone());
    let settings = CollectorSettings::default();
    let other = Collector::new(settings, bus, store, Arc::new(Bytes8::new()), Arc::new(SystemClock));
    for (at, span) in spans().into_iter().rev().chain(spans()).enumerate() {
        let through = if at % 2 == 0 { &other } else { &*house.collector };
        assert_eq!(export(through, vec![span]).await, ExportTraceServiceResponse::default());
    }
    assert_eq!(run(&house, 4).await, at_once);
    assert_eq!(events(&house, 4).await.len(), 4, "a span that comes again is stored once");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_root_has_the_run_judged_some_time_later_and_late_spans_again() {
    let house = House::new().await.run();
    let mut spans = spans();
    let late = spans.remove(1);
    export(&house.collector, spans).await;
    let mut consumer = house.bus.subscribe(Queue::Evaluate, 8).await.unwrap();
    for attempt in 0..2 {
        let asked = tokio::time::timeout(Duration::from_secs(60), consumer.next()).await.unwrap().unwrap();
        let request = EvaluationRequested::decode(asked.envelope.payload.as_slice()).unwrap();
        assert_eq!((request.trace_id, request.step_count), ("07".repeat(16), 0));
        let not_before = request.not_before.unwrap();
        assert_eq!(not_before.seconds - asked.envelope.occurred_at.as_second(), 10);
        asked.settle.ack().await.unwrap();
        if attempt == 0 {
            export(&house.collector, vec![late.clone()]).await;
        }
    }
    assert_eq!(run(&house, 4).await.steps.len(), 3);
    let (trace, soon) = (TraceId::new("07".repeat(16)).unwrap(), "2100-01-01T00:00:00Z".parse().unwrap());
    let page = PageRequest { size: 9, token: String::new() };
    let idle = house.plain.idle_tasks(soon, &page);
    let open: Vec<_> = idle.await.unwrap().items.into_iter().map(|t| t.trace_id).collect();
    assert_eq!(open, [trace], "someone takes a last look");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_tells_of_no_agent_is_passed_over_and_what_is_malformed_is_told() {
    let house = House::new().await;
    let queued = || async { house.bus.stats(Queue::Ingest).await.unwrap().ready };
    let http = |id, parent| span(id, parent, 0, &[("http.request.method", "GET")]);
    let answer = export(&house.collector, vec![http(8, 9), http(9, 0)]).await;
    assert_eq!((answer.partial_success, queued().await), (None, 0), "nobody's mistake");

    // The root of a trace in which an agent worked ends it, whatever it is.
    export(&house.collector, vec![tool(2, "ok"), http(9, 0)]).await;
    assert_eq!(queued().await, 2);
    export(&house.collector, vec![http(9, 0)]).await;
    assert_eq!(queued().await, 3);

    let mut zero = tool(3, "ok");
    zero.trace_id = vec![0; 16];
    let nobody = span(5, 1, 0, &[("gen_ai.operation.name", "chat"), ("user.id", &"u".repeat(200))]);
    let partial = export(&house.collector, vec![zero, nobody, tool(4, "ok")]).await.partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 2);
    assert!(partial.error_message.contains("trace id"), "{partial:?}");
    assert_eq!(queued().await, 4);
    house.stop().await;
}

/// `POST /v1/traces`.
async fn post(collector: &Collector, keyring: Keyring, request: Request<Body>) -> Response {
    let answer = EdgeLayer::new(keyring).layer(collector.http().unwrap()).oneshot(request).await.unwrap();
    answer.map(Body::new)
}

fn of(content_type: &str, body: Vec<u8>) -> Request<Body> {
    let request = Request::post("/v1/traces").header("content-type", content_type);
    request.body(Body::from(body)).unwrap()
}

async fn body(response: Response) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn as_json(trace_id: &str) -> Vec<u8> {
    let attribute = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
    json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [{
        "traceId": trace_id, "spanId": "0505050505050505", "parentSpanId": "0101010101010101",
        "name": "execute_tool kubectl",
        "startTimeUnixNano": "1760000005000000000", "endTimeUnixNano": "1760000006000000000",
        "attributes": [
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", "kubectl"),
            attribute("gen_ai.tool.call.result", "web-4 Running"),
        ],
    }] }] }] })
    .to_string()
    .into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn http_takes_protobuf_and_json_packed_or_not() {
    let house = House::new().await.run();
    let open = || Keyring::open(tenant());
    let protobuf = request(spans()).encode_to_vec();
    let mut packed = of("application/x-protobuf", gzip(&protobuf));
    packed.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    let answer = post(&house.collector, open(), packed).await;
    assert_eq!((answer.status().as_u16(), body(answer).await), (200, vec![]));
    let answer =
        post(&house.collector, open(), of("application/json; charset=utf-8", as_json(&"07".repeat(16))))
            .await;
    assert_eq!(answer.headers()["content-type"], "application/json");
    assert_eq!((answer.status().as_u16(), body(answer).await), (200, b"{}".to_vec()));
    assert_eq!(run(&house, 5).await.steps.len(), 4);

    let answer = post(&house.collector, open(), of("application/json", as_json("beef"))).await;
    assert_eq!(answer.status(), 200);
    let told: serde_json::Value = serde_json::from_slice(&body(answer).await).unwrap();
    assert_eq!(told["partialSuccess"]["rejectedSpans"], "1");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn http_says_what_is_wrong_as_the_specification_has_it() {
    let house = House::new().await;
    let open = || Keyring::open(tenant());
    let good = request(spans()).encode_to_vec();
    for (content_type, encoding, body, code) in [
        ("application/json", "", b"{\"resourceSpans\":".to_vec(), 400),
        ("application/x-protobuf", "", b"\xff\xff".to_vec(), 400),
        ("application/x-protobuf", "gzip", good.clone(), 400),
        ("application/x-protobuf", "br", good.clone(), 415),
        ("text/plain", "", good.clone(), 415),
        ("application/x-protobuf", "gzip", gzip(&vec![0; 65 * 1024 * 1024]), 413),
    ] {
        let mut request = of(content_type, body);
        request.headers_mut().insert("content-encoding", encoding.parse().unwrap());
        let answer = post(&house.collector, open(), request).await;
        assert_eq!(answer.status(), code, "{content_type} {encoding}");
        assert!(answer.headers().get("retry-after").is_none(), "the same again is as wrong");
    }
    let get = Request::get("/v1/traces").body(Body::empty()).unwrap();
    assert_eq!(post(&house.collector, open(), get).await.status(), 405);

    let key = |name: &str, permission| Key {
        name: name.to_owned(),
        hash: KeyHash::of(name),
        tenant: tenant(),
        permissions: [permission].into_iter().collect(),
    };
    let keys = || Keyring::new(vec![key("writes", Permission::Write), key("reads", Permission::Read)]);
    for (key, code) in [("", 401), ("Bearer nobody", 401), ("Bearer reads", 403), ("Bearer writes", 200)] {
        let mut request = of("application/x-protobuf", good.clone());
        if !key.is_empty() {
            request.headers_mut().insert("authorization", key.parse().unwrap());
        }
        let answer = post(&house.collector, keys(), request).await;
        assert_eq!(answer.status(), code, "{key}");
        let told = tonic_types::pb::Status::decode(body(answer).await.as_slice());
        assert_eq!(told.is_ok_and(|s| s.code != 0 && !s.message.is_empty()), code != 200, "{key}");
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overload_and_outage_are_told_with_the_time_to_come_back() {
    let full =
        House::with_bus(|bus| bus, LocalBusOptions { max_depth: 1, ..LocalBusOptions::default() }).await;
    let away = |bus| -> Arc<dyn Bus> {
        Arc::new(FaultyBus::new(bus, BusFaults { fail_every: 1, ..BusFaults::default() }))
    };
    let away = House::with_bus(away, LocalBusOptions::default()).await;
    for (house, code, grpc) in [(full, 429, Code::ResourceExhausted), (away, 503, Code::Unavailable)] {
        let many = (2..20).map(|id| tool(id, "ok")).collect();
        let json = post(
            &house.collector,
            Keyring::open(tenant()),
            of("application/x-protobuf", request(many).encode_to_vec()),
        );
        let answer = json.await;
        assert_eq!(answer.status(), code);
        assert_eq!(answer.headers()["retry-after"], "1");
        let told = tonic_types::pb::Status::decode(body(answer).await.as_slice()).unwrap();
        assert_eq!(told.code, grpc as i32);
        house.stop().await;
    }
}
