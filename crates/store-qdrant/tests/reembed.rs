//! A store on a server changes its embedder.
#![allow(clippy::unwrap_used)]

mod common;

use async_trait::async_trait;
use common::{patient, scratch, target};
use hindsight_ports::{
    EmbedError, Embedder, EmbedderId, Encoded, Encoding, MemoryStore, Purpose, Reembed, StoreError,
    testkit::samples::{experience, shared, sparse, tenant, time, trace},
};
use hindsight_qdrant_socket::{SocketOptions, SocketServer};
use hindsight_store::{Store, StoreOptions, VectorBackend};
use hindsight_store_qdrant::{CollectionLayout, QdrantBackend};
use qdrant_client::qdrant::{Condition, CountPoints, Filter, VectorParams, vectors_config};

const RUNS: u64 = 300;

/// Makes a vector of the length of the text.
struct Lengths(EmbedderId);

fn lengths(model: &str, dimension: usize) -> Lengths {
    Lengths(EmbedderId { model: model.to_owned(), dimension })
}

#[async_trait]
impl Embedder for Lengths {
    fn id(&self) -> &EmbedderId {
        &self.0
    }

    async fn embed(&self, texts: &[String], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| vec![text.len() as f32; self.0.dimension]).collect())
    }
}

async fn fill(store: &Store, embedder: &Lengths) {
    let scope = shared(&tenant("acme"));
    let encoded = (0..RUNS).map(|n| Encoded {
        value: experience(&scope, &trace(&format!("run-{n}")), n as i64),
        encoding: Encoding { dense: vec![1.0; embedder.0.dimension], sparse: sparse(&[7]) },
    });
    store.upsert(&encoded.collect::<Vec<_>>()).await.unwrap();
}

async fn having(backend: &dyn VectorBackend, collection: &str, name: &str) -> u64 {
    let request = CountPoints {
        collection_name: collection.to_owned(),
        filter: Some(Filter::must([Condition::has_vector(name)])),
        exact: Some(true),
        ..CountPoints::default()
    };
    backend.count(request).await.unwrap()
}

async fn dense(backend: &dyn VectorBackend, collection: &str) -> Vec<(String, VectorParams)> {
    let info = backend.collection_info(collection).await.unwrap().unwrap();
    match info.config.unwrap().params.unwrap().vectors_config.unwrap().config {
        Some(vectors_config::Config::ParamsMap(map)) => map.map.into_iter().collect(),
        other => panic!("not named: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn new_vectors_take_the_place_of_the_old_and_lie_where_they_lay() {
    let target = target(CollectionLayout::default()).await;
    let prefix = format!("test-{}-", uuid::Uuid::new_v4().simple());
    let open = || Store::new(target.backend.clone(), StoreOptions { prefix: prefix.clone() });
    let (old, new) = (lengths("old", 8), lengths("new", 12));
    let store = open();
    store.prepare(old.id()).await.unwrap();
    fill(&store, &old).await;
    let store = open();
    store.prepare(new.id()).await.unwrap();
    let mut second = 0;
    while store.reembed(&new, time(second)).await.unwrap().more {
        second += 1;
    }
    assert_eq!(store.vectors().await.unwrap().serving, *new.id());
    let collection = format!("{prefix}trajectories");
    assert_eq!(having(&*target.backend, &collection, "dense_2").await, RUNS);
    let [(name, params)] = &dense(&*target.backend, &collection).await[..] else {
        panic!("one name is left")
    };
    assert_eq!((name.as_str(), params.size), ("dense_2", 12));
    #[allow(deprecated, reason = "what servers before 1.18 report")]
    let on_disk = params.on_disk;
    assert_eq!(on_disk, Some(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_add_vectors_is_named_and_serves_on() {
    let data = scratch();
    let options = SocketOptions { version: "1.17.1".to_owned(), ..SocketOptions::new(data.path()) };
    let server = SocketServer::start(options).await.unwrap();
    let backend = std::sync::Arc::new(QdrantBackend::new(patient(server.url())).unwrap());
    let (old, new) = (lengths("old", 8), lengths("new", 12));
    let store = Store::new(backend.clone(), StoreOptions::default());
    store.prepare(old.id()).await.unwrap();
    fill(&store, &old).await;
    let store = Store::new(backend.clone(), StoreOptions::default());
    store.prepare(new.id()).await.unwrap();
    assert!(store.reembed(&new, time(0)).await.unwrap().more, "it begins");
    let refused = store.reembed(&new, time(1)).await;
    assert!(
        matches!(&refused, Err(StoreError::Rejected(why)) if why.contains("needs Qdrant 1.18")),
        "{refused:?}"
    );
    assert_eq!(having(&*backend, "trajectories", "dense").await, RUNS);
    // Back with the former embedder all is as it was.
    let store = Store::new(backend.clone(), StoreOptions::default());
    store.prepare(old.id()).await.unwrap();
    while store.reembed(&old, time(2)).await.unwrap().more {}
    let vectors = store.vectors().await.unwrap();
    assert_eq!((vectors.building, vectors.serving), (None, old.id().clone()));
}
