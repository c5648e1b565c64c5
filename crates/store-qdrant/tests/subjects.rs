//! Versions of facts, and ids that merge into users, on a server: what is conditional is so over the wire, too.
#![allow(clippy::unwrap_used)]

mod common;

use common::target;
use hindsight_ports::{
    Begun, History, MemoryStore, PageRequest, Revised, Subjects,
    testkit::samples::{
        embedder, encoded, evidence, experience, fact, lesson, private, started, step_memory, tenant, time,
        trace, user,
    },
};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_qdrant::CollectionLayout;
use hindsight_types::{
    Fact, Memory, MemoryId, MemoryKind, MergeState, Revision, RevisionCause, Scope, SubjectMerge, Verdict,
    Viewer,
};

fn said(name: &str, key: &str, at: i64) -> Fact {
    Fact { content: format!("{key} at {at}; 第{at}次"), ..fact(&tenant("acme"), name, key, at) }
}

async fn retain(store: &Store, fact: &Fact) {
    store.upsert(&[encoded(Memory::Fact(fact.clone()), 0, &[1])]).await.unwrap();
}

/// What holds under a key, and what was before, newest first.
async fn told(store: &Store, name: &str, key: &str) -> Option<(String, Vec<String>)> {
    let viewer = Viewer::of_scope(&private(&tenant("acme"), name));
    let id = MemoryId::fact(&viewer.tenant, &user(name), key);
    let present = store.get(&viewer, MemoryKind::Fact, id).await.unwrap()?;
    let page = PageRequest::default();
    let former = store.history(&viewer, MemoryKind::Fact, id, &page).await.unwrap();
    Some((present.text(), former.items.iter().map(Memory::text).collect()))
}

async fn run(store: &Store, scope: &Scope, name: &str) {
    let trace = trace(name);
    store.append_events(&[started(scope, &trace)]).await.unwrap();
    let learned = lesson(scope, "loop", &[name], 1);
    let memories = [
        encoded(experience(scope, &trace, 100), 1, &[2]),
        encoded(step_memory(scope, &trace, 0, "ls"), 1, &[2]),
        encoded(Memory::Lesson(learned.clone()), 1, &[2]),
    ];
    store.upsert(&memories).await.unwrap();
    store.append_evidence(&[evidence(scope, learned.id, &trace, Verdict::Supported, 1)]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_kept_and_an_id_merges_and_is_split_again() {
    let target = target(CollectionLayout::default()).await;
    let prefix = format!("test-{}-", uuid::Uuid::new_v4().simple());
    let store = Store::new(target.backend.clone(), StoreOptions { prefix });
    store.prepare(&embedder()).await.unwrap();
    for at in [1, 3, 2, 3] {
        retain(&store, &said("anon", "seat", at)).await;
    }
    let text = |key: &str, at: i64| said("x", key, at).content;
    assert_eq!(
        told(&store, "anon", "seat").await,
        Some((text("seat", 3), vec![text("seat", 2), text("seat", 1)]))
    );

    let former = Memory::Fact(said("anon", "seat", 3));
    let mut next = said("anon", "seat", 3);
    next.confidence = 0.25;
    next.revision = Some(Revision {
        at: time(4),
        cause: RevisionCause::Updated,
        by: "ops".to_owned(),
        reason: "unsure".to_owned(),
        request_id: "r-1".to_owned(),
    });
    let next = Memory::Fact(next);
    assert_eq!(store.revise(&former, &next, None).await.unwrap(), Revised::Done);
    assert!(store.revise(&former, &former, None).await.is_err(), "a change says who made it");

    retain(&store, &said("anna", "seat", 9)).await;
    let (anon, anna) = (private(&tenant("acme"), "anon"), private(&tenant("acme"), "anna"));
    run(&store, &anon, "anon-run").await;
    run(&store, &anna, "anna-run").await;
    let request = SubjectMerge::new(tenant("acme"), user("anon"), user("anna"), "ops", "", time(100));
    let Begun::Stands(merge) = store.begin(&request).await.unwrap() else { panic!("refused") };
    assert_eq!(store.carry(&merge, time(100)).await.unwrap().state, MergeState::Merged);
    assert_eq!(told(&store, "anon", "seat").await, None);
    let (present, former) = told(&store, "anna", "seat").await.unwrap();
    assert_eq!((present, former.len()), (text("seat", 9), 4));
    let sources = async |scope: &Scope| {
        let (viewer, id) = (Viewer::of_scope(scope), lesson(scope, "loop", &[], 1).id);
        match store.get(&viewer, MemoryKind::Lesson, id).await.unwrap() {
            Some(Memory::Lesson(l)) => (l.sources.len(), l.supported),
            _ => (0, 0),
        }
    };
    assert_eq!((sources(&anon).await, sources(&anna).await), ((0, 0), (2, 1)));
    assert_eq!(store.events(&anna, &trace("anon-run")).await.unwrap().len(), 1);

    let retracted = store.retract(&tenant("acme"), &user("anon"), "ops", "", time(200)).await.unwrap();
    let Some(Begun::Stands(retracted)) = retracted else { panic!("refused") };
    assert_eq!(store.carry_back(&retracted).await.unwrap().state, MergeState::Undone);
    assert_eq!(told(&store, "anna", "seat").await, Some((text("seat", 9), vec![])));
    assert_eq!(
        told(&store, "anon", "seat").await.map(|(present, former)| (present, former.len())),
        Some((text("seat", 3), 3))
    );
    assert_eq!((sources(&anon).await, sources(&anna).await), ((1, 0), (1, 0)));
    assert_eq!(store.events(&anon, &trace("anon-run")).await.unwrap().len(), 1);
}
