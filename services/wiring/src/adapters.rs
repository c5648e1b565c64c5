//! From settings to adapters.

use std::{path::PathBuf, sync::Arc};

use hindsight_bus_amqp::{AmqpBus, AmqpOptions};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_config as config;
use hindsight_embed::{EmbedderSpec, HttpRerankerSettings, HttpSettings, RerankerSpec};
use hindsight_forgetting::Files;
use hindsight_llm::{EndpointSettings, LlmSettings, Prices, Provider};
use hindsight_ports::{Bus, Clock, Llm};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_store_qdrant::{CollectionLayout, QdrantBackend, QdrantOptions, Quantization};
use hindsight_telemetry::observe;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{Failure, code};

const BROKER: &str =
    "the files of RabbitMQ: a message leaves them with its segment, once all in it are settled";
const SERVER: &str = "the files of Qdrant: its optimiser writes a segment anew when `deleted_threshold` and \
                      `vacuum_min_vector_number` say so; lower them, or recreate the collection from a snapshot";

/// Opens the queue; for the broker, begins to connect. What the last run left is read back, which blocks.
pub(crate) async fn bus(
    config: &config::Bus,
    dir: PathBuf,
    clock: Arc<dyn Clock>,
) -> Result<(Arc<dyn Bus>, Files), Failure> {
    let max_depth = config.max_depth;
    match &config.kind {
        config::BusKind::Local => {
            let open = move || {
                let options = LocalBusOptions { max_depth, clock, ..LocalBusOptions::default() };
                LocalBus::open(&dir.join("bus.db"), options)
            };
            let bus = blocking(open).await?.map_err(|e| Failure::new(code::UNAVAILABLE, e))?;
            Ok((Arc::new(bus.clone()), Files::Here(Arc::new(bus))))
        }
        config::BusKind::Amqp(amqp) => {
            let options = AmqpOptions { max_depth, clock, ..amqp_options(amqp)? };
            let bus =
                AmqpBus::start(options).map_err(|e| Failure::new(code::CONFIG, format!("[bus] {e}")))?;
            Ok((Arc::new(bus), Files::OutOfReach(BROKER)))
        }
    }
}

fn amqp_options(config: &config::AmqpBus) -> Result<AmqpOptions, Failure> {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let (scheme, rest) = config
        .url
        .split_once("://")
        .ok_or_else(|| Failure::new(code::CONFIG, "bus.url: give it as in amqp://rabbitmq:5672"))?;
    let user = config.username.as_deref().unwrap_or("guest");
    let password = config.password.as_ref().map_or("guest", SecretString::expose_secret);
    let url = format!("{scheme}://{}:{}@{rest}", encoded(user), encoded(password));
    Ok(AmqpOptions {
        username_file: config.username_file.clone(),
        password_file: config.password_file.clone(),
        ca_file: config.ca_file.clone(),
        prefix: config.prefix.clone(),
        timeout: config.timeout,
        heartbeat: config.heartbeat,
        ..AmqpOptions::new(url)
    })
}

/// The files of the store, where they are this machine's.
pub(crate) fn files(store: &Arc<Store>, config: &config::Store) -> Files {
    match config {
        config::Store::Edge => Files::Here(store.clone()),
        config::Store::Qdrant(_) => Files::OutOfReach(SERVER),
    }
}

/// Opens the engine, which is to be closed in the end; for a server, connects with the first call.
pub(crate) async fn store(
    config: &config::Store,
    dir: PathBuf,
) -> Result<(Store, Option<Arc<EdgeBackend>>), Failure> {
    match config {
        config::Store::Edge => {
            let backend = Arc::new(blocking(move || EdgeBackend::open(&dir, EdgeOptions::default())).await??);
            Ok((Store::new(backend.clone(), StoreOptions::default()), Some(backend)))
        }
        config::Store::Qdrant(qdrant) => {
            let backend = QdrantBackend::new(qdrant_options(qdrant))
                .map_err(|e| Failure::new(code::CONFIG, format!("[store] {e}")))?;
            Ok((Store::new(Arc::new(backend), StoreOptions { prefix: qdrant.prefix.clone() }), None))
        }
    }
}

fn qdrant_options(config: &config::Qdrant) -> QdrantOptions {
    QdrantOptions {
        url: config.url.clone(),
        api_key: config.api_key.clone(),
        timeout: config.timeout,
        connect_timeout: config.connect_timeout,
        connections: config.connections,
        layout: CollectionLayout {
            on_disk_vectors: config.on_disk_vectors,
            on_disk_indexes: config.on_disk_indexes,
            quantization: match config.quantization {
                config::Quantization::None => Quantization::None,
                config::Quantization::Int8 => Quantization::Int8,
            },
            shard_number: config.shards,
            replication_factor: config.replicas,
            write_consistency_factor: config.write_consistency,
        },
    }
}

pub(crate) fn embedder(config: &config::Embedder) -> EmbedderSpec {
    match config {
        config::Embedder::Static => EmbedderSpec::Static,
        config::Embedder::Hashing => EmbedderSpec::Hashing,
        config::Embedder::Directory { path } => EmbedderSpec::Directory(path.clone()),
        config::Embedder::Http(http) => EmbedderSpec::Http(HttpSettings {
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

pub(crate) fn reranker(config: &config::Reranker) -> RerankerSpec {
    match config {
        config::Reranker::Directory { path } => RerankerSpec::Directory(path.clone()),
        config::Reranker::Http(http) => RerankerSpec::Http(HttpRerankerSettings {
            base_url: http.url.clone(),
            model: http.model.clone(),
            api_key: http.api_key.clone(),
            timeout: http.timeout,
            logits: http.logits,
        }),
    }
}

/// The language model, when one is named. It is asked with the first run that it judges.
pub(crate) fn llm(config: &config::Llm, clock: Arc<dyn Clock>) -> Result<Option<Arc<dyn Llm>>, Failure> {
    let settings = LlmSettings {
        endpoints: config.endpoint.iter().chain(&config.fallbacks).map(llm_endpoint).collect(),
        daily_tokens_per_tenant: config.daily_tokens_per_tenant,
        cache_bytes: config.cache_mib << 20,
    };
    let llm = hindsight_llm::build(&settings, clock, Arc::new(observe::llm_breaker))
        .map_err(|e| Failure::new(code::CONFIG, format!("[llm] {e}")))?;
    Ok(llm.map(observe::llm))
}

fn llm_endpoint(config: &config::LlmEndpoint) -> EndpointSettings {
    EndpointSettings {
        provider: match config.kind {
            config::LlmKind::OpenAi => Provider::OpenAi,
            config::LlmKind::Anthropic => Provider::Anthropic,
        },
        url: config.url.clone(),
        model: config.model.clone(),
        api_key: config.api_key.clone(),
        connect_timeout: config.connect_timeout,
        timeout: config.timeout,
        retries: config.retries,
        concurrency: config.concurrency,
        prices: Prices { input: config.input_price, output: config.output_price },
        breaker_failures: config.breaker_failures,
        breaker_pause: config.breaker_pause,
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|e| Failure::new(code::INTERNAL, e))
}
