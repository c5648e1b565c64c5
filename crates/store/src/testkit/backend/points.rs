use std::collections::{BTreeSet, HashMap};

use qdrant_client::qdrant::{
    DeletePoints, DenseVector, FieldType, Filter, GetPoints, PayloadExcludeSelector, PayloadIncludeSelector,
    PayloadSchemaType, PointStruct, RetrievedPoint, SetPayloadPoints, SparseVector, VectorParams,
    VectorsSelector, WithPayloadSelector, WithVectorsSelector, vector_output, vectors_config,
    with_payload_selector, with_vectors_selector,
};

use super::build::*;

#[allow(clippy::expect_used)]
pub async fn creates_a_collection_once(backend: Backend) {
    let name = unique("once");
    assert!(backend.collection_info(&name).await.expect("asks").is_none(), "it does not exist yet");
    backend.create_collection(without_vectors(&name)).await.expect("creates");
    write(&backend, &name, vec![point(1, [("a", int(1))])]).await;
    backend.create_collection(without_vectors(&name)).await.expect("is there already");
    assert_eq!(read_payload(&backend, &name, 1).await, payload([("a", int(1))]));
}

#[allow(clippy::expect_used)]
pub async fn describes_a_collection(backend: Backend) {
    let name = unique("described");
    let mut request = with_vectors(&name);
    request.metadata = payload([("embedder", text("散列-v1")), ("dimension", int(4))]);
    backend.create_collection(request.clone()).await.expect("creates");
    index(&backend, &name, "tenant", FieldType::Keyword).await;
    index(&backend, &name, "at", FieldType::Datetime).await;

    let info = backend.collection_info(&name).await.expect("asks").expect("exists");
    let config = info.config.expect("a configuration");
    assert_eq!(config.metadata, request.metadata);
    let params = config.params.expect("parameters");
    let Some(vectors_config::Config::ParamsMap(vectors)) = params.vectors_config.and_then(|v| v.config)
    else {
        panic!("named vectors");
    };
    let VectorParams { size, distance, .. } = vectors.map.get(DENSE).expect("the dense vector");
    assert_eq!((*size, *distance), (4, qdrant_client::qdrant::Distance::Cosine as i32));
    assert!(params.sparse_vectors_config.expect("sparse vectors").map.contains_key(SPARSE));
    let kind = |field: &str| info.payload_schema.get(field).map(|schema| schema.data_type);
    assert_eq!(kind("tenant"), Some(PayloadSchemaType::Keyword as i32));
    assert_eq!(kind("at"), Some(PayloadSchemaType::Datetime as i32));
}

pub async fn writes_and_reads_whole_points(backend: Backend) {
    let name = vector_collection(&backend, "whole").await;
    let numbered =
        with(point(7, [("a", int(1))]), [dense([1.0, 0.0, 0.0, 0.0]), sparse(&[(3, 0.5), (900, 1.5)])]);
    let only_dense = PointStruct { id: Some(uuid(42)), ..with(point(0, []), [dense([0.0, 1.0, 0.0, 0.0])]) };
    write(&backend, &name, vec![numbered, only_dense]).await;

    let points = read(&backend, &name, vec![id(7), uuid(42), id(8)]).await;
    assert_eq!(points.len(), 2, "an unknown id is not there, and no error");
    let seven = by_id(&points, &id(7));
    assert_eq!(seven.payload, payload([("a", int(1))]));
    assert_eq!(dense_of(seven), Some(vec![1.0, 0.0, 0.0, 0.0]));
    assert_eq!(sparse_of(seven), Some(vec![(3, 0.5), (900, 1.5)]));
    let other = by_id(&points, &uuid(42));
    assert_eq!(other.payload, HashMap::new());
    assert_eq!((dense_of(other), sparse_of(other)), (Some(vec![0.0, 1.0, 0.0, 0.0]), None));
}

pub async fn overwrites_a_point_as_a_whole(backend: Backend) {
    let name = plain_collection(&backend, "overwrite").await;
    write(&backend, &name, vec![point(1, [("a", int(1)), ("b", int(2))])]).await;
    write(&backend, &name, vec![point(1, [("c", int(3))])]).await;
    assert_eq!(read_payload(&backend, &name, 1).await, payload([("c", int(3))]));
    assert_eq!(found(&backend, &name, Filter::default()).await, BTreeSet::from([1]));
}

#[allow(clippy::expect_used)]
pub async fn returns_the_asked_part_of_a_point(backend: Backend) {
    let name = vector_collection(&backend, "part").await;
    let fields = [("a", int(1)), ("b", object([("x", int(2)), ("y", int(3))]))];
    let vectors = [dense([1.0, 0.0, 0.0, 0.0]), sparse(&[(1, 1.0)])];
    write(&backend, &name, vec![with(point(1, fields), vectors)]).await;
    let get = |payload, vectors| {
        let request = GetPoints {
            collection_name: name.clone(),
            ids: vec![id(1)],
            with_payload: Some(WithPayloadSelector { selector_options: Some(payload) }),
            with_vectors: Some(WithVectorsSelector { selector_options: Some(vectors) }),
            ..GetPoints::default()
        };
        let backend = backend.clone();
        async move { backend.get(request).await.expect("reads").pop().expect("the point") }
    };
    use with_payload_selector::SelectorOptions as Payload;
    use with_vectors_selector::SelectorOptions as Vectors;

    let nothing = get(Payload::Enable(false), Vectors::Enable(false)).await;
    assert_eq!((nothing.payload.len(), dense_of(&nothing), sparse_of(&nothing)), (0, None, None));
    let include = PayloadIncludeSelector { fields: vec!["b.x".to_owned()] };
    let names = VectorsSelector { names: vec![SPARSE.to_owned()] };
    let part = get(Payload::Include(include), Vectors::Include(names)).await;
    assert_eq!(part.payload, payload([("b", object([("x", int(2))]))]));
    assert_eq!((dense_of(&part), sparse_of(&part)), (None, Some(vec![(1, 1.0)])));
    let exclude = PayloadExcludeSelector { fields: vec!["b".to_owned()] };
    let rest = get(Payload::Exclude(exclude), Vectors::Enable(false)).await;
    assert_eq!(rest.payload, payload([("a", int(1))]));
}

