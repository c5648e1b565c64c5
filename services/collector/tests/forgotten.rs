//! What was recorded before its subject was forgotten is dropped, however late it arrives.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use hindsight_codec::time_to_proto;
use hindsight_ports::{Forget as _, MemoryStore as _, Queue};
use hindsight_proto::{
    collector::v1::{Consistency, RetainRequest, SubmitTrajectoryRequest},
    common::v1::{Scope as PbScope, ScopeLevel, Step, Trajectory},
};
use hindsight_types::{Forgotten, MemoryKind, Scope, Subject, Timestamp, TraceId, UserId, Visibility};
use support::{House, tenant, until, viewer};
use tonic::Request;

fn everyone() -> Scope {
    Scope::new(tenant(), Visibility::Tenant)
}

/// A run that all may see, from `start` on.
fn run(trace: &str, user: &str, start: Timestamp) -> SubmitTrajectoryRequest {
    let at = |seconds| time_to_proto(Timestamp::from_second(start.as_second() + seconds).unwrap());
    let step = |n: u32| Step {
        step_index: n,
        action_name: "df".to_owned(),
        action_type: hindsight_proto::common::v1::ActionType::ToolCall as i32,
        observation: "磁盘已满".to_owned(),
        started_at: Some(at(n.into())),
        ended_at: Some(at(n.into())),
        ..Step::default()
    };
    let trajectory = Trajectory {
        trace_id: trace.to_owned(),
        task_description: "磁盘告警".to_owned(),
        user: user.to_owned(),
        scope: Some(PbScope { level: ScopeLevel::Tenant as i32, id: String::new() }),
        steps: (0..3).map(step).collect(),
        started_at: Some(at(0)),
        ended_at: Some(at(10)),
        ..Trajectory::default()
    };
    SubmitTrajectoryRequest { trajectory: Some(trajectory), ..SubmitTrajectoryRequest::default() }
}

async fn is_empty(house: &House) -> Option<()> {
    let stats = house.bus.stats(Queue::Ingest).await.unwrap();
    (stats.ready + stats.delayed + stats.unsettled == 0).then_some(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_before_is_dropped_and_what_comes_after_is_kept() {
    let house = House::new().await;
    let now = Timestamp::now();
    let ann = Subject::User(UserId::new("ann").unwrap());
    let tombstone = Forgotten { scope: everyone(), subject: ann, at: now };
    house.plain.entomb(&tombstone).await.unwrap();
    let mut client = house.client();
    let hour_ago = Timestamp::from_second(now.as_second() - 3_600).unwrap();
    client.submit_trajectory(Request::new(run("hers", "ann", hour_ago))).await.unwrap();
    client.submit_trajectory(Request::new(run("his", "bob", hour_ago))).await.unwrap();
    let house = house.run();
    until("the queue is empty", || is_empty(&house)).await;

    let events = async |trace: &str| {
        house.store.events(&everyone(), &TraceId::new(trace).unwrap()).await.unwrap().len()
    };
    assert_eq!(events("his").await, 5);
    let start = Subject::Run(TraceId::new("hers").unwrap());
    let known = house.plain.forgotten(&tenant(), &[start]).await.unwrap();
    assert_eq!(known.len(), 1, "steps name no user: the run is known by itself from its start on");
    // Its steps may have been in a batch with its start; whatever was written is swept.
    assert!(house.bus.stats(Queue::Compact).await.unwrap().ready > 0, "it is asked for");

    let fact = RetainRequest {
        user: "ann".to_owned(),
        content: "I moved to Tartu last spring".to_owned(),
        consistency: Consistency::Indexed as i32,
        force: true,
        ..RetainRequest::default()
    };
    let kept = client.retain(Request::new(fact)).await.unwrap().into_inner();
    let id = hindsight_types::MemoryId::parse(&kept.memory_id).unwrap();
    let viewer = viewer().with_user(Some(UserId::new("ann").unwrap()));
    assert!(
        house.store.get(&viewer, MemoryKind::Fact, id).await.unwrap().is_some(),
        "who comes back is remembered"
    );
    house.stop().await;
}
