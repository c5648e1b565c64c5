//! What is there after the store was closed, dropped or cut short.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::{fs, path::Path};

use common::*;
use hindsight_ports::StoreError;
use hindsight_store::VectorBackend;
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use qdrant_client::qdrant::{
    CreateFieldIndexCollection, DeletePoints, FieldType, PointsIdsList, PointsSelector, SetPayloadPoints,
    points_selector::PointsSelectorOneOf,
};

fn ids(ids: impl IntoIterator<Item = u64>) -> Option<PointsSelector> {
    let ids = ids.into_iter().map(id).collect();
    Some(PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Points(PointsIdsList { ids })) })
}

async fn fill(store: &EdgeBackend) {
    let mut request = collection("facts");
    request.metadata = [("embedder".to_owned(), text("散列"))].into();
    store.create_collection(request).await.unwrap();
    let index = CreateFieldIndexCollection {
        collection_name: "facts".to_owned(),
        field_name: "version".to_owned(),
        field_type: Some(FieldType::Integer as i32),
        ..CreateFieldIndexCollection::default()
    };
    store.create_field_index(index).await.unwrap();
    upsert(store, "facts", (1..=300).map(|n| versioned(n, 1)).collect()).await;
    upsert(store, "facts", (1..=100).map(|n| versioned(n, 2)).collect()).await;
    let set = SetPayloadPoints {
        collection_name: "facts".to_owned(),
        payload: [("stage".to_owned(), text("active"))].into(),
        points_selector: ids([1, 200]),
        ..SetPayloadPoints::default()
    };
    store.set_payload(set).await.unwrap();
    let delete = DeletePoints {
        collection_name: "facts".to_owned(),
        points: ids(291..=300),
        ..DeletePoints::default()
    };
    store.delete(delete).await.unwrap();
}

async fn check(store: &EdgeBackend) {
    let points = everything(store, "facts").await;
    assert_eq!(points.len(), 290);
    for point in &points {
        let n = number(&point.id);
        assert_eq!(version_of(point), if n <= 100 { 2 } else { 1 }, "point {n}");
        assert_eq!(point.payload.contains_key("stage"), n == 1 || n == 200, "point {n}");
    }
    let info = store.collection_info("facts").await.unwrap().unwrap();
    assert!(info.payload_schema.contains_key("version"));
    assert_eq!(info.config.unwrap().metadata["embedder"], text("散列"));
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_and_opening_keeps_everything() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 1_000_000);
    fill(&store).await;
    store.close().await;
    assert!(matches!(store.collection_info("facts").await, Err(StoreError::Unavailable(_))), "closed");
    for _ in 0..2 {
        let store = open(dir.path(), 1_000_000);
        check(&store).await;
        store.close().await;
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_and_opening_keeps_everything() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 1_000_000);
    fill(&store).await;
    drop(store);
    check(&open(dir.path(), 1_000_000)).await;
}

/// A copy of the files while the store runs is what a kill would leave.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_on_disk_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 1_000_000);
    fill(&store).await;
    let copy = tempfile::tempdir().unwrap();
    copy_dir(dir.path(), copy.path());
    check(&open(copy.path(), 1_000_000)).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_is_told_who_has_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 1_000_000);
    let second = EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap_err();
    assert!(matches!(second, StoreError::Unavailable(_)));
    assert!(second.to_string().contains(&dir.path().display().to_string()), "{second}");
    store.close().await;
    open(dir.path(), 1_000_000).close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_was_never_completely_created_is_created_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 1_000_000);
    fill(&store).await;
    store.close().await;
    fs::remove_file(dir.path().join("store/facts/collection.pb")).unwrap();
    let store = open(dir.path(), 1_000_000);
    assert!(store.collection_info("facts").await.unwrap().is_none());
    fill(&store).await;
    check(&store).await;
}

/// An optimisation that was killed between the new segment and the removal of the old ones.
#[tokio::test(flavor = "multi_thread")]
async fn points_that_an_interrupted_optimisation_left_twice_are_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 1_000_000);
    fill(&store).await;
    store.close().await;
    let root = dir.path().join("store/facts");
    let segments = root.join("shard/segments");
    let segment = fs::read_dir(&segments).unwrap().next().unwrap().unwrap().path();
    copy_dir(&segment, &segments.join("0a0a0a0a-0000-4000-8000-000000000001"));

    let store = open(dir.path(), 1_000_000);
    assert_eq!(count(&store, "facts", None).await, 580, "the engine alone counts them twice");
    store.close().await;
    fs::write(root.join("OPTIMIZING"), b"").unwrap();
    let store = open(dir.path(), 1_000_000);
    assert_eq!(count(&store, "facts", None).await, 290);
    check(&store).await;
    store.close().await;
    assert!(!root.join("OPTIMIZING").exists());
}

/// The engine would keep its own log for ever; only its numbering must go on.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_the_engine_does_not_grow_over_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let big = |n, version| {
        let mut point = versioned(n, version);
        point.payload.insert("body".to_owned(), text(&"正文".repeat(8_000)));
        point
    };
    let closed = || {
        let entries = fs::read_dir(dir.path().join("store/facts/shard/wal")).unwrap();
        entries
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("closed-"))
            .count()
    };
    for version in 1..4 {
        let store = open(dir.path(), 1_000_000);
        store.create_collection(collection("facts")).await.unwrap();
        assert!(closed() <= 1, "only the newest is kept");
        for first in (0..500).step_by(50) {
            upsert(&store, "facts", (first..first + 50).map(|n| big(n, version)).collect()).await;
        }
        assert!(closed() > 1, "enough is written to fill several files");
        store.close().await;
    }
    let store = open(dir.path(), 1_000_000);
    let points = everything(&store, "facts").await;
    assert_eq!(points.len(), 500);
    assert!(points.iter().all(|point| version_of(point) == 3), "later writes win over earlier ones");
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
