//! `RecordEvents` and the way of an event from the wire to the store.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use hindsight_bus_local::LocalBusOptions;
use hindsight_ports::{
    Bus, MemoryStore as _, Queue, StoreError,
    testkit::{
        bus::{BusFaults, FaultyBus},
        faulty_store::{Calls, Fault, StoreCall, When},
    },
};
use hindsight_proto::{
    collector::v1::{
        CompleteTaskRequest, RecordEventsRequest, RecordEventsResponse, record_events_request::Body,
    },
    common::v1::{ActionType, Outcome, OutcomeStatus, Step},
    event::v1::{TaskCompleted, TaskStarted},
};
use hindsight_types::{Event, EventBody, Scope, TraceId, UserId, Visibility};
use support::{House, tenant, until};
use tonic::{Code, Status};

fn request(sequence: u64, trace: &str, body: Body) -> RecordEventsRequest {
    RecordEventsRequest { sequence, trace_id: trace.to_owned(), body: Some(body), ..Default::default() }
}

fn step(index: u32, observation: &str) -> Body {
    Body::Step(Step {
        step_index: index,
        action_type: ActionType::ToolCall as i32,
        action_name: "kubectl".to_owned(),
        action_detail: format!("get pod web-{index}"),
        observation: observation.to_owned(),
        ..Default::default()
    })
}

fn started(user: &str) -> Body {
    Body::Started(TaskStarted { goal: "web is down".to_owned(), user: user.to_owned(), ..Default::default() })
}

fn completed(step_count: u32) -> Body {
    let outcome = Outcome { status: OutcomeStatus::Success as i32, ..Default::default() };
    Body::Completed(TaskCompleted { outcome: Some(outcome), step_count })
}

/// A whole task of one trace.
fn task(trace: &str, steps: u32) -> Vec<RecordEventsRequest> {
    let mut bodies = vec![started("")];
    bodies.extend((0..steps).map(|i| step(i, "running")));
    bodies.push(completed(steps));
    bodies.into_iter().zip(1..).map(|(body, sequence)| request(sequence, trace, body)).collect()
}

async fn record(
    house: &House,
    requests: Vec<RecordEventsRequest>,
) -> (Vec<RecordEventsResponse>, Option<Status>) {
    let mut answers = house.client().record_events(tokio_stream::iter(requests)).await.unwrap().into_inner();
    let mut all = Vec::new();
    loop {
        match answers.message().await {
            Ok(Some(answer)) => all.push(answer),
            Ok(None) => return (all, None),
            Err(status) => return (all, Some(status)),
        }
    }
}

async fn stored(house: &House, trace: &str, count: usize) -> Vec<Event> {
    stored_for(house, Visibility::Tenant, trace, count).await
}

