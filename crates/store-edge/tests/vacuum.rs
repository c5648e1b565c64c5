//! What was deleted or replaced is in no file after a vacuum, and nothing else is lost: beside writes and reads, and
//! whenever the process dies.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::{collections::BTreeMap, path::Path, sync::Arc};

use common::*;
use hindsight_ports::Probes;
use hindsight_store::VectorBackend;
use hindsight_store_edge::EdgeBackend;
use qdrant_client::qdrant::{DeletePoints, PointStruct, PointsIdsList, PointsSelector, points_selector};

const SECRET: &str = "the launch code is kittiwake-5521";
const REPLACED: &str = "lives at 14 Cormorant Crescent, 塔尔图";
const KEPT: &str = "prefers the window seat on trains";

fn said(n: u64, version: i64, words: &str) -> PointStruct {
    let mut point = versioned(n, version);
    point.payload.insert("said".to_owned(), text(words));
    point
}

async fn delete(store: &EdgeBackend, name: &str, ids: impl IntoIterator<Item = u64>) {
    let ids = ids.into_iter().map(id).collect();
    let one_of = points_selector::PointsSelectorOneOf::Points(PointsIdsList { ids });
    let request = DeletePoints {
        collection_name: name.to_owned(),
        points: Some(PointsSelector { points_selector_one_of: Some(one_of) }),
        ..DeletePoints::default()
    };
    store.delete(request).await.unwrap();
}

async fn is_on_disk(store: &EdgeBackend, words: &str) -> bool {
    let read = store.find(&Probes::of([words])).await.unwrap().unwrap();
    assert!(read.files > 0 && read.bytes > 0);
    !read.found.is_empty()
}

async fn indexes(store: &EdgeBackend) {
    let request = qdrant_client::qdrant::CreateFieldIndexCollection {
        collection_name: "facts".to_owned(),
        field_name: "said".to_owned(),
        field_type: Some(qdrant_client::qdrant::FieldType::Keyword as i32),
        ..Default::default()
    };
    store.create_field_index(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_what_was_deleted_or_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 100_000);
    store.create_collection(collection("facts")).await.unwrap();
    indexes(&store).await;
    upsert(&store, "facts", (0..400).map(|n| versioned(n, n as i64)).collect()).await;
    upsert(&store, "facts", vec![said(1_000, 1, SECRET), said(1_001, 1, REPLACED), said(1_002, 1, KEPT)])
        .await;
    upsert(&store, "facts", vec![said(1_001, 2, KEPT)]).await;
    delete(&store, "facts", [1_000, 7]).await;
    assert!(
        is_on_disk(&store, SECRET).await && is_on_disk(&store, REPLACED).await,
        "else this shows nothing"
    );

    let before = everything(&store, "facts").await;
    assert!(store.vacuum("facts").await.unwrap());
    assert!(!is_on_disk(&store, SECRET).await);
    assert!(!is_on_disk(&store, REPLACED).await);
    assert!(is_on_disk(&store, KEPT).await);
    assert_eq!(everything(&store, "facts").await, before);

    // It is found by its index, and is there after the next start.
    let filter = qdrant_client::qdrant::Filter::must([qdrant_client::qdrant::Condition::matches(
        "said",
        KEPT.to_owned(),
    )]);
    assert_eq!(count(&store, "facts", Some(filter.clone())).await, 2);
    store.close().await;
    let store = open(dir.path(), 100_000);
    assert_eq!(everything(&store, "facts").await, before);
    assert_eq!(count(&store, "facts", Some(filter)).await, 2);
    assert!(!is_on_disk(&store, SECRET).await);
    let places = dir.path().join("store/facts");
    assert!(!places.join("fresh").exists() && !places.join("stale").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_indexed_is_vacuumed_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 200);
    store.create_collection(collection("facts")).await.unwrap();
    for chunk in 0..8 {
        let points = (0..100).map(|n| said(chunk * 100 + n, 3, &format!("{SECRET} {chunk}.{n}")));
        upsert(&store, "facts", points.collect()).await;
    }
    delete(&store, "facts", 0..790).await;
    upsert(&store, "facts", (790..800).map(|n| said(n, 4, KEPT)).collect()).await;
    assert!(store.vacuum("facts").await.unwrap());
    assert!(!is_on_disk(&store, SECRET).await);
    assert_eq!(count(&store, "facts", None).await, 10);
    assert!(everything(&store, "facts").await.iter().all(|point| version_of(point) == 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_and_reads_go_on_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path(), 100_000));
    store.create_collection(collection("facts")).await.unwrap();
    upsert(&store, "facts", (0..1_000).map(|n| versioned(n, 1)).collect()).await;
    upsert(&store, "facts", vec![said(5_000, 1, SECRET)]).await;
    delete(&store, "facts", [5_000]).await;

    let vacuums: Vec<_> = (0..3)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.vacuum("facts").await })
        })
        .collect();
    let mut expected: BTreeMap<u64, i64> = (0..1_000).map(|n| (n, 1)).collect();
    let mut version = 1;
    while vacuums.iter().any(|vacuum| !vacuum.is_finished()) {
        version += 1;
        let n = (version as u64 * 37) % 1_200;
        upsert(&store, "facts", vec![versioned(n, version)]).await;
        expected.insert(n, version);
        let gone = (version as u64 * 53) % 1_200;
        delete(&store, "facts", [gone]).await;
        expected.remove(&gone);
        assert_eq!(get(&store, "facts", vec![id(gone)]).await, [], "a delete is seen at once");
        assert_eq!(count(&store, "facts", None).await, expected.len() as u64);
    }
    for vacuum in vacuums {
        assert!(vacuum.await.unwrap().unwrap());
    }
    assert!(version > 2, "nothing was written beside a vacuum");
    let check = async |store: &EdgeBackend| {
        let stored = everything(store, "facts").await;
        let stored: BTreeMap<u64, i64> = stored.iter().map(|p| (number(&p.id), version_of(p))).collect();
        assert_eq!(stored, expected);
        assert!(!is_on_disk(store, SECRET).await);
    };
    check(&store).await;
    store.close().await;
    check(&open(dir.path(), 100_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_closes_does_not_wait_for_a_vacuum_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path(), 100_000));
    store.create_collection(collection("facts")).await.unwrap();
    upsert(&store, "facts", (0..3_000).map(|n| versioned(n, 1)).collect()).await;
    let vacuuming = Arc::clone(&store);
    let vacuum = tokio::spawn(async move { vacuuming.vacuum("facts").await });
    until("the vacuum begins", || async { dir.path().join("store/facts/fresh").exists() }).await;
    upsert(&store, "facts", vec![versioned(1, 2)]).await;
    store.close().await;
    // It may have been done in time.
    let _ = vacuum.await.unwrap();
    let store = open(dir.path(), 100_000);
    assert_eq!(count(&store, "facts", None).await, 3_000);
    let point = get(&store, "facts", vec![id(1)]).await;
    assert_eq!(version_of(&point[0]), 2);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// The states that a crash may leave, made by hand from a store before and one after a vacuum.
