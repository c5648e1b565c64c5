//! What a caller of `MemoryService` gets.

use crate::common::{World, experience, fact, run, tenant};
use hindsight_ingest::split;
use hindsight_ports::{MemoryStore as _, testkit::samples};
use hindsight_proto::{
    common::v1::{EvaluationState, MemoryKind, memory::Kind},
    memory::v1::{GetMemoryRequest, GetStatsRequest, GetTrajectoryRequest, ListMemoriesRequest},
};
use hindsight_types::{Scope, UserId, Visibility};
use tonic::Code;

fn trajectory(trace: &str, user: &str) -> GetTrajectoryRequest {
    GetTrajectoryRequest { trace_id: trace.to_owned(), user: user.to_owned() }
}

#[tokio::test]
async fn one_memory_of_ones_own() {
    let world = World::new().await;
    let memory = fact("acme", "ann", "k", "喜欢喝茶");
    let id = memory.id().to_string();
    world.remember(vec![memory]).await;
    let get = |user: &str, kind: MemoryKind| GetMemoryRequest {
        memory_id: id.clone(),
        kind: kind as i32,
        user: user.to_owned(),
    };
    let mut client = world.memories("acme");
    let found = client.get_memory(get("ann", MemoryKind::Fact)).await.unwrap().into_inner().memory.unwrap();
    let Some(Kind::Fact(found)) = found.kind else { panic!("not a fact: {found:?}") };
    assert_eq!(found.content, "喜欢喝茶");
    for request in [get("bob", MemoryKind::Fact), get("", MemoryKind::Fact), get("ann", MemoryKind::Lesson)] {
        assert_eq!(client.get_memory(request).await.unwrap_err().code(), Code::NotFound);
    }
    let unspecified = client.get_memory(get("ann", MemoryKind::Unspecified)).await.unwrap_err();
    assert_eq!(unspecified.code(), Code::InvalidArgument);
    let elsewhere = world.memories("other").get_memory(get("ann", MemoryKind::Fact)).await.unwrap_err();
    assert_eq!(elsewhere.code(), Code::NotFound);
}

#[tokio::test]
async fn lists_come_in_pages_and_tokens_stay_with_their_list() {
    let world = World::new().await;
    let facts = (0..5).map(|i| fact("acme", "ann", &i.to_string(), &format!("statement {i}")));
    world.remember(facts.collect()).await;
    let mut client = world.memories("acme");
    let list = |user: &str, token: &str| ListMemoriesRequest {
        kind: MemoryKind::Fact as i32,
        user: user.to_owned(),
        page_size: 2,
        page_token: token.to_owned(),
        filter: None,
    };
    let (mut seen, mut token, mut pages) = (std::collections::BTreeSet::new(), String::new(), 0);
    loop {
        let page = client.list_memories(list("ann", &token)).await.unwrap().into_inner();
        for memory in page.memories {
            let Some(Kind::Fact(fact)) = memory.kind else { panic!("not a fact") };
            assert!(seen.insert(fact.memory_id), "came twice");
        }
        token = page.next_page_token;
        pages += 1;
        if token.is_empty() {
            break;
        }
        let foreign = client.list_memories(list("bob", &token)).await.unwrap_err();
        assert_eq!(foreign.code(), Code::InvalidArgument);
    }
    assert_eq!((seen.len(), pages), (5, 3));
    let negative = ListMemoriesRequest { page_size: -1, ..list("ann", "") };
    assert_eq!(client.list_memories(negative).await.unwrap_err().code(), Code::InvalidArgument);
    assert!(client.list_memories(list("bob", "")).await.unwrap().into_inner().memories.is_empty());
}

#[tokio::test]
async fn a_judged_run_comes_with_its_verdict() {
    let world = World::new().await;
    world.remember(vec![experience("t-1", "restart loop")]).await;
    let mut client = world.memories("acme");
    let found = client.get_trajectory(trajectory("t-1", "")).await.unwrap().into_inner();
    assert_eq!(found.trajectory.unwrap().steps.len(), 3);
    assert_eq!(found.evaluation.unwrap().steps.len(), 3);
    let unknown = client.get_trajectory(trajectory("t-2", "")).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
}

#[tokio::test]
async fn a_run_that_is_not_judged_is_put_together_from_its_events() {
    let world = World::new().await;
    let mut own = run("t-3", "restart loop").trajectory;
    let ann = UserId::new("ann").unwrap();
    own.user = Some(ann.clone());
    own.scope = Scope::new(tenant("acme"), Visibility::User(ann));
    let events = split(own);
    let (last, rest) = events.split_last().unwrap();
    world.store.append_events(rest).await.unwrap();

    let mut client = world.memories("acme");
    let waiting = client.get_trajectory(trajectory("t-3", "ann")).await.unwrap().into_inner();
    assert!(waiting.trajectory.is_none());
    let record = waiting.record.unwrap();
    assert_eq!(record.state(), EvaluationState::Waiting);
    assert!(record.reason.contains("completion"), "{}", record.reason);

    world.store.append_events(std::slice::from_ref(last)).await.unwrap();
    let raw = client.get_trajectory(trajectory("t-3", "ann")).await.unwrap().into_inner();
    assert_eq!(raw.trajectory.unwrap().steps.len(), 3);
    assert!(raw.evaluation.is_none());
    for user in ["", "bob"] {
        let refused = client.get_trajectory(trajectory("t-3", user)).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
    }
}

/// The root does not say whose the run is, and has the user's words in it.
#[tokio::test]
async fn spans_of_a_trace_are_the_users_whom_one_of_them_names() {
    let world = World::new().await;
    let trace = samples::trace("t-spans");
    let (shared, anna) = (samples::shared(&tenant("acme")), samples::private(&tenant("acme"), "anna"));
    world.store.append_events(&[samples::root_span(&shared, &trace)]).await.unwrap();
    let mut client = world.memories("acme");
    assert!(client.get_trajectory(trajectory("t-spans", "bob")).await.is_ok(), "nobody's so far");

    world.store.append_events(&[samples::tool_span(&anna, &trace, 2)]).await.unwrap();
    let hers = client.get_trajectory(trajectory("t-spans", "anna")).await.unwrap().into_inner();
    assert_eq!(hers.trajectory.unwrap().steps.len(), 1);
    for user in ["", "bob"] {
        let refused = client.get_trajectory(trajectory("t-spans", user)).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
    }
}

#[tokio::test]
async fn stats_count_what_the_caller_sees() {
    let world = World::new().await;
    world
        .remember(vec![
            experience("t-1", "restart loop"),
            fact("acme", "ann", "1", "tea"),
            fact("acme", "bob", "2", "coffee"),
            fact("other", "ann", "3", "milk"),
        ])
        .await;
    let stats = |user: &str| GetStatsRequest { user: user.to_owned() };
    let mut client = world.memories("acme");
    let all = client.get_stats(stats("")).await.unwrap().into_inner();
    assert_eq!((all.experiences, all.facts), (1, 0));
    let anns = client.get_stats(stats("ann")).await.unwrap().into_inner();
    assert_eq!((anns.experiences, anns.facts), (1, 1));
}
