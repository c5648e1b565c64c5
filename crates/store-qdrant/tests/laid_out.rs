//! Collections are laid out as configured, and work as well as any.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashMap;

use common::target;
use hindsight_store::testkit::backend;
use hindsight_store_qdrant::{CollectionLayout, Quantization};
use qdrant_client::qdrant::{
    CreateCollection, Distance, VectorParams, VectorParamsMap, VectorsConfig,
    quantization_config::Quantization as Q, vectors_config,
};

fn layout() -> CollectionLayout {
    CollectionLayout {
        on_disk_vectors: true,
        on_disk_indexes: true,
        quantization: Quantization::Int8,
        shard_number: Some(2),
        replication_factor: Some(1),
        write_consistency_factor: Some(1),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_reports_what_was_asked_for() {
    let target = target(layout()).await;
    let dense = VectorParams { size: 4, distance: Distance::Cosine as i32, ..VectorParams::default() };
    let map = HashMap::from([("dense".to_owned(), dense)]);
    let name = format!("laid-out-{}", uuid::Uuid::new_v4().simple());
    let request = CreateCollection {
        collection_name: name.clone(),
        vectors_config: Some(VectorsConfig {
            config: Some(vectors_config::Config::ParamsMap(VectorParamsMap { map })),
        }),
        ..CreateCollection::default()
    };
    target.backend.create_collection(request).await.unwrap();
    let config = target.backend.collection_info(&name).await.unwrap().unwrap().config.unwrap();
    let params = config.params.unwrap();
    assert_eq!(params.shard_number, 2);
    assert_eq!(params.replication_factor, Some(1));
    assert_eq!(params.write_consistency_factor, Some(1));
    #[allow(deprecated, reason = "what servers before 1.18 report")]
    match params.vectors_config.and_then(|v| v.config) {
        Some(vectors_config::Config::ParamsMap(map)) => assert_eq!(map.map["dense"].on_disk, Some(true)),
        other => panic!("expected named vectors, got {other:?}"),
    }
    let quantization = config.quantization_config.and_then(|q| q.quantization);
    assert!(matches!(quantization, Some(Q::Scalar(_))), "{quantization:?}");
}

macro_rules! case {
    ($($name:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                backend::$name(target(layout()).await.backend.clone()).await;
            }
        )*
    };
}

// Those of the suite that touch what the layout changes.
case!(
    creates_a_collection_once finds_the_nearest_dense_vectors finds_the_nearest_sparse_vectors
    fuses_by_score_distribution creates_each_kind_of_index_any_number_of_times
    filters_alike_with_and_without_an_index
);
