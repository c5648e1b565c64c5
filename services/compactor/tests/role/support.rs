//! A compactor over the embedded bus and store, called as over the wire.

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use hindsight_api::{Edge, EdgeLayer, Key, KeyHash, Keyring, Permission};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_compactor::{Compactor, CompactorSettings};
use hindsight_ports::{
    Bus, Clock, EmbedError, Embedder, EmbedderId, MemoryStore, Purpose, testkit::faulty_store::FaultyStore,
};
use hindsight_proto::operations::v1::operations_service_client::OperationsServiceClient;
use hindsight_runtime::Role as _;
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{TenantId, Timestamp};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tonic::service::{Routes, RoutesBuilder};
use tower::Layer as _;

pub(crate) type Client = OperationsServiceClient<Edge<Routes>>;

/// Longest wait for a condition.
const PATIENCE: Duration = Duration::from_secs(60);

/// A clock that stands still until it is set.
pub(crate) struct Hands(Mutex<Timestamp>);

impl Hands {
    pub(crate) fn set(&self, second: i64) {
        *self.0.lock().unwrap() = Timestamp::from_second(second).unwrap();
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// Makes a vector of the length of the text.
pub(crate) struct Lengths {
    pub(crate) id: EmbedderId,
    pub(crate) away: AtomicBool,
}

impl Lengths {
    pub(crate) fn new(model: &str, dimension: usize) -> Arc<Self> {
        Arc::new(Self { id: EmbedderId { model: model.into(), dimension }, away: AtomicBool::new(false) })
    }
}

#[async_trait]
impl Embedder for Lengths {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    async fn embed(&self, texts: &[String], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.away.load(Ordering::SeqCst) {
            return Err(EmbedError::Unavailable("away on purpose".to_owned()));
        }
        Ok(texts.iter().map(|text| vec![text.len() as f32; self.id.dimension]).collect())
    }
}

pub(crate) struct House {
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) store: Arc<FaultyStore>,
    /// The same store.
    pub(crate) vectors: Arc<Store>,
    pub(crate) embedder: Arc<Lengths>,
    pub(crate) clock: Arc<Hands>,
    backend: Arc<EdgeBackend>,
    _dir: TempDir,
}

impl House {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bus: Arc<dyn Bus> =
            Arc::new(LocalBus::open(&dir.path().join("bus.db"), LocalBusOptions::default()).unwrap());
        let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
        let vectors = Arc::new(Store::new(backend.clone(), StoreOptions::default()));
        let embedder = Lengths::new("lengths", 4);
        vectors.prepare(&embedder.id).await.unwrap();
        let store = Arc::new(FaultyStore::new(vectors.clone(), 7));
        let clock = Arc::new(Hands(Mutex::new(Timestamp::UNIX_EPOCH)));
        Self { bus, store, vectors, embedder, clock, backend, _dir: dir }
    }

    pub(crate) fn compactor(&self) -> Arc<Compactor> {
        Arc::new(self.bare())
    }

    /// Before anything is added to it.
    pub(crate) fn bare(&self) -> Compactor {
        let (soon, kept) = (Duration::from_millis(20), Duration::from_secs(1_000));
        let settings = CompactorSettings {
            idle_after: Duration::from_secs(100),
            every: soon,
            receipts_kept: kept,
            expire_every: soon,
        };
        Compactor::new(
            settings,
            self.bus.clone(),
            self.store.clone(),
            self.vectors.clone(),
            self.embedder.clone(),
            self.clock.clone(),
        )
    }

    /// As after a restart with another embedder.
    pub(crate) async fn restart(&mut self, embedder: Arc<Lengths>) {
        self.vectors = Arc::new(Store::new(self.backend.clone(), StoreOptions::default()));
        self.vectors.prepare(&embedder.id).await.unwrap();
        self.store = Arc::new(FaultyStore::new(self.vectors.clone(), 7));
        self.embedder = embedder;
    }

    pub(crate) fn client(&self) -> Client {
        let mut routes = RoutesBuilder::default();
        self.compactor().register(&mut routes);
        let edge = EdgeLayer::new(Keyring::new(keys())).layer(routes.routes());
        OperationsServiceClient::new(edge)
    }

    pub(crate) async fn close(self) {
        self.backend.close().await;
    }
}

/// Each key is of one tenant and has one permission.
const KEYS: [(&str, &str, Permission); 3] = [
    ("acme-admin", "acme", Permission::Admin),
    ("acme-reader", "acme", Permission::Read),
    ("rival-admin", "rival", Permission::Admin),
];

pub(crate) fn keys() -> Vec<Key> {
    let key = |(key, tenant, permission): &(&str, &str, Permission)| Key {
        name: (*key).to_owned(),
        hash: KeyHash::of(key),
        tenant: TenantId::new(*tenant).unwrap(),
        permissions: [*permission].into_iter().collect(),
    };
    KEYS.iter().map(key).collect()
}

/// A request under a key.
pub(crate) fn with_key<T>(key: &str, message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {key}").parse().unwrap());
    request
}

/// A compactor at work.
pub(crate) struct Running {
    stop: CancellationToken,
    work: JoinHandle<()>,
}

pub(crate) fn run(compactor: Arc<Compactor>) -> Running {
    let stop = CancellationToken::new();
    let token = stop.clone();
    Running { stop, work: tokio::spawn(async move { compactor.run(token).await.unwrap() }) }
}

impl Running {
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.work.await.unwrap();
    }

    /// As when its process is killed.
    pub(crate) async fn kill(self) {
        self.work.abort();
        let _ = self.work.await;
    }
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
