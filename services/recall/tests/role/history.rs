//! What a caller can change of a memory, and how it was before.

use hindsight_ports::MemoryStore as _;
use hindsight_proto::{
    common::v1 as common,
    common::v1::{FactStatus, MemoryKind, RevisionCause, memory::Kind},
    memory::v1::{
        ConflictDecision, GetMemoryHistoryRequest, GetMemoryHistoryResponse, GetMemoryRequest,
        ListConflictsRequest, MergeState, MergeSubjectsRequest, RestoreMemoryRequest,
        UndoMergeSubjectsRequest, UpdateMemoryRequest, memory_service_client::MemoryServiceClient,
    },
    recall::v1::RecallRequest,
};
use hindsight_types::{Memory, SessionId, Stage};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::common::{Transport, World, ask, fact, lesson, tenant};

fn of_user(words: &str, user: &str) -> RecallRequest {
    RecallRequest { user: user.to_owned(), ..ask(words) }
}

fn reason(status: &Status) -> String {
    status.get_error_details().error_info().map(|i| i.reason.clone()).unwrap_or_default()
}

fn update(id: &str, new: common::Fact, paths: &[&str]) -> UpdateMemoryRequest {
    UpdateMemoryRequest {
        memory_id: id.to_owned(),
        kind: MemoryKind::Fact as i32,
        user: "ann".to_owned(),
        memory: Some(common::Memory { kind: Some(Kind::Fact(new)) }),
        update_mask: Some(prost_types::FieldMask { paths: paths.iter().map(|p| (*p).to_owned()).collect() }),
        reason: "she said so on the phone".to_owned(),
        etag: String::new(),
        request_id: String::new(),
    }
}

fn content(text: &str) -> common::Fact {
    common::Fact { content: text.to_owned(), ..Default::default() }
}

fn of(memory: Option<common::Memory>) -> common::Fact {
    match memory.and_then(|m| m.kind) {
        Some(Kind::Fact(fact)) => fact,
        other => panic!("not a fact: {other:?}"),
    }
}

async fn history(client: &mut MemoryServiceClient<Transport>, id: &str) -> GetMemoryHistoryResponse {
    let request = GetMemoryHistoryRequest {
        memory_id: id.to_owned(),
        kind: MemoryKind::Fact as i32,
        user: "ann".to_owned(),
        ..Default::default()
    };
    client.get_memory_history(request).await.unwrap().into_inner()
}

#[tokio::test]
async fn a_fact_is_corrected_told_and_restored() {
    let world = World::new().await;
    let memory = fact("acme", "ann", "drink", "likes green tea");
    let id = memory.id().to_string();
    world.remember(vec![memory]).await;
    let mut client = world.memories("acme");
    let get =
        GetMemoryRequest { memory_id: id.clone(), kind: MemoryKind::Fact as i32, user: "ann".to_owned() };
    let etag = client.get_memory(get).await.unwrap().into_inner().etag;

    let mut request = update(&id, content("likes black coffee; 喜欢黑咖啡"), &["content"]);
    (request.etag, request.request_id) = (etag.clone(), "r-1".to_owned());
    let answer = client.update_memory(request.clone()).await.unwrap().into_inner();
    let changed = of(answer.memory.clone());
    assert_eq!(changed.content, "likes black coffee; 喜欢黑咖啡");
    let revision = changed.revision.unwrap();
    assert_eq!((revision.cause(), revision.by.as_str()), (RevisionCause::Updated, "test"));
    assert_ne!(answer.etag, etag);
    // The same request again, though the etag is of before.
    assert_eq!(client.update_memory(request.clone()).await.unwrap().into_inner(), answer);
    request.memory = Some(common::Memory { kind: Some(Kind::Fact(content("something else"))) });
    assert_eq!(client.update_memory(request).await.unwrap_err().code(), Code::InvalidArgument);

    // It is found by its new words.
    let found = world.recalls("acme").recall(of_user("coffee", "ann")).await.unwrap().into_inner();
    assert!(found.block.contains("black coffee"), "{}", found.block);

    let told = history(&mut client, &id).await;
    assert_eq!(told.present.map(|v| v.version), Some(answer.etag.clone()));
    assert_eq!(told.former.iter().map(|v| v.version.as_str()).collect::<Vec<_>>(), [etag.as_str()]);

    let restore = RestoreMemoryRequest {
        memory_id: id.clone(),
        kind: MemoryKind::Fact as i32,
        user: "ann".to_owned(),
        version: etag,
        reason: "it was right".to_owned(),
        etag: answer.etag,
        request_id: "r-2".to_owned(),
    };
    let restored = client.restore_memory(restore.clone()).await.unwrap().into_inner();
    assert_eq!(of(restored.memory.clone()).content, "likes green tea");
    assert_eq!(client.restore_memory(restore).await.unwrap().into_inner(), restored, "the same again");
    assert_eq!(history(&mut client, &id).await.former.len(), 2);
}

