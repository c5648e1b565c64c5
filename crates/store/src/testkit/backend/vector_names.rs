use std::collections::{BTreeSet, HashMap};

use qdrant_client::qdrant::{
    CreateVectorNameRequest, DeleteVectorNameRequest, DenseVector, DenseVectorCreationConfig, Distance,
    Filter, HasVectorCondition, PointVectors, QueryPoints, RetrievedPoint, UpdatePointVectors, Vector,
    condition::ConditionOneOf, create_vector_name_request::VectorConfig, vector, vector_input, vector_output,
};

use super::build::*;

const NEW: &str = "dense_2";

fn creation(collection: &str) -> CreateVectorNameRequest {
    let config =
        DenseVectorCreationConfig { size: 2, distance: Distance::Cosine as i32, ..Default::default() };
    CreateVectorNameRequest {
        collection_name: collection.to_owned(),
        vector_name: NEW.to_owned(),
        vector_config: Some(VectorConfig::DenseConfig(config)),
        ..CreateVectorNameRequest::default()
    }
}

fn deletion(collection: &str, name: &str) -> DeleteVectorNameRequest {
    DeleteVectorNameRequest {
        collection_name: collection.to_owned(),
        vector_name: name.to_owned(),
        ..DeleteVectorNameRequest::default()
    }
}

fn new(values: [f32; 2]) -> (String, Vector) {
    let vector = vector::Vector::Dense(DenseVector { data: values.to_vec() });
    (NEW.to_owned(), Vector { vector: Some(vector), ..Vector::default() })
}

fn update<const N: usize>(collection: &str, points: [(u64, (String, Vector)); N]) -> UpdatePointVectors {
    let points = points
        .into_iter()
        .map(|(n, vector)| PointVectors { id: Some(id(n)), vectors: Some(named(HashMap::from([vector]))) });
    UpdatePointVectors {
        collection_name: collection.to_owned(),
        wait: Some(true),
        points: points.collect(),
        ..UpdatePointVectors::default()
    }
}

fn having(name: &str) -> Filter {
    must([condition(ConditionOneOf::HasVector(HasVectorCondition { has_vector: name.to_owned() }))])
}

fn lacking(name: &str) -> Filter {
    Filter { must_not: having(name).must, ..Filter::default() }
}

fn near(collection: &str, values: [f32; 2]) -> QueryPoints {
    let to = vector_input::Variant::Dense(DenseVector { data: values.to_vec() });
    QueryPoints {
        collection_name: collection.to_owned(),
        query: nearest(to),
        using: Some(NEW.to_owned()),
        ..QueryPoints::default()
    }
}

fn data(point: &RetrievedPoint, name: &str) -> Option<Vec<f32>> {
    match point.vectors.as_ref()?.get_vector_by_name(name)? {
        vector_output::Vector::Dense(dense) => Some(dense.data),
        other => panic!("not dense: {other:?}"),
    }
}

