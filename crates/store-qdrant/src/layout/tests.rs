use std::collections::HashMap;

use qdrant_client::qdrant::{
    SparseVectorConfig, SparseVectorParams, VectorParams, VectorParamsMap,
    quantization_config::Quantization as Q,
};

use super::*;

fn with_vectors() -> CreateCollection {
    let dense = HashMap::from([("dense".to_owned(), VectorParams { size: 4, ..VectorParams::default() })]);
    let sparse = HashMap::from([("bm25".to_owned(), SparseVectorParams::default())]);
    CreateCollection {
        collection_name: "c".to_owned(),
        vectors_config: Some(VectorsConfig {
            config: Some(vectors_config::Config::ParamsMap(VectorParamsMap { map: dense })),
        }),
        sparse_vectors_config: Some(SparseVectorConfig { map: sparse }),
        ..CreateCollection::default()
    }
}

fn dense(request: &CreateCollection) -> &VectorParams {
    match request.vectors_config.as_ref().and_then(|v| v.config.as_ref()) {
        Some(vectors_config::Config::ParamsMap(map)) => &map.map["dense"],
        other => panic!("expected named vectors, got {other:?}"),
    }
}

fn in_memory() -> CollectionLayout {
    CollectionLayout { on_disk_vectors: false, ..CollectionLayout::default() }
}

#[test]
fn nothing_asked_changes_nothing() {
    let layout = in_memory();
    assert_eq!(layout.of_collection(with_vectors()), with_vectors());
    let index = CreateFieldIndexCollection::default();
    assert_eq!(layout.of_index(index.clone()), index);
    let query = QueryPoints { prefetch: vec![PrefetchQuery::default()], ..QueryPoints::default() };
    assert_eq!(layout.of_query(query.clone()), query);
}

#[test]
fn each_setting_reaches_its_field() {
    let layout = CollectionLayout {
        on_disk_vectors: true,
        on_disk_indexes: true,
        quantization: Quantization::Int8,
        shard_number: Some(6),
        replication_factor: Some(3),
        write_consistency_factor: Some(2),
    };
    assert!(layout.check().is_ok());
    let made = layout.of_collection(with_vectors());
    let counts = (made.shard_number, made.replication_factor, made.write_consistency_factor);
    assert_eq!(counts, (Some(6), Some(3), Some(2)));
    assert_eq!(dense(&made).on_disk, Some(true));
    let sparse = made.sparse_vectors_config.as_ref().map(|c| c.map["bm25"]);
    assert_eq!(sparse.and_then(|s| s.index).and_then(|i| i.on_disk), Some(true));
    match made.quantization_config.and_then(|q| q.quantization) {
        Some(Q::Scalar(scalar)) => {
            assert_eq!(scalar.r#type, QuantizationType::Int8 as i32);
            assert_eq!(scalar.always_ram, Some(true));
        }
        other => panic!("expected scalar quantization, got {other:?}"),
    }
}

#[test]
fn a_collection_without_vectors_is_not_quantized() {
    let layout = CollectionLayout { quantization: Quantization::Int8, ..in_memory() };
    let plain = CreateCollection { collection_name: "c".to_owned(), ..CreateCollection::default() };
    assert_eq!(layout.of_collection(plain.clone()), plain);
    let none = vectors_config::Config::ParamsMap(VectorParamsMap::default());
    let empty = CreateCollection { vectors_config: Some(VectorsConfig { config: Some(none) }), ..plain };
    assert_eq!(layout.of_collection(empty.clone()), empty);
}

#[test]
fn indexes_keep_what_they_are() {
    let layout = CollectionLayout { on_disk_indexes: true, ..in_memory() };
    let of = |kind: FieldType, params: Option<IndexParams>| {
        let request = CreateFieldIndexCollection {
            field_type: Some(kind as i32),
            field_index_params: params.map(|p| PayloadIndexParams { index_params: Some(p) }),
            ..CreateFieldIndexCollection::default()
        };
        layout.of_index(request).field_index_params.and_then(|p| p.index_params)
    };
    let tenant = KeywordIndexParams { is_tenant: Some(true), ..KeywordIndexParams::default() };
    let on_disk = KeywordIndexParams { on_disk: Some(true), ..tenant.clone() };
    assert_eq!(
        of(FieldType::Keyword, Some(IndexParams::KeywordIndexParams(tenant))),
        Some(IndexParams::KeywordIndexParams(on_disk)),
        "still the index of the tenant"
    );
    match of(FieldType::Integer, None) {
        Some(IndexParams::IntegerIndexParams(p)) => {
            assert_eq!((p.lookup, p.range, p.on_disk), (Some(true), Some(true), Some(true)));
        }
        other => panic!("expected an integer index, got {other:?}"),
    }
    assert_eq!(of(FieldType::Text, None), None);
}

#[test]
fn quantized_scores_are_never_final() {
    let layout = CollectionLayout { quantization: Quantization::Int8, ..in_memory() };
    let inner = PrefetchQuery {
        params: Some(SearchParams { exact: Some(true), ..SearchParams::default() }),
        ..PrefetchQuery::default()
    };
    let outer = PrefetchQuery { prefetch: vec![inner], ..PrefetchQuery::default() };
    let query = layout.of_query(QueryPoints { prefetch: vec![outer], ..QueryPoints::default() });
    let rescores =
        |params: &Option<SearchParams>| params.as_ref().and_then(|p| p.quantization).and_then(|q| q.rescore);
    let inner = &query.prefetch[0].prefetch[0];
    for params in [&query.params, &query.prefetch[0].params, &inner.params] {
        assert_eq!(rescores(params), Some(true));
    }
    assert_eq!(inner.params.as_ref().and_then(|p| p.exact), Some(true));
}

#[test]
fn factors_that_no_write_could_meet_are_refused() {
    let layout = CollectionLayout { write_consistency_factor: Some(2), ..in_memory() };
    let refused = layout.check();
    assert!(
        matches!(&refused, Err(StoreError::Rejected(why)) if why.contains("replication_factor")),
        "{refused:?}"
    );
}
