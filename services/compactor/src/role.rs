use std::{fmt, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{Bus, Clock, MemoryStore};
use hindsight_proto::operations::v1::operations_service_server::{OperationsServiceServer, SERVICE_NAME};
use hindsight_runtime::{Role, RoleError};
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

use crate::{CompactorSettings, NAME, idle::Idle, lead::Leader, letters::Letters, service::Service};

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
        clock: Arc<dyn Clock>,
    ) -> Self {
        let leader = Leader::new(Idle { settings, bus: bus.clone(), store, clock });
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
        routes.add_service(OperationsServiceServer::new(Service(Letters { bus: self.bus.clone() })));
    }

    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError> {
        self.leader.run(stop).await;
        Ok(())
    }

    async fn ready(&self) -> Result<(), String> {
        self.bus.ready().map_err(|e| e.to_string())
    }

    async fn degraded(&self) -> Option<String> {
        self.leader.trouble.reason()
    }
}
