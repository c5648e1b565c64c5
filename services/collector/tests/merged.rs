//! What is under way for an id when it turns out whose it is, and what is written for it afterwards.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use hindsight_ports::{
    Begun, Clock as _, History as _, MemoryStore as _, PageRequest, Subjects as _, SystemClock,
};
use hindsight_proto::collector::v1::{Consistency, RetainRequest, SubmitTrajectoryRequest};
use hindsight_proto::common::v1::{ActionType, Outcome, Step, Trajectory};
use hindsight_types::{
    Memory, MemoryId, MemoryKind, Scope, SubjectMerge, TraceId, UserId, Viewer, Visibility,
};
use support::{House, tenant, until, viewer};

fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

fn of(name: &str) -> Viewer {
    viewer().with_user(Some(user(name)))
}

fn said(name: &str, key: &str, content: &str, consistency: Consistency) -> RetainRequest {
    RetainRequest {
        user: name.to_owned(),
        key: key.to_owned(),
        content: content.to_owned(),
        consistency: consistency.into(),
        ..Default::default()
    }
}

async fn merge(house: &House) {
    let now = SystemClock.now();
    let wanted = SubjectMerge::new(tenant(), user("anon"), user("anna"), "test", "", now);
    let Begun::Stands(begun) = house.plain.begin(&wanted).await.unwrap() else { panic!("refused") };
    house.plain.carry(&begun, now).await.unwrap();
}

async fn fact(house: &House, name: &str, key: &str) -> Option<String> {
    let id = MemoryId::fact(&tenant(), &user(name), key);
    let found = house.plain.get(&of(name), MemoryKind::Fact, id).await.unwrap();
    found.map(|memory| memory.text())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_its_way_arrives_at_the_user() {
    let house = House::new().await;
    let mut client = house.client();
    client.retain(said("anon", "seat", "I like the window seat", Consistency::Durable)).await.unwrap();
    let run = Trajectory {
        trace_id: "t-1".to_owned(),
        task_description: "订一张火票".to_owned(),
        user: "anon".to_owned(),
        steps: vec![Step {
            action_type: ActionType::ToolCall.into(),
            action_name: "book".to_owned(),
            ..Default::default()
        }],
        outcome: Some(Outcome::default()),
        ..Default::default()
    };
    let request = SubmitTrajectoryRequest { trajectory: Some(run), ..Default::default() };
    client.submit_trajectory(request).await.unwrap();
    merge(&house).await;
    assert_eq!(fact(&house, "anna", "seat").await, None, "it is still on the queue");

    let house = house.run();
    let seat = until("the fact is the user's", || fact(&house, "anna", "seat")).await;
    assert_eq!(seat, "I like the window seat");
    let trace = TraceId::new("t-1").unwrap();
    let events = async |name: &str| {
        let scope = Scope::new(tenant(), Visibility::User(user(name)));
        house.plain.events(&scope, &trace).await.unwrap().len()
    };
    until("the run is the user's", || async { (events("anna").await == 3).then_some(()) }).await;
    assert_eq!((fact(&house, "anon", "seat").await, events("anon").await), (None, 0));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_what_it_writes_under_a_merged_id_is_answered() {
    let house = House::new().await.run();
    merge(&house).await;
    let mut client = house.client();
    client.retain(said("anon", "seat", "I like the aisle seat", Consistency::Indexed)).await.unwrap();
    assert_eq!(fact(&house, "anna", "seat").await.as_deref(), Some("I like the aisle seat"));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_versions_that_arrive_together_each_is_kept() {
    let house = House::new().await;
    let mut client = house.client();
    for content in ["我喜欢靠窗的座位", "我喜欢靠过道的座位", "我喜欢有桌子的座位"]
    {
        client.retain(said("anna", "seat", content, Consistency::Durable)).await.unwrap();
    }
    let house = house.run();
    until("the last one stands", || async {
        fact(&house, "anna", "seat").await.filter(|text| text.contains("桌子"))
    })
    .await;
    let id = MemoryId::fact(&tenant(), &user("anna"), "seat");
    let former = until("the others are kept", || async {
        let page = PageRequest::default();
        let found = house.plain.history(&of("anna"), MemoryKind::Fact, id, &page).await.unwrap();
        (found.items.len() == 2).then_some(found.items)
    })
    .await;
    let former: Vec<String> = former.iter().map(Memory::text).collect();
    assert_eq!(former, ["我喜欢靠过道的座位", "我喜欢靠窗的座位"]);
    house.stop().await;
}
