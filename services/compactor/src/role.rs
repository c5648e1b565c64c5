use std::{fmt, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{Bus, Clock, Embedder, MemoryStore, Reembed, Subjects};
use hindsight_proto::{
    compactor::v1::compactor_service_server::{self, CompactorServiceServer},
    operations::v1::operations_service_server::{self, OperationsServiceServer},
};
use hindsight_runtime::{Role, RoleError, Trouble};
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

use crate::{
    CompactionParts, CompactorSettings, NAME,
    compaction::Compaction,
    idle::Idle,
    lead::Leader,
    letters::Letters,
    receipts::Receipts,
    reembed::Reembedder,
    service::{Runs, Service},
};

/// Looks at idle tasks for each look at vectors.
const LOOKS: u32 = 10;

/// The role `compactor`: upkeep by the one that leads, and the gRPC service for operators.
pub struct Compactor {
    bus: Arc<dyn Bus>,
    leader: Leader,
}

impl fmt::Debug for Compactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compactor").finish_non_exhaustive()
    }
}

impl Compactor {
    pub fn new(
        settings: CompactorSettings,
        bus: Arc<dyn Bus>,
        store: Arc<dyn MemoryStore>,
        vectors: Arc<dyn Reembed>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let trouble = Trouble::default();
        let every = settings.every * LOOKS;
        let reembedder = Reembedder { vectors, embedder, clock: clock.clone(), every, trouble };
        let receipts = Receipts { settings: settings.clone(), store: store.clone(), clock: clock.clone() };
        let idle = Idle { settings, bus: bus.clone(), store, clock };
        let leader = Leader::new(idle, receipts, Arc::new(reembedder));
        Self { bus, leader }
    }

    /// Goes on with merges of users that broke off, and closes those that are over.
    #[must_use]
    pub fn merging(mut self, subjects: Arc<dyn Subjects>) -> Self {
        self.leader.subjects = Some(subjects);
        self
    }

    /// Applies the policies by which memories age, too, and answers for them.
    #[must_use]
    pub fn compacting(mut self, parts: CompactionParts) -> Self {
        let compaction = Compaction::new(parts, self.bus.clone(), self.leader.idle.clock.clone());
        self.leader.compaction = Some(Arc::new(compaction));
        self
    }
}

#[async_trait]
impl Role for Compactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service_names(&self) -> Vec<&'static str> {
        let mut names = vec![operations_service_server::SERVICE_NAME];
        names.extend(self.leader.compaction.as_ref().map(|_| compactor_service_server::SERVICE_NAME));
        names
    }

    fn register(&self, routes: &mut RoutesBuilder) {
        let letters = Letters { bus: self.bus.clone() };
        let service = Service { letters, reembedder: self.leader.reembedder.clone() };
        routes.add_service(OperationsServiceServer::new(service));
        if let Some(compaction) = &self.leader.compaction {
            routes.add_service(CompactorServiceServer::new(Runs { compaction: compaction.clone() }));
        }
    }

    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError> {
        self.leader.run(stop).await;
        Ok(())
    }

    async fn ready(&self) -> Result<(), String> {
        self.bus.ready().map_err(|e| e.to_string())
    }

    async fn degraded(&self) -> Option<String> {
        self.leader.degraded()
    }
}
