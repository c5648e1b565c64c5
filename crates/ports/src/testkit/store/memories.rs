use std::sync::Arc;

use hindsight_types::{Memory, MemoryKind, TenantId, Viewer};

use crate::{
    EmbedderId, MemoryStore, StoreError, StoreStats,
    testkit::samples::{
        embedder, encoded, experience, fact, failure_pattern, lesson, private, shared, started, step_memory,
        tenant, trace, user,
    },
};

/// How its vectors come to be is for another suite; nothing is refused and nothing is lost meanwhile.
pub async fn another_embedder_is_taken(store: Arc<dyn MemoryStore>) {
    store.prepare(&embedder()).await.unwrap();
    let tenant = tenant("memories-embedder");
    let viewer = Viewer::of_tenant(tenant.clone()).with_user(Some(user("anna")));
    let memory = Memory::Fact(fact(&tenant, "anna", "tea", 1));
    store.upsert(&[encoded(memory.clone(), 0, &[1])]).await.unwrap();
    let others = [
        EmbedderId { model: "another".to_owned(), ..embedder() },
        EmbedderId { dimension: embedder().dimension * 2, ..embedder() },
    ];
    for configured in others {
        store.prepare(&configured).await.unwrap();
        let found = store.get(&viewer, memory.kind(), memory.id()).await.unwrap();
        assert_eq!(found, Some(memory.clone()));
    }
    store.prepare(&embedder()).await.unwrap();
}

fn one_of_each(tenant: &TenantId, name: &str) -> Vec<Memory> {
    let (scope, trace) = (private(tenant, name), trace("t"));
    vec![
        Memory::Fact(fact(tenant, name, "tea", 1)),
        experience(&scope, &trace, 2),
        Memory::Lesson(lesson(&scope, "restart loop", &["t"], 3)),
        Memory::FailurePattern(failure_pattern(&scope, "docker_pull", &["t"], 4)),
        step_memory(&scope, &trace, 0, "docker_pull"),
    ]
}

pub async fn every_kind_comes_back(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("memories-kinds");
    let viewer = Viewer::of_tenant(tenant.clone()).with_user(Some(user("anna")));
    let memories = one_of_each(&tenant, "anna");
    let batch: Vec<_> = memories.iter().cloned().map(|m| encoded(m, 0, &[1])).collect();
    store.upsert(&batch).await.unwrap();
    store.upsert(&batch).await.unwrap();
    for memory in &memories {
        let found = store.get(&viewer, memory.kind(), memory.id()).await.unwrap();
        assert_eq!(found.as_ref(), Some(memory));
    }
    let found = store.experience(&viewer, &trace("t")).await.unwrap();
    assert_eq!(found.map(|e| Memory::Experience(Box::new(e))).as_ref(), Some(&memories[1]));
    assert_eq!(store.experience(&viewer, &trace("unknown")).await.unwrap(), None);
    assert_eq!(store.get(&viewer, MemoryKind::Fact, memories[1].id()).await.unwrap(), None);
}

pub async fn memories_are_replaced(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("memories-replace");
    let viewer = Viewer::of_tenant(tenant.clone()).with_user(Some(user("anna")));
    let mut newer = fact(&tenant, "anna", "tea", 1);
    newer.content = "anna likes coffee; 咖啡".to_owned();
    let older = encoded(Memory::Fact(fact(&tenant, "anna", "tea", 1)), 0, &[1]);
    store.upsert(std::slice::from_ref(&older)).await.unwrap();
    store.upsert(&[older, encoded(Memory::Fact(newer.clone()), 0, &[1])]).await.unwrap();
    let found = store.get(&viewer, MemoryKind::Fact, newer.id).await.unwrap();
    assert_eq!(found, Some(Memory::Fact(newer)));
    assert_eq!(store.stats(&viewer).await.unwrap().facts, 1);
}

pub async fn memories_stay_in_their_scope(store: Arc<dyn MemoryStore>) {
    let (mine, yours) = (tenant("memories-mine"), tenant("memories-yours"));
    let memories = one_of_each(&mine, "anna");
    let batch: Vec<_> = memories.iter().cloned().map(|m| encoded(m, 0, &[1])).collect();
    store.upsert(&batch).await.unwrap();
    let strangers = [
        Viewer::of_tenant(mine.clone()),
        Viewer::of_tenant(mine.clone()).with_user(Some(user("ben"))),
        Viewer::of_tenant(yours).with_user(Some(user("anna"))),
    ];
    for viewer in strangers {
        for memory in &memories {
            let (kind, id) = (memory.kind(), memory.id());
            assert_eq!(store.get(&viewer, kind, id).await.unwrap(), None, "{viewer:?} got a {kind:?}");
            let listed = store.list(&viewer, kind, &Default::default()).await.unwrap();
            assert_eq!(listed.items, [], "{viewer:?} listed a {kind:?}");
        }
        assert_eq!(store.experience(&viewer, &trace("t")).await.unwrap(), None);
        assert_eq!(store.stats(&viewer).await.unwrap(), StoreStats::default());
    }
}

/// A fact that is not of one user could be seen by all; it is not accepted.
pub async fn facts_are_of_one_user(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("memories-facts");
    let mut everyones = fact(&tenant, "anna", "tea", 1);
    everyones.scope = shared(&tenant);
    let refused = store.upsert(&[encoded(Memory::Fact(everyones), 0, &[1])]).await;
    assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?}");
}

/// Ids are only unique within a tenant.
pub async fn tenants_may_use_the_same_ids(store: Arc<dyn MemoryStore>) {
    let (mine, yours) = (tenant("memories-a"), tenant("memories-b"));
    let ours = lesson(&shared(&mine), "loop", &["t"], 1);
    let mut theirs = lesson(&shared(&yours), "loop", &["t"], 2);
    theirs.id = ours.id;
    theirs.advice = "do something else entirely".to_owned();
    for lesson in [&ours, &theirs] {
        store.upsert(&[encoded(Memory::Lesson(lesson.clone()), 0, &[1])]).await.unwrap();
    }
    for lesson in [ours, theirs] {
        let viewer = Viewer::of_tenant(lesson.scope.tenant.clone());
        let found = store.get(&viewer, MemoryKind::Lesson, lesson.id).await.unwrap();
        assert_eq!(found, Some(Memory::Lesson(lesson)));
    }
}

pub async fn statistics_count_what_is_visible(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("memories-stats");
    let viewer = Viewer::of_tenant(tenant.clone());
    assert_eq!(store.stats(&viewer).await.unwrap(), StoreStats::default());
    let mut memories = one_of_each(&tenant, "anna");
    memories.push(step_memory(&shared(&tenant), &trace("other"), 0, "ls"));
    let batch: Vec<_> = memories.into_iter().map(|m| encoded(m, 0, &[1])).collect();
    store.upsert(&batch).await.unwrap();
    store.append_events(&[started(&shared(&tenant), &trace("other"))]).await.unwrap();
    let everyones = StoreStats { events: 1, steps: 1, ..StoreStats::default() };
    assert_eq!(store.stats(&viewer).await.unwrap(), everyones);
    let annas = StoreStats { events: 1, experiences: 1, steps: 2, failure_patterns: 1, lessons: 1, facts: 1 };
    assert_eq!(store.stats(&viewer.with_user(Some(user("anna")))).await.unwrap(), annas);
}