#[allow(clippy::expect_used)]
pub async fn merges_payload_by_ids_and_by_filter(backend: Backend) {
    let name = vector_collection(&backend, "merge").await;
    let points = (1..=4).map(|n| {
        let fields = [("n", int(n as i64)), ("keep", text("保留")), ("stage", text("candidate"))];
        with(point(n, fields), [dense([1.0, 0.0, 0.0, 0.0])])
    });
    write(&backend, &name, points.collect()).await;
    let set = |payload, points_selector| SetPayloadPoints {
        collection_name: name.clone(),
        wait: Some(true),
        payload,
        points_selector,
        ..SetPayloadPoints::default()
    };
    let by_id = set(payload([("stage", text("canary"))]), by_ids([1, 2]));
    backend.set_payload(by_id).await.expect("sets by ids");
    let filter = must([keyword("stage", "canary"), range_from("n", 2.0)]);
    let by_filter = set(payload([("stage", text("active")), ("new", flag(true))]), by_filter(filter));
    backend.set_payload(by_filter).await.expect("sets by filter");

    let stages = |n| {
        let (backend, name) = (backend.clone(), name.clone());
        async move { read_payload(&backend, &name, n).await.remove("stage") }
    };
    assert_eq!(stages(1).await, Some(text("canary")));
    assert_eq!(stages(2).await, Some(text("active")));
    assert_eq!(stages(3).await, Some(text("candidate")));
    let second = read(&backend, &name, vec![id(2)]).await.pop().expect("the point");
    let whole = [("n", int(2)), ("keep", text("保留")), ("stage", text("active")), ("new", flag(true))];
    assert_eq!(second.payload, payload(whole));
    assert_eq!(dense_of(&second), Some(vec![1.0, 0.0, 0.0, 0.0]), "vectors stay");
}

#[allow(clippy::expect_used)]
pub async fn deletes_by_ids_and_by_filter(backend: Backend) {
    let name = plain_collection(&backend, "delete").await;
    let points = (1..=6).map(|n| point(n, [("even", flag(n % 2 == 0))]));
    write(&backend, &name, points.collect()).await;
    let delete = |points| DeletePoints {
        collection_name: name.clone(),
        wait: Some(true),
        points,
        ..DeletePoints::default()
    };
    backend.delete(delete(by_ids([1, 99]))).await.expect("deletes by ids, known or not");
    assert_eq!(found(&backend, &name, Filter::default()).await, BTreeSet::from([2, 3, 4, 5, 6]));
    let even = matches("even", qdrant_client::qdrant::r#match::MatchValue::Boolean(true));
    backend.delete(delete(by_filter(must([even])))).await.expect("deletes by filter");
    assert_eq!(found(&backend, &name, Filter::default()).await, BTreeSet::from([3, 5]));
    write(&backend, &name, vec![point(1, [("even", flag(false))])]).await;
    assert_eq!(
        found(&backend, &name, Filter::default()).await,
        BTreeSet::from([1, 3, 5]),
        "it can come back"
    );
}

pub async fn keeps_every_kind_of_payload_value(backend: Backend) {
    let name = plain_collection(&backend, "values").await;
    let hostile = "'; DROP TABLE points; -- \u{0}\u{202e} 你好，世界 🙈 \\\" </script>";
    let fields = [
        ("null", null()),
        ("flag", flag(true)),
        ("least", int(i64::MIN)),
        ("most", int(i64::MAX)),
        ("float", float(-0.125)),
        ("empty text", text("")),
        ("hostile", text(hostile)),
        ("list", list([int(1), text("二"), list([flag(false)])])),
        ("object", object([("键", text("值")), ("inner", object([("deep", float(1e300))]))])),
        ("empty list", list([])),
    ];
    write(&backend, &name, vec![point(1, fields.clone())]).await;
    assert_eq!(read_payload(&backend, &name, 1).await, payload(fields));
}

fn range_from(key: &str, gte: f64) -> qdrant_client::qdrant::Condition {
    range(key, qdrant_client::qdrant::Range { gte: Some(gte), ..Default::default() })
}

#[allow(clippy::expect_used)]
fn by_id<'a>(points: &'a [RetrievedPoint], id: &qdrant_client::qdrant::PointId) -> &'a RetrievedPoint {
    points.iter().find(|point| point.id.as_ref() == Some(id)).expect("the point")
}

fn vector_of(point: &RetrievedPoint, name: &str) -> Option<vector_output::Vector> {
    point.vectors.as_ref()?.get_vector_by_name(name)
}

fn dense_of(point: &RetrievedPoint) -> Option<Vec<f32>> {
    match vector_of(point, DENSE)? {
        vector_output::Vector::Dense(DenseVector { data }) => Some(data),
        other => panic!("not dense: {other:?}"),
    }
}

fn sparse_of(point: &RetrievedPoint) -> Option<Vec<(u32, f32)>> {
    match vector_of(point, SPARSE)? {
        vector_output::Vector::Sparse(SparseVector { values, indices }) => {
            Some(indices.into_iter().zip(values).collect())
        }
        other => panic!("not sparse: {other:?}"),
    }
}
