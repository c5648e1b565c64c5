//! The store over the embedded engine passes the suite of its port.

mod common;

use std::sync::Arc;

use common::{open, open_in, scratch};
use hindsight_ports::{
    EmbedderId, MemoryStore, StoreError,
    testkit::samples::{embedder, encoded, failure_pattern, shared, step_memory, tenant, trace},
};
use hindsight_store::{Store, StoreOptions};
use hindsight_types::{Memory, Viewer};

hindsight_ports::memory_store_suite!(open());

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_is_there_after_a_restart() {
    let opened = open().await;
    let scope = shared(&tenant("restart"));
    let step = step_memory(&scope, &trace("t"), 0, "ls");
    let seen = |run: &str, at| Memory::FailurePattern(failure_pattern(&scope, "pull", &[run], at));
    opened.store.upsert(&[encoded(step.clone(), 0, &[1]), encoded(seen("a", 1), 0, &[1])]).await.unwrap();
    opened.backend.close().await;

    let opened = open_in(opened.dir, "").await;
    opened.store.upsert(&[encoded(seen("b", 2), 0, &[1])]).await.unwrap();
    let viewer = Viewer::of_tenant(scope.tenant.clone());
    assert_eq!(opened.store.get(&viewer, step.kind(), step.id()).await.unwrap(), Some(step));
    let pattern = seen("a", 1);
    match opened.store.get(&viewer, pattern.kind(), pattern.id()).await.unwrap() {
        Some(Memory::FailurePattern(found)) => assert_eq!(found.sources, [trace("a"), trace("b")]),
        other => panic!("expected the pattern, got {other:?}"),
    }
    let wrong = EmbedderId { model: "another".to_owned(), ..embedder() };
    let refused = opened.store.prepare(&wrong).await;
    assert!(matches!(refused, Err(StoreError::EmbedderMismatch { .. })), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn prefixes_share_a_server() {
    let blue = open_in(scratch(), "blue_").await;
    let green = Store::new(blue.backend.clone(), StoreOptions { prefix: "green_".to_owned() });
    // Not the same embedder, not the same records.
    let wider = EmbedderId { model: "wider".to_owned(), dimension: 16 };
    green.prepare(&wider).await.unwrap();
    let step = step_memory(&shared(&tenant("prefix")), &trace("t"), 0, "ls");
    blue.store.upsert(&[encoded(step.clone(), 0, &[1])]).await.unwrap();
    let viewer = Viewer::of_tenant(tenant("prefix"));
    assert_eq!(green.get(&viewer, step.kind(), step.id()).await.unwrap(), None);
    assert_eq!(blue.store.get(&viewer, step.kind(), step.id()).await.unwrap(), Some(step));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_that_is_no_name_is_refused() {
    let opened = open().await;
    for prefix in ["../", "a/b", "空", &"x".repeat(65)] {
        let options = StoreOptions { prefix: prefix.to_owned() };
        let store: Arc<dyn MemoryStore> = Arc::new(Store::new(opened.backend.clone(), options));
        let refused = store.prepare(&embedder()).await;
        assert!(matches!(refused, Err(StoreError::Rejected(_))), "{prefix}: {refused:?}");
    }
}
