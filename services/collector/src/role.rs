use std::{fmt, sync::Arc};

use async_trait::async_trait;
use hindsight_forgetting::Forgetter;
use hindsight_ports::{Bus, Clock, Embedder, MemoryStore, Subjects};
use hindsight_proto::collector::v1::collector_service_server::CollectorServiceServer;
use hindsight_runtime::{Role, RoleError, Router};
use hindsight_types::limits;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

use crate::{CollectorSettings, NAME, ingester::Ingester, otlp::Otlp, service::Service};

/// The role `collector`: the gRPC service and the ingester.
pub struct Collector {
    bus: Arc<dyn Bus>,
    service: Arc<Service>,
    otlp: Otlp,
    ingester: Ingester,
    /// Ends open streams when the role stops.
    closing: CancellationToken,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

impl Collector {
    pub fn new(
        settings: CollectorSettings,
        bus: Arc<dyn Bus>,
        store: Arc<dyn MemoryStore>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let closing = CancellationToken::new();
        let service = Service::new(&settings, bus.clone(), store.clone(), clock.clone(), closing.clone());
        let otlp = Otlp::new(bus.clone(), clock.clone(), service.scopes());
        let ingester = Ingester::new(settings, bus.clone(), store, embedder, clock);
        Self { bus, service: Arc::new(service), otlp, ingester, closing }
    }

    /// Gives what is written for an id to the user that it turned out to be. The first one given stays.
    #[must_use]
    pub fn merging(self, subjects: Arc<dyn Subjects>) -> Self {
        self.ingester.merging(subjects.clone());
        self.service.merging(subjects);
        self
    }

    /// Does not write what was forgotten.
    #[must_use]
    pub fn forgetting(self, forgetter: Forgetter) -> Self {
        self.ingester.forgetting(forgetter);
        self
    }
}

#[async_trait]
impl Role for Collector {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service_names(&self) -> Vec<&'static str> {
        vec![
            hindsight_proto::collector::v1::collector_service_server::SERVICE_NAME,
            trace_service_server::SERVICE_NAME,
        ]
    }

    fn register(&self, routes: &mut RoutesBuilder) {
        let server = CollectorServiceServer::from_arc(self.service.clone());
        routes.add_service(server.max_decoding_message_size(limits::MESSAGE_BYTES));
        routes.add_service(self.otlp.grpc());
    }

    fn http(&self) -> Option<Router> {
        Some(self.otlp.http())
    }

    async fn run(&self, stop: CancellationToken) -> Result<(), RoleError> {
        let sources = async {
            stop.cancelled().await;
            self.closing.cancel();
        };
        let ((), ()) = tokio::join!(sources, self.ingester.run(stop.clone()));
        Ok(())
    }

    /// While the store is away the queue takes what is recorded.
    async fn ready(&self) -> Result<(), String> {
        self.bus.ready().map_err(|e| e.to_string())
    }

    async fn degraded(&self) -> Option<String> {
        self.ingester.trouble()
    }

    fn pending(&self) -> String {
        match self.ingester.held() {
            0 => String::new(),
            n => format!("{n} deliveries"),
        }
    }
}
