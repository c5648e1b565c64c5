//! Background indexing beside reads and writes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::sync::Arc;

use common::*;
use hindsight_store::VectorBackend;
use hindsight_store_edge::EdgeBackend;
use qdrant_client::qdrant::{
    CreateCollection, DeletePoints, PointStruct, PointsIdsList, PointsSelector,
    points_selector::PointsSelectorOneOf,
};
use qdrant_client::qdrant::{DenseVector, Query, QueryPoints, VectorInput, query, vector_input};

async fn indexed(store: &EdgeBackend) -> u64 {
    store.collection_info("steps").await.unwrap().unwrap().indexed_vectors_count.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_and_reads_go_on_while_segments_are_indexed_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path(), 500));
    store.create_collection(collection("steps")).await.unwrap();
    let writer = |offset: u64| {
        let store = Arc::clone(&store);
        async move {
            for round in 0..30 {
                let first = offset + (round % 15) * 50;
                upsert(&store, "steps", (first..first + 50).map(|n| versioned(n, round as i64)).collect())
                    .await;
            }
        }
    };
    let reader = async {
        for _ in 0..200 {
            let nearest = vector_input::Variant::Dense(DenseVector { data: vec![1.0; DIMENSION] });
            let query = QueryPoints {
                collection_name: "steps".to_owned(),
                query: Some(Query {
                    variant: Some(query::Variant::Nearest(VectorInput { variant: Some(nearest) })),
                }),
                using: Some(DENSE.to_owned()),
                ..QueryPoints::default()
            };
            store.query(query).await.unwrap();
        }
    };
    tokio::join!(writer(0), writer(10_000), reader);
    until("something is indexed", || async { indexed(&store).await > 0 }).await;

    let check = async |store: &EdgeBackend| {
        let points = everything(store, "steps").await;
        assert_eq!(points.len(), 1_500);
        for point in &points {
            let expected = 15 + (number(&point.id) % 10_000) as i64 / 50;
            assert_eq!(version_of(point), expected, "{:?}", point.id);
        }
        assert_eq!(count(store, "steps", None).await, 1_500, "nothing twice");
    };
    check(&store).await;
    store.close().await;
    let store = open(dir.path(), 500);
    check(&store).await;
    assert!(indexed(&store).await > 0, "the index is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_space_of_deleted_points_is_reclaimed_without_touching_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 400);
    let request = CreateCollection { collection_name: "events".to_owned(), ..CreateCollection::default() };
    store.create_collection(request).await.unwrap();
    let point = |n: u64| PointStruct {
        id: Some(id(n)),
        payload: [("n".to_owned(), int(n as i64))].into(),
        ..PointStruct::default()
    };
    upsert(&store, "events", (0..2_000).map(point).collect()).await;
    let segments = dir.path().join("store/events/shard/segments");
    let names = || {
        let entries = std::fs::read_dir(&segments).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    let ids = (0..2_000).filter(|n| n % 4 != 0).map(id).collect();
    let delete = DeletePoints {
        collection_name: "events".to_owned(),
        points: Some(PointsSelector {
            points_selector_one_of: Some(PointsSelectorOneOf::Points(PointsIdsList { ids })),
        }),
        ..DeletePoints::default()
    };
    store.delete(delete).await.unwrap();
    until("the segment is rebuilt", || async { before.is_disjoint(&names()) }).await;
    upsert(&store, "events", vec![point(1)]).await;
    let left: Vec<u64> = everything(&store, "events").await.iter().map(|point| number(&point.id)).collect();
    let expected: Vec<u64> = (0..2_000).filter(|n| n % 4 == 0 || *n == 1).collect();
    assert_eq!(left, expected);
    assert_eq!(count(&store, "events", None).await, 501);
}
