//! The ledger over the embedded engine.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::scratch;
use hindsight_ports::{
    Ledger, MemoryStore, PageRequest,
    testkit::samples::{embedder, encoded, evidence, lesson, private, shared, tenant, time, trace, user},
};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{Lesson, Memory, Review, ReviewDecision, ReviewId, Scope, Stage, Verdict, Viewer};

/// One store as both.
struct Opened {
    store: Arc<dyn MemoryStore>,
    ledger: Arc<dyn Ledger>,
    _dir: tempfile::TempDir,
}

async fn open() -> Opened {
    let dir = scratch();
    let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
    let store = Arc::new(Store::new(backend, StoreOptions::default()));
    store.prepare(&embedder()).await.unwrap();
    Opened { store: store.clone(), ledger: store, _dir: dir }
}

fn review(scope: &Scope, lesson: &Lesson, name: &str, decision: ReviewDecision, at: i64) -> Review {
    Review {
        id: ReviewId::of_request(&scope.tenant, name),
        memory_id: lesson.id,
        scope: scope.clone(),
        decision,
        by: "ops".to_owned(),
        reason: "tried it; 试过了".to_owned(),
        at: time(at),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_and_reviews_are_read_of_all_users_and_of_one_tenant() {
    let opened = open().await;
    let (acme, other) = (tenant("acme"), tenant("other"));
    let scope = shared(&acme);
    let lesson = lesson(&scope, "loop", &["a"], 0);
    let lines = [
        evidence(&scope, lesson.id, &trace("b"), Verdict::Supported, 1),
        evidence(&private(&acme, "anna"), lesson.id, &trace("c"), Verdict::Refuted, 2),
    ];
    let elsewhere = evidence(&shared(&other), lesson.id, &trace("b"), Verdict::Refuted, 3);
    opened.store.append_evidence(&[lines[1].clone(), elsewhere, lines[0].clone()]).await.unwrap();
    let reviews = [
        review(&scope, &lesson, "r-1", ReviewDecision::Approved, 4),
        review(&scope, &lesson, "r-2", ReviewDecision::Rejected, 5),
    ];
    for review in reviews.iter().rev() {
        opened.ledger.review(review).await.unwrap();
    }
    // The same request again, later.
    let again = Review { at: time(9), ..reviews[0].clone() };
    opened.ledger.review(&again).await.unwrap();
    let (told, said) = opened.ledger.ledger(&acme, lesson.id).await.unwrap();
    assert_eq!((told.as_slice(), said.as_slice()), (lines.as_slice(), reviews.as_slice()));
    // What people say is no line, and no count.
    let anna = Viewer::of_tenant(acme.clone()).with_user(Some(user("anna")));
    assert_eq!(opened.store.evidence(&anna, lesson.id).await.unwrap(), lines);
    opened.store.upsert(&[encoded(Memory::Lesson(lesson.clone()), 0, &[1])]).await.unwrap();
    let found = opened.ledger.lesson(&acme, lesson.id).await.unwrap().unwrap();
    assert_eq!((found.supported, found.refuted), (1, 1));
    assert_eq!(opened.ledger.lesson(&other, lesson.id).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stage_is_set_exactly_and_nothing_else_is_lost() {
    let opened = open().await;
    let scope = private(&tenant("acme"), "anna");
    let lesson = lesson(&scope, "loop", &["a"], 0);
    let restage = async |stage| opened.ledger.restage(&scope.tenant, lesson.id, stage).await.unwrap();
    assert!(!restage(Stage::Active).await, "there is no such lesson yet");
    opened.store.upsert(&[encoded(Memory::Lesson(lesson.clone()), 0, &[1])]).await.unwrap();
    for stage in [Stage::Active, Stage::Retired, Stage::Canary] {
        assert!(restage(stage).await);
        assert!(!restage(stage).await, "it has that stage");
        let found = opened.ledger.lesson(&scope.tenant, lesson.id).await.unwrap().unwrap();
        assert_eq!(found, Lesson { stage, ..lesson.clone() });
    }
    // While the lesson is learned again and again.
    let learning = async {
        for n in 0..8 {
            let again = Lesson { sources: vec![trace(&format!("run-{n}"))], ..lesson.clone() };
            opened.store.upsert(&[encoded(Memory::Lesson(again), 0, &[1])]).await.unwrap();
        }
    };
    let staging = async {
        for stage in [Stage::Active, Stage::Retired, Stage::Candidate, Stage::Active, Stage::Retired] {
            restage(stage).await;
        }
    };
    tokio::join!(learning, staging);
    let found = opened.ledger.lesson(&scope.tenant, lesson.id).await.unwrap().unwrap();
    assert_eq!((found.stage, found.sources.len()), (Stage::Retired, 9));
}

#[tokio::test(flavor = "multi_thread")]
async fn lessons_are_listed_by_stage() {
    let opened = open().await;
    let acme = tenant("acme");
    let mut all = Vec::new();
    for n in 0..5_u8 {
        let scope = if n == 4 { private(&acme, "anna") } else { shared(&acme) };
        let lesson = lesson(&scope, &format!("l-{n}"), &["a"], n.into());
        opened.store.upsert(&[encoded(Memory::Lesson(lesson.clone()), n.into(), &[1])]).await.unwrap();
        if n % 2 == 0 {
            opened.ledger.restage(&acme, lesson.id, Stage::Active).await.unwrap();
        }
        all.push(lesson.id);
    }
    let page = async |viewer: &Viewer, stage, token: &str| {
        let request = PageRequest { size: 1, token: token.to_owned() };
        let page = opened.ledger.lessons(viewer, stage, &request).await.unwrap();
        (page.items.iter().map(|l| l.id).collect::<Vec<_>>(), page.next_token)
    };
    let viewer = Viewer::of_tenant(acme.clone());
    let (first, next) = page(&viewer, Some(Stage::Active), "").await;
    let (second, end) = page(&viewer, Some(Stage::Active), &next).await;
    assert_eq!((first, second, end.as_str()), (vec![all[2]], vec![all[0]], ""));
    assert_eq!(page(&viewer, None, "").await.0, [all[3]]);
    let anna = viewer.with_user(Some(user("anna")));
    assert_eq!(page(&anna, Some(Stage::Active), "").await.0, [all[4]]);
}
