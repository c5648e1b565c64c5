use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hindsight_codec::{Record, RecordBody, record_from_proto};
use hindsight_ports::{
    Arm, EmbedError, Embedder, EmbedderId, Encoded, Encoding, MemoryStore, Purpose, Reembed, Search,
    StoreError, StoredVectors,
    testkit::samples::{
        experience, fact, failure_pattern, lesson, private, sparse, step_memory, tenant, time, trace, user,
    },
};
use hindsight_store::{Store, StoreOptions, VectorBackend};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{Memory, MemoryKind, TenantId, Timestamp, Viewer};
use prost::Message as _;
use qdrant_client::qdrant::{
    RetrievedPoint, ScrollPoints, WithPayloadSelector, WithVectorsSelector, value::Kind, vector_output,
    vectors_config, vectors_output,
};
use uuid::Uuid;

use crate::faulty::{Faulty, Fuse};

pub const COLLECTIONS: [&str; 5] = ["trajectories", "steps", "failure_patterns", "lessons", "facts"];

/// Makes a vector of the text alone, another for each model.
pub struct Fake {
    id: EmbedderId,
    /// What it refuses, and whether it is away.
    pub refuses: Option<&'static str>,
    pub away: bool,
}

pub fn model(name: &str, dimension: usize) -> Fake {
    Fake { id: EmbedderId { model: name.to_owned(), dimension }, refuses: None, away: false }
}

impl Fake {
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let value = |n: usize| {
            let seed = format!("{}\n{n}\n{text}", self.id.model);
            let bits = Uuid::new_v5(&Uuid::NAMESPACE_OID, seed.as_bytes()).as_u128() as u16;
            f32::from(bits) / f32::from(u16::MAX) - 0.5
        };
        let vector: Vec<f32> = (0..self.id.dimension).map(value).collect();
        let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
        vector.into_iter().map(|v| v / length).collect()
    }

    pub fn encoded(&self, memory: &Memory) -> Encoded<Memory> {
        let dense = self.vector(&memory.indexed_text());
        Encoded { value: memory.clone(), encoding: Encoding { dense, sparse: sparse(&[7]) } }
    }
}

#[async_trait]
impl Embedder for Fake {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        assert_eq!(purpose, Purpose::Passage);
        if self.away {
            return Err(EmbedError::Unavailable("away on purpose".to_owned()));
        }
        if texts.iter().any(|text| self.refuses.is_some_and(|refused| text.contains(refused))) {
            return Err(EmbedError::Rejected("refused on purpose".to_owned()));
        }
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

/// Moves with every look.
static NOW: AtomicU64 = AtomicU64::new(0);

pub fn now() -> Timestamp {
    time(i64::try_from(NOW.fetch_add(1, Ordering::Relaxed)).unwrap())
}

/// The data, and the processes that work on it.
pub struct World {
    pub backend: Arc<EdgeBackend>,
    pub fuse: Fuse,
    pub tenant: TenantId,
}

impl World {
    pub fn open(dir: &Path) -> Self {
        let backend = Arc::new(EdgeBackend::open(dir, EdgeOptions::default()).unwrap());
        let fuse = Fuse::default();
        fuse.clear();
        Self { backend, fuse, tenant: tenant("reembed") }
    }

    /// A process that is not prepared yet.
    pub fn process(&self) -> Store {
        let backend =
            Faulty { inner: self.backend.clone(), fuse: self.fuse.clone(), made: Default::default() };
        Store::new(Arc::new(backend), StoreOptions::default())
    }

    pub async fn prepared(&self, embedder: &Fake) -> Store {
        let store = self.process();
        store.prepare(embedder.id()).await.unwrap();
        store
    }

    /// A process that has written the first version of these memories.
    pub async fn holding(&self, embedder: &Fake, numbers: std::ops::Range<u64>) -> Store {
        let store = self.prepared(embedder).await;
        let memories: Vec<_> = self.many(numbers, 1).iter().map(|m| embedder.encoded(m)).collect();
        store.upsert(&memories).await.unwrap();
        store
    }

    pub fn viewer(&self) -> Viewer {
        Viewer::of_tenant(self.tenant.clone()).with_user(Some(user("anna")))
    }

