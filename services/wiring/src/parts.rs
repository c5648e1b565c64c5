use std::{fmt, path::Path, sync::Arc};

use hindsight_config::{BusKind, Config, Store};
use hindsight_forgetting::Forgetter;
use hindsight_ports::{
    Archive, Browse, Bus, Clock, Compactions, Embedder, Forget, History, Ledger, Llm, MemoryStore, Reembed,
    Subjects, SystemClock, Transfer, Upkeep,
};
use hindsight_store::{Announced, Announcer};
use hindsight_store_edge::EdgeBackend;
use hindsight_telemetry::observe;

use crate::{
    Failure, adapters,
    models::LateReranker,
    prepare::{Preparation, prepare},
    reembed::catch_up,
};

/// What roles are made of.
pub struct Parts {
    pub bus: Arc<dyn Bus>,
    pub store: Arc<dyn MemoryStore>,
    /// What the vectors of the same store are made with.
    pub vectors: Arc<dyn Reembed>,
    /// Changes of the memories of the same store, and how they were before.
    pub history: Arc<dyn History>,
    /// Who turned out to be whom.
    pub subjects: Arc<dyn Subjects>,
    /// Forgets what is in the same store, its queue and their files.
    pub forgetter: Forgetter,
    /// What runs and people say of lessons.
    pub ledger: Arc<dyn Ledger>,
    /// Where memories leave for.
    pub archive: Arc<dyn Archive>,
    /// Lists of the memories of the same store.
    pub browse: Arc<dyn Browse>,
    /// What of the same store was forgotten.
    pub forget: Arc<dyn Forget>,
    /// Everything that the same store keeps, out and in.
    pub transfer: Arc<dyn Transfer>,
    /// What upkeep reads of the same store.
    pub upkeep: Arc<dyn Upkeep>,
    /// What upkeep does and has done.
    pub compactions: Arc<dyn Compactions>,
    pub embedder: Arc<dyn Embedder>,
    /// Judges beside the slice; `None` when no model is configured.
    pub llm: Option<Arc<dyn Llm>>,
    /// Reads the best candidates of a recall once more; `None` when no model is configured.
    pub(crate) reranker: Option<Arc<LateReranker>>,
    pub clock: Arc<dyn Clock>,
    /// Tells every process what is written to `store`.
    pub announcer: Arc<Announcer>,
    pub(crate) preparation: Preparation,
    /// What `store` writes to when it is on this machine.
    pub(crate) engine: Engine,
}

/// The embedded engine, when there is one. Roles may hold the store until the process ends, so it is closed by name:
/// only then is everything on disk and the data directory free.
#[derive(Clone, Default)]
pub(crate) struct Engine(Option<Arc<EdgeBackend>>);

impl Engine {
    pub(crate) async fn close(&self) {
        if let Some(backend) = &self.0 {
            backend.close().await;
        }
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("embedder", self.embedder.id()).finish_non_exhaustive()
    }
}

/// Whether anything is kept in the data directory, so that one process at a time may run on it.
pub(crate) fn is_local(config: &Config) -> bool {
    matches!(config.bus.kind, BusKind::Local) || matches!(config.store, Store::Edge)
}

/// Whether everything is.
pub(crate) fn is_embedded(config: &Config) -> bool {
    matches!(config.bus.kind, BusKind::Local) && matches!(config.store, Store::Edge)
}

/// As traces name it.
fn bus_system(kind: &BusKind) -> &'static str {
    match kind {
        BusKind::Local => "sqlite",
        BusKind::Amqp(_) => "rabbitmq",
    }
}

impl Parts {
    /// Opens what is on this machine; begins to connect to what is not, which may be away. The embedded
    /// store is prepared when this returns, a server's collections are prepared as soon as it answers.
    pub(crate) async fn open(
        config: &Config,
        dir: &Path,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Self, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (bus, queue_files) = adapters::bus(&config.bus, dir.to_owned(), clock.clone()).await?;
        let bus = observe::bus(bus, bus_system(&config.bus.kind));
        let (store, engine) = adapters::store(&config.store, dir.to_owned()).await?;
        let store = Arc::new(store);
        let vectors = observe::reembed(store.clone());
        let announcer = Announcer::start(bus.clone(), clock.clone());
        let forget: Arc<dyn Forget> = store.clone();
        let forgetter = Forgetter {
            forget: Arc::new(Announced::new(forget.clone(), announcer.clone())),
            bus: bus.clone(),
            clock: clock.clone(),
            store_files: adapters::files(&store, &config.store),
            queue_files,
        };
        let history: Arc<dyn History> = store.clone();
        let ledger: Arc<dyn Ledger> = store.clone();
        let history = Arc::new(Announced::new(history, announcer.clone()));
        let subjects: Arc<dyn Subjects> = store.clone();
        let subjects = Arc::new(Announced::new(subjects, announcer.clone()));
        let archive: Arc<dyn Archive> = store.clone();
        let archive = Arc::new(Announced::new(archive, announcer.clone()));
        let browse: Arc<dyn Browse> = store.clone();
        let transfer: Arc<dyn Transfer> = store.clone();
        let transfer = Arc::new(Announced::new(transfer, announcer.clone()));
        let upkeep: Arc<dyn Upkeep> = store.clone();
        let compactions: Arc<dyn Compactions> = store.clone();
        let store: Arc<dyn MemoryStore> =
            Arc::new(Announced::new(observe::store(store, "qdrant"), announcer.clone()));
        let embedder = observe::embedder(embedder);
        let llm = adapters::llm(&config.llm, clock.clone())?;
        let reranker = config.recall.reranker.as_ref().map(LateReranker::new).map(Arc::new);
        let preparation = match config.store {
            Store::Edge => {
                store.prepare(embedder.id()).await?;
                catch_up(&*vectors, &*embedder, &*clock).await;
                Preparation::done()
            }
            Store::Qdrant(_) => prepare(store.clone(), embedder.id().clone()),
        };
        Ok(Self {
            bus,
            store,
            vectors,
            history,
            subjects,
            ledger,
            archive,
            browse,
            forget,
            forgetter,
            transfer,
            upkeep,
            compactions,
            embedder,
            llm,
            reranker,
            clock,
            announcer,
            preparation,
            engine: Engine(engine),
        })
    }
}
