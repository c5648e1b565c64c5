use hindsight_ports::{
    History, MemoryStore, PageRequest, Revised, StoreError,
    testkit::samples::{encoded, lesson, tenant, time},
};
use hindsight_types::{Fact, FactStatus, Memory, MemoryKind, Revision, RevisionCause, VersionId, Viewer};
use tokio::task::JoinSet;

use crate::{
    faulty::Loss,
    world::{ANNA, Tenant, World},
};

fn revision(at: i64, request: &str) -> Revision {
    Revision {
        at: time(at),
        cause: RevisionCause::Updated,
        by: "ops".to_owned(),
        reason: "she said so".to_owned(),
        request_id: request.to_owned(),
    }
}

async fn present(t: &Tenant<'_>, key: &str) -> Fact {
    let id = t.fact(ANNA, key, 0).id;
    match t.world.store.get(&t.viewer(ANNA), MemoryKind::Fact, id).await.unwrap() {
        Some(Memory::Fact(fact)) => fact,
        other => panic!("no fact: {other:?}"),
    }
}

async fn former(t: &Tenant<'_>, key: &str) -> Vec<String> {
    let id = t.fact(ANNA, key, 0).id;
    let page = PageRequest::default();
    let found = t.world.store.history(&t.viewer(ANNA), MemoryKind::Fact, id, &page).await.unwrap();
    found.items.into_iter().map(|m| m.text()).collect()
}

fn correction(of: &Fact, content: &str, at: i64, request: &str) -> Memory {
    Memory::Fact(Fact { content: content.to_owned(), revision: Some(revision(at, request)), ..of.clone() })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_again_leaves_what_was_said_before() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("again"));
    for at in [1, 3, 3] {
        t.retain(ANNA, "drink", at).await.unwrap();
    }
    assert_eq!(former(&t, "drink").await, ["drink at 1; 第1次"]);
    // It comes late: it is told, and does not stand.
    t.retain(ANNA, "drink", 2).await.unwrap();
    assert_eq!(present(&t, "drink").await.content, "drink at 3; 第3次");
    assert_eq!(former(&t, "drink").await, ["drink at 2; 第2次", "drink at 1; 第1次"]);
}

