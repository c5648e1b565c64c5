//! Short ways to write Qdrant's messages.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use qdrant_client::qdrant::{
    Condition, CountPoints, CreateCollection, CreateFieldIndexCollection, DenseVector, Distance,
    FieldCondition, FieldType, Filter, GetPoints, ListValue, Match, Modifier, NamedVectors, PointId,
    PointStruct, PointsIdsList, PointsSelector, Query, QueryPoints, Range, RetrievedPoint, ScoredPoint,
    ScrollPoints, SparseVector, SparseVectorConfig, SparseVectorParams, Struct, UpsertPoints, Value, Vector,
    VectorInput, VectorParams, VectorParamsMap, Vectors, VectorsConfig, WithPayloadSelector,
    WithVectorsSelector, condition::ConditionOneOf, r#match::MatchValue, point_id::PointIdOptions,
    points_selector::PointsSelectorOneOf, query, value::Kind, vector, vector_input, vectors, vectors_config,
    with_payload_selector, with_vectors_selector,
};
use uuid::Uuid;

use crate::VectorBackend;

pub(super) type Backend = Arc<dyn VectorBackend>;

pub(super) const DENSE: &str = "dense";
pub(super) const SPARSE: &str = "bm25";

/// Dense (4 dimensions, cosine) and sparse (IDF) vectors.
pub(super) fn with_vectors(name: &str) -> CreateCollection {
    let dense = VectorParams { size: 4, distance: Distance::Cosine as i32, ..VectorParams::default() };
    let sparse = SparseVectorParams { modifier: Some(Modifier::Idf as i32), ..SparseVectorParams::default() };
    CreateCollection {
        collection_name: name.to_owned(),
        vectors_config: Some(VectorsConfig {
            config: Some(vectors_config::Config::ParamsMap(VectorParamsMap {
                map: HashMap::from([(DENSE.to_owned(), dense)]),
            })),
        }),
        sparse_vectors_config: Some(SparseVectorConfig { map: HashMap::from([(SPARSE.to_owned(), sparse)]) }),
        ..CreateCollection::default()
    }
}

pub(super) fn without_vectors(name: &str) -> CreateCollection {
    CreateCollection { collection_name: name.to_owned(), ..CreateCollection::default() }
}

pub(super) fn unique(case: &str) -> String {
    format!("{case}-{}", Uuid::new_v4().simple())
}

#[allow(clippy::expect_used)]
pub(super) async fn vector_collection(backend: &Backend, case: &str) -> String {
    let name = unique(case);
    backend.create_collection(with_vectors(&name)).await.expect("a collection with vectors");
    name
}

#[allow(clippy::expect_used)]
pub(super) async fn plain_collection(backend: &Backend, case: &str) -> String {
    let name = unique(case);
    backend.create_collection(without_vectors(&name)).await.expect("a collection without vectors");
    name
}

#[allow(clippy::expect_used)]
pub(super) async fn index(backend: &Backend, collection: &str, field: &str, kind: FieldType) {
    let request = CreateFieldIndexCollection {
        collection_name: collection.to_owned(),
        wait: Some(true),
        field_name: field.to_owned(),
        field_type: Some(kind as i32),
        ..CreateFieldIndexCollection::default()
    };
    backend.create_field_index(request).await.expect("a payload index");
}

pub(super) fn id(n: u64) -> PointId {
    PointId { point_id_options: Some(PointIdOptions::Num(n)) }
}

pub(super) fn uuid(n: u128) -> PointId {
    PointId { point_id_options: Some(PointIdOptions::Uuid(Uuid::from_u128(n).to_string())) }
}

/// The number of a point made by [`id`].
pub(super) fn number(id: &Option<PointId>) -> u64 {
    match id.as_ref().and_then(|id| id.point_id_options.as_ref()) {
        Some(PointIdOptions::Num(number)) => *number,
        other => panic!("not a numeric id: {other:?}"),
    }
}

pub(super) fn text(value: &str) -> Value {
    Value { kind: Some(Kind::StringValue(value.to_owned())) }
}

pub(super) fn int(value: i64) -> Value {
    Value { kind: Some(Kind::IntegerValue(value)) }
}

pub(super) fn float(value: f64) -> Value {
    Value { kind: Some(Kind::DoubleValue(value)) }
}

pub(super) fn flag(value: bool) -> Value {
    Value { kind: Some(Kind::BoolValue(value)) }
}

pub(super) fn null() -> Value {
    Value { kind: Some(Kind::NullValue(0)) }
}

pub(super) fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value { kind: Some(Kind::ListValue(ListValue { values: values.into_iter().collect() })) }
}

pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value { kind: Some(Kind::StructValue(Struct { fields: payload(fields) })) }
}