async fn stored_for(house: &House, visibility: Visibility, trace: &str, count: usize) -> Vec<Event> {
    let (scope, trace) = (Scope::new(tenant(), visibility), TraceId::new(trace).unwrap());
    until("events in the store", || async {
        let events = house.store.events(&scope, &trace).await.ok()?;
        (events.len() >= count).then_some(events)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_acknowledged_in_order_and_reach_the_store_once() {
    let house = House::new().await.run();
    for _ in 0..2 {
        let (answers, end) = record(&house, task("t-1", 120)).await;
        assert!(end.is_none());
        let acknowledged: Vec<u64> = answers.iter().map(|a| a.acknowledged_sequence).collect();
        assert!(acknowledged.is_sorted() && acknowledged.last() == Some(&122), "{acknowledged:?}");
        assert!(answers.iter().all(|a| a.rejections.is_empty()));
    }
    assert_eq!(stored(&house, "t-1", 122).await.len(), 122);
    // Asked to be judged twice, by messages of the same id.
    until("both are settled", || async {
        let stats = house.bus.stats(Queue::Ingest).await.ok()?;
        (stats.ready + stats.unsettled + stats.delayed == 0).then_some(())
    })
    .await;
    let mut asked = house.bus.subscribe(Queue::Evaluate, 8).await.unwrap();
    let first = asked.next().await.unwrap();
    assert_eq!(first.envelope.schema, "hindsight.event.v1.EvaluationRequested");
    first.settle.ack().await.unwrap();
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_event_is_rejected_and_the_stream_goes_on() {
    let house = House::new().await.run();
    let mut nameless = step(1, "x");
    if let Body::Step(s) = &mut nameless {
        s.action_name.clear();
    }
    let requests = vec![
        request(1, "t-bad", started("")),
        request(2, "t-bad", nameless),
        RecordEventsRequest { sequence: 3, trace_id: "t-bad".to_owned(), ..Default::default() },
        request(4, "", step(2, "x")),
        request(4, "t-bad", step(2, "x")),
        request(5, "t-bad", step(3, &"x".repeat(1024 * 1024 + 1))),
        request(6, "t-bad", step(4, "fine")),
    ];
    let (answers, end) = record(&house, requests).await;
    assert!(end.is_none());
    assert_eq!(answers.last().unwrap().acknowledged_sequence, 6);
    let rejections: Vec<_> = answers.into_iter().flat_map(|a| a.rejections).collect();
    let named: Vec<(u64, &str)> = rejections.iter().map(|r| (r.sequence, r.fields[0].as_str())).collect();
    assert_eq!(
        named,
        [(2, "step.action_name"), (3, "body"), (4, "trace_id"), (4, "sequence"), (5, "step.observation")]
    );
    assert!(rejections.iter().all(|r| r.reason == "INVALID_FIELDS" && !r.message.is_empty()));
    assert_eq!(stored(&house, "t-bad", 2).await.len(), 2);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_never_reach_the_bus() {
    // The ingester does not run, so everything is still on the bus.
    let house = House::new().await;
    let secret = "postgres://app:hunter2hunter2@db/orders and 密码是hunter2hunter2";
    let (_, end) = record(&house, vec![request(1, "t-s", step(0, secret))]).await;
    assert!(end.is_none());
    let delivery = house.bus.subscribe(Queue::Ingest, 1).await.unwrap().next().await.unwrap();
    let text = String::from_utf8_lossy(&delivery.envelope.payload).into_owned();
    assert!(text.contains("postgres://app:[REDACTED:url-password]@db/orders"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn later_events_of_a_users_task_are_that_users() {
    let house = House::new().await.run();
    let requests = vec![request(1, "t-u", started("ann")), request(2, "t-u", step(0, "private"))];
    record(&house, requests).await;
    // The stream broke; the next one does not begin with the start.
    let requests = vec![request(1, "t-u", step(1, "private")), request(2, "t-other", step(0, "shared"))];
    record(&house, requests).await;
    let done = CompleteTaskRequest { trace_id: "t-u".to_owned(), step_count: 2, ..Default::default() };
    house.client().complete_task(done).await.unwrap();
    let ann = Visibility::User(UserId::new("ann").unwrap());
    assert_eq!(stored_for(&house, ann, "t-u", 4).await.len(), 4);
    assert_eq!(stored(&house, "t-other", 1).await.len(), 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overload_and_outage_end_the_stream_with_a_hint_when_to_come_back() {
    let full = LocalBusOptions { max_depth: 10, ..LocalBusOptions::default() };
    let house = House::with_bus(|bus| bus, full).await;
    let (answers, end) = record(&house, task("t-full", 30)).await;
    assert!(answers.is_empty(), "nothing that is not durable is acknowledged");
    let end = end.unwrap();
    assert_eq!(end.code(), Code::ResourceExhausted);
    assert!(!end.details().is_empty());
    house.stop().await;

    let away = |bus| -> Arc<dyn Bus> {
        Arc::new(FaultyBus::new(bus, BusFaults { fail_every: 1, ..BusFaults::default() }))
    };
    let house = House::with_bus(away, LocalBusOptions::default()).await;
    let (answers, end) = record(&house, task("t-away", 3)).await;
    assert_eq!((answers.len(), end.unwrap().code()), (0, Code::Unavailable));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_loses_nothing() {
    let house = House::new().await.run();
    let down = || StoreError::Unavailable("disk".to_owned());
    house.store.inject(Calls::Only(StoreCall::AppendEvents), When::Always, Fault::Refuse(down()));
    record(&house, task("t-down", 60)).await;
    until("a failed write", || async { (house.store.made(StoreCall::AppendEvents) >= 3).then_some(()) })
        .await;
    let role: &dyn hindsight_runtime::Role = house.collector.as_ref();
    assert!(role.degraded().await.is_some_and(|why| why.contains("disk")));
    assert_eq!(role.ready().await, Ok(()), "the queue takes what is recorded");
    house.store.heal();
    house.store.inject(Calls::Only(StoreCall::AppendEvents), When::Nth(1), Fault::Lose(down()));
    assert_eq!(stored(&house, "t-down", 62).await.len(), 62);
    let asked = house.bus.subscribe(Queue::Evaluate, 1).await.unwrap().next().await.unwrap();
    asked.settle.ack().await.unwrap();
    let role: &dyn hindsight_runtime::Role = house.collector.as_ref();
    assert_eq!(role.degraded().await, None);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_poisonous_message_does_not_hold_the_others() {
    let house = House::new().await;
    record(&house, task("t-p", 3)).await;
    let mut bad = hindsight_ports::testkit::bus::envelope(1);
    bad.tenant = tenant();
    house.bus.publish(Queue::Ingest, vec![bad.clone()]).await.unwrap();
    let house = house.run();
    assert_eq!(stored(&house, "t-p", 5).await.len(), 5);
    let dead = until("a dead letter", || async {
        house.bus.dead_letters(Queue::Ingest, 9).await.ok()?.into_iter().next()
    })
    .await;
    assert_eq!(dead.envelope.id, bad.id);
    assert!(dead.reason.contains(&bad.schema), "{}", dead.reason);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_to_judge_comes_after_every_step_is_durable() {
    let house = House::new().await.run();
    record(&house, task("t-order", 400)).await;
    let mut asked = house.bus.subscribe(Queue::Evaluate, 1).await.unwrap();
    let delivery = asked.next().await.unwrap();
    let scope = Scope::new(tenant(), Visibility::Tenant);
    let events = house.store.events(&scope, &TraceId::new("t-order").unwrap()).await.unwrap();
    assert_eq!(events.iter().filter(|e| matches!(e.body, EventBody::Step(_))).count(), 400);
    delivery.settle.ack().await.unwrap();
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_known_to_be_open_until_it_ends() {
    let house = House::new().await.run();
    let open = async || {
        let (later, page) = (hindsight_types::Timestamp::MAX, hindsight_ports::PageRequest::default());
        let page = hindsight_ports::PageRequest { size: 10, ..page };
        let tasks = house.store.idle_tasks(later, &page).await.unwrap().items;
        tasks.into_iter().map(|t| t.trace_id.to_string()).collect::<Vec<_>>()
    };
    let mut whole = task("open-1", 2);
    let end = whole.pop().unwrap();
    record(&house, whole).await;
    stored(&house, "open-1", 3).await;
    until("it is open", || async { (open().await == ["open-1"]).then_some(()) }).await;
    let (answers, _) = record(&house, vec![RecordEventsRequest { sequence: 1, ..end }]).await;
    assert!(answers[0].rejections.is_empty());
    stored(&house, "open-1", 4).await;
    until("nothing is open", || async { open().await.is_empty().then_some(()) }).await;
    house.stop().await;
}