/// What is written once costs one write, however many are written together; telling what is there is two reads.
#[tokio::test(flavor = "multi_thread")]
async fn a_fact_that_is_written_once_costs_one_write() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("cost"));
    let calls = async |facts: &[Fact]| {
        world.made.lock().unwrap().clear();
        let facts: Vec<_> = facts.iter().map(|f| encoded(Memory::Fact(f.clone()), 0, &[1])).collect();
        world.store.upsert(&facts).await.unwrap();
        let made = world.made.lock().unwrap().clone();
        ["upsert", "scroll", "count"].map(|call| made.get(call).copied().unwrap_or_default())
    };
    assert_eq!(calls(&[t.fact(ANNA, "drink", 1)]).await, [1, 1, 1]);
    let many: Vec<Fact> = (0..50).map(|n| t.fact(ANNA, &format!("k-{n}"), 1)).collect();
    assert_eq!(calls(&many).await, [1, 1, 1]);
    assert_eq!(calls(&[t.fact(ANNA, "drink", 2)]).await, [2, 1, 1], "and what was before it");
    assert_eq!(calls(&[t.fact(ANNA, "drink", 2)]).await, [0, 1, 0], "the same again");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_versions_in_one_batch_are_all_kept() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("batch"));
    let batch = [2, 5, 1].map(|at| encoded(Memory::Fact(t.fact(ANNA, "drink", at)), 0, &[1]));
    world.store.upsert(&batch).await.unwrap();
    assert_eq!(present(&t, "drink").await.content, "drink at 5; 第5次");
    assert_eq!(former(&t, "drink").await, ["drink at 2; 第2次", "drink at 1; 第1次"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correction_survives_the_message_that_comes_again() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("correct"));
    t.retain(ANNA, "drink", 1).await.unwrap();
    let said = present(&t, "drink").await;
    let next = correction(&said, "black tea; 红茶", 9, "r-1");
    let former_one = Memory::Fact(said.clone());
    let done = world.store.revise(&former_one, &next, Some(&Tenant::encoding())).await.unwrap();
    assert_eq!(done, Revised::Done);
    assert_eq!(world.store.revise(&former_one, &next, None).await.unwrap(), Revised::Done, "the same again");
    t.retain(ANNA, "drink", 1).await.unwrap();
    let corrected = present(&t, "drink").await;
    assert_eq!((corrected.content.as_str(), former(&t, "drink").await.len()), ("black tea; 红茶", 1));
    // Who looked before does not overwrite it.
    let late = correction(&said, "water", 10, "r-2");
    assert_eq!(world.store.revise(&former_one, &late, None).await.unwrap(), Revised::Changed);
    // By its request, and by its name.
    let (viewer, kind) = (t.viewer(ANNA), MemoryKind::Fact);
    let made = world.store.made_by(&viewer, kind, said.id, "r-1").await.unwrap();
    assert_eq!(made.map(|m| m.text()), Some("black tea; 红茶".to_owned()));
    let version = world.store.version(&viewer, kind, said.id, said.version()).await.unwrap();
    assert_eq!(version, Some(Memory::Fact(said.clone())));
    // A newer statement takes its place, and it is told by its request all the same.
    t.retain(ANNA, "drink", 20).await.unwrap();
    assert_eq!(present(&t, "drink").await.content, "drink at 20; 第20次");
    assert!(world.store.made_by(&viewer, kind, said.id, "r-1").await.unwrap().is_some());
    let stranger = t.viewer("other");
    assert_eq!(world.store.version(&stranger, kind, said.id, said.version()).await.unwrap(), None);
    let page = PageRequest::default();
    assert_eq!(world.store.history(&stranger, kind, said.id, &page).await.unwrap().items, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_around_a_fact_is_no_version() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("around"));
    t.retain(ANNA, "drink", 1).await.unwrap();
    let said = present(&t, "drink").await;
    let moved = Fact { surroundings: "Tom: tea?".to_owned(), ..said.clone() };
    world.store.upsert(&[encoded(Memory::Fact(moved), 0, &[1])]).await.unwrap();
    assert_eq!(present(&t, "drink").await.surroundings, "Tom: tea?");
    assert_eq!(former(&t, "drink").await, Vec::<String>::new());
    // A status changes without a new encoding, and keeps what stands around by then.
    let mut resolved = said.clone();
    resolved.set_status(FactStatus::Resolved, time(5));
    resolved.revision = Some(revision(5, ""));
    let (former_one, next) = (Memory::Fact(said), Memory::Fact(resolved));
    assert_eq!(world.store.revise(&former_one, &next, None).await.unwrap(), Revised::Done);
    let now = present(&t, "drink").await;
    assert_eq!((now.status, now.resolved_at), (FactStatus::Resolved, Some(time(5))));
    assert_eq!(now.surroundings, "Tom: tea?");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_fact_supersedes_and_never_in_a_circle() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("supersede"));
    for (key, at) in [("home", 1), ("home-2", 2)] {
        t.retain(ANNA, key, at).await.unwrap();
    }
    let (older, newer) = (present(&t, "home").await, present(&t, "home-2").await);
    let supersede = |a, b| world.store.supersede(a, b, "contradictions", "moved to Lyon", time(9));
    assert_eq!(supersede(&older, &newer).await.unwrap(), Revised::Done);
    let gone = present(&t, "home").await;
    assert_eq!((gone.status, gone.superseded_by), (FactStatus::Obsolete, Some(newer.id)));
    assert_eq!(gone.revision.as_ref().map(|r| r.cause), Some(RevisionCause::Superseded));
    assert_eq!(supersede(&gone, &newer).await.unwrap(), Revised::Done, "it is so already");
    assert!(matches!(supersede(&newer, &gone).await, Err(StoreError::Rejected(_))));
    let foreign = Fact { scope: t.scope("other"), ..newer.clone() };
    assert!(matches!(supersede(&older, &foreign).await, Err(StoreError::Rejected(_))));
    // Said again, it holds again.
    t.retain(ANNA, "home", 20).await.unwrap();
    assert_eq!(present(&t, "home").await.status, FactStatus::Open);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_races_every_version_is_kept_and_the_newest_stands() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("race"));
    let mut writers = JoinSet::new();
    for writer in 0..6_i64 {
        let store = world.store.clone();
        let facts: Vec<Fact> = (0..5).map(|n| t.fact(ANNA, "drink", 1 + writer + n * 6)).collect();
        writers.spawn(async move {
            for fact in facts {
                store.upsert(&[encoded(Memory::Fact(fact), 0, &[1])]).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    assert_eq!(present(&t, "drink").await.content, "drink at 30; 第30次");
    let former = former(&t, "drink").await;
    let expected: Vec<String> = (1..30).rev().map(|at| format!("drink at {at}; 第{at}次")).collect();
    assert_eq!(former, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_corrections_of_one_version_one_is_made() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("two"));
    t.retain(ANNA, "drink", 1).await.unwrap();
    let said = present(&t, "drink").await;
    let mut writers = JoinSet::new();
    for writer in 0..6 {
        let (store, said) = (world.store.clone(), said.clone());
        writers.spawn(async move {
            let next = correction(&said, &format!("by {writer}"), 9 + writer, "");
            store.revise(&Memory::Fact(said), &next, Some(&Tenant::encoding())).await.unwrap()
        });
    }
    let done = writers.join_all().await.into_iter().filter(|r| *r == Revised::Done).count();
    assert_eq!((done, former(&t, "drink").await.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_breaks_off_anywhere_is_made_or_not_and_loses_nothing() {
    let world = World::new().await;
    let mut calls = 0;
    for n in 0.. {
        let blown = [Loss::Call, Loss::Answer].map(|loss| (n, loss));
        let mut all_done = true;
        for (n, loss) in blown {
            let t = Tenant::new(&world, tenant(&format!("break-{n}-{loss:?}")));
            t.retain(ANNA, "drink", 1).await.unwrap();
            world.fuse.set(n, loss);
            let broke = t.retain(ANNA, "drink", 2).await.is_err();
            world.fuse.clear();
            all_done &= !broke;
            let contents = {
                let mut contents = former(&t, "drink").await;
                contents.push(present(&t, "drink").await.content);
                contents
            };
            assert!(contents.contains(&"drink at 1; 第1次".to_owned()), "call {n}, {loss:?}: {contents:?}");
            t.retain(ANNA, "drink", 2).await.unwrap();
            assert_eq!(present(&t, "drink").await.content, "drink at 2; 第2次");
            assert_eq!(former(&t, "drink").await, ["drink at 1; 第1次"], "call {n}, {loss:?}");
        }
        if all_done {
            calls = n;
            break;
        }
    }
    assert!(calls >= 3, "only {calls} calls were broken");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lesson_is_corrected_and_what_runs_say_of_it_stays() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("lesson"));
    let scope = t.scope(ANNA);
    let learned = |run: &str, at| encoded(Memory::Lesson(lesson(&scope, "loop", &[run], at)), 0, &[1]);
    world.store.upsert(&[learned("a", 1)]).await.unwrap();
    let id = lesson(&scope, "loop", &[], 0).id;
    let read = async || match world.store.get(&t.viewer(ANNA), MemoryKind::Lesson, id).await.unwrap() {
        Some(Memory::Lesson(lesson)) => lesson,
        other => panic!("no lesson: {other:?}"),
    };
    let stored = read().await;
    let mut next = stored.clone();
    next.advice = "look at the disk first; 先看磁盘".to_owned();
    next.revision = Some(revision(5, ""));
    let (former, next) = (Memory::Lesson(stored), Memory::Lesson(next));
    assert_eq!(world.store.revise(&former, &next, Some(&Tenant::encoding())).await.unwrap(), Revised::Done);
    world.store.upsert(&[learned("b", 50)]).await.unwrap();
    let now = read().await;
    assert_eq!(
        now.advice, "look at the disk first; 先看磁盘",
        "learned again it says what it was corrected to"
    );
    assert_eq!(now.sources.len(), 2);
    let page = PageRequest::default();
    let history = world.store.history(&t.viewer(ANNA), MemoryKind::Lesson, id, &page).await.unwrap();
    assert_eq!(history.items.len(), 1);
    assert_eq!(history.items[0].version(), former.version());
    let nobody = Viewer::of_tenant(t.id.clone());
    let version: VersionId = former.version().unwrap();
    assert_eq!(world.store.version(&nobody, MemoryKind::Lesson, id, version).await.unwrap(), None);
}
