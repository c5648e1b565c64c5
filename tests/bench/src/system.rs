//! All roles in this process on a data directory of their own.

use std::{path::Path, sync::Arc, time::Duration};

use hindsight_api::{DEFAULT_TENANT, EdgeLayer, Keyring};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_client::Client;
use hindsight_collector::{Collector, CollectorSettings};
use hindsight_embed::EmbedderSpec;
use hindsight_evaluator::{Evaluator, EvaluatorSettings};
use hindsight_ports::{Bus, Clock, Embedder, MemoryStore, Queue, QueueStats, SystemClock};
use hindsight_proto::memory::v1::{GetStatsRequest, GetStatsResponse};
use hindsight_recall::{Recall, RecallSettings};
use hindsight_runtime::{Role, Running};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::TenantId;

const GRACE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub(crate) struct System {
    pub(crate) client: Client,
    pub(crate) tenant: TenantId,
    pub(crate) backend: Arc<EdgeBackend>,
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) embedder: Arc<dyn Embedder>,
    bus: Arc<dyn Bus>,
    running: Running,
}

impl System {
    pub(crate) async fn start(dir: &Path) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let embedder = EmbedderSpec::default().build().await?;
        let backend = Arc::new(EdgeBackend::open(dir, EdgeOptions::default())?);
        let bus: Arc<dyn Bus> = Arc::new(LocalBus::open(&dir.join("bus.db"), LocalBusOptions::default())?);
        let store: Arc<dyn MemoryStore> = Arc::new(Store::new(backend.clone(), StoreOptions::default()));
        store.prepare(embedder.id()).await?;
        let (b, s, e, c) = (&bus, &store, &embedder, &clock);
        let collector =
            Collector::new(CollectorSettings::default(), b.clone(), s.clone(), e.clone(), c.clone());
        let evaluator =
            Evaluator::new(EvaluatorSettings::default(), b.clone(), s.clone(), e.clone(), None, c.clone());
        let recall = Recall::new(RecallSettings::default(), s.clone(), e.clone(), c.clone());
        let roles: Vec<Arc<dyn Role>> = vec![Arc::new(collector), Arc::new(evaluator), Arc::new(recall)];
        let tenant = TenantId::new(DEFAULT_TENANT)?;
        let running = Running::start(roles, EdgeLayer::new(Keyring::open(tenant.clone())), GRACE).await?;
        let client = Client::local(running.routes(), None)?;
        Ok(Self { client, tenant, backend, store, embedder, bus, running })
    }

    /// Waits until everything that was acknowledged is stored and judged.
    pub(crate) async fn settled(&self) -> anyhow::Result<()> {
        // In the order of the work: what leaves the first queue has entered the second before.
        for queue in [Queue::Ingest, Queue::Evaluate] {
            loop {
                let QueueStats { ready, delayed, unsettled, dead, .. } = self.bus.stats(queue).await?;
                anyhow::ensure!(dead == 0, "{dead} messages of {queue} could not be handled");
                if ready + delayed + unsettled == 0 {
                    break;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok(())
    }

    pub(crate) async fn stats(&self) -> anyhow::Result<GetStatsResponse> {
        Ok(self.client.get_stats(GetStatsRequest::default()).await?)
    }

    /// Returns when nothing writes to the data directory any more.
    pub(crate) async fn stop(self) {
        self.running.stop().await;
        self.backend.close().await;
    }
}

/// Everything that can be recalled; raw events are not.
pub(crate) fn memories(stats: &GetStatsResponse) -> u64 {
    stats.experiences + stats.steps + stats.lessons + stats.failure_patterns + stats.facts
}
