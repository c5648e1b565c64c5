//! An evaluator over the embedded bus and store, called as over the wire.
#![allow(dead_code, reason = "each test binary uses a part")]

pub(crate) mod incidents;
pub(crate) mod runs;

use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use hindsight_api::{Edge, EdgeLayer, Keyring};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_evaluator::{Compaction, Evaluator, EvaluatorSettings};
use hindsight_forgetting::{Files, Forgetter};
use hindsight_ports::{
    Bus, EmbedError, Embedder, EmbedderId, Llm, MemoryStore, Purpose, SystemClock,
    testkit::faulty_store::FaultyStore,
};
use hindsight_proto::evaluator::v1::evaluator_service_client::EvaluatorServiceClient;
use hindsight_runtime::Role as _;
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{TenantId, Viewer};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::service::{Routes, RoutesBuilder};
use tower::Layer as _;

pub(crate) type Client = EvaluatorServiceClient<Edge<Routes>>;

/// Longest wait for a condition.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Bytes8(EmbedderId);

impl Bytes8 {
    pub(crate) fn new() -> Self {
        Self(EmbedderId { model: "bytes".into(), dimension: 8 })
    }
}

#[async_trait]
impl Embedder for Bytes8 {
    fn id(&self) -> &EmbedderId {
        &self.0
    }

    async fn embed(&self, texts: &[String], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let one = |text: &String| {
            let mut v = vec![0.01_f32; self.0.dimension];
            text.bytes().for_each(|b| v[usize::from(b) % self.0.dimension] += 1.0);
            let norm = v.iter().map(|x| x * x).sum::<f32>().sqrt();
            v.into_iter().map(|x| x / norm).collect()
        };
        Ok(texts.iter().map(one).collect())
    }
}

pub(crate) struct House {
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) store: Arc<FaultyStore>,
    /// The same, where it never fails.
    pub(crate) ledger: Arc<Store>,
    pub(crate) evaluator: Arc<Evaluator>,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
    backend: Arc<EdgeBackend>,
    _dir: TempDir,
}

impl House {
    pub(crate) async fn new(settings: EvaluatorSettings) -> Self {
        Self::with_model(settings, None).await
    }

    pub(crate) async fn with_model(settings: EvaluatorSettings, llm: Option<Arc<dyn Llm>>) -> Self {
        Self::built(settings, llm, false).await
    }

    /// One that does upkeep and forgets, too.
    pub(crate) async fn caring() -> Self {
        Self::built(EvaluatorSettings::default(), None, true).await
    }

    async fn built(settings: EvaluatorSettings, llm: Option<Arc<dyn Llm>>, cares: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bus: Arc<dyn Bus> =
            Arc::new(LocalBus::open(&dir.path().join("bus.db"), LocalBusOptions::default()).unwrap());
        let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
        let embedder = Arc::new(Bytes8::new());
        let ledger = Arc::new(Store::new(backend.clone(), StoreOptions::default()));
        ledger.prepare(embedder.id()).await.unwrap();
        let store = Arc::new(FaultyStore::new(ledger.clone(), 7));
        let clock = Arc::new(SystemClock);
        let mut evaluator =
            Evaluator::new(settings, bus.clone(), store.clone(), embedder, llm, clock.clone());
        if cares {
            evaluator = evaluator.forgetting(forgetter(&ledger, &bus)).compacting(compaction(&ledger));
        }
        let evaluator = Arc::new(evaluator);
        Self {
            bus,
            store,
            ledger,
            evaluator,
            stop: CancellationToken::new(),
            running: None,
            backend,
            _dir: dir,
        }
    }

    /// Starts the workers.
    pub(crate) fn run(mut self) -> Self {
        let (evaluator, stop) = (self.evaluator.clone(), self.stop.clone());
        self.running = Some(tokio::spawn(async move { evaluator.run(stop).await.unwrap() }));
        self
    }

    pub(crate) fn client(&self) -> Client {
        let mut routes = RoutesBuilder::default();
        self.evaluator.register(&mut routes);
        EvaluatorServiceClient::new(EdgeLayer::new(Keyring::open(tenant())).layer(routes.routes()))
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Some(running) = self.running {
            running.await.unwrap();
        }
        self.backend.close().await;
    }
}

/// No files are in reach.
fn forgetter(store: &Arc<Store>, bus: &Arc<dyn Bus>) -> Forgetter {
    Forgetter {
        forget: store.clone(),
        bus: bus.clone(),
        clock: Arc::new(SystemClock),
        store_files: Files::OutOfReach("those of the store"),
        queue_files: Files::OutOfReach("those of the queues"),
    }
}

fn compaction(store: &Arc<Store>) -> Compaction {
    Compaction {
        upkeep: store.clone(),
        compactions: store.clone(),
        ledger: store.clone(),
        history: store.clone(),
        archive: store.clone(),
        evidence: Arc::default(),
        settings: Arc::default(),
    }
}

pub(crate) fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

pub(crate) fn viewer() -> Viewer {
    Viewer::of_tenant(tenant())
}

/// Waits until `look` gives something.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let waiting = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited in vain: {what}"))
}