#[tokio::test(flavor = "multi_thread")]
async fn every_state_that_a_crash_leaves_is_opened_and_nothing_is_lost() {
    let before = tempfile::tempdir().unwrap();
    let store = open(before.path(), 100_000);
    store.create_collection(collection("facts")).await.unwrap();
    upsert(&store, "facts", (0..50).map(|n| versioned(n, 1)).collect()).await;
    upsert(&store, "facts", vec![said(100, 1, SECRET)]).await;
    delete(&store, "facts", [100]).await;
    let expected = everything(&store, "facts").await;
    store.close().await;
    let after = tempfile::tempdir().unwrap();
    copy(before.path(), after.path());
    let store = open(after.path(), 100_000);
    store.vacuum("facts").await.unwrap();
    store.close().await;

    // Which shard stands where, and whether what is left is free of the text.
    let states: [(&[(&str, &Path)], bool); 5] = [
        (&[("shard", before.path())], false),
        (&[("shard", before.path()), ("fresh", after.path())], false),
        (&[("stale", before.path()), ("fresh", after.path())], true),
        (&[("stale", before.path()), ("shard", after.path())], true),
        (&[("shard", after.path())], true),
    ];
    for (places, vacuumed) in states {
        let dir = tempfile::tempdir().unwrap();
        copy(before.path(), dir.path());
        let root = dir.path().join("store/facts");
        std::fs::remove_dir_all(root.join("shard")).unwrap();
        for (place, from) in places {
            copy(&from.join("store/facts/shard"), &root.join(place));
        }
        let store = open(dir.path(), 100_000);
        assert_eq!(everything(&store, "facts").await, expected, "{places:?}");
        assert_eq!(!is_on_disk(&store, SECRET).await, vacuumed, "{places:?}");
        assert!(!root.join("fresh").exists() && !root.join("stale").exists(), "{places:?}");
        store.vacuum("facts").await.unwrap();
        assert!(!is_on_disk(&store, SECRET).await, "{places:?}");
        store.close().await;
    }
}
