use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use hindsight_forgetting::Forgetter;
use hindsight_ports::{Bus, Clock, Embedder, Llm, MemoryStore, Queue, Subjects};
use hindsight_proto::evaluator::v1::evaluator_service_server::{EvaluatorServiceServer, SERVICE_NAME};
use hindsight_runtime::{Role, RoleError};
use hindsight_types::limits;
use tokio_util::sync::CancellationToken;
use tonic::service::RoutesBuilder;

use crate::{
    EvaluatorSettings, NAME,
    bench::Bench,
    compact::{self, Compaction, Tools},
    judges::Judges,
    service::Service,
    take::Taker,
    worker::Worker,
};

/// The role `evaluator`: the gRPC service and the workers.
pub struct Evaluator {
    bus: Arc<dyn Bus>,
    service: Arc<Service>,
    bench: Arc<Bench>,
    clock: Arc<dyn Clock>,
    runs: Taker<Worker>,
    upkeep: Option<Taker<compact::Worker>>,
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
        let bench = Arc::new(Bench {
            judges,
            store: store.clone(),
            embedder,
            bus: bus.clone(),
            forgetter: OnceLock::new(),
            subjects: OnceLock::new(),
        });
        let gate = settings.gate.clone();
        let service = Service { bus: bus.clone(), store, clock: clock.clone(), gate, bench: bench.clone() };
        let at_a_time = settings.concurrency;
        let worker = Arc::new(Worker::new(settings, bus.clone(), bench.clone(), clock.clone()));
        let runs = Taker::new(Queue::Evaluate, at_a_time, bus.clone(), worker);
        Self { bus, service: Arc::new(service), bench, clock, runs, upkeep: None }
    }

    /// Does not judge what was forgotten, and carries forgettings on. The first one given stays.
    #[must_use]
    pub fn forgetting(self, forgetter: Forgetter) -> Self {
        self.bench.forgetter.get_or_init(|| forgetter);
        self
    }

    /// Gives what comes of the runs of an id to the user that it turned out to be. The first one given stays.
    #[must_use]
    pub fn merging(self, subjects: Arc<dyn Subjects>) -> Self {
        self.bench.subjects.get_or_init(|| subjects);
        self
    }

    /// Does pieces of upkeep, too; half as many at a time as it judges runs.
    #[must_use]
    pub fn compacting(mut self, compaction: Compaction) -> Self {
        let tools = Tools {
            store: self.bench.store.clone(),
            embedder: self.bench.embedder.clone(),
            clock: self.clock.clone(),
            compaction,
            bench: self.bench.clone(),
        };
        let worker = Arc::new(compact::Worker::new(tools));
        let at_a_time = self.runs.at_a_time.div_ceil(2);
        self.upkeep = Some(Taker::new(Queue::Compact, at_a_time, self.bus.clone(), worker));
        self
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
        match &self.upkeep {
            Some(upkeep) => {
                let ((), ()) = tokio::join!(self.runs.run(stop.clone()), upkeep.run(stop));
            }
            None => self.runs.run(stop).await,
        }
        Ok(())
    }

    async fn ready(&self) -> Result<(), String> {
        self.bus.ready().map_err(|e| e.to_string())
    }

    async fn degraded(&self) -> Option<String> {
        let upkeep = self.upkeep.as_ref().and_then(|upkeep| upkeep.handler.trouble.reason());
        self.runs.handler.trouble().or(upkeep)
    }

    fn pending(&self) -> String {
        let upkeep = self.upkeep.as_ref().map_or(0, Taker::held);
        let held = [(self.runs.held(), "evaluations"), (upkeep, "pieces of upkeep")];
        let words = held.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        words.collect::<Vec<_>>().join(", ")
    }
}