#[tokio::test]
async fn who_did_not_see_the_last_change_does_not_overwrite_it() {
    let world = World::new().await;
    let memory = fact("acme", "ann", "drink", "likes green tea");
    let id = memory.id().to_string();
    let etag = memory.version().unwrap().to_string();
    world.remember(vec![memory]).await;
    let mut client = world.memories("acme");
    client.update_memory(update(&id, content("likes coffee"), &["content"])).await.unwrap();
    let mut late = update(&id, content("likes water"), &["content"]);
    late.etag = etag;
    let refused = client.update_memory(late).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Aborted, "ETAG_MISMATCH"));
    // What changes nothing is no version.
    client.update_memory(update(&id, content("likes coffee"), &["content"])).await.unwrap();
    assert_eq!(history(&mut client, &id).await.former.len(), 1);
}

#[tokio::test]
async fn a_status_changes_and_what_is_obsolete_is_not_recalled() {
    let world = World::new().await;
    let memory = fact("acme", "ann", "drink", "likes green tea");
    let id = memory.id().to_string();
    world.remember(vec![memory]).await;
    let mut client = world.memories("acme");
    let status = |status: FactStatus| common::Fact { status: status.into(), ..Default::default() };
    let resolved = client.update_memory(update(&id, status(FactStatus::Resolved), &["status"])).await;
    assert!(of(resolved.unwrap().into_inner().memory).resolved_at.is_some());
    client.update_memory(update(&id, status(FactStatus::Obsolete), &["status"])).await.unwrap();
    let found = world.recalls("acme").recall(of_user("green tea", "ann")).await.unwrap().into_inner();
    assert!(found.items.is_empty(), "{}", found.block);
    let open = client.update_memory(update(&id, status(FactStatus::Open), &["status"])).await.unwrap();
    let open = of(open.into_inner().memory);
    assert_eq!((open.status(), open.resolved_at), (FactStatus::Open, None));
}

#[tokio::test]
async fn the_turns_beside_a_corrected_fact_are_told() {
    let world = World::new().await;
    let turn = |key: &str, text: &str, days: i64| match fact("acme", "ann", key, text) {
        Memory::Fact(mut f) => {
            f.session = Some(SessionId::new("talk").unwrap());
            f.occurred_at = crate::common::time(-days);
            Memory::Fact(f)
        }
        other => other,
    };
    let (first, second) = (turn("a", "my pin is blue42", 3), turn("b", "and I like tea", 2));
    let id = first.id().to_string();
    let beside = second.id();
    world.remember(vec![first, second]).await;
    let mut client = world.memories("acme");
    client.update_memory(update(&id, content("I told something private"), &["content"])).await.unwrap();
    let viewer = hindsight_types::Viewer::of_tenant(tenant("acme"))
        .with_user(Some(hindsight_types::UserId::new("ann").unwrap()));
    let stored = world.store.get(&viewer, hindsight_types::MemoryKind::Fact, beside).await.unwrap();
    let Some(Memory::Fact(stored)) = stored else { panic!() };
    assert!(stored.surroundings.contains("something private"), "{}", stored.surroundings);
}

#[tokio::test]
async fn a_lesson_is_corrected_by_a_person() {
    let world = World::new().await;
    let memory = lesson("loop", "a container restarts over and over", Stage::Active);
    let id = memory.id().to_string();
    world.remember(vec![memory]).await;
    let mut client = world.memories("acme");
    let advice = "look at the disk before anything else; 先看磁盘".to_owned();
    let mut request = update(&id, common::Fact::default(), &["advice"]);
    (request.kind, request.user) = (MemoryKind::Lesson as i32, String::new());
    let new = common::Lesson { advice: advice.clone(), ..Default::default() };
    request.memory = Some(common::Memory { kind: Some(Kind::Lesson(new)) });
    let answer = client.update_memory(request).await.unwrap().into_inner();
    let Some(Kind::Lesson(changed)) = answer.memory.and_then(|m| m.kind) else { panic!() };
    assert_eq!((changed.stage(), changed.advice), (common::Stage::Active, advice));
}

