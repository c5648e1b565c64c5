use std::{fmt, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{Bus, Clock, Embedder, MemoryStore, Reembed};
use hindsight_proto::operations::v1::operations_service_server::{OperationsServiceServer, SERVICE_NAME};
use hindsight_runtime::{Role, RoleError, Trouble};
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

use crate::{
    CompactorSettings, NAME, idle::Idle, lead::Leader, letters::Letters, receipts::Receipts,
    reembed::Reembedder, service::Service,
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
}

#[async_trait]
impl Role for Compactor {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service_names(&self) -> Vec<&'static str> {
        vec![SERVICE_NAME]
    }

    fn register(&self, routes: &mut RoutesBuilder) {
        let letters = Letters { bus: self.bus.clone() };
        let service = Service { letters, reembedder: self.leader.reembedder.clone() };
        routes.add_service(OperationsServiceServer::new(service));
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
