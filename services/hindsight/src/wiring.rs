//! All roles in one process on one data directory. The one place that knows the adapters.

use std::{path::PathBuf, sync::Arc};

use hindsight_api::{DEFAULT_TENANT, EdgeLayer, Keyring};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_client::Client;
use hindsight_collector::{Collector, CollectorSettings};
use hindsight_config::{Config, Embedder};
use hindsight_embed::{EmbedderSpec, HttpSettings};
use hindsight_evaluator::{Evaluator, EvaluatorSettings};
use hindsight_ports::{Bus, Clock, EmbedError, MemoryStore, StoreError, SystemClock};
use hindsight_recall::{Recall, RecallSettings};
use hindsight_runtime::{Exit, Role, Running};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::TenantId;
use secrecy::SecretString;

use crate::{
    data_dir::DataDir,
    failure::{Failure, code},
};

/// The roles at work in this process, with a client of them. Holds the data directory.
pub(crate) struct Embedded {
    pub client: Client,
    running: Running,
    _dir: DataDir,
}

impl Embedded {
    pub(crate) async fn stop(self) {
        if self.running.stop().await != Exit::Clean {
            tracing::warn!("some work was left; it is done at the next start");
        }
    }
}

/// Runs all roles for one command. Whoever can read the directory owns what is in it, so a key is asked
/// for only to say which tenant is meant.
pub(crate) async fn embed(
    config: &Config,
    dir: DataDir,
    key: Option<&SecretString>,
) -> Result<Embedded, Failure> {
    let keyring = match key {
        Some(_) => config.auth.keyring(),
        None => TenantId::new(DEFAULT_TENANT).map(Keyring::open),
    };
    let running =
        start(config, &dir, EdgeLayer::new(keyring.map_err(|e| Failure::new(code::CONFIG, e))?)).await?;
    let client = Client::local(running.routes(), key)?;
    Ok(Embedded { client, running, _dir: dir })
}

/// Opens the data directory and starts the roles, sources first.
pub(crate) async fn start(config: &Config, dir: &DataDir, edge: EdgeLayer) -> Result<Running, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let embedder = embedder(&config.embedder).build().await.map_err(embedder_failure)?;
    let (bus, backend) = open(dir.path().to_owned(), config.bus.max_depth, clock.clone()).await?;
    let store: Arc<dyn MemoryStore> = Arc::new(Store::new(Arc::new(backend), StoreOptions::default()));
    store.prepare(embedder.id()).await.map_err(store_failure)?;
    let bus: Arc<dyn Bus> = Arc::new(bus);

    let collector = CollectorSettings { batch: config.ingest.batch, ..CollectorSettings::default() };
    let roles: Vec<Arc<dyn Role>> = vec![
        Arc::new(Collector::new(collector, bus.clone(), store.clone(), embedder.clone(), clock.clone())),
        Arc::new(Evaluator::new(evaluator(config), bus, store.clone(), embedder.clone(), clock.clone())),
        Arc::new(Recall::new(recall(config), store, embedder, clock)),
    ];
    Running::start(roles, edge, config.server.grace_period).await.map_err(|e| Failure::new(code::INTERNAL, e))
}

/// Both read back what the last run left, which blocks.
async fn open(
    dir: PathBuf,
    max_depth: u64,
    clock: Arc<dyn Clock>,
) -> Result<(LocalBus, EdgeBackend), Failure> {
    let work = move || {
        let options = LocalBusOptions { max_depth, clock, ..LocalBusOptions::default() };
        let bus =
            LocalBus::open(&dir.join("bus.db"), options).map_err(|e| Failure::new(code::UNAVAILABLE, e))?;
        let backend = EdgeBackend::open(&dir, EdgeOptions::default()).map_err(store_failure)?;
        Ok((bus, backend))
    };
    tokio::task::spawn_blocking(work).await.map_err(|e| Failure::new(code::INTERNAL, e))?
}

fn embedder(config: &Embedder) -> EmbedderSpec {
    match config {
        Embedder::Hashing => EmbedderSpec::Hashing,
        Embedder::Directory { path } => EmbedderSpec::Directory(path.clone()),
        Embedder::Http(http) => EmbedderSpec::Http(HttpSettings {
            base_url: http.url.clone(),
            model: http.model.clone(),
            api_key: http.api_key.clone(),
            dimension: http.dimension,
            shorten: http.shorten,
            timeout: http.timeout,
            batch_size: http.batch,
            query_prefix: http.query_prefix.clone(),
            passage_prefix: http.passage_prefix.clone(),
        }),
    }
}

fn evaluator(config: &Config) -> EvaluatorSettings {
    let mut settings = EvaluatorSettings::default();
    settings.gate.min_seconds = config.gate.min_duration.as_secs();
    settings.gate.min_tool_calls = config.gate.min_tool_calls;
    settings.gate.judge_failures = config.gate.judge_failures;
    settings
}

fn recall(config: &Config) -> RecallSettings {
    let deadline_ms = config.recall.deadline.as_millis().try_into().unwrap_or(u64::MAX);
    let mut settings = RecallSettings { deadline_ms, ..RecallSettings::default() };
    settings.rank.floor = config.recall.floor as f32;
    settings
}

fn embedder_failure(error: EmbedError) -> Failure {
    let code = match error {
        EmbedError::Unavailable(_) => code::UNAVAILABLE,
        EmbedError::Rejected(_) | EmbedError::Misconfigured(_) => code::CONFIG,
    };
    Failure::new(code, error)
}

fn store_failure(error: StoreError) -> Failure {
    let code = match error {
        StoreError::Unavailable(_) => code::UNAVAILABLE,
        StoreError::EmbedderMismatch { .. } => code::CONFIG,
        StoreError::Corrupt(_) => code::DATA,
        StoreError::Rejected(_) => code::INTERNAL,
    };
    Failure::new(code, error)
}