#[tokio::test]
async fn what_is_wrong_is_named_and_who_may_not_is_refused() {
    let world = World::new().await;
    let memory = fact("acme", "ann", "drink", "likes green tea");
    let id = memory.id().to_string();
    world.remember(vec![memory]).await;
    let good = || update(&id, content("x"), &["content"]);
    type Change = fn(&mut UpdateMemoryRequest);
    let wrong: [Change; 7] = [
        |r| r.reason = " ".to_owned(),
        |r| r.etag = "not one".to_owned(),
        |r| r.request_id = "茶".to_owned(),
        |r| r.kind = MemoryKind::Step as i32,
        |r| r.update_mask = None,
        |r| r.memory_id = "1".to_owned(),
        |r| r.reason = "x".repeat(5_000),
    ];
    let mut client = world.memories("acme");
    for (at, change) in wrong.into_iter().enumerate() {
        let mut request = good();
        change(&mut request);
        assert_eq!(client.update_memory(request).await.unwrap_err().code(), Code::InvalidArgument, "{at}");
    }
    let mut stranger = good();
    stranger.user = "bob".to_owned();
    assert_eq!(client.update_memory(stranger).await.unwrap_err().code(), Code::NotFound);
    let mut reader = world.memories_with("acme", hindsight_api::Permission::Read);
    assert_eq!(reader.update_memory(good()).await.unwrap_err().code(), Code::PermissionDenied);
    let merge = MergeSubjectsRequest { from: "a".into(), to: "ann".into(), reason: String::new() };
    assert_eq!(reader.merge_subjects(merge).await.unwrap_err().code(), Code::PermissionDenied);
}

#[tokio::test]
async fn conflicts_are_listed_with_what_decided() {
    let world = World::new().await;
    let said = |key: &str, text: &str, days: i64| match fact("acme", "ann", key, text) {
        Memory::Fact(mut f) => {
            f.entities = vec!["Lyon office".to_owned()];
            f.intent = "where the office is".to_owned();
            (f.occurred_at, f.retained_at) = (crate::common::time(-days), crate::common::time(-days));
            Memory::Fact(f)
        }
        other => other,
    };
    let older = said("a", "the Lyon office is on the second floor", 9);
    let newer = said("b", "the Lyon office is on the fourth floor", 3);
    world.remember(vec![older.clone(), newer.clone(), fact("acme", "ann", "c", "likes tea")]).await;
    let mut client = world.memories("acme");
    let list = |token: &str| ListConflictsRequest {
        user: "ann".to_owned(),
        page_size: 1,
        page_token: token.to_owned(),
    };
    let found = client.list_conflicts(list("")).await.unwrap().into_inner();
    let [pair] = &found.conflicts[..] else { panic!("{found:?}") };
    let ids = [&pair.newer, &pair.older].map(|f| f.as_ref().unwrap().memory_id.clone());
    assert_eq!(ids, [newer.id().to_string(), older.id().to_string()]);
    assert_eq!((pair.decision(), found.next_page_token.as_str()), (ConflictDecision::AtRecall, ""));
    assert_eq!(client.list_conflicts(list("x")).await.unwrap_err().code(), Code::InvalidArgument);
    let nobody = ListConflictsRequest::default();
    assert_eq!(client.list_conflicts(nobody).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn an_anonymous_id_becomes_a_user_and_back() {
    let world = World::new().await;
    world.remember(vec![fact("acme", "anon-1", "drink", "likes green tea")]).await;
    let mut client = world.memories("acme");
    let merge = |from: &str, to: &str| MergeSubjectsRequest {
        from: from.to_owned(),
        to: to.to_owned(),
        reason: "signed in".to_owned(),
    };
    let merged = client.merge_subjects(merge("anon-1", "ann")).await.unwrap().into_inner().merge.unwrap();
    assert_eq!((merged.state(), merged.facts, merged.by.as_str()), (MergeState::Merged, 1, "test"));
    assert_eq!(client.merge_subjects(merge("anon-1", "ann")).await.unwrap().into_inner().merge, Some(merged));
    let found = world.recalls("acme").recall(of_user("green tea", "ann")).await.unwrap().into_inner();
    assert_eq!(found.items.len(), 1);
    let nothing = world.recalls("acme").recall(of_user("green tea", "anon-1")).await.unwrap().into_inner();
    assert!(nothing.items.is_empty());
    let refused = client.merge_subjects(merge("anon-1", "bob")).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::FailedPrecondition, "MERGE_IN_THE_WAY"));
    for (from, to) in [("ann", "ann"), ("", "ann"), ("anon-2", "")] {
        assert_eq!(client.merge_subjects(merge(from, to)).await.unwrap_err().code(), Code::InvalidArgument);
    }
    let undo = |from: &str| UndoMergeSubjectsRequest { from: from.to_owned(), reason: String::new() };
    let undone = client.undo_merge_subjects(undo("anon-1")).await.unwrap().into_inner().merge.unwrap();
    assert_eq!(undone.state(), MergeState::Undone);
    let found = world.recalls("acme").recall(of_user("green tea", "anon-1")).await.unwrap().into_inner();
    assert_eq!(found.items.len(), 1);
    assert_eq!(client.undo_merge_subjects(undo("nobody")).await.unwrap_err().code(), Code::NotFound);
    // Another tenant knows nothing of it.
    let elsewhere = world.memories("other").undo_merge_subjects(undo("anon-1")).await.unwrap_err();
    assert_eq!(elsewhere.code(), Code::NotFound);
}
