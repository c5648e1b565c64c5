#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use hindsight_store::VectorBackend;
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use qdrant_client::qdrant::{
    CountPoints, CreateCollection, DenseVector, Distance, Filter, GetPoints, NamedVectors,
    OptimizersConfigDiff, PointId, PointStruct, RetrievedPoint, ScrollPoints, SparseVector,
    SparseVectorConfig, SparseVectorParams, UpsertPoints, Value, Vector, VectorParams, VectorParamsMap,
    Vectors, VectorsConfig, WithPayloadSelector, WithVectorsSelector, point_id::PointIdOptions, value::Kind,
    vector, vector_output, vectors, vectors_config, with_payload_selector, with_vectors_selector,
};

pub const DENSE: &str = "dense";
pub const SPARSE: &str = "bm25";
pub const DIMENSION: usize = 16;
/// Nothing takes this long; it only bounds a failing test.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn open(dir: &Path, optimize_after: u64) -> EdgeBackend {
    EdgeBackend::open(dir, EdgeOptions { optimize_after }).unwrap()
}

/// Dot product, so that vectors come back as they were written; indexed from a few hundred points on.
pub fn collection(name: &str) -> CreateCollection {
    let dense =
        VectorParams { size: DIMENSION as u64, distance: Distance::Dot as i32, ..VectorParams::default() };
    CreateCollection {
        collection_name: name.to_owned(),
        vectors_config: Some(VectorsConfig {
            config: Some(vectors_config::Config::ParamsMap(VectorParamsMap {
                map: HashMap::from([(DENSE.to_owned(), dense)]),
            })),
        }),
        sparse_vectors_config: Some(SparseVectorConfig {
            map: HashMap::from([(SPARSE.to_owned(), SparseVectorParams::default())]),
        }),
        optimizers_config: Some(OptimizersConfigDiff {
            indexing_threshold: Some(16),
            ..OptimizersConfigDiff::default()
        }),
        ..CreateCollection::default()
    }
}

pub fn id(n: u64) -> PointId {
    PointId { point_id_options: Some(PointIdOptions::Num(n)) }
}

pub fn number(id: &Option<PointId>) -> u64 {
    match id.as_ref().and_then(|id| id.point_id_options.as_ref()) {
        Some(PointIdOptions::Num(n)) => *n,
        other => panic!("not a number: {other:?}"),
    }
}

pub fn int(n: i64) -> Value {
    Value { kind: Some(Kind::IntegerValue(n)) }
}

pub fn text(text: &str) -> Value {
    Value { kind: Some(Kind::StringValue(text.to_owned())) }
}

/// A point whose payload and both vectors say the same version.
pub fn versioned(n: u64, version: i64) -> PointStruct {
    let dense = vector::Vector::Dense(DenseVector { data: vec![version as f32; DIMENSION] });
    let sparse = vector::Vector::Sparse(SparseVector { values: vec![version as f32], indices: vec![7] });
    let vector = |vector| Vector { vector: Some(vector), ..Vector::default() };
    PointStruct {
        id: Some(id(n)),
        payload: [("version".to_owned(), int(version)), ("text".to_owned(), text("磁盘已满"))].into(),
        vectors: Some(Vectors {
            vectors_options: Some(vectors::VectorsOptions::Vectors(NamedVectors {
                vectors: [(DENSE.to_owned(), vector(dense)), (SPARSE.to_owned(), vector(sparse))].into(),
            })),
        }),
    }
}

/// The version that a point made by [`versioned`] has; fails when its parts disagree.
pub fn version_of(point: &RetrievedPoint) -> i64 {
    let Some(Kind::IntegerValue(version)) = point.payload.get("version").and_then(|v| v.kind.clone()) else {
        panic!("no version: {point:?}");
    };
    let vectors = point.vectors.as_ref().expect("vectors");
    let dense = vector_output::Vector::Dense(DenseVector { data: vec![version as f32; DIMENSION] });
    assert_eq!(vectors.get_vector_by_name(DENSE), Some(dense), "payload and vector of one write");
    let sparse = SparseVector { values: vec![version as f32], indices: vec![7] };
    assert_eq!(vectors.get_vector_by_name(SPARSE), Some(vector_output::Vector::Sparse(sparse)));
    version
}

pub async fn upsert(store: &EdgeBackend, collection: &str, points: Vec<PointStruct>) {
    let request = UpsertPoints { collection_name: collection.to_owned(), points, ..UpsertPoints::default() };
    store.upsert(request).await.unwrap();
}

pub async fn get(store: &EdgeBackend, collection: &str, ids: Vec<PointId>) -> Vec<RetrievedPoint> {
    let request = GetPoints {
        collection_name: collection.to_owned(),
        ids,
        with_payload: Some(WithPayloadSelector {
            selector_options: Some(with_payload_selector::SelectorOptions::Enable(true)),
        }),
        with_vectors: Some(WithVectorsSelector {
            selector_options: Some(with_vectors_selector::SelectorOptions::Enable(true)),
        }),
        ..GetPoints::default()
    };
    store.get(request).await.unwrap()
}

pub async fn count(store: &EdgeBackend, collection: &str, filter: Option<Filter>) -> u64 {
    let request = CountPoints { collection_name: collection.to_owned(), filter, ..CountPoints::default() };
    store.count(request).await.unwrap()
}

/// Every point, with vectors, in the order of ids.
pub async fn everything(store: &EdgeBackend, collection: &str) -> Vec<RetrievedPoint> {
    let request = ScrollPoints {
        collection_name: collection.to_owned(),
        limit: Some(100_000),
        with_vectors: Some(WithVectorsSelector {
            selector_options: Some(with_vectors_selector::SelectorOptions::Enable(true)),
        }),
        ..ScrollPoints::default()
    };
    store.scroll(request).await.unwrap().points
}

/// Waits until `done` says so.
pub async fn until<F: Future<Output = bool>>(what: &str, mut done: impl FnMut() -> F) {
    let start = Instant::now();
    while !done().await {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
