//! Every field that is not supported is refused by name, on every message.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use ::qdrant_client::qdrant::*;
use common::*;
use hindsight_ports::StoreError;
use hindsight_store::VectorBackend;

/// Sends the request once for every field, with that field set; the refusal must contain the name.
macro_rules! refuses {
    ($store:ident.$call:ident($base:expr): $($field:ident = $value:expr => $name:expr),+ $(,)?) => {
        let base = $base;
        $({
            let mut request = base.clone();
            request.$field = $value;
            match $store.$call(request).await {
                Err(StoreError::Rejected(text)) => assert!(text.contains($name), "{text} names {}", $name),
                other => panic!("{} of {} was not refused: {other:?}", $name, stringify!($call)),
            }
        })+
    };
}

fn name() -> String {
    "facts".to_owned()
}

fn matching(value: r#match::MatchValue) -> Option<Filter> {
    on(FieldCondition { r#match: Some(Match { match_value: Some(value) }), ..FieldCondition::default() })
}

fn on(condition: FieldCondition) -> Option<Filter> {
    let field = FieldCondition { key: "a".to_owned(), ..condition };
    let condition = Condition { condition_one_of: Some(condition::ConditionOneOf::Field(field)) };
    Some(Filter { must: vec![condition], ..Filter::default() })
}

fn query(variant: query::Variant) -> Option<Query> {
    Some(Query { variant: Some(variant) })
}

fn nearest(variant: vector_input::Variant) -> Option<Query> {
    query(query::Variant::Nearest(VectorInput { variant: Some(variant) }))
}

fn shard() -> Option<ShardKeySelector> {
    Some(ShardKeySelector::default())
}

#[tokio::test(flavor = "multi_thread")]
#[allow(deprecated, reason = "deprecated fields are refused too")]
async fn names_the_field() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 1_000_000);
    store.create_collection(collection("facts")).await.unwrap();

    refuses!(store.create_collection(CreateCollection { collection_name: "new".to_owned(), ..Default::default() }):
        wal_config = Some(WalConfigDiff::default()) => "wal_config",
        shard_number = Some(2) => "shard_number",
        replication_factor = Some(3) => "replication_factor",
        sharding_method = Some(1) => "sharding_method",
        timeout = Some(1) => "timeout",
        quantization_config = Some(QuantizationConfig::default()) => "quantization_config",
        strict_mode_config = Some(StrictModeConfig::default()) => "strict_mode_config",
        optimizers_config = Some(OptimizersConfigDiff { flush_interval_sec: Some(1), ..Default::default() })
            => "optimizers_config",
        hnsw_config = Some(HnswConfigDiff { inline_storage: Some(true), ..Default::default() })
            => "inline_storage",
        vectors_config = Some(VectorsConfig {
            config: Some(vectors_config::Config::Params(VectorParams::default())),
        }) => "vectors_config.params",
        collection_name = "../outside".to_owned() => "collection_name",
    );
    refuses!(store.create_field_index(CreateFieldIndexCollection { collection_name: name(), field_name: "a".to_owned(), ..Default::default() }):
        field_type = None => "field_type",
        field_type = Some(FieldType::Geo as i32) => "geo",
        field_type = Some(77) => "field_type",
        timeout = Some(1) => "timeout",
    );
    refuses!(store.upsert(UpsertPoints { collection_name: name(), points: vec![versioned(1, 1)], ..Default::default() }):
        shard_key_selector = shard() => "shard_key_selector",
        timeout = Some(1) => "timeout",
        update_mode = Some(9) => "update_mode",
        update_filter = matching(r#match::MatchValue::Prefix("p".to_owned())) => "prefix",
        points = vec![PointStruct { id: None, ..versioned(1, 1) }] => "points.id",
    );
    refuses!(store.set_payload(SetPayloadPoints { collection_name: name(), ..Default::default() }):
        points_selector = None => "points_selector",
        shard_key_selector = shard() => "shard_key_selector",
        timeout = Some(1) => "timeout",
    );
    refuses!(store.delete(DeletePoints { collection_name: name(), ..Default::default() }):
        points = None => "points",
        shard_key_selector = shard() => "shard_key_selector",
        timeout = Some(1) => "timeout",
    );
    refuses!(store.get(GetPoints { collection_name: name(), ..Default::default() }):
        shard_key_selector = shard() => "shard_key_selector",
        timeout = Some(1) => "timeout",
        with_vectors = Some(WithVectorsSelector {
            selector_options: Some(with_vectors_selector::SelectorOptions::Include(VectorsSelector {
                names: vec!["unknown".to_owned()],
            })),
        }) => "with_vectors",
    );
    refuses!(store.scroll(ScrollPoints { collection_name: name(), ..Default::default() }):
        shard_key_selector = shard() => "shard_key_selector",
        timeout = Some(1) => "timeout",
        limit = Some(0) => "limit",
        limit = Some(u32::MAX) => "limit",
        filter = matching(r#match::MatchValue::Substring("s".to_owned())) => "substring",
        filter = on(FieldCondition { geo_radius: Some(GeoRadius::default()), ..Default::default() })
            => "geo_radius",
        filter = on(FieldCondition::default()) => "no condition",
        filter = matching(r#match::MatchValue::ExceptIntegers(RepeatedIntegers::default())) => "except",
    );
    refuses!(store.count(CountPoints { collection_name: name(), ..Default::default() }):
        shard_key_selector = shard() => "shard_key_selector",
        timeout = Some(1) => "timeout",
    );
    refuses!(store.facet(FacetCounts { collection_name: name(), key: "a".to_owned(), ..Default::default() }):
        shard_key_selector = shard() => "shard_key_selector",
        timeout = Some(1) => "timeout",
        limit = Some(0) => "limit",
    );
    let dense = || vector_input::Variant::Dense(DenseVector { data: vec![0.0; DIMENSION] });
    refuses!(store.query(QueryPoints {
        collection_name: name(),
        query: nearest(dense()),
        using: Some(DENSE.to_owned()), ..Default::default() }):
        shard_key_selector = shard() => "shard_key_selector",
        timeout = Some(1) => "timeout",
        lookup_from = Some(LookupLocation::default()) => "lookup_from",
        limit = Some(u64::MAX) => "limit",
        offset = Some(u64::MAX) => "offset",
        using = None => "query.nearest",
        query = nearest(vector_input::Variant::Id(id(1))) => "nearest.id",
        query = nearest(vector_input::Variant::Document(Document::default())) => "document",
        query = query(query::Variant::Sample(0)) => "using",
        params = Some(SearchParams { acorn: Some(AcornSearchParams::default()), ..Default::default() })
            => "acorn",
        params = Some(SearchParams { idf: Some(IdfParams::default()), ..Default::default() }) => "idf",
    );
    refuses!(store.query(QueryPoints { collection_name: name(), ..Default::default() }):
        query = query(query::Variant::Sample(0)) => "sample",
        query = query(query::Variant::Recommend(RecommendInput::default())) => "recommend",
        query = query(query::Variant::Formula(Formula::default())) => "formula",
        query = query(query::Variant::Fusion(0)) => "prefetch",
        using = Some(DENSE.to_owned()) => "using",
        prefetch = vec![PrefetchQuery::default()] => "query",
    );
    assert!(store.collection_info("new").await.unwrap().is_none(), "what is refused leaves nothing behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn bounds_what_is_nested() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), 1_000_000);
    store.create_collection(collection("facts")).await.unwrap();
    let mut filter = Filter::default();
    let mut value = int(1);
    for _ in 0..1_000 {
        let condition = Condition { condition_one_of: Some(condition::ConditionOneOf::Filter(filter)) };
        filter = Filter { must: vec![condition], ..Filter::default() };
        value = Value { kind: Some(value::Kind::ListValue(ListValue { values: vec![value] })) };
    }
    let count = CountPoints { collection_name: name(), filter: Some(filter), ..CountPoints::default() };
    let refused = store.count(count).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Rejected(text) if text.contains("filter")), "{refused}");
    let point = PointStruct { payload: [("deep".to_owned(), value)].into(), ..versioned(1, 1) };
    let upsert = UpsertPoints { collection_name: name(), points: vec![point], ..UpsertPoints::default() };
    let refused = store.upsert(upsert).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Rejected(text) if text.contains("payload.deep")), "{refused}");
}
