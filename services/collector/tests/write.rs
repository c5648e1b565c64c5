//! Whole runs and facts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use hindsight_ports::{
    MemoryStore as _, Queue, StoreError,
    testkit::faulty_store::{Calls, Fault, StoreCall, When},
};
use hindsight_proto::{
    collector::v1::{
        CompleteTaskRequest, Consistency, RetainBatchRequest, RetainRequest, SubmitTrajectoryRequest,
    },
    common::v1::{ActionType, Step, Trajectory},
};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Fact, Memory, MemoryId, MemoryKind, Scope, Timestamp, TraceId, UserId,
    Viewer, Visibility,
};
use support::{House, tenant, until, viewer};
use tonic::{Code, Request};

fn trajectory(trace: &str, steps: u32) -> Trajectory {
    let step = |i| Step {
        step_index: i,
        action_type: ActionType::ToolCall as i32,
        action_name: "df".to_owned(),
        observation: "磁盘已满".to_owned(),
        ..Default::default()
    };
    Trajectory {
        trace_id: trace.to_owned(),
        task_description: "磁盘告警".to_owned(),
        steps: (0..steps).map(step).collect(),
        ..Default::default()
    }
}

fn retain(key: &str, content: &str) -> RetainRequest {
    RetainRequest {
        user: "ann".to_owned(),
        key: key.to_owned(),
        content: content.to_owned(),
        consistency: Consistency::Indexed as i32,
        ..Default::default()
    }
}

