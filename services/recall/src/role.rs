use std::{any::Any, fmt, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{Bus, Clock, Embedder, MemoryStore, Reembed, Reranker};
use hindsight_proto::{
    memory::v1::memory_service_server::{self, MemoryServiceServer},
    recall::v1::recall_service_server::{self, RecallServiceServer},
};
use hindsight_runtime::{Role, RoleError};
use hindsight_types::{MemoryChange, ReceiptId, TenantId, Viewer, limits};
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

use crate::{
    CacheSettings, Care, NAME, RecallSettings,
    cache::{self, RememberingEmbedder},
    engine::Engine,
    rerank::SecondLook,
    service::{Memories, Recalls},
    watch::Streams,
};

/// The role `recall`: `RecallService` and `MemoryService`.
pub struct Recall {
    engine: Arc<Engine>,
    streams: Arc<Streams>,
    /// Tells of changes, when anything is kept.
    bus: Option<Arc<dyn Bus>>,
    care: Care,
}

impl fmt::Debug for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recall").finish_non_exhaustive()
    }
}

impl Recall {
    /// Keeps nothing: every recall asks the store and the embedder.
    pub fn new(
        settings: RecallSettings,
        store: Arc<dyn MemoryStore>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let memories = cache::Memories::stored(store.clone(), clock.clone(), &settings.watch);
        Self::over(Engine::new(settings, store, memories, embedder, clock), None)
    }

    /// Keeps what is asked for again and again, as true as `bus` tells of changes.
    pub fn remembering(
        settings: RecallSettings,
        caches: &CacheSettings,
        bus: Arc<dyn Bus>,
        store: Arc<dyn MemoryStore>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let memories = cache::Memories::kept(caches, store.clone(), clock.clone(), &settings.watch);
        let embedder = RememberingEmbedder::over(embedder, caches.embeddings_bytes);
        let engine =
            Engine { bus: Some(bus.clone()), ..Engine::new(settings, store, memories, embedder, clock) };
        Self::over(engine, Some(bus))
    }

    fn over(engine: Engine, bus: Option<Arc<dyn Bus>>) -> Self {
        let engine = Arc::new(engine);
        let streams = Arc::new(Streams::new(engine.clone()));
        Self { engine, streams, bus, care: Care::default() }
    }

    /// Has the few memories that are left read once more by a model, as far as there is time. The first one given
    /// stays.
    #[must_use]
    pub fn with_reranker(self, reranker: Arc<dyn Reranker>) -> Self {
        self.engine.reranker.get_or_init(|| SecondLook::new(reranker));
        self
    }

    /// Receipts say what the vectors of the store lack while its embedder changes.
    #[must_use]
    pub fn knowing(self, vectors: Arc<dyn Reembed>) -> Self {
        self.engine.vectors.get_or_init(|| vectors);
        self
    }

    /// Memories can be looked after through these.
    #[must_use]
    pub fn caring(self, care: Care) -> Self {
        Self { care, ..self }
    }

    /// Is to be called with what is about to be written in this process; what it returns is to be dropped when it is.
    /// So a recall sees what the store shows, also right after the write.
    pub fn on_write(&self) -> impl Fn(&[MemoryChange]) -> Box<dyn Any + Send> + Send + Sync + use<> {
        self.engine.memories.on_write()
    }
}

#[async_trait]
impl Role for Recall {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service_names(&self) -> Vec<&'static str> {
        vec![recall_service_server::SERVICE_NAME, memory_service_server::SERVICE_NAME]
    }

    fn register(&self, routes: &mut RoutesBuilder) {
        let recalls = RecallServiceServer::new(Recalls(self.engine.clone(), self.streams.clone()));
        let memories = MemoryServiceServer::new(Memories {
            store: self.engine.store.clone(),
            care: self.care.clone(),
            embedder: self.engine.embedder.clone(),
            clock: self.engine.clock.clone(),
        });
        routes.add_service(recalls.max_encoding_message_size(limits::MESSAGE_BYTES));
        let memories = memories.max_decoding_message_size(limits::MESSAGE_BYTES);
        routes.add_service(memories.max_encoding_message_size(limits::MESSAGE_BYTES));
    }

    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError> {
        // The first recall must not pay for loading the tokenizer. A thread of its own, which a process that
        // ends at once need not wait for.
        std::thread::Builder::new()
            .name("warm-tokenizer".to_owned())
            .spawn(hindsight_rank::warm_tokenizer)
            .map_err(|e| RoleError { role: NAME, reason: format!("no thread for the tokenizer: {e}") })?;
        if let Some(bus) = &self.bus {
            self.engine.memories.listen(&**bus, &stop).await;
        }
        stop.cancelled().await;
        self.streams.close().await;
        self.engine.receipts.close();
        self.engine.receipts.wait().await;
        Ok(())
    }

    /// It answers in any case, with what it has.
    async fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// Asks for a receipt that cannot exist: the cheapest read there is.
    async fn degraded(&self) -> Option<String> {
        let nobody = Viewer::of_tenant(TenantId::new(hindsight_api::DEFAULT_TENANT).ok()?);
        let nothing = ReceiptId(Default::default());
        self.engine.store.receipt(&nobody, nothing).await.err().map(|e| e.to_string())
    }

    fn pending(&self) -> String {
        match (self.streams.len(), self.engine.receipts.len()) {
            (0, 0) => String::new(),
            (0, receipts) => format!("{receipts} receipts"),
            (streams, receipts) => format!("{streams} streams, {receipts} receipts"),
        }
    }
}
