use qdrant_client::qdrant::{Fusion, PrefetchQuery, Query, QueryPoints, Rrf, query};

use super::build::*;

/// Four points around a circle in the plane of the first two axes, with words.
async fn compass(backend: &Backend, case: &str) -> String {
    let name = vector_collection(backend, case).await;
    let half = 0.5_f32.sqrt();
    let points = vec![
        with(
            point(1, [("side", text("east"))]),
            [dense([1.0, 0.0, 0.0, 0.0]), sparse(&[(1, 1.0), (10, 1.0)])],
        ),
        with(point(2, [("side", text("北"))]), [dense([half, half, 0.0, 0.0]), sparse(&[(1, 1.0)])]),
        with(point(3, [("side", text("北"))]), [dense([0.0, 1.0, 0.0, 0.0]), sparse(&[(1, 1.0), (20, 1.0)])]),
        with(point(4, [("side", text("west"))]), [dense([-1.0, 0.0, 0.0, 0.0])]),
    ];
    write(backend, &name, points).await;
    name
}

fn dense_query(name: &str, toward: [f32; 4]) -> QueryPoints {
    QueryPoints {
        collection_name: name.to_owned(),
        query: nearest_dense(toward),
        using: Some(DENSE.to_owned()),
        limit: Some(10),
        ..QueryPoints::default()
    }
}

fn sparse_query(name: &str, words: &[(u32, f32)]) -> QueryPoints {
    QueryPoints {
        query: nearest_sparse(words),
        using: Some(SPARSE.to_owned()),
        ..dense_query(name, [0.0; 4])
    }
}

pub async fn finds_the_nearest_dense_vectors(backend: Backend) {
    let name = compass(&backend, "dense").await;
    // The length of a vector does not matter to its cosine.
    let mut query = dense_query(&name, [3.0, 0.0, 0.0, 0.0]);
    query.with_payload = all_payload();
    let points = search(&backend, query).await;
    assert_eq!(numbers(&points), [1, 2, 3, 4]);
    let expected = [1.0, 0.5_f32.sqrt(), 0.0, -1.0];
    assert!(points.iter().zip(expected).all(|(point, score)| close(point.score, score)), "{points:?}");
    assert_eq!(points[1].payload, payload([("side", text("北"))]));
}

pub async fn finds_the_nearest_sparse_vectors(backend: Backend) {
    let name = compass(&backend, "sparse").await;
    assert_eq!(numbers(&search(&backend, sparse_query(&name, &[(10, 1.0)])).await), [1]);
    assert_eq!(search(&backend, sparse_query(&name, &[(77, 1.0)])).await, [], "no word in common, no hit");
    let some = search(&backend, sparse_query(&name, &[(20, 1.0), (1, 1.0)])).await;
    assert_eq!(some.first().map(|point| number(&point.id)), Some(3));
    assert_eq!(some.len(), 3);
}

pub async fn weighs_rare_words_more(backend: Backend) {
    let name = compass(&backend, "idf").await;
    let scores = scores(&search(&backend, sparse_query(&name, &[(1, 1.0), (10, 1.0)])).await);
    let common = scores[&2];
    assert!(scores[&1] - common > common, "10 is in one point, 1 in three: {scores:?}");
}

pub async fn cuts_a_search_by_filter_threshold_limit_and_offset(backend: Backend) {
    let name = compass(&backend, "cut").await;
    let query = || dense_query(&name, [1.0, 0.0, 0.0, 0.0]);
    let north = QueryPoints { filter: Some(must([keyword("side", "北")])), ..query() };
    assert_eq!(numbers(&search(&backend, north).await), [2, 3]);
    let near = QueryPoints { score_threshold: Some(0.5), ..query() };
    assert_eq!(numbers(&search(&backend, near).await), [1, 2]);
    let page = QueryPoints { limit: Some(2), offset: Some(1), ..query() };
    assert_eq!(numbers(&search(&backend, page).await), [2, 3]);
    let nobody = QueryPoints { filter: Some(must([keyword("side", "up")])), ..query() };
    assert_eq!(search(&backend, nobody).await, []);
}

fn arms() -> Vec<PrefetchQuery> {
    vec![
        PrefetchQuery {
            query: nearest_dense([0.0, 1.0, 0.0, 0.0]),
            using: Some(DENSE.to_owned()),
            limit: Some(3),
            ..PrefetchQuery::default()
        },
        PrefetchQuery {
            query: nearest_sparse(&[(20, 1.0), (1, 0.1)]),
            using: Some(SPARSE.to_owned()),
            limit: Some(3),
            ..PrefetchQuery::default()
        },
    ]
}

fn fused(name: &str, variant: query::Variant) -> QueryPoints {
    QueryPoints {
        collection_name: name.to_owned(),
        prefetch: arms(),
        query: Some(Query { variant: Some(variant) }),
        limit: Some(10),
        ..QueryPoints::default()
    }
}

pub async fn fuses_by_reciprocal_rank(backend: Backend) {
    let name = compass(&backend, "rrf").await;
    let plain = search(&backend, fused(&name, query::Variant::Fusion(Fusion::Rrf as i32))).await;
    assert_eq!(plain.first().map(|point| number(&point.id)), Some(3), "first in both arms");
    assert!(plain.is_sorted_by(|a, b| a.score >= b.score), "{plain:?}");
    let k = search(&backend, fused(&name, query::Variant::Rrf(Rrf { k: Some(60), weights: vec![] }))).await;
    assert_eq!(k.first().map(|point| number(&point.id)), Some(3));
    assert!(k[0].score < plain[0].score, "a larger k flattens the ranks");
    let only = QueryPoints {
        filter: Some(must([keyword("side", "east")])),
        ..fused(&name, query::Variant::Fusion(Fusion::Rrf as i32))
    };
    assert_eq!(numbers(&search(&backend, only).await), [1], "the filter holds for every arm");
}

pub async fn fuses_by_score_distribution(backend: Backend) {
    let name = compass(&backend, "dbsf").await;
    let points = search(&backend, fused(&name, query::Variant::Fusion(Fusion::Dbsf as i32))).await;
    assert_eq!(points.first().map(|point| number(&point.id)), Some(3), "best in both arms");
}
