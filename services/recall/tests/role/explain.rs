//! Why a memory that was expected did not come.

use crate::common::{World, ask, experience, fact, lesson, time};
use hindsight_ports::{
    StoreError,
    testkit::faulty_store::{Calls, Fault, StoreCall, When},
};
use hindsight_proto::{
    common::v1::MemoryKind,
    recall::v1::{ExpectedFate, ExpectedMemory, ExplainRecallRequest, RecallRequest, RecallResponse},
};
use hindsight_types::{FactStatus, Memory, MemoryId, Stage};
use tonic::Code;

const TASK: &str = "the api container restarts in a loop";

async fn expected(world: &World, answer: &RecallResponse, user: &str, id: MemoryId) -> ExpectedMemory {
    let request = ExplainRecallRequest {
        receipt_id: answer.receipt_id.clone(),
        user: user.to_owned(),
        expect: id.to_string(),
    };
    world.recalls("acme").explain_recall(request).await.unwrap().into_inner().expected.unwrap()
}

#[tokio::test]
async fn a_memory_that_was_given_says_so_with_its_score() {
    let world = World::new().await;
    let run = experience("t-1", TASK);
    world.remember(vec![run.clone()]).await;
    let answer = world.recall(ask(TASK)).await.unwrap();
    let told = expected(&world, &answer, "", run.id()).await;
    assert_eq!((told.fate(), told.kind()), (ExpectedFate::Given, MemoryKind::Experience), "{told:?}");
    assert!(told.remedy.is_empty() && told.reason.contains(&answer.items[0].why), "{told:?}");
    assert!(told.arms.iter().any(|arm| arm.arm == "bm25" && arm.rank == 1), "{told:?}");
    let (now, then) = (told.factors.unwrap(), answer.items[0].factors.unwrap());
    assert!((now.total - then.total).abs() < 1e-3, "{now:?} {then:?}");
}

#[tokio::test]
async fn what_another_may_see_looks_like_what_is_not_there() {
    let world = World::new().await;
    let (run, private) = (experience("t-1", TASK), fact("acme", "ben", "key", "the key is with Ben"));
    world.remember(vec![run, private.clone()]).await;
    let answer =
        world.recall(RecallRequest { user: "ann".to_owned(), ..ask("where is the key?") }).await.unwrap();
    let hidden = expected(&world, &answer, "ann", private.id()).await;
    let missing = expected(&world, &answer, "ann", fact("acme", "ben", "none", "x").id()).await;
    assert_eq!(hidden.fate(), ExpectedFate::NotFound);
    let without_id = |told: &ExpectedMemory| ExpectedMemory { memory_id: String::new(), ..told.clone() };
    assert_eq!(without_id(&hidden), without_id(&missing));
    assert!(!hidden.remedy.is_empty());

    let nobodys = world.recall(ask("where is the key?")).await.unwrap();
    let told = expected(&world, &nobodys, "", private.id()).await;
    assert!(told.fate() == ExpectedFate::NotFound && told.remedy.contains("user ="), "{told:?}");
}

#[tokio::test]
async fn each_reason_has_its_remedy() {
    let world = World::new().await;
    let advice = lesson("loop", TASK, Stage::Active);
    let runs = [experience("t-1", TASK), experience("t-2", "the api container restarts in a loop at night")];
    let far = experience("t-3", "the payroll export of the api has wrong totals");
    let mut all = vec![advice.clone(), far.clone()];
    all.extend(runs.clone());
    world.remember(all).await;
    let kinds = vec![MemoryKind::Experience as i32];
    let answer = world.recall(RecallRequest { kinds, limit: 1, ..ask(TASK) }).await.unwrap();
    assert_eq!(answer.items.len(), 1);

    let told = expected(&world, &answer, "", advice.id()).await;
    assert_eq!(told.fate(), ExpectedFate::KindNotAsked);
    assert!(told.remedy.contains("lesson"), "{told:?}");

    let second = runs.iter().find(|run| !answer.block.contains(run_task(run))).unwrap();
    let told = expected(&world, &answer, "", second.id()).await;
    assert_eq!(told.fate(), ExpectedFate::Withheld, "{told:?}");
    assert!(told.reason.contains("better") || told.reason.contains("same"), "{told:?}");
    assert!(told.last_given.unwrap() >= told.factors.unwrap().total - 1e-3);

    let told = expected(&world, &answer, "", far.id()).await;
    assert_eq!(told.fate(), ExpectedFate::Withheld, "{told:?}");
    assert!(told.reason.contains("floor") && told.remedy.contains("recall.floor"), "{told:?}");
    assert!(told.factors.is_some() && told.floor > 0.0);
}