    /// One memory of each kind, saying `version`.
    pub fn memories(&self, n: u64, version: i64) -> Vec<Memory> {
        let scope = private(&self.tenant, "anna");
        let run = trace(&format!("run-{n}"));
        let mut told = fact(&self.tenant, "anna", &format!("key-{n}"), version);
        told.content = format!("tea of kind {n}, said {version} times; 第 {version} 次");
        let mut learned = lesson(&scope, &format!("loop {n}"), &["t"], version);
        learned.advice = format!("look at the log first, {version}");
        let mut pattern = failure_pattern(&scope, &format!("pull-{n}"), &["t"], version);
        pattern.suggestion = format!("mirror {version}");
        vec![
            Memory::Fact(told),
            experience(&scope, &run, version),
            Memory::Lesson(learned),
            Memory::FailurePattern(pattern),
            step_memory(&scope, &run, 0, &format!("ls-{version}")),
        ]
    }

    pub fn many(&self, numbers: std::ops::Range<u64>, version: i64) -> Vec<Memory> {
        numbers.flat_map(|n| self.memories(n, version)).collect()
    }

    pub async fn points(&self, collection: &str) -> Vec<RetrievedPoint> {
        let request = ScrollPoints {
            collection_name: collection.to_owned(),
            limit: Some(100_000),
            with_payload: Some(WithPayloadSelector::from(true)),
            with_vectors: Some(WithVectorsSelector::from(true)),
            ..ScrollPoints::default()
        };
        self.backend.scroll(request).await.unwrap().points
    }

    /// Every memory has the vector of its text by this embedder, and nothing is left of any other.
    pub async fn assert_all_by(&self, embedder: &Fake) -> u64 {
        let mut memories = 0;
        for collection in COLLECTIONS {
            let names = self.dense_names(collection).await;
            assert_eq!(names.len(), 1, "{collection} has the vectors {names:?}");
            for point in self.points(collection).await {
                let text = read(&point).indexed_text();
                let dense = dense_of(&point);
                assert_eq!(dense.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>(), "{text}");
                let (stored, expected) = (dense.values().next().unwrap(), embedder.vector(&text));
                assert_eq!(stored.len(), expected.len(), "{text}");
                let apart = stored.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(apart < 1e-4, "the vector of another text or model: {text}");
                memories += 1;
            }
        }
        memories
    }

    pub async fn dense_names(&self, collection: &str) -> Vec<String> {
        let info = self.backend.collection_info(collection).await.unwrap().unwrap();
        match info.config.unwrap().params.unwrap().vectors_config.unwrap().config {
            Some(vectors_config::Config::ParamsMap(map)) => map.map.into_keys().collect(),
            other => panic!("not named: {other:?}"),
        }
    }
}

pub fn read(point: &RetrievedPoint) -> Memory {
    let Some(Kind::StringValue(text)) = point.payload["record"].kind.clone() else { panic!("no record") };
    let bytes = STANDARD.decode(text).unwrap();
    let message = hindsight_proto::storage::v1::Record::decode(bytes.as_slice()).unwrap();
    match record_from_proto(message).unwrap() {
        Record(RecordBody::Memory(memory)) => memory,
        Record(other) => panic!("not a memory: {other:?}"),
    }
}

pub fn dense_of(point: &RetrievedPoint) -> BTreeMap<String, Vec<f32>> {
    let Some(vectors_output::VectorsOptions::Vectors(named)) =
        point.vectors.clone().and_then(|vectors| vectors.vectors_options)
    else {
        return BTreeMap::new();
    };
    let dense = named.vectors.into_iter().filter_map(|(name, vector)| match vector.vector {
        Some(vector_output::Vector::Dense(dense)) => Some((name, dense.data)),
        _ => None,
    });
    dense.collect()
}

/// Until nothing is left to do; returns the steps it took.
pub async fn run_to_end(store: &Store, embedder: &Fake) -> Result<usize, StoreError> {
    for step in 1..2_000 {
        if !store.reembed(embedder, now()).await?.more {
            return Ok(step);
        }
    }
    panic!("it never ends: {:?}", store.known_vectors());
}

fn search(kind: MemoryKind, arm: Arm) -> Search {
    Search { kind, arm, limit: 1_000, action_name: None, ids: None }
}

/// How many memories of a kind are found by their words, and by their meaning.
pub async fn found(store: &Store, viewer: &Viewer, kind: MemoryKind, embedder: &Fake) -> (usize, usize) {
    let words = store.search(viewer, &search(kind, Arm::Bm25(sparse(&[7])))).await.unwrap();
    let meaning = store.search(viewer, &search(kind, Arm::Dense(embedder.vector("tea")))).await.unwrap();
    assert!(meaning.iter().all(|candidate| candidate.encoding.dense.len() == embedder.id().dimension));
    (words.len(), meaning.len())
}

pub fn state(store: &Store) -> StoredVectors {
    store.known_vectors().unwrap()
}
