use std::sync::Arc;

use hindsight_types::{Fact, Memory, MemoryKind, Period, SessionId, Viewer};

use crate::{
    MemoryStore,
    testkit::samples::{encoded, fact, tenant, time, user},
};

fn anna(name: &str) -> Viewer {
    Viewer::of_tenant(tenant(name)).with_user(Some(user("anna")))
}

async fn said(store: &dyn MemoryStore, viewer: &Viewer, session: &str, at: i64, key: &str) {
    let name = viewer.user.as_ref().unwrap().as_str();
    let session = Some(SessionId::new(session).unwrap());
    let fact = Fact { session, ..fact(&viewer.tenant, name, key, at) };
    store.upsert(&[encoded(Memory::Fact(fact), 0, &[1])]).await.unwrap();
}

/// Keys of what is found from second `from` to before second `until`, sorted.
async fn keys(
    store: &dyn MemoryStore,
    viewer: &Viewer,
    (from, until): (i64, i64),
    beside: usize,
) -> Vec<String> {
    let span = Period { from: time(from), until: time(until) };
    let facts = store.session_facts(viewer, &SessionId::new("talk").unwrap(), span, beside).await.unwrap();
    let mut keys: Vec<String> = facts.into_iter().map(|f| f.key).collect();
    keys.sort_unstable();
    keys
}

pub async fn facts_of_a_session_are_found_around_a_time(store: Arc<dyn MemoryStore>) {
    let viewer = anna("session-facts");
    assert!(keys(&*store, &viewer, (0, 9), 3).await.is_empty());
    for (at, key) in [(1, "a"), (2, "b1"), (2, "b2"), (2, "b3"), (3, "c"), (4, "d"), (6, "e"), (-5, "z")] {
        said(&*store, &viewer, "talk", at, key).await;
    }
    said(&*store, &viewer, "another talk", 3, "other session").await;
    let tom = Viewer::of_tenant(viewer.tenant.clone()).with_user(Some(user("tom")));
    said(&*store, &tom, "talk", 3, "other user").await;
    said(&*store, &anna("session-facts-2"), "talk", 3, "other tenant").await;

    assert_eq!(keys(&*store, &viewer, (3, 4), 0).await, ["c"]);
    // All of one time come together, since the engine has no order among them.
    assert_eq!(keys(&*store, &viewer, (3, 4), 1).await, ["b1", "b2", "b3", "c", "d"]);
    assert_eq!(keys(&*store, &viewer, (3, 4), 4).await, ["a", "b1", "b2", "b3", "c", "d", "e"]);
    assert_eq!(keys(&*store, &viewer, (5, 6), 1).await, ["d", "e"], "nothing is within");
    let all = ["a", "b1", "b2", "b3", "c", "d", "e", "z"];
    assert_eq!(keys(&*store, &viewer, (-9, 99), 2).await, all);
    assert_eq!(keys(&*store, &viewer, (2, 3), 100).await, all);
    assert_eq!(keys(&*store, &tom, (2, 3), 100).await, ["other user"]);
    let nobody = Viewer::of_tenant(viewer.tenant.clone());
    assert!(keys(&*store, &nobody, (2, 3), 100).await.is_empty());
}

/// Versions of a fact may be delivered in any order and again.
pub async fn newer_facts_stay(store: Arc<dyn MemoryStore>) {
    let viewer = anna("fact-versions");
    let version = |content: &str, arrived: i64| {
        let fact = fact(&viewer.tenant, "anna", "seat", 0);
        let fact = Fact { content: content.to_owned(), retained_at: time(arrived), ..fact };
        encoded(Memory::Fact(fact), 0, &[1])
    };
    let write = async |content: &str, arrived: i64| {
        store.upsert(&[version(content, arrived)]).await.unwrap();
        let id = version("", 0).value.id();
        let Some(Memory::Fact(fact)) = store.get(&viewer, MemoryKind::Fact, id).await.unwrap() else {
            panic!("the fact is gone")
        };
        fact.content
    };
    assert_eq!(write("aisle", 5).await, "aisle");
    assert_eq!(write("window", 4).await, "aisle");
    assert_eq!(write("aisle, with its context", 5).await, "aisle, with its context");
    assert_eq!(write("table", 6).await, "table");
    assert_eq!(write("aisle", 5).await, "table");
    // Of different arrival in one call.
    let other = Memory::Fact(fact(&viewer.tenant, "anna", "meal", 0));
    store.upsert(&[version("floor", 3), encoded(other.clone(), 0, &[1])]).await.unwrap();
    assert_eq!(store.get(&viewer, MemoryKind::Fact, other.id()).await.unwrap(), Some(other));
    assert_eq!(write("table", 6).await, "table");
}