fn run_task(memory: &Memory) -> &str {
    match memory {
        Memory::Experience(run) => &run.trajectory.task_description,
        other => panic!("no run: {other:?}"),
    }
}

#[tokio::test]
async fn a_memory_without_anything_in_common_is_not_proposed() {
    let world = World::new().await;
    let far = fact("acme", "ann", "chess", "象棋比赛定于周末");
    world.remember(vec![fact("acme", "ann", "tea", "Ann likes green tea"), far.clone()]).await;
    let question = RecallRequest { user: "ann".to_owned(), ..ask("which tea does Ann like?") };
    world.store.inject(Calls::SearchesBy("dense"), When::Always, away());
    let answer = world.recall(question).await.unwrap();
    let explained = expected(&world, &answer, "ann", far.id());
    world.store.heal();
    let told = explained.await;
    assert!(matches!(told.fate(), ExpectedFate::NotProposed | ExpectedFate::NotSearched), "{told:?}");
    assert!(!told.remedy.is_empty());
}

fn away() -> Fault {
    Fault::Refuse(StoreError::Unavailable("gone".to_owned()))
}

#[tokio::test]
async fn an_arm_that_was_dropped_is_named() {
    let world = World::new().await;
    let run = experience("t-1", TASK);
    world.remember(vec![run.clone()]).await;
    world.store.inject(Calls::Only(StoreCall::Search), When::Always, away());
    let answer = world.recall(ask(TASK)).await.unwrap();
    world.store.heal();
    let told = expected(&world, &answer, "", run.id()).await;
    assert_eq!(told.fate(), ExpectedFate::NotSearched);
    assert!(told.reason.contains("store unavailable") && told.remedy.contains("again"), "{told:?}");
}

#[tokio::test]
async fn what_is_over_says_so() {
    let world = World::new().await;
    let change = |key: &str, change: fn(&mut hindsight_types::Fact)| {
        let Memory::Fact(mut fact) = fact("acme", "ann", key, "Ann likes green tea") else { unreachable!() };
        change(&mut fact);
        Memory::Fact(fact)
    };
    let expired = change("expired", |fact| fact.expires_at = Some(time(-1)));
    let obsolete = change("obsolete", |fact| fact.status = FactStatus::Obsolete);
    world.remember(vec![expired.clone(), obsolete.clone()]).await;
    let question = RecallRequest { user: "ann".to_owned(), ..ask("which tea does Ann like?") };
    let answer = world.recall(question).await.unwrap();
    assert!(answer.items.is_empty());
    let told = expected(&world, &answer, "ann", expired.id()).await;
    assert_eq!(told.fate(), ExpectedFate::Withheld);
    assert!(told.remedy.contains("expires_at"), "{told:?}");
    let told = expected(&world, &answer, "ann", obsolete.id()).await;
    assert_eq!(told.fate(), ExpectedFate::Obsolete, "{told:?}");
}

#[tokio::test]
async fn what_is_newer_than_the_recall_says_so() {
    let world = World::new().await;
    let answer = world.recall(ask(TASK)).await.unwrap();
    let Memory::Experience(mut run) = experience("t-1", TASK) else { unreachable!() };
    run.evaluation.evaluated_at = time(1);
    world.remember(vec![Memory::Experience(run.clone())]).await;
    let told = expected(&world, &answer, "", run.id).await;
    assert_eq!(told.fate(), ExpectedFate::Newer, "{told:?}");
}

#[tokio::test]
async fn an_outage_is_an_outage() {
    let world = World::new().await;
    let answer = world.recall(ask(TASK)).await.unwrap();
    world.store.inject(Calls::Only(StoreCall::Get), When::Always, away());
    let request = ExplainRecallRequest {
        receipt_id: answer.receipt_id,
        expect: experience("t-1", TASK).id().to_string(),
        ..ExplainRecallRequest::default()
    };
    let refused = world.recalls("acme").explain_recall(request.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    let bad = ExplainRecallRequest { expect: "x".to_owned(), ..request };
    let refused = world.recalls("acme").explain_recall(bad).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}
