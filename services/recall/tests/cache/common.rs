use std::{sync::Arc, time::Duration};

use hindsight_api::{Caller, Permissions};
use hindsight_embed::HashingEmbedder;
use hindsight_ports::{
    Bus, Embedder as _, MemoryStore, PageRequest, SystemClock,
    testkit::faulty_store::{FaultyStore, StoreCall},
};
use hindsight_proto::{
    common::v1::MemoryKind,
    recall::v1::{RecallRequest, recall_service_client::RecallServiceClient},
};
use hindsight_recall::{CacheSettings, Recall, RecallSettings};
use hindsight_runtime::Role as _;
use hindsight_store::{Announced, Announcer, Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{Fact, Memory, TenantId, Timestamp, UserId, Viewer};
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, service::RoutesBuilder};

pub(crate) const USER: &str = "安";
/// Nothing here takes this long; it only bounds a failing test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until it holds, and says what it waited for when it does not.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

pub(crate) struct World {
    store: Arc<Store>,
    _dir: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let backend = EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap();
        let store = Store::new(Arc::new(backend), StoreOptions::default());
        store.prepare(HashingEmbedder::default().id()).await.unwrap();
        Self { store: Arc::new(store), _dir: dir }
    }

    pub(crate) fn writer(&self, bus: Arc<dyn Bus>) -> Writer {
        let announcer = Announcer::start(bus, Arc::new(SystemClock));
        Writer { store: Announced::new(self.store.clone(), announcer.clone()), announcer }
    }

    /// Whether the store itself shows it.
    pub(crate) async fn stores(&self, drink: &str) -> bool {
        let user = UserId::new(USER).unwrap();
        let viewer = Viewer::of_tenant(TenantId::new("acme").unwrap()).with_user(Some(user));
        let found =
            self.store.list(&viewer, hindsight_types::MemoryKind::Fact, &PageRequest::default()).await;
        found.unwrap().items.iter().any(|fact| fact.text().contains(drink))
    }

    pub(crate) fn replica(&self, bus: Arc<dyn Bus>) -> Replica {
        let store = Arc::new(FaultyStore::new(self.store.clone(), 1));
        // Only what is heard of changes makes anything out of date.
        let caches = CacheSettings { facts_ttl: Duration::from_secs(86_400), ..CacheSettings::default() };
        let embedder = Arc::new(HashingEmbedder::default());
        let settings = RecallSettings::default();
        let role =
            Recall::remembering(settings, &caches, bus, store.clone(), embedder, Arc::new(SystemClock));
        let role = Arc::new(role);
        let stop = CancellationToken::new();
        let (running, stopped) = (role.clone(), stop.clone());
        tokio::spawn(async move { running.run(stopped).await });
        Replica { role, store, _stop: stop.drop_guard() }
    }
}

/// What writes facts in a process.
pub(crate) struct Writer {
    store: Announced,
    pub(crate) announcer: Arc<Announcer>,
}

impl Writer {
    /// The drink of the user is now this one.
    pub(crate) async fn write(&self, drink: &str) {
        let (tenant, user) = (TenantId::new("acme").unwrap(), UserId::new(USER).unwrap());
        let content = format!("最喜欢的饮料 favourite drink: {drink}");
        let fact = Fact::new(&tenant, user, "drink", &content, Timestamp::now());
        let embedder = HashingEmbedder::default();
        let encoded = hindsight_ingest::encode::memories(&embedder, vec![Memory::Fact(fact)]).await.unwrap();
        self.store.upsert(&encoded).await.unwrap();
    }
}

pub(crate) struct Replica {
    pub(crate) role: Arc<Recall>,
    store: Arc<FaultyStore>,
    _stop: DropGuard,
}

impl Replica {
    /// What a user's recall brings.
    pub(crate) async fn recall(&self, user: &str) -> String {
        let mut routes = RoutesBuilder::default();
        self.role.register(&mut routes);
        let tenant = TenantId::new("acme").unwrap();
        let caller = Caller { tenant, permissions: Permissions::all(), key: "test".into() };
        let mut request = Request::new(RecallRequest {
            query: "最喜欢的饮料 favourite drink".to_owned(),
            user: user.to_owned(),
            kinds: vec![MemoryKind::Fact as i32],
            ..RecallRequest::default()
        });
        request.set_timeout(PATIENCE);
        request.extensions_mut().insert(caller);
        let answer = RecallServiceClient::new(routes.routes()).recall(request).await.unwrap();
        answer.into_inner().block
    }

    pub(crate) async fn knows(&self, drink: &str) -> bool {
        self.recall(USER).await.contains(drink)
    }

    fn reads(&self) -> u64 {
        self.store.made(StoreCall::Search) + self.store.made(StoreCall::Fetch)
    }

    /// Whether a recall needs nothing of the store.
    pub(crate) async fn is_warm(&self) -> bool {
        let before = self.reads();
        self.recall(USER).await;
        self.reads() == before
    }

    pub(crate) async fn warm(&self) {
        until("the facts are in memory", async || self.is_warm().await).await;
    }
}
