//! Start, stop and restart of the process as operators and clients see it.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use hindsight_e2e::{Kind, Server, run, until};
use hindsight_proto::{
    collector::v1::{RecordEventsRequest, collector_service_client::CollectorServiceClient},
    memory::v1::{GetStatsRequest, memory_service_client::MemoryServiceClient},
};
use tempfile::TempDir;
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest,
};

const SERVICES: [&str; 5] = [
    "hindsight.collector.v1.CollectorService",
    "hindsight.evaluator.v1.EvaluatorService",
    "hindsight.memory.v1.MemoryService",
    "hindsight.operations.v1.OperationsService",
    "hindsight.recall.v1.RecallService",
];

#[tokio::test]
async fn health_and_reflection_name_every_service() {
    let dir = TempDir::new().unwrap();
    let server = Server::launch(dir.path(), &[]).await;
    let mut health = HealthClient::new(server.channel().await);
    for service in SERVICES.into_iter().chain([""]) {
        let request = HealthCheckRequest { service: service.to_owned() };
        let mut watch = health.watch(request).await.unwrap().into_inner();
        while watch.next().await.unwrap().unwrap().status() != ServingStatus::Serving {}
    }
    let unknown = HealthCheckRequest { service: "hindsight.none".to_owned() };
    assert_eq!(health.check(unknown).await.unwrap_err().code(), Code::NotFound);

    let list = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut reflection = ServerReflectionClient::new(server.channel().await);
    let answers = reflection.server_reflection_info(tokio_stream::once(list)).await;
    let listed = format!("{:?}", answers.unwrap().into_inner().next().await.unwrap().unwrap());
    assert!(SERVICES.iter().all(|s| listed.contains(s)), "{listed}");

    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.next().await.unwrap().unwrap().status(), ServingStatus::Serving);
    server.terminate();
    assert_eq!(watch.next().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    assert!(server.exit().await.success());
}

#[tokio::test]
async fn a_stop_under_load_is_orderly_and_the_restart_goes_on() {
    let dir = TempDir::new().unwrap();
    let events: Vec<_> = (0..200).flat_map(|r| run(&format!("load-{r}"), 8, Kind::Judged)).collect();
    let total = events.len();
    let server = Server::start(dir.path(), &[]).await;
    let mut acknowledged = send(&server, &events, |n| n > 0).await;
    assert!(acknowledged > 0);
    server.terminate();
    assert!(server.exit().await.success());

    let server = Server::start(dir.path(), &[]).await;
    acknowledged += send(&server, &events[acknowledged..], |_| false).await;
    assert_eq!(acknowledged, total);
    let mut memory = MemoryServiceClient::new(server.channel().await);
    until("everything judged", async || {
        let stats =
            memory.get_stats(GetStatsRequest::default()).await.map_err(|e| e.to_string())?.into_inner();
        if (stats.events, stats.experiences) == (total as u64, 200) {
            Ok(())
        } else {
            Err(format!("{stats:?}"))
        }
    })
    .await;
}

/// Sends events, and leaves the stream open behind when `enough` are acknowledged.
async fn send(server: &Server, events: &[RecordEventsRequest], enough: impl Fn(usize) -> bool) -> usize {
    let numbered: Vec<_> =
        events.iter().cloned().zip(1..).map(|(e, sequence)| RecordEventsRequest { sequence, ..e }).collect();
    let mut client = CollectorServiceClient::new(server.channel().await);
    let mut answers = client.record_events(tokio_stream::iter(numbered)).await.unwrap().into_inner();
    let mut acknowledged = 0;
    while let Some(answer) = answers.message().await.unwrap() {
        acknowledged = usize::try_from(answer.acknowledged_sequence).unwrap();
        if enough(acknowledged) {
            tokio::spawn(async move { while let Ok(Some(_)) = answers.message().await {} });
            break;
        }
    }
    acknowledged
}
