use std::{fmt, sync::Arc};

use async_trait::async_trait;
use hindsight_ports::{Bus, Clock, Embedder, Llm, MemoryStore};
use hindsight_proto::evaluator::v1::evaluator_service_server::{EvaluatorServiceServer, SERVICE_NAME};
use hindsight_runtime::{Role, RoleError};
use hindsight_types::limits;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

use crate::{EvaluatorSettings, NAME, bench::Bench, judges::Judges, service::Service, worker::Worker};

/// The role `evaluator`: the gRPC service and the workers.
pub struct Evaluator {
    bus: Arc<dyn Bus>,
    service: Arc<Service>,
    worker: Arc<Worker>,
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluator").finish_non_exhaustive()
    }
}

impl Evaluator {
    /// `llm` is asked when the settings or a caller want a model to judge.
    pub fn new(
        settings: EvaluatorSettings,
        bus: Arc<dyn Bus>,
        store: Arc<dyn MemoryStore>,
        embedder: Arc<dyn Embedder>,
        llm: Option<Arc<dyn Llm>>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let judges = Judges::new(settings.judge.clone(), llm, clock.clone());
        let bench = Arc::new(Bench { judges, store: store.clone(), embedder });
        let gate = settings.gate.clone();
        let service = Service { bus: bus.clone(), store, clock: clock.clone(), gate, bench: bench.clone() };
        let worker = Worker::new(settings, bus.clone(), bench, clock);
        Self { bus, service: Arc::new(service), worker: Arc::new(worker) }
    }
}

#[async_trait]
impl Role for Evaluator {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service_names(&self) -> Vec<&'static str> {
        vec![SERVICE_NAME]
    }

    fn register(&self, routes: &mut RoutesBuilder) {
        let server = EvaluatorServiceServer::from_arc(self.service.clone());
        routes.add_service(server.max_decoding_message_size(limits::MESSAGE_BYTES));
    }

    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError> {
        self.worker.clone().run(stop).await;
        Ok(())
    }

    async fn ready(&self) -> Result<(), String> {
        self.bus.ready().map_err(|e| e.to_string())
    }

    async fn degraded(&self) -> Option<String> {
        self.worker.trouble()
    }

    fn pending(&self) -> String {
        match self.worker.held() {
            0 => String::new(),
            n => format!("{n} evaluations"),
        }
    }
}
