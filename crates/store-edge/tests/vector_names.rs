//! A collection is given a named vector and loses one while it is in use, and a crash in between leaves the state
//! before or after.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use common::*;
use hindsight_ports::StoreError;
use hindsight_store::VectorBackend;
use hindsight_store_edge::EdgeBackend;
use qdrant_client::qdrant::{
    CreateVectorNameRequest, DeleteVectorNameRequest, DenseVector, DenseVectorCreationConfig, Distance,
    Filter, HasVectorCondition, NamedVectors, PointVectors, Query, QueryPoints, RetrievedPoint,
    UpdatePointVectors, VectorInput, Vectors, condition::ConditionOneOf,
    create_vector_name_request::VectorConfig, query, vector_input, vector_output, vectors::VectorsOptions,
};

const NEW: &str = "dense_2";
const SIZE: usize = 4;
const POINTS: u64 = 900;

async fn create(store: &EdgeBackend) -> Result<(), StoreError> {
    let config =
        DenseVectorCreationConfig { size: SIZE as u64, distance: Distance::Dot as i32, ..Default::default() };
    let request = CreateVectorNameRequest {
        collection_name: "steps".to_owned(),
        vector_name: NEW.to_owned(),
        vector_config: Some(VectorConfig::DenseConfig(config)),
        ..CreateVectorNameRequest::default()
    };
    store.create_vector_name(request).await
}

async fn remove(store: &EdgeBackend, name: &str) -> Result<(), StoreError> {
    let request = DeleteVectorNameRequest {
        collection_name: "steps".to_owned(),
        vector_name: name.to_owned(),
        ..DeleteVectorNameRequest::default()
    };
    store.delete_vector_name(request).await
}

fn new_of(n: u64) -> Vec<f32> {
    let mut vector = vec![1.0; SIZE];
    vector[0] = n as f32;
    vector
}

async fn update(store: &EdgeBackend, points: impl IntoIterator<Item = u64>) -> Result<(), StoreError> {
    let points = points.into_iter().map(|n| {
        let vector = (NEW.to_owned(), DenseVector { data: new_of(n) }.into());
        let vectors = VectorsOptions::Vectors(NamedVectors { vectors: [vector].into() });
        PointVectors { id: Some(id(n)), vectors: Some(Vectors { vectors_options: Some(vectors) }) }
    });
    let request = UpdatePointVectors {
        collection_name: "steps".to_owned(),
        points: points.collect(),
        ..UpdatePointVectors::default()
    };
    store.update_vectors(request).await
}

async fn nearest(store: &EdgeBackend, using: &str, data: Vec<f32>) -> Result<Vec<u64>, StoreError> {
    let variant = vector_input::Variant::Dense(DenseVector { data });
    let query = QueryPoints {
        collection_name: "steps".to_owned(),
        query: Some(Query { variant: Some(query::Variant::Nearest(VectorInput { variant: Some(variant) })) }),
        using: Some(using.to_owned()),
        limit: Some(3),
        ..QueryPoints::default()
    };
    Ok(store.query(query).await?.iter().map(|point| number(&point.id)).collect())
}

async fn having(store: &EdgeBackend, name: &str) -> u64 {
    let has = ConditionOneOf::HasVector(HasVectorCondition { has_vector: name.to_owned() });
    count(store, "steps", Some(Filter::must([has.into()]))).await
}

async fn indexed(store: &EdgeBackend) -> u64 {
    store.collection_info("steps").await.unwrap().unwrap().indexed_vectors_count.unwrap()
}

fn new(point: &RetrievedPoint) -> Option<Vec<f32>> {
    match point.vectors.as_ref()?.get_vector_by_name(NEW)? {
        vector_output::Vector::Dense(dense) => Some(dense.data),
        other => panic!("not dense: {other:?}"),
    }
}

/// A store with points in segments that are indexed and cannot be appended to, and some in one that can.
async fn filled(dir: &Path) -> EdgeBackend {
    let store = open(dir, 500);
    store.create_collection(collection("steps")).await.unwrap();
    for first in (0..POINTS).step_by(100) {
        upsert(&store, "steps", (first..first + 100).map(|n| versioned(n, n as i64)).collect()).await;
    }
    until("something is indexed", || async { indexed(&store).await > 0 }).await;
    upsert(&store, "steps", (0..20).map(|n| versioned(n, n as i64)).collect()).await;
    store
}