#[allow(clippy::expect_used)]
pub async fn gives_a_collection_a_vector_and_takes_one_away(backend: Backend) {
    let name = vector_collection(&backend, "names").await;
    let old = |n: u64| with(point(n, [("n", int(n as i64))]), [dense([1.0, 0.0, 0.0, 0.0])]);
    write(&backend, &name, (1..=4).map(old).collect()).await;
    backend.create_vector_name(creation(&name)).await.expect("a vector more");
    backend.create_vector_name(creation(&name)).await.expect("once more");
    assert_eq!(found(&backend, &name, having(NEW)).await, BTreeSet::new(), "no point has it yet");
    assert_eq!(numbers(&search(&backend, near(&name, [1.0, 0.0])).await), [] as [u64; 0]);

    backend.update_vectors(update(&name, [(1, new([0.0, 1.0])), (2, new([1.0, 0.0]))])).await.expect("set");
    write(&backend, &name, vec![with(point(5, []), [new([0.6, 0.8])])]).await;
    assert_eq!(numbers(&search(&backend, near(&name, [1.0, 0.0])).await), [2, 5, 1]);
    assert_eq!(found(&backend, &name, having(NEW)).await, BTreeSet::from([1, 2, 5]));
    assert_eq!(found(&backend, &name, lacking(NEW)).await, BTreeSet::from([3, 4]));
    assert_eq!(found(&backend, &name, having(DENSE)).await, BTreeSet::from([1, 2, 3, 4]), "beside the old");

    backend.delete_vector_name(deletion(&name, DENSE)).await.expect("the old one goes");
    backend.delete_vector_name(deletion(&name, DENSE)).await.expect("once more");
    let points = read(&backend, &name, vec![id(1), id(3), id(5)]).await;
    assert!(points.iter().all(|point| data(point, DENSE).is_none()), "{points:?}");
    assert_eq!(points.iter().filter(|point| data(point, NEW).is_some()).count(), 2);
    assert_eq!(numbers(&search(&backend, near(&name, [1.0, 0.0])).await), [2, 5, 1]);
    let refused = backend.upsert(upsert(&name, vec![old(6)])).await;
    assert!(refused.is_err(), "it has no such vector any more: {refused:?}");
    assert_eq!(read_payload(&backend, &name, 3).await, payload([("n", int(3))]), "payload is untouched");
}

#[allow(clippy::expect_used)]
pub async fn updates_vectors_and_nothing_else(backend: Backend) {
    let name = vector_collection(&backend, "vectors").await;
    let whole =
        with(point(1, [("名", text("磁盘已满"))]), [dense([1.0, 0.0, 0.0, 0.0]), sparse(&[(7, 2.0)])]);
    write(&backend, &name, vec![whole]).await;
    let request = update(&name, [(1, dense([0.0, 1.0, 0.0, 0.0])), (404, dense([0.0, 1.0, 0.0, 0.0]))]);
    backend.update_vectors(request).await.expect("one that is not there is passed over");
    let points = read(&backend, &name, vec![id(1), id(404)]).await;
    let [one] = &points[..] else { panic!("no point came to be: {points:?}") };
    assert_eq!(one.payload, payload([("名", text("磁盘已满"))]));
    assert_eq!(data(one, DENSE), Some(vec![0.0, 1.0, 0.0, 0.0]));
    let words = one.vectors.as_ref().and_then(|vectors| vectors.get_vector_by_name(SPARSE));
    assert!(words.is_some(), "the other vector stays: {one:?}");
    backend.update_vectors(update(&name, [(404, dense([0.0, 1.0, 0.0, 0.0]))])).await.expect("none is there");
    let misfit = backend.update_vectors(update(&name, [(1, new([1.0, 0.0]))])).await;
    assert!(misfit.is_err(), "there is no vector of this name: {misfit:?}");
}

#[allow(clippy::expect_used)]
pub async fn updates_the_vectors_of_what_the_condition_matches(backend: Backend) {
    let name = vector_collection(&backend, "lacking").await;
    backend.create_vector_name(creation(&name)).await.expect("a vector more");
    write(&backend, &name, vec![point(1, []), with(point(2, []), [new([0.0, 1.0])])]).await;
    let request = UpdatePointVectors {
        update_filter: Some(lacking(NEW)),
        ..update(&name, [(1, new([1.0, 0.0])), (2, new([1.0, 0.0])), (404, new([1.0, 0.0]))])
    };
    backend.update_vectors(request).await.expect("not matching is no error");
    let points = read(&backend, &name, vec![id(1), id(2), id(404)]).await;
    let of = |n: u64| points.iter().find(|p| number(&p.id) == n).and_then(|p| data(p, NEW));
    assert_eq!(of(1), Some(vec![1.0, 0.0]), "lacked it");
    assert_eq!(of(2), Some(vec![0.0, 1.0]), "had it: left");
    assert_eq!(points.len(), 2);
}