pub(super) fn payload<const N: usize>(fields: [(&str, Value); N]) -> HashMap<String, Value> {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

pub(super) fn point<const N: usize>(n: u64, fields: [(&str, Value); N]) -> PointStruct {
    PointStruct { id: Some(id(n)), payload: payload(fields), vectors: Some(named(HashMap::new())) }
}

pub(super) fn dense(values: [f32; 4]) -> (String, Vector) {
    let vector = vector::Vector::Dense(DenseVector { data: values.to_vec() });
    (DENSE.to_owned(), Vector { vector: Some(vector), ..Vector::default() })
}

pub(super) fn sparse(entries: &[(u32, f32)]) -> (String, Vector) {
    let (indices, values) = entries.iter().copied().unzip();
    let vector = vector::Vector::Sparse(SparseVector { values, indices });
    (SPARSE.to_owned(), Vector { vector: Some(vector), ..Vector::default() })
}

pub(super) fn named(vectors: HashMap<String, Vector>) -> Vectors {
    Vectors { vectors_options: Some(vectors::VectorsOptions::Vectors(NamedVectors { vectors })) }
}

pub(super) fn with<const N: usize>(point: PointStruct, vectors: [(String, Vector); N]) -> PointStruct {
    PointStruct { vectors: Some(named(HashMap::from(vectors))), ..point }
}

pub(super) fn upsert(collection: &str, points: Vec<PointStruct>) -> UpsertPoints {
    UpsertPoints {
        collection_name: collection.to_owned(),
        wait: Some(true),
        points,
        ..UpsertPoints::default()
    }
}

#[allow(clippy::expect_used)]
pub(super) async fn write(backend: &Backend, collection: &str, points: Vec<PointStruct>) {
    backend.upsert(upsert(collection, points)).await.expect("writes points");
}

pub(super) fn all_payload() -> Option<WithPayloadSelector> {
    Some(WithPayloadSelector { selector_options: Some(with_payload_selector::SelectorOptions::Enable(true)) })
}

pub(super) fn all_vectors() -> Option<WithVectorsSelector> {
    Some(WithVectorsSelector { selector_options: Some(with_vectors_selector::SelectorOptions::Enable(true)) })
}

#[allow(clippy::expect_used)]
pub(super) async fn read(backend: &Backend, collection: &str, ids: Vec<PointId>) -> Vec<RetrievedPoint> {
    let request = GetPoints {
        collection_name: collection.to_owned(),
        ids,
        with_payload: all_payload(),
        with_vectors: all_vectors(),
        ..GetPoints::default()
    };
    backend.get(request).await.expect("reads points")
}

#[allow(clippy::expect_used)]
pub(super) async fn read_payload(backend: &Backend, collection: &str, n: u64) -> HashMap<String, Value> {
    let mut points = read(backend, collection, vec![id(n)]).await;
    points.pop().expect("the point is there").payload
}

pub(super) fn must(conditions: impl IntoIterator<Item = Condition>) -> Filter {
    Filter { must: conditions.into_iter().collect(), ..Filter::default() }
}

pub(super) fn condition(one_of: ConditionOneOf) -> Condition {
    Condition { condition_one_of: Some(one_of) }
}

pub(super) fn field(condition_on: FieldCondition) -> Condition {
    condition(ConditionOneOf::Field(condition_on))
}

pub(super) fn matches(key: &str, value: MatchValue) -> Condition {
    field(FieldCondition {
        key: key.to_owned(),
        r#match: Some(Match { match_value: Some(value) }),
        ..FieldCondition::default()
    })
}

pub(super) fn keyword(key: &str, value: &str) -> Condition {
    matches(key, MatchValue::Keyword(value.to_owned()))
}

pub(super) fn range(key: &str, range: Range) -> Condition {
    field(FieldCondition { key: key.to_owned(), range: Some(range), ..FieldCondition::default() })
}

pub(super) fn by_ids(ids: impl IntoIterator<Item = u64>) -> Option<PointsSelector> {
    let ids = ids.into_iter().map(id).collect();
    Some(PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Points(PointsIdsList { ids })) })
}

pub(super) fn by_filter(filter: Filter) -> Option<PointsSelector> {
    Some(PointsSelector { points_selector_one_of: Some(PointsSelectorOneOf::Filter(filter)) })
}

/// The numbers of the points that match, by scroll; a count of the same filter must agree.
#[allow(clippy::expect_used)]
pub(super) async fn found(backend: &Backend, collection: &str, filter: Filter) -> BTreeSet<u64> {
    let scroll = ScrollPoints {
        collection_name: collection.to_owned(),
        filter: Some(filter.clone()),
        limit: Some(1_000),
        ..ScrollPoints::default()
    };
    let scrolled = backend.scroll(scroll).await.expect("scrolls");
    let found: BTreeSet<u64> = scrolled.points.iter().map(|point| number(&point.id)).collect();
    let count = CountPoints {
        collection_name: collection.to_owned(),
        filter: Some(filter.clone()),
        exact: Some(true),
        ..CountPoints::default()
    };
    let count = backend.count(count).await.expect("counts");
    assert_eq!(count, found.len() as u64, "count and scroll agree on {filter:?}");
    found
}

pub(super) fn nearest_dense(values: [f32; 4]) -> Option<Query> {
    nearest(vector_input::Variant::Dense(DenseVector { data: values.to_vec() }))
}

pub(super) fn nearest_sparse(entries: &[(u32, f32)]) -> Option<Query> {
    let (indices, values) = entries.iter().copied().unzip();
    nearest(vector_input::Variant::Sparse(SparseVector { values, indices }))
}

pub(super) fn nearest(variant: vector_input::Variant) -> Option<Query> {
    Some(Query { variant: Some(query::Variant::Nearest(VectorInput { variant: Some(variant) })) })
}

#[allow(clippy::expect_used)]
pub(super) async fn search(backend: &Backend, query: QueryPoints) -> Vec<ScoredPoint> {
    backend.query(query).await.expect("searches")
}

pub(super) fn numbers(points: &[ScoredPoint]) -> Vec<u64> {
    points.iter().map(|point| number(&point.id)).collect()
}

pub(super) fn scores(points: &[ScoredPoint]) -> BTreeMap<u64, f32> {
    points.iter().map(|point| (number(&point.id), point.score)).collect()
}

pub(super) fn close(left: f32, right: f32) -> bool {
    (left - right).abs() < 1e-4
}
