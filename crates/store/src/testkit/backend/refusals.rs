use std::fmt::Debug;

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    CountPoints, DenseVector, FacetCounts, OrderBy, PointId, PointStruct, QueryPoints, ScrollPoints, Vector,
    point_id::PointIdOptions, vector,
};

use super::build::*;

#[track_caller]
fn refused<T: Debug>(result: Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::Rejected(_))), "{result:?}");
}

pub async fn refuses_what_does_not_exist(backend: Backend) {
    let name = unique("missing");
    refused(backend.upsert(upsert(&name, vec![point(1, [])])).await);
    let count = CountPoints { collection_name: name.clone(), ..CountPoints::default() };
    refused(backend.count(count).await);

    let name = plain_collection(&backend, "unindexed").await;
    write(&backend, &name, vec![point(1, [("n", int(1))])]).await;
    let order = OrderBy { key: "n".to_owned(), ..OrderBy::default() };
    let scroll =
        ScrollPoints { collection_name: name.clone(), order_by: Some(order), ..ScrollPoints::default() };
    refused(backend.scroll(scroll).await);
    let facet = FacetCounts { collection_name: name.clone(), key: "n".to_owned(), ..FacetCounts::default() };
    refused(backend.facet(facet).await);
}

pub async fn refuses_vectors_that_do_not_fit(backend: Backend) {
    let name = vector_collection(&backend, "misfit").await;
    let short = vector::Vector::Dense(DenseVector { data: vec![1.0, 2.0] });
    let short = Vector { vector: Some(short), ..Vector::default() };
    let good = with(point(1, []), [dense([1.0, 0.0, 0.0, 0.0])]);
    let bad = with(point(2, []), [(DENSE.to_owned(), short.clone())]);
    refused(backend.upsert(upsert(&name, vec![good, bad])).await);
    refused(backend.upsert(upsert(&name, vec![with(point(1, []), [("unknown".to_owned(), short)])])).await);
    let no_uuid = PointId { point_id_options: Some(PointIdOptions::Uuid("不是".to_owned())) };
    refused(backend.upsert(upsert(&name, vec![PointStruct { id: Some(no_uuid), ..point(1, []) }])).await);
    let wrong_name = QueryPoints {
        collection_name: name.clone(),
        query: nearest_dense([1.0, 0.0, 0.0, 0.0]),
        using: Some("unknown".to_owned()),
        ..QueryPoints::default()
    };
    refused(backend.query(wrong_name).await);
    write(&backend, &name, vec![with(point(3, []), [dense([1.0, 0.0, 0.0, 0.0])])]).await;
    assert_eq!(read(&backend, &name, vec![id(3)]).await.len(), 1, "it still works");
}