/// All points are there as they were written, the first `count` of them with the new vector.
async fn check(store: &EdgeBackend, count: u64) {
    let points = everything(store, "steps").await;
    assert_eq!(points.len() as u64, POINTS);
    for point in points {
        let n = number(&point.id);
        assert_eq!(version_of(&get(store, "steps", vec![id(n)]).await[0]), n as i64);
        assert_eq!(new(&point), (n < count).then(|| new_of(n)), "point {n}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn vectors_are_built_beside_indexed_ones_and_take_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(dir.path()).await;
    create(&store).await.unwrap();
    assert_eq!(having(&store, NEW).await, 0);
    assert_eq!(nearest(&store, NEW, new_of(1)).await.unwrap(), [] as [u64; 0]);
    update(&store, (0..400).chain([4_000])).await.unwrap();
    check(&store, 400).await;
    assert_eq!(nearest(&store, NEW, new_of(1)).await.unwrap(), [399, 398, 397]);
    store.close().await;

    let store = open(dir.path(), 500);
    check(&store, 400).await;
    update(&store, 400..POINTS).await.unwrap();
    until("the new ones are indexed", || async { indexed(&store).await > POINTS }).await;
    check(&store, POINTS).await;
    assert_eq!(nearest(&store, NEW, new_of(1)).await.unwrap(), [899, 898, 897]);

    remove(&store, DENSE).await.unwrap();
    assert_eq!(having(&store, DENSE).await, 0);
    assert!(matches!(nearest(&store, DENSE, vec![1.0; DIMENSION]).await, Err(StoreError::Rejected(_))));
    let only_new = async |store: &EdgeBackend| {
        let points = everything(store, "steps").await;
        assert_eq!(points.len() as u64, POINTS);
        assert!(points.iter().all(|point| new(point) == Some(new_of(number(&point.id)))));
        assert_eq!(nearest(store, NEW, new_of(1)).await.unwrap(), [899, 898, 897]);
        assert_eq!(having(store, NEW).await, POINTS);
    };
    only_new(&store).await;
    store.close().await;
    assert!(files(dir.path()).iter().all(|name| !name.ends_with("-dense")), "its files are gone");
    only_new(&open(dir.path(), 500)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_change_while_segments_are_indexed_and_points_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path(), 300));
    store.create_collection(collection("steps")).await.unwrap();
    let writer = async {
        for round in 0..40 {
            let first = round % 9 * 100;
            upsert(&store, "steps", (first..first + 100).map(|n| versioned(n, n as i64)).collect()).await;
        }
    };
    let changer = async {
        for _ in 0..6 {
            create(&store).await.unwrap();
            update(&store, 0..POINTS).await.unwrap();
            remove(&store, NEW).await.unwrap();
        }
        create(&store).await.unwrap();
    };
    tokio::join!(writer, changer);
    update(&store, 0..POINTS).await.unwrap();
    check(&store, POINTS).await;
    store.close().await;
    check(&open(dir.path(), 300), POINTS).await;
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("store/steps/shard/segments")).unwrap();
    let mut segments: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    segments.sort();
    segments
}

fn files(dir: &Path) -> BTreeSet<String> {
    let entries = segments(dir).into_iter().flat_map(|segment| fs::read_dir(segment).unwrap());
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn put_back(from: &Path, to: &Path) {
    fs::remove_dir_all(to).unwrap();
    copy(from, to);
}

/// What a crash between two segments leaves: `changed` with the first `count` segments as in `before`, under the
/// description of `described`.
fn torn(before: &Path, changed: &Path, described: &Path, count: usize) -> tempfile::TempDir {
    let torn = tempfile::tempdir().unwrap();
    copy(changed, torn.path());
    for (segment, old) in segments(torn.path()).iter().zip(segments(before)).take(count) {
        put_back(&old, segment);
    }
    let description = "store/steps/collection.pb";
    fs::copy(described.join(description), torn.path().join(description)).unwrap();
    torn
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_while_a_vector_is_added_leaves_none_of_it() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await.close().await;
    let before = tempfile::tempdir().unwrap();
    copy(dir.path(), before.path());
    let store = open(dir.path(), 50_000);
    create(&store).await.unwrap();
    store.close().await;
    let all = segments(dir.path()).len();
    assert!(all > 1, "there must be something between the first segment and the last");
    for count in 0..=all {
        let torn = torn(before.path(), dir.path(), before.path(), count);
        let store = open(torn.path(), 50_000);
        check(&store, 0).await;
        assert!(matches!(update(&store, [1]).await, Err(StoreError::Rejected(_))), "it never came to be");
        create(&store).await.unwrap();
        update(&store, 0..POINTS).await.unwrap();
        check(&store, POINTS).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_while_a_vector_is_taken_away_takes_all_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(dir.path()).await;
    create(&store).await.unwrap();
    update(&store, 0..POINTS).await.unwrap();
    store.close().await;
    let before = tempfile::tempdir().unwrap();
    copy(dir.path(), before.path());
    let store = open(dir.path(), 50_000);
    remove(&store, NEW).await.unwrap();
    store.close().await;
    for count in 0..=segments(dir.path()).len() {
        let torn = torn(before.path(), dir.path(), dir.path(), count);
        let store = open(torn.path(), 50_000);
        check(&store, 0).await;
        create(&store).await.unwrap();
        check(&store, 0).await;
        store.close().await;
        check(&open(torn.path(), 50_000), 0).await;
    }
}
