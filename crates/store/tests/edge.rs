//! The store over the embedded engine passes the suite of its port.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{open, open_in, scratch};
use hindsight_ports::{
    EmbedderId, MemoryStore, PageRequest, StoreError,
    testkit::samples::{embedder, encoded, failure_pattern, shared, step_memory, tenant, trace},
};
use hindsight_store::{Store, StoreOptions, VectorBackend};
use hindsight_types::{Memory, MemoryKind, Viewer};
use qdrant_client::qdrant::{
    Condition, Filter, PointsSelector, SetPayloadPoints, points_selector::PointsSelectorOneOf,
};

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

/// One point that somebody spoiled does not hide the others, and is never passed off as absent.
#[tokio::test(flavor = "multi_thread")]
async fn a_spoiled_point_is_left_out_and_named() {
    let opened = open().await;
    let scope = shared(&tenant("spoiled"));
    let steps: Vec<Memory> = (0..3).map(|n| step_memory(&scope, &trace("t"), n, "ls")).collect();
    let batch: Vec<_> = steps.iter().cloned().map(|m| encoded(m, 0, &[1])).collect();
    opened.store.upsert(&batch).await.unwrap();
    let second = Filter::must([Condition::matches("step_index", 1)]);
    let spoil = SetPayloadPoints {
        collection_name: "steps".to_owned(),
        wait: Some(true),
        payload: [("record".to_owned(), "茶".into())].into(),
        points_selector: Some(PointsSelector {
            points_selector_one_of: Some(PointsSelectorOneOf::Filter(second)),
        }),
        ..Default::default()
    };
    opened.backend.set_payload(spoil).await.unwrap();

    let viewer = Viewer::of_tenant(scope.tenant.clone());
    let page = opened.store.list(&viewer, MemoryKind::Step, &PageRequest::default()).await.unwrap();
    assert_eq!(page.items, [steps[2].clone(), steps[0].clone()]);
    let spoiled = opened.store.get(&viewer, MemoryKind::Step, steps[1].id()).await;
    assert!(matches!(spoiled, Err(StoreError::Corrupt(_))), "{spoiled:?}");
}
