use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use hindsight_api::{DEFAULT_TENANT, Key, Keyring};
use hindsight_telemetry::{Filter, Format, Traces};
use hindsight_types::{Invalid, JudgeChoice, TenantId};
use secrecy::SecretString;
use serde::{Serialize, Serializer};

use crate::{Bus, Compaction, Lifecycle, Llm, Reranker, Store, Watch};

const HIDDEN: &str = "(hidden)";

/// The effective settings. Secrets do not show themselves, in no form.
#[derive(Debug, Clone, Serialize)]
pub struct Config {
    pub server: Server,
    pub data: Data,
    pub auth: Auth,
    pub embedder: Embedder,
    pub bus: Bus,
    pub store: Store,
    pub llm: Llm,
    pub ingest: Ingest,
    pub evaluate: Evaluate,
    pub gate: Gate,
    pub compactor: Compactor,
    pub compaction: Compaction,
    pub lifecycle: Lifecycle,
    pub recall: Recall,
    pub watch: Watch,
    pub log: Log,
    pub telemetry: Telemetry,
}

impl Config {
    /// The settings as TOML, with secrets hidden.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Server {
    pub listen: SocketAddr,
    /// Where probes are answered over HTTP; nowhere when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_listen: Option<SocketAddr>,
    /// How long a stop may take until what still runs is cut.
    #[serde(serialize_with = "duration")]
    pub grace_period: Duration,
}

