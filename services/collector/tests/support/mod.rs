//! A collector over the embedded bus and store, called as over the wire.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::{future::Future, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use hindsight_api::{Edge, EdgeLayer, Keyring};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_collector::{Collector, CollectorSettings};
use hindsight_forgetting::{Files, Forgetter};
use hindsight_ports::{
    Bus, EmbedError, Embedder, EmbedderId, MemoryStore, Purpose, SystemClock,
    testkit::faulty_store::FaultyStore,
};
use hindsight_proto::collector::v1::collector_service_client::CollectorServiceClient;
use hindsight_runtime::Role as _;
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{TenantId, Viewer};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::service::{Routes, RoutesBuilder};
use tower::Layer as _;

pub(crate) type Client = CollectorServiceClient<Edge<Routes>>;

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
    pub(crate) plain: Arc<Store>,
    pub(crate) collector: Arc<Collector>,
    stop: CancellationToken,
    running: Option<JoinHandle<()>>,
    backend: Arc<EdgeBackend>,
    dir: TempDir,
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with_bus(|bus| bus, LocalBusOptions::default()).await
    }

    pub(crate) async fn with_bus(
        wrap: impl FnOnce(Arc<dyn Bus>) -> Arc<dyn Bus>,
        options: LocalBusOptions,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bus = wrap(open_bus(dir.path(), options));
        let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
        let embedder = Arc::new(Bytes8::new());
        let plain = Arc::new(Store::new(backend.clone(), StoreOptions::default()));
        plain.prepare(embedder.id()).await.unwrap();
        let store = Arc::new(FaultyStore::new(plain.clone(), 7));
        let settings = CollectorSettings { linger_ms: 5, ..CollectorSettings::default() };
        let forgetter = Forgetter {
            forget: plain.clone(),
            bus: bus.clone(),
            clock: Arc::new(SystemClock),
            store_files: Files::OutOfReach("a test"),
            queue_files: Files::OutOfReach("a test"),
        };
        let collector = Collector::new(settings, bus.clone(), store.clone(), embedder, Arc::new(SystemClock));
        let collector = Arc::new(collector.forgetting(forgetter).merging(plain.clone()));
        Self { bus, store, plain, collector, stop: CancellationToken::new(), running: None, backend, dir }
    }

    /// Where bus and store keep their files.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Starts the ingester.
    pub(crate) fn run(mut self) -> Self {
        let (collector, stop) = (self.collector.clone(), self.stop.clone());
        self.running = Some(tokio::spawn(async move { collector.run(stop).await.unwrap() }));
        self
    }

    pub(crate) fn client(&self) -> Client {
        let mut routes = RoutesBuilder::default();
        self.collector.register(&mut routes);
        CollectorServiceClient::new(EdgeLayer::new(Keyring::open(tenant())).layer(routes.routes()))
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if let Some(running) = self.running {
            running.await.unwrap();
        }
        self.backend.close().await;
    }
}

fn open_bus(dir: &Path, options: LocalBusOptions) -> Arc<dyn Bus> {
    Arc::new(LocalBus::open(&dir.join("bus.db"), options).unwrap())
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
