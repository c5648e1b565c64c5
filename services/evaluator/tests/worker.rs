//! From the request on the bus to what can be recalled.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::time::Duration;

use hindsight_evaluator::EvaluatorSettings;
use hindsight_ingest::split;
use hindsight_ports::{
    Envelope, MemoryStore as _, PageRequest, Queue, StoreError,
    testkit::{
        faulty_store::{Calls, Fault, StoreCall, When},
        samples,
    },
};
use hindsight_proto::{
    common::v1::EvaluationState as State,
    evaluator::v1::{EvaluateRequest, GetEvaluationRequest, ListFailuresRequest, ReplayFailuresRequest},
    event::v1::EvaluationRequested,
};
use hindsight_types::{
    EvaluationRecord, EvaluationState, Event, EventBody, Experience, Memory, MemoryKind, OutcomeStatus,
    Scope, StepStatus, Trajectory, UserId, Viewer, Visibility,
};
use prost::Message as _;
use support::{
    House,
    runs::{ask, experience, incident, judged, record, requested, settled, step},
    until, viewer,
};
use tonic::Code;

fn plain() -> EvaluatorSettings {
    EvaluatorSettings::default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_becomes_memories_without_secrets() {
    let house = House::new(plain()).await.run();
    let mut run = incident("w-1");
    run.steps[2].observation.push_str(&"\n0G /data/x".repeat(50_000));
    ask(&house, &run, |_| true).await;
    record(&house, &viewer(), &run, judged).await;

    let found = experience(&house, &viewer(), &run).await.unwrap();
    assert_eq!(found.evaluation.steps.len(), 6);
    assert_eq!(found.trajectory.steps[1].status, StepStatus::Error);
    assert!(found.trajectory.steps[2].observation.len() < 3_000, "digested");
    assert!(!found.trajectory.task_description.contains("hunter2"));
    assert_eq!(found.trajectory.environment.tags, ["systemd"]);
    assert!(found.entities.contains(&"api-9".to_owned()), "{:?}", found.entities);

    let page = PageRequest { size: 50, token: String::new() };
    let steps = house.store.list(&viewer(), MemoryKind::Step, &page).await.unwrap().items;
    let mut indices: Vec<u32> =
        steps.iter().map(|m| if let Memory::Step(s) = m { s.step_index } else { panic!() }).collect();
    indices.sort_unstable();
    let expected: Vec<u32> = found
        .evaluation
        .steps
        .iter()
        .filter(|s| s.label != hindsight_types::StepLabel::Redundant)
        .map(|s| s.step_index)
        .collect();
    assert_eq!(indices, expected);
    assert!(expected.contains(&3));
    let patterns = house.store.list(&viewer(), MemoryKind::FailurePattern, &page).await.unwrap().items;
    assert_eq!(patterns.len(), 1, "{patterns:?}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_asked_for_twice_is_judged_once() {
    let house = House::new(plain()).await;
    let run = incident("w-2");
    ask(&house, &run, |_| true).await;
    let mut twin = requested(&run);
    twin.id = uuid_like(&twin.id.to_string());
    house.bus.publish(Queue::Evaluate, vec![twin]).await.unwrap();
    let house = house.run();
    record(&house, &viewer(), &run, judged).await;
    settled(&house).await;
    assert_eq!(house.store.stats(&viewer()).await.unwrap().experiences, 1);

    let before = experience(&house, &viewer(), &run).await.unwrap();
    let writes = house.store.made(StoreCall::Upsert);
    house.bus.publish(Queue::Evaluate, vec![requested(&run)]).await.unwrap();
    settled(&house).await;
    assert_eq!(house.store.made(StoreCall::Upsert), writes);
    assert_eq!(experience(&house, &viewer(), &run).await.unwrap(), before);
    house.stop().await;
}

/// Another id in the form of this one.
fn uuid_like(id: &str) -> uuid::Uuid {
    let flipped: String = id.chars().map(|c| if c == '0' { '1' } else { c }).collect();
    flipped.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_comes_late_is_waited_for() {
    let house = House::new(plain()).await.run();
    let run = incident("w-3");
    let events = ask(&house, &run, |i| i != 4).await;
    let waiting = record(&house, &viewer(), &run, |s| matches!(s, EvaluationState::Waiting { .. })).await;
    let EvaluationState::Waiting { reason } = waiting.state else { panic!() };
    assert!(reason.contains("step 3"), "{reason}");
    assert_eq!(experience(&house, &viewer(), &run).await, None);
    house.store.append_events(&events).await.unwrap();
    let done = record(&house, &viewer(), &run, judged).await;
    assert!(done.attempts >= 2);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_that_never_come_are_a_failure_that_can_be_replayed() {
    let house = House::new(EvaluatorSettings { attempts: 2, ..plain() }).await.run();
    let run = incident("w-4");
    let events = ask(&house, &run, |i| i != 2 && i != 3).await;
    record(&house, &viewer(), &run, |s| matches!(s, EvaluationState::Failed { .. })).await;
    settled(&house).await;

    let mut client = house.client();
    let listed = client.list_failures(ListFailuresRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed.failures.len(), 1);
    let failure = &listed.failures[0];
    assert_eq!((failure.trace_id.as_str(), failure.state()), ("w-4", State::Failed));
    assert!(failure.reason.contains("step 1, step 2"), "{}", failure.reason);
    let dead = house.bus.dead_letters(Queue::Evaluate, 9).await.unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!(dead[0].reason, failure.reason);

    house.store.append_events(&events).await.unwrap();
    let replay = || ReplayFailuresRequest::default();
    assert_eq!(client.replay_failures(replay()).await.unwrap().into_inner().replayed, 1);
    record(&house, &viewer(), &run, judged).await;
    assert_eq!(client.replay_failures(replay()).await.unwrap().into_inner().replayed, 0);
    let named = ReplayFailuresRequest { trace_ids: vec!["w-4".into(), "unknown".into()], ..replay() };
    assert_eq!(client.replay_failures(named).await.unwrap().into_inner().replayed, 0);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_imported_before_it_was_judged_is_replayed_with_the_failures() {
    let house = House::new(plain()).await.run();
    let run = incident("w-9");
    house.store.append_events(&split(run.clone())).await.unwrap();
    let imported = EvaluationRecord {
        trace_id: run.trace_id.clone(),
        scope: run.scope.clone(),
        state: EvaluationState::Waiting { reason: "imported".to_owned() },
        attempts: 0,
        step_count: 6,
        judge: String::new(),
        updated_at: run.started_at,
    };
    house.store.put_evaluation_record(&imported).await.unwrap();
    let replay = ReplayFailuresRequest::default();
    assert_eq!(house.client().replay_failures(replay).await.unwrap().into_inner().replayed, 1);
    record(&house, &viewer(), &run, judged).await;
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_stumbles_delays_and_loses_nothing() {
    let house = House::new(plain()).await;
    let run = incident("w-5");
    ask(&house, &run, |_| true).await;
    let down = || StoreError::Unavailable("disk".to_owned());
    house.store.inject(Calls::Only(StoreCall::Upsert), When::Nth(1), Fault::Lose(down()));
    house.store.inject(Calls::Only(StoreCall::Events), When::Nth(2), Fault::Refuse(down()));
    let house = house.run();
    record(&house, &viewer(), &run, judged).await;
    settled(&house).await;
    assert_eq!(house.store.stats(&viewer()).await.unwrap().experiences, 1);
    assert!(house.bus.dead_letters(Queue::Evaluate, 9).await.unwrap().is_empty());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_judged_is_listed_with_its_reason() {
    let house = House::new(plain()).await;
    let run = incident("w-6");
    ask(&house, &run, |_| true).await;
    let refused = StoreError::Rejected("too strange".to_owned());
    house.store.inject(Calls::Only(StoreCall::Upsert), When::Nth(1), Fault::Refuse(refused));
    let mut garbage = requested(&incident("w-7"));
    garbage.payload = vec![0xff; 64];
    house.bus.publish(Queue::Evaluate, vec![garbage]).await.unwrap();
    let house = house.run();
    let failed = record(&house, &viewer(), &run, |s| matches!(s, EvaluationState::Failed { .. })).await;
    assert!(matches!(failed.state, EvaluationState::Failed { reason } if reason.contains("too strange")));
    settled(&house).await;
    let dead = house.bus.dead_letters(Queue::Evaluate, 9).await.unwrap();
    assert_eq!(dead.len(), 2);
    assert!(dead.iter().any(|d| d.reason.contains("cannot be decoded")), "{dead:?}");

    let named = ReplayFailuresRequest { trace_ids: vec!["w-6".into()], user: String::new() };
    assert_eq!(house.client().replay_failures(named).await.unwrap().into_inner().replayed, 1);
    record(&house, &viewer(), &run, judged).await;
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_run_is_left_raw_and_says_why() {
    let house = House::new(plain()).await.run();
    let mut run = incident("w-8");
    run.steps.truncate(2);
    run.ended_at = run.started_at;
    ask(&house, &run, |_| true).await;
    record(&house, &viewer(), &run, |s| matches!(s, EvaluationState::Skipped { .. })).await;
    assert_eq!(experience(&house, &viewer(), &run).await, None);
    let answer = house
        .client()
        .get_evaluation(GetEvaluationRequest { trace_id: "w-8".into(), user: String::new() })
        .await
        .unwrap()
        .into_inner();
    let record = answer.record.unwrap();
    assert_eq!(record.state(), State::Skipped);
    assert!(record.reason.contains("2 tool calls"), "{}", record.reason);
    assert!(answer.evaluation.is_none());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_users_run_stays_that_users() {
    let house = House::new(plain()).await.run();
    let ann = UserId::new("ann").unwrap();
    let mut run = incident("w-9");
    run.scope.visibility = Visibility::User(ann.clone());
    ask(&house, &run, |_| true).await;
    record(&house, &viewer().with_user(Some(ann)), &run, judged).await;
    let stranger = viewer().with_user(Some(UserId::new("bob").unwrap()));
    assert_eq!(experience(&house, &stranger, &run).await, None);
    let stats = house.store.stats(&stranger).await.unwrap();
    assert_eq!((stats.experiences, stats.steps, stats.lessons, stats.failure_patterns), (0, 0, 0, 0));
    let get = |user: &str| GetEvaluationRequest { trace_id: "w-9".into(), user: user.into() };
    let mut client = house.client();
    assert_eq!(client.get_evaluation(get("bob")).await.unwrap_err().code(), Code::NotFound);
    assert!(client.get_evaluation(get("ann")).await.unwrap().into_inner().evaluation.is_some());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_judges_and_stores_nothing() {
    let house = House::new(plain()).await;
    let trajectory = Some(hindsight_codec::trajectory_to_proto(&incident("w-10")));
    let answer = house
        .client()
        .evaluate(EvaluateRequest { trajectory, ..EvaluateRequest::default() })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.evaluation.unwrap().steps.len(), 6);
    assert_eq!((answer.gate_reason.as_str(), answer.failure_patterns.len()), ("", 1));
    assert_eq!(house.store.stats(&viewer()).await.unwrap().experiences, 0);

    let mut bad = incident("w-11");
    bad.steps[5].step_index = 9;
    let trajectory = Some(hindsight_codec::trajectory_to_proto(&bad));
    let status = house
        .client()
        .evaluate(EvaluateRequest { trajectory, ..EvaluateRequest::default() })
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("trajectory.steps[5].step_index"), "{}", status.message());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_sizes_are_judged_within_bounds() {
    let house = House::new(plain()).await.run();
    let mut run = incident("w-12");
    run.steps = (0..5_000)
        .map(|i| step(i, "shell", &"(".repeat(200), &format!("错误{}", "[{".repeat(100))))
        .collect();
    run.steps[7].observation = "[".repeat(1024 * 1024);
    ask(&house, &run, |_| true).await;
    record(&house, &viewer(), &run, judged).await;
    let found = experience(&house, &viewer(), &run).await.unwrap();
    let weight: usize =
        found.trajectory.steps.iter().map(|s| s.observation.len() + s.action_detail.len()).sum();
    assert!(weight < 2 * 1024 * 1024, "{weight}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_grown_is_judged_again() {
    let house = House::new(plain()).await.run();
    let whole = incident("w-grown");
    let mut half = whole.clone();
    half.steps.truncate(5);
    ask(&house, &half, |_| true).await;
    assert_eq!(record(&house, &viewer(), &half, judged).await.step_count, 5);

    ask(&house, &whole, |_| true).await;
    until("the verdict on the whole run", || async {
        (experience(&house, &viewer(), &whole).await?.evaluation.steps.len() == 6).then_some(())
    })
    .await;
    settled(&house).await;
    assert_eq!(record(&house, &viewer(), &whole, judged).await.step_count, 6);

    // The earlier request once more: late, or delivered twice.
    house.bus.publish(Queue::Evaluate, vec![requested(&half)]).await.unwrap();
    settled(&house).await;
    assert_eq!(experience(&house, &viewer(), &whole).await.unwrap().evaluation.steps.len(), 6);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_taken_for_abandoned_is_judged_again_when_its_end_comes() {
    let house = House::new(plain()).await.run();
    let run = incident("w-late-end");
    let events = split(run.clone());
    let (end, before) = events.split_last().unwrap();
    let abandoned = hindsight_ingest::assemble::ending(before).unwrap();
    house.store.append_events(before).await.unwrap();
    house.store.append_events(&[abandoned]).await.unwrap();
    house.bus.publish(Queue::Evaluate, vec![requested(&run)]).await.unwrap();
    record(&house, &viewer(), &run, |s| !matches!(s, EvaluationState::Waiting { .. })).await;
    settled(&house).await;
    let outcome = |e: Experience| e.trajectory.outcome.status;
    assert_eq!(experience(&house, &viewer(), &run).await.map(outcome), Some(OutcomeStatus::Unknown));

    house.store.append_events(std::slice::from_ref(end)).await.unwrap();
    house.bus.publish(Queue::Evaluate, vec![requested(&run)]).await.unwrap();
    until("the verdict that knows the outcome", || async {
        let found = experience(&house, &viewer(), &run).await?;
        (found.trajectory.outcome.status == OutcomeStatus::Success).then_some(())
    })
    .await;
    house.stop().await;
}

/// What asks for the run that the spans of `run`'s trace make.
fn asked_by_root(
    run: &hindsight_types::Trajectory,
    not_before: Option<hindsight_types::Timestamp>,
) -> Envelope {
    let mut request = requested(run);
    let asked = EvaluationRequested {
        trace_id: run.trace_id.to_string(),
        scope: Some(hindsight_codec::scope_to_proto(&run.scope)),
        step_count: 0,
        not_before: not_before.map(hindsight_codec::time_to_proto),
    };
    request.payload = asked.encode_to_vec();
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_told_by_spans_is_judged_some_time_after_its_root_and_again_when_spans_come_late() {
    let house = House::new(plain()).await.run();
    let mut run = incident("w-spans");
    let tenant = run.scope.tenant.clone();
    // The root does not say whose the run is, the tools do.
    let anna = samples::private(&tenant, "anna");
    let mut events: Vec<_> = (2..8).map(|id| samples::tool_span(&anna, &run.trace_id, id)).collect();
    let late = events.pop().unwrap();
    events.push(samples::root_span(&run.scope, &run.trace_id));
    house.store.append_events(&events).await.unwrap();
    let begun = std::time::Instant::now();
    let soon = hindsight_types::Timestamp::now() + Duration::from_secs(2);
    house.bus.publish(Queue::Evaluate, vec![asked_by_root(&run, Some(soon))]).await.unwrap();
    run.scope = anna;
    let anna = hindsight_types::Viewer::of_scope(&run.scope);
    let known = record(&house, &anna, &run, judged).await;
    assert!(begun.elapsed() >= Duration::from_secs(1), "spans may be on their way");
    assert_eq!((known.step_count, &known.scope), (6, &run.scope));
    assert_eq!(experience(&house, &anna, &run).await.unwrap().trajectory.steps.len(), 5);
    assert_eq!(experience(&house, &viewer(), &run).await, None, "it is Anna's");

    house.bus.publish(Queue::Evaluate, vec![asked_by_root(&run, None)]).await.unwrap();
    settled(&house).await;
    assert_eq!(record(&house, &anna, &run, judged).await.updated_at, known.updated_at, "nothing is new");
    house.store.append_events(&[late]).await.unwrap();
    house.bus.publish(Queue::Evaluate, vec![asked_by_root(&run, None)]).await.unwrap();
    until("the verdict on all spans", || async {
        (experience(&house, &anna, &run).await?.trajectory.steps.len() == 6).then_some(())
    })
    .await;
    settled(&house).await;
    assert_eq!(record(&house, &anna, &run, judged).await.step_count, 7);
    house.stop().await;
}

/// A call in a trace that fails, and says of whom it was.
fn failed_span(scope: &Scope, run: &Trajectory, id: u8) -> Event {
    let mut event = samples::tool_span(scope, &run.trace_id, id);
    if let EventBody::Span(span) = &mut event.body {
        let step = &mut span.steps[0].step;
        step.status = StepStatus::Error;
        step.observation = "Error: no such container: of-anna".to_owned();
    }
    event
}

async fn patterns(house: &House, viewer: &Viewer) -> usize {
    let all = PageRequest::default();
    house.store.list(viewer, MemoryKind::FailurePattern, &all).await.unwrap().items.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_run_is_shown_to_others_once_it_is_known_whose_it_is() {
    let house = House::caring().await.run();
    let mut run = incident("w-whose");
    let anna = samples::private(&run.scope.tenant, "anna");
    let mut events: Vec<_> = (2..7).map(|id| failed_span(&run.scope, &run, id)).collect();
    events.push(samples::root_span(&run.scope, &run.trace_id));
    house.store.append_events(&events).await.unwrap();
    house.bus.publish(Queue::Evaluate, vec![asked_by_root(&run, None)]).await.unwrap();
    record(&house, &viewer(), &run, judged).await;
    assert!(patterns(&house, &viewer()).await > 0, "nobody knows better");

    // Long enough to see what stands beside the memories before the verdict is on record.
    let late = Fault::Delay(Duration::from_secs(1));
    house.store.inject(Calls::Only(StoreCall::PutEvaluationRecord), When::Always, late);
    house.store.append_events(&[failed_span(&anna, &run, 7)]).await.unwrap();
    house.bus.publish(Queue::Evaluate, vec![asked_by_root(&run, None)]).await.unwrap();
    run.scope = anna;
    let anna = Viewer::of_scope(&run.scope);
    until("the memory of all spans", || async {
        (experience(&house, &anna, &run).await?.trajectory.steps.len() == 6).then_some(())
    })
    .await;
    assert_eq!(house.store.evaluation_record(&viewer(), &run.trace_id).await.unwrap(), None, "it is Anna's");
    house.store.heal();
    until("what everybody learned is taken back", || async {
        (patterns(&house, &viewer()).await == 0).then_some(())
    })
    .await;
    settled(&house).await;
    assert_eq!(record(&house, &anna, &run, judged).await.scope, run.scope);
    assert!(patterns(&house, &anna).await > 0, "she learned from it");
    house.stop().await;
}