impl Default for Server {
    fn default() -> Self {
        let listen = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7411);
        Self { listen, admin_listen: None, grace_period: Duration::from_secs(30) }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Data {
    /// Holds everything: the store and the bus.
    pub dir: PathBuf,
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Auth {
    /// None: everyone is tenant `default` and may do everything, on loopback only.
    #[serde(serialize_with = "keys")]
    pub keys: Vec<Key>,
}

impl Auth {
    pub fn keyring(&self) -> Result<Keyring, Invalid> {
        if self.keys.is_empty() {
            return Ok(Keyring::open(TenantId::new(DEFAULT_TENANT)?));
        }
        Ok(Keyring::new(self.keys.clone()))
    }
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Embedder {
    /// The table of words inside the program; needs nothing.
    #[default]
    Static,
    /// Feature hashing: words and spelling, no meaning. Needs nothing.
    Hashing,
    Http(HttpEmbedder),
    Directory {
        /// A sentence-transformers model: `config.json`, `tokenizer.json`, `model.safetensors`.
        path: PathBuf,
    },
}

/// An OpenAI-compatible `/embeddings` endpoint.
#[derive(Debug, Clone, Serialize)]
pub struct HttpEmbedder {
    /// Up to and without `/embeddings`.
    pub url: String,
    pub model: String,
    #[serde(serialize_with = "secret", skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretString>,
    /// Absent: the endpoint is asked at start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<usize>,
    /// Asks the endpoint to shorten its vectors to `dimension`.
    pub shorten: bool,
    #[serde(serialize_with = "duration")]
    pub timeout: Duration,
    /// Texts per request.
    pub batch: usize,
    /// Put before each text: `query: ` and `passage: ` for the E5 family.
    pub query_prefix: String,
    pub passage_prefix: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Ingest {
    /// Events written to the store at once.
    pub batch: usize,
    /// How long after the root of an OpenTelemetry trace its spans are waited for before the run is judged.
    #[serde(serialize_with = "duration")]
    pub span_grace: Duration,
}

impl Default for Ingest {
    fn default() -> Self {
        Self { batch: 50, span_grace: Duration::from_secs(10) }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Evaluate {
    /// Runs judged at a time by one process.
    pub concurrency: usize,
    /// `slice`, `llm` or `both`; the last two need `[llm]`.
    pub judge: JudgeChoice,
    /// Independent judgements of the model.
    pub judgements: u32,
    /// When the model has no verdict for good, the slice's counts; else the evaluation fails.
    pub fall_back: bool,
    /// Looks at a run after which a model that is away is no longer waited for.
    pub model_attempts: u32,
    /// Time the model has for one run, all questions together.
    #[serde(serialize_with = "duration")]
    pub model_deadline: Duration,
}

impl Default for Evaluate {
    fn default() -> Self {
        Self {
            concurrency: 4,
            judge: JudgeChoice::Slice,
            judgements: 1,
            fall_back: true,
            model_attempts: 8,
            model_deadline: Duration::from_secs(300),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Compactor {
    /// A task without its end is ended, outcome unknown, when nothing was heard of it for this long.
    #[serde(serialize_with = "duration")]
    pub idle_after: Duration,
    /// Between two looks.
    #[serde(serialize_with = "duration")]
    pub every: Duration,
    /// Receipts of recalls are deleted after these days.
    pub receipt_days: usize,
}

impl Default for Compactor {
    fn default() -> Self {
        Self { idle_after: Duration::from_secs(30 * 60), every: Duration::from_secs(60), receipt_days: 30 }
    }
}

/// A run is judged when it reaches any of these; others stay raw.
#[derive(Debug, Clone, Serialize)]
pub struct Gate {
    #[serde(serialize_with = "duration")]
    pub min_duration: Duration,
    pub min_tool_calls: usize,
    /// Judge every run that failed, however short.
    pub judge_failures: bool,
}

impl Default for Gate {
    fn default() -> Self {
        Self { min_duration: Duration::from_secs(30), min_tool_calls: 5, judge_failures: true }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Recall {
    /// Similarity that the best of a kind must reach, or nothing of the kind is relevant.
    pub floor: f64,
    /// Candidates per kind and way of searching.
    pub candidates: usize,
    /// Candidates per kind that are read and scored, the nearest by their vectors.
    pub shortlist: usize,
    /// Time to answer in when the caller gives no deadline.
    #[serde(serialize_with = "duration")]
    pub deadline: Duration,
    pub weights: RecallWeights,
    pub cache: RecallCache,
    /// Absent: none is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reranker: Option<Reranker>,
}

impl Default for Recall {
    fn default() -> Self {
        Self {
            floor: 0.2,
            candidates: 50,
            shortlist: 40,
            deadline: Duration::from_secs(2),
            weights: RecallWeights::default(),
            cache: RecallCache::default(),
            reranker: None,
        }
    }
}

/// What the signs that a memory is meant weigh in the order of candidates.
#[derive(Debug, Clone, Serialize)]
pub struct RecallWeights {
    /// Nearness of meaning. Absent: as measured for the embedder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<f64>,
    /// Words in common, by their rarity.
    pub words: f64,
    /// Words of the question in what the memory says itself.
    pub own: f64,
    /// Names in common.
    pub entities: f64,
    /// The time that the question speaks of.
    pub period: f64,
    /// The best of the same session.
    pub session: f64,
}

impl Default for RecallWeights {
    fn default() -> Self {
        Self { meaning: None, words: 1.0, own: 0.2, entities: 0.3, period: 0.3, session: 0.4 }
    }
}

/// What recalls keep in memory. 0 MiB: nothing of it.
#[derive(Debug, Clone, Serialize)]
pub struct RecallCache {
    /// For the vectors of questions.
    pub embeddings_mib: u64,
    /// For the facts of users who are asked for again and again; a quarter of it for one user at most.
    pub facts_mib: u64,
    /// Of a user with more facts, none are kept.
    pub facts_per_user: usize,
    /// Facts are read anew after this time, even when no change is heard.
    #[serde(serialize_with = "duration")]
    pub facts_ttl: Duration,
}

impl Default for RecallCache {
    fn default() -> Self {
        Self { embeddings_mib: 16, facts_mib: 64, facts_per_user: 500, facts_ttl: Duration::from_secs(30) }
    }
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Log {
    pub format: Format,
    pub filter: Filter,
}

#[derive(Debug, Clone, Serialize)]
pub struct Telemetry {
    /// Where traces are sent, by OTLP over gRPC. Absent: where OTEL_EXPORTER_OTLP_ENDPOINT says, else nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp_endpoint: Option<String>,
    /// Share of the traces begun here that is kept; a caller's own decision goes before it.
    pub sample_ratio: f64,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { otlp_endpoint: None, sample_ratio: 1.0 }
    }
}

impl Telemetry {
    pub fn traces(&self) -> Traces {
        Traces { endpoint: self.otlp_endpoint.clone(), sample_ratio: self.sample_ratio }
    }
}

pub(crate) fn duration<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_duration(*time))
}

pub(crate) fn secret<S: Serializer>(_: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(HIDDEN)
}

fn keys<S: Serializer>(keys: &[Key], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Shown<'a> {
        name: &'a str,
        hash: &'static str,
        tenant: &'a str,
        permissions: Vec<&'static str>,
    }
    serializer.collect_seq(keys.iter().map(|k| Shown {
        name: &k.name,
        hash: HIDDEN,
        tenant: k.tenant.as_str(),
        permissions: k.permissions.iter().map(hindsight_api::Permission::as_str).collect(),
    }))
}
