use std::sync::Arc;

use hindsight_types::{FailurePattern, Lesson, Memory, MemoryKind, Stage, Viewer};
use tokio::task::JoinSet;

use crate::{
    MemoryStore, Search,
    testkit::samples::{encoded, failure_pattern, lesson, shared, sparse, tenant, time, trace},
};

async fn pattern(store: &dyn MemoryStore, like: &FailurePattern) -> FailurePattern {
    let viewer = Viewer::of_tenant(like.scope.tenant.clone());
    match store.get(&viewer, MemoryKind::FailurePattern, like.id).await.unwrap() {
        Some(Memory::FailurePattern(found)) => found,
        other => panic!("expected the pattern, got {other:?}"),
    }
}

pub(super) async fn stored_lesson(store: &dyn MemoryStore, like: &Lesson) -> Lesson {
    let viewer = Viewer::of_tenant(like.scope.tenant.clone());
    match store.get(&viewer, MemoryKind::Lesson, like.id).await.unwrap() {
        Some(Memory::Lesson(found)) => found,
        other => panic!("expected the lesson, got {other:?}"),
    }
}

/// Seen in three runs, told newest, middle, oldest, and one of them twice.
pub async fn patterns_merge_across_runs(store: Arc<dyn MemoryStore>) {
    let scope = shared(&tenant("merge-patterns"));
    let newest = failure_pattern(&scope, "docker_pull", &["c"], 300);
    let oldest = failure_pattern(&scope, "docker_pull", &["a"], 100);
    let middle = failure_pattern(&scope, "docker_pull", &["b", "a"], 200);
    let put = async |pattern: &FailurePattern, term: u32| {
        let memory = encoded(Memory::FailurePattern(pattern.clone()), 0, &[term]);
        store.upsert(&[memory]).await.unwrap();
    };
    put(&newest, 3).await;
    put(&middle, 2).await;
    put(&oldest, 1).await;
    put(&middle, 2).await;
    let found = pattern(&*store, &newest).await;
    assert_eq!(found.sources, [trace("a"), trace("b"), trace("c")]);
    assert_eq!((found.first_seen, found.last_seen), (time(100), time(300)));
    assert_eq!(found.example, newest.example, "the run seen last tells the story");

    // It is found by the words of the story that remained.
    for (term, hits) in [(3, 1), (1, 0)] {
        let search = Search {
            kind: MemoryKind::FailurePattern,
            arm: crate::Arm::Bm25(sparse(&[term])),
            limit: 10,
            action_name: None,
            ids: None,
        };
        let found = store.search(&Viewer::of_tenant(scope.tenant.clone()), &search).await.unwrap();
        assert_eq!(found.len(), hits, "term {term}");
    }
}

pub async fn promoted_lessons_stay_promoted(store: Arc<dyn MemoryStore>) {
    let scope = shared(&tenant("merge-lessons"));
    let candidate = lesson(&scope, "loop", &["a"], 100);
    let mut active = candidate.clone();
    active.stage = Stage::Active;
    let mut again = lesson(&scope, "loop", &["b"], 50);
    again.supported = 7;
    for lesson in [&candidate, &active, &again] {
        store.upsert(&[encoded(Memory::Lesson(lesson.clone()), 0, &[1])]).await.unwrap();
    }
    let found = stored_lesson(&*store, &candidate).await;
    assert_eq!(found.stage, Stage::Active);
    assert_eq!(found.sources, [trace("a"), trace("b")]);
    assert_eq!((found.created_at, found.last_supported_at), (time(50), time(100)));
    assert_eq!((found.supported, found.refuted), (0, 0), "counts come from the ledger alone");
}

pub async fn sources_are_bounded(store: Arc<dyn MemoryStore>) {
    let scope = shared(&tenant("merge-bound"));
    let names: Vec<String> = (0..300).map(|i| format!("run-{i:04}")).collect();
    let first = failure_pattern(&scope, "docker_pull", &["run-0000"], 1);
    for part in names.chunks(60) {
        let traces: Vec<&str> = part.iter().map(String::as_str).collect();
        let seen = failure_pattern(&scope, "docker_pull", &traces, 1);
        store.upsert(&[encoded(Memory::FailurePattern(seen), 0, &[1])]).await.unwrap();
    }
    let found = pattern(&*store, &first).await;
    assert_eq!(found.sources.len(), 100);
    assert_eq!(found.sources.last(), Some(&trace("run-0299")), "the newest stay");
}

pub async fn concurrent_writers_lose_nothing(store: Arc<dyn MemoryStore>) {
    let scope = shared(&tenant("merge-race"));
    let mut writers = JoinSet::new();
    for writer in 0..6 {
        let (store, scope) = (store.clone(), scope.clone());
        writers.spawn(async move {
            for run in 0..4 {
                let name = format!("run-{writer}-{run}");
                let seen = failure_pattern(&scope, "docker_pull", &[&name], writer * 10 + run);
                let learned = lesson(&scope, "loop", &[&name], run);
                let batch = [
                    encoded(Memory::FailurePattern(seen), 0, &[1]),
                    encoded(Memory::Lesson(learned), 0, &[1]),
                ];
                store.upsert(&batch).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let found = pattern(&*store, &failure_pattern(&scope, "docker_pull", &[], 0)).await;
    assert_eq!(found.sources.len(), 24);
    assert_eq!((found.first_seen, found.last_seen), (time(0), time(53)));
    assert_eq!(stored_lesson(&*store, &lesson(&scope, "loop", &[], 0)).await.sources.len(), 24);
}