async fn fact(house: &House, id: &str) -> Option<Fact> {
    let viewer = viewer().with_user(Some(UserId::new("ann").unwrap()));
    match house.store.get(&viewer, MemoryKind::Fact, MemoryId::parse(id).unwrap()).await.unwrap() {
        Some(Memory::Fact(f)) => Some(f),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_stored_event_by_event() {
    let house = House::new().await.run();
    let request = SubmitTrajectoryRequest { trajectory: Some(trajectory("r-1", 7)), ..Default::default() };
    let answer = house.client().submit_trajectory(request).await.unwrap().into_inner();
    assert_eq!((answer.trace_id.as_str(), answer.events), ("r-1", 9));
    let asked = house.bus.subscribe(Queue::Evaluate, 1).await.unwrap().next().await.unwrap();
    asked.settle.ack().await.unwrap();
    let scope = Scope::new(tenant(), Visibility::Tenant);
    assert_eq!(house.store.events(&scope, &TraceId::new("r-1").unwrap()).await.unwrap().len(), 9);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_run_is_refused_whole_with_every_field() {
    let house = House::new().await;
    let mut bad = trajectory("r-bad", 3);
    bad.task_description.clear();
    bad.steps[2].action_name.clear();
    let request = SubmitTrajectoryRequest { trajectory: Some(bad), ..Default::default() };
    let status = house.client().submit_trajectory(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    for field in ["trajectory.task_description", "trajectory.steps[2].action_name"] {
        assert!(status.message().contains(field), "{}", status.message());
    }
    assert_eq!(house.bus.stats(Queue::Ingest).await.unwrap().ready, 0);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn indexed_waits_for_the_evaluation_and_no_longer_than_the_caller() {
    let house = House::new().await.run();
    let submit = |trace: &str| SubmitTrajectoryRequest {
        trajectory: Some(trajectory(trace, 1)),
        consistency: Consistency::Indexed as i32,
    };
    let mut hasty = Request::new(submit("r-late"));
    hasty.metadata_mut().insert("grpc-timeout", "50m".parse().unwrap());
    let status = house.client().submit_trajectory(hasty).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);

    let mut client = house.client();
    let waiting = tokio::spawn(async move { client.submit_trajectory(submit("r-idx")).await });
    let record = EvaluationRecord {
        trace_id: TraceId::new("r-idx").unwrap(),
        scope: Scope::new(tenant(), Visibility::Tenant),
        state: EvaluationState::Skipped { reason: "short".to_owned() },
        attempts: 1,
        step_count: 1,
        judge: String::new(),
        updated_at: Timestamp::UNIX_EPOCH,
    };
    house.store.put_evaluation_record(&record).await.unwrap();
    waiting.await.unwrap().unwrap();
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_completed_by_itself() {
    let house = House::new().await.run();
    let request = CompleteTaskRequest { trace_id: "r-c".to_owned(), step_count: 4, ..Default::default() };
    let first = house.client().complete_task(request.clone()).await.unwrap().into_inner();
    let second = house.client().complete_task(request).await.unwrap().into_inner();
    assert_eq!(first.event_id, second.event_id);
    let too_many = CompleteTaskRequest { trace_id: "r-c".to_owned(), step_count: 5001, ..Default::default() };
    let status = house.client().complete_task(too_many).await.unwrap_err();
    assert!(status.message().starts_with("step_count"), "{}", status.message());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_is_found_once_retain_returns_and_replaced_by_its_key() {
    let house = House::new().await.run();
    let mut client = house.client();
    let first = client.retain(retain("invoice", "发票 INV-78901 寄到北京")).await.unwrap().into_inner();
    let kept = fact(&house, &first.memory_id).await.unwrap();
    assert_eq!(kept.entities, ["INV-78901"]);
    let second = client.retain(retain("invoice", "发票 INV-78901 寄到上海")).await.unwrap().into_inner();
    assert_eq!(first.memory_id, second.memory_id);
    assert_eq!(fact(&house, &first.memory_id).await.unwrap().content, "发票 INV-78901 寄到上海");
    let stranger = Viewer::of_tenant(tenant()).with_user(Some(UserId::new("bob").unwrap()));
    let id = MemoryId::parse(&first.memory_id).unwrap();
    assert_eq!(house.store.get(&stranger, MemoryKind::Fact, id).await.unwrap(), None);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_without_a_key_is_kept_once_and_without_its_secrets() {
    let house = House::new().await.run();
    let mut client = house.client();
    let request = retain("", "my wifi password is hunter2hunter2");
    let first = client.retain(request.clone()).await.unwrap().into_inner();
    let second = client.retain(request).await.unwrap().into_inner();
    assert_eq!(first, second);
    let kept = fact(&house, &first.memory_id).await.unwrap();
    assert_eq!(kept.content, "my wifi password is [REDACTED:password]");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_keeps_the_good_ones() {
    let house = House::new().await.run();
    let mut nobody = retain("b", "x");
    nobody.user.clear();
    let facts = vec![retain("a", "first"), nobody, retain("a", "second"), retain("c", " ")];
    let answer = house.client().retain_batch(RetainBatchRequest { facts }).await.unwrap().into_inner();
    let refused: Vec<_> =
        answer.results.iter().map(|r| r.rejection.as_ref().map(|r| r.fields.clone())).collect();
    assert_eq!(refused, [None, Some(vec!["user".to_owned()]), None, Some(vec!["content".to_owned()])]);
    assert_eq!(answer.results[1].rejection.as_ref().unwrap().sequence, 2);
    assert_eq!(fact(&house, &answer.results[0].memory_id).await.unwrap().content, "second");

    let facts = (0..501).map(|i| retain(&i.to_string(), "x")).collect();
    let status = house.client().retain_batch(RetainBatchRequest { facts }).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_that_the_store_refuses_is_set_aside_alone() {
    let house = House::new().await;
    let refused = || StoreError::Rejected("not this".to_owned());
    // The batch, then the first fact on its own.
    house.store.inject(Calls::Only(StoreCall::Upsert), When::Nth(1), Fault::Refuse(refused()));
    house.store.inject(Calls::Only(StoreCall::Upsert), When::Nth(2), Fault::Refuse(refused()));
    let durable = |key: &str| RetainRequest { consistency: 0, ..retain(key, key) };
    let facts = vec![durable("a"), durable("b")];
    let answer = house.client().retain_batch(RetainBatchRequest { facts }).await.unwrap().into_inner();
    let house = house.run();
    until("the sound one", || async { fact(&house, &answer.results[1].memory_id).await }).await;
    let dead = until("a dead letter", || async {
        house.bus.dead_letters(Queue::Ingest, 9).await.ok()?.into_iter().next()
    })
    .await;
    assert!(dead.reason.contains("not this"), "{}", dead.reason);
    assert_eq!(fact(&house, &answer.results[0].memory_id).await, None);
    house.stop().await;
}
