use std::{collections::HashSet, time::Duration};

use figment::{Profile, Provider as _, value::Dict};
use hindsight_api::{Key, KeyHash, Permission};
use hindsight_telemetry::Format;
use hindsight_types::{JudgeChoice, TenantId};

use crate::{
    Auth, Compactor, Config, Data, Embedder, Evaluate, Gate, HttpEmbedder, Ingest, Log, Mistake, Mistakes,
    Recall, RecallCache, RecallWeights, Server, Sources, Telemetry, adapters, compaction, lifecycle, llm,
    reranker,
    section::{Findings, Section, closest},
    watch,
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Settings with what should be said about them.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub config: Config,
    /// Keys that mean nothing; to be logged loudly.
    pub warnings: Vec<Mistake>,
}

/// The effective settings, or every mistake in them.
pub fn load(sources: &Sources) -> Result<Loaded, Mistakes> {
    let (config, findings) = read(sources).map_err(|m| Mistakes(vec![m]))?;
    if findings.mistakes.is_empty() {
        return Ok(Loaded { config, warnings: findings.unused });
    }
    Err(Mistakes(findings.mistakes))
}

/// Like [`load`], but strict: a key that means nothing is a mistake, and so is a directory that is not there.
pub fn check(sources: &Sources) -> Result<Config, Mistakes> {
    let (config, mut findings) = read(sources).map_err(|m| Mistakes(vec![m]))?;
    findings.mistakes.append(&mut findings.unused);
    findings.mistakes.append(&mut findings.absent);
    if findings.mistakes.is_empty() { Ok(config) } else { Err(Mistakes(findings.mistakes)) }
}

fn read(sources: &Sources) -> Result<(Config, Findings), Mistake> {
    let figment = sources.figment();
    let values = values(sources, &figment)?;
    let mut found = Findings::default();
    let f = &mut found;
    let mut root = Section::root(&figment, values);
    let config = Config {
        server: server(root.section("server", f), f),
        data: data(root.section("data", f), sources, f),
        auth: auth(root.section("auth", f), f),
        embedder: embedder(root.section("embedder", f), f),
        bus: adapters::bus(root.section("bus", f), f),
        store: adapters::store(root.section("store", f), f),
        llm: llm::llm(root.section("llm", f), f),
        ingest: ingest(root.section("ingest", f), f),
        evaluate: evaluate(root.section("evaluate", f), f),
        gate: gate(root.section("gate", f), f),
        compactor: compactor(root.section("compactor", f), f),
        compaction: compaction::compaction(root.section("compaction", f), f),
        lifecycle: lifecycle::lifecycle(root.section("lifecycle", f), f),
        recall: recall(root.section("recall", f), f),
        watch: watch::watch(root.section("watch", f), f),
        log: log(root.section("log", f), f),
        telemetry: telemetry(root.section("telemetry", f), f),
    };
    open_to_network(&config, &mut root, f);
    judge_without_model(&config, &mut root, f);
    root.finish(f);
    be_strict_about_auth(f);
    Ok((config, found))
}

fn values(sources: &Sources, figment: &figment::Figment) -> Result<Dict, Mistake> {
    let mistake = |origin: String, problem: String| Mistake { key: String::new(), origin, problem };
    if let Some(file) = &sources.file {
        // figment takes a missing file for an empty one.
        std::fs::read_to_string(file).map_err(|e| mistake(file.display().to_string(), e.to_string()))?;
    }
    let mut data = figment.data().map_err(|e| {
        let file = sources.file.as_ref().map_or_else(String::new, |f| f.display().to_string());
        mistake(file, e.to_string())
    })?;
    Ok(data.remove(&Profile::Default).unwrap_or_default())
}

fn server(mut s: Section<'_>, f: &mut Findings) -> Server {
    let d = Server::default();
    let server = Server {
        listen: s.parsed("listen", f).unwrap_or(d.listen),
        admin_listen: s.parsed("admin_listen", f),
        grace_period: s.duration("grace_period", SECOND..=HOUR, f).unwrap_or(d.grace_period),
    };
    s.finish(f);
    server
}

fn data(mut s: Section<'_>, sources: &Sources, f: &mut Findings) -> Data {
    let dir = s.text("dir", f).map_or_else(|| sources.data_dir.clone(), Into::into);
    s.finish(f);
    Data { dir }
}

fn auth(mut s: Section<'_>, f: &mut Findings) -> Auth {
    let mut keys = Vec::new();
    let (mut names, mut hashes) = (HashSet::new(), HashSet::new());
    for mut k in s.tables("keys", f) {
        let name = required(k.text("name", f), "name", "a word for the log", &k, f);
        let hash = required(k.parsed::<KeyHash>("hash", f), "hash", "the SHA-256 of the key", &k, f);
        let tenant = required(k.parsed::<Tenant>("tenant", f), "tenant", "the owner of the data", &k, f);
        let permissions = k.list::<Permission>("permissions", f);
        let permissions = required(permissions, "permissions", "some of read, write, admin", &k, f);
        if permissions.as_ref().is_some_and(Vec::is_empty) {
            f.mistakes.push(k.mistake("permissions", "is empty; list some of read, write, admin"));
        }
        if name.as_ref().is_some_and(|n| !names.insert(n.clone())) {
            f.mistakes.push(k.mistake("name", "is used by another key; give each its own"));
        }
        if hash.is_some_and(|h| !hashes.insert(h.to_string())) {
            f.mistakes.push(k.mistake("hash", "is that of another key; one key has one tenant"));
        }
        if let (Some(name), Some(hash), Some(Tenant(tenant)), Some(permissions)) =
            (name, hash, tenant, permissions)
        {
            keys.push(Key { name, hash, tenant, permissions: permissions.into_iter().collect() });
        }
        k.finish(f);
    }
    s.finish(f);
    Auth { keys }
}

struct Tenant(TenantId);

impl std::str::FromStr for Tenant {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        TenantId::new(s).map(Self).map_err(|e| e.fields.into_iter().map(|f| f.problem).collect())
    }
}

/// Complains when a key was left out; one that is there and wrong has been complained about.
pub(crate) fn required<T>(
    value: Option<T>,
    name: &str,
    what: &str,
    s: &Section<'_>,
    f: &mut Findings,
) -> Option<T> {
    if value.is_none() && !s.is_set(name) {
        f.mistakes.push(s.mistake(name, format!("is missing; give {what}")));
    }
    value
}

#[derive(Clone, Copy)]
enum Kind {
    Static,
    Hashing,
    Http,
    Directory,
}

fn embedder(mut s: Section<'_>, f: &mut Findings) -> Embedder {
    let kinds = [
        ("static", Kind::Static),
        ("hashing", Kind::Hashing),
        ("http", Kind::Http),
        ("directory", Kind::Directory),
    ];
    let kind = s.choice("kind", &kinds, f);
    let embedder = match kind {
        Some(Kind::Http) => http_embedder(&mut s, f).map(Embedder::Http),
        Some(Kind::Directory) => s.model_directory("path", f).map(|path| Embedder::Directory { path }),
        Some(Kind::Static) => Some(Embedder::Static),
        Some(Kind::Hashing) => Some(Embedder::Hashing),
        // The other keys belong to a kind that cannot be told.
        None if s.is_set("kind") => return Embedder::default(),
        None => None,
    };
    s.finish(f);
    embedder.unwrap_or_default()
}

fn http_embedder(s: &mut Section<'_>, f: &mut Findings) -> Option<HttpEmbedder> {
    let url = required(s.text("url", f), "url", "the endpoint, as in \"https://api.openai.com/v1\"", s, f);
    let url = url.filter(|u| {
        let good = u.starts_with("http://") || u.starts_with("https://");
        if !good {
            f.mistakes.push(s.mistake("url", "does not begin with http:// or https://"));
        }
        good
    });
    let model = required(s.text("model", f), "model", "the name the endpoint knows it by", s, f);
    let dimension = s.number("dimension", 1..=65_536, f);
    let shorten = s.switch("shorten", f).unwrap_or(false);
    if shorten && dimension.is_none() {
        f.mistakes.push(s.mistake("shorten", "needs `dimension`, the length to shorten to"));
    }
    let embedder = HttpEmbedder {
        url: url.clone().unwrap_or_default(),
        model: model.clone().unwrap_or_default(),
        api_key: s.secret("api_key", f),
        dimension,
        shorten,
        timeout: s.duration("timeout", SECOND / 10..=HOUR, f).unwrap_or(30 * SECOND),
        batch: s.number("batch", 1..=2048, f).unwrap_or(64),
        query_prefix: s.prefix("query_prefix", f).unwrap_or_default(),
        passage_prefix: s.prefix("passage_prefix", f).unwrap_or_default(),
    };
    url.and(model).map(|_| embedder)
}

fn ingest(mut s: Section<'_>, f: &mut Findings) -> Ingest {
    let d = Ingest::default();
    let ingest = Ingest {
        batch: s.number("batch", 1..=1_000, f).unwrap_or(d.batch),
        span_grace: s.duration("span_grace", Duration::ZERO..=HOUR, f).unwrap_or(d.span_grace),
    };
    s.finish(f);
    ingest
}

fn evaluate(mut s: Section<'_>, f: &mut Findings) -> Evaluate {
    let d = Evaluate::default();
    let judges = JudgeChoice::ALL.map(|j| (j.as_str(), j));
    let evaluate = Evaluate {
        concurrency: s.number("concurrency", 1..=256, f).unwrap_or(d.concurrency),
        judge: s.choice("judge", &judges, f).unwrap_or(d.judge),
        judgements: s.number("judgements", 1..=9, f).unwrap_or(d.judgements),
        fall_back: s.switch("fall_back", f).unwrap_or(d.fall_back),
        model_attempts: s.number("model_attempts", 1..=1_000, f).unwrap_or(d.model_attempts),
        model_deadline: s.duration("model_deadline", SECOND..=9 * 60 * SECOND, f).unwrap_or(d.model_deadline),
    };
    s.finish(f);
    evaluate
}

fn compactor(mut s: Section<'_>, f: &mut Findings) -> Compactor {
    let d = Compactor::default();
    let compactor = Compactor {
        idle_after: s.duration("idle_after", SECOND..=24 * 30 * HOUR, f).unwrap_or(d.idle_after),
        every: s.duration("every", SECOND / 10..=24 * HOUR, f).unwrap_or(d.every),
        receipt_days: s.number("receipt_days", 1..=3_650, f).unwrap_or(d.receipt_days),
    };
    s.finish(f);
    compactor
}

fn gate(mut s: Section<'_>, f: &mut Findings) -> Gate {
    let d = Gate::default();
    let gate = Gate {
        min_duration: s.duration("min_duration", Duration::ZERO..=24 * HOUR, f).unwrap_or(d.min_duration),
        min_tool_calls: s.number("min_tool_calls", 0..=5_000, f).unwrap_or(d.min_tool_calls),
        judge_failures: s.switch("judge_failures", f).unwrap_or(d.judge_failures),
    };
    s.finish(f);
    gate
}

fn recall(mut s: Section<'_>, f: &mut Findings) -> Recall {
    let d = Recall::default();
    let recall = Recall {
        floor: s.fraction("floor", f).unwrap_or(d.floor),
        candidates: s.number("candidates", 1..=1_000, f).unwrap_or(d.candidates),
        shortlist: s.number("shortlist", 1..=1_000, f).unwrap_or(d.shortlist),
        deadline: s.duration("deadline", SECOND / 100..=60 * SECOND, f).unwrap_or(d.deadline),
        weights: recall_weights(s.section("weights", f), f),
        cache: recall_cache(s.section("cache", f), f),
        reranker: reranker::reranker(s.section("reranker", f), f),
    };
    s.finish(f);
    recall
}

fn recall_weights(mut s: Section<'_>, f: &mut Findings) -> RecallWeights {
    let d = RecallWeights::default();
    let weights = RecallWeights {
        meaning: s.fraction("meaning", f),
        words: s.fraction("words", f).unwrap_or(d.words),
        own: s.fraction("own", f).unwrap_or(d.own),
        entities: s.fraction("entities", f).unwrap_or(d.entities),
        period: s.fraction("period", f).unwrap_or(d.period),
        session: s.fraction("session", f).unwrap_or(d.session),
    };
    s.finish(f);
    weights
}

fn recall_cache(mut s: Section<'_>, f: &mut Findings) -> RecallCache {
    let d = RecallCache::default();
    let cache = RecallCache {
        embeddings_mib: s.number("embeddings_mib", 0..=4_096, f).unwrap_or(d.embeddings_mib),
        facts_mib: s.number("facts_mib", 0..=65_536, f).unwrap_or(d.facts_mib),
        facts_per_user: s.number("facts_per_user", 1..=999, f).unwrap_or(d.facts_per_user),
        facts_ttl: s.duration("facts_ttl", SECOND..=HOUR, f).unwrap_or(d.facts_ttl),
    };
    s.finish(f);
    cache
}

fn log(mut s: Section<'_>, f: &mut Findings) -> Log {
    let d = Log::default();
    let formats = [("auto", Format::Auto), ("human", Format::Human), ("json", Format::Json)];
    let log = Log {
        format: s.choice("format", &formats, f).unwrap_or(d.format),
        filter: s.parsed("filter", f).unwrap_or(d.filter),
    };
    s.finish(f);
    log
}

fn telemetry(mut s: Section<'_>, f: &mut Findings) -> Telemetry {
    let endpoint = s.text("otlp_endpoint", f);
    if endpoint.as_ref().is_some_and(|e| !e.starts_with("http://") && !e.starts_with("https://")) {
        f.mistakes.push(s.mistake("otlp_endpoint", "does not begin with http:// or https://"));
    }
    let sample_ratio = s.fraction("sample_ratio", f).unwrap_or(Telemetry::default().sample_ratio);
    s.finish(f);
    Telemetry { otlp_endpoint: endpoint, sample_ratio }
}

/// Without keys everyone may do everything, so only this machine may ask.
fn open_to_network(config: &Config, root: &mut Section<'_>, f: &mut Findings) {
    let listen = config.server.listen;
    let broken_keys = f.mistakes.iter().any(|m| m.key.starts_with("auth"));
    if config.auth.keys.is_empty() && !broken_keys && !listen.ip().is_loopback() {
        let server = root.section("server", &mut Findings::default());
        let problem = format!(
            "{listen} is open to the network and there are no keys; add [[auth.keys]], or listen on 127.0.0.1"
        );
        f.mistakes.push(server.mistake("listen", problem));
    }
}

/// Who wants a model to judge has to name one.
fn judge_without_model(config: &Config, root: &mut Section<'_>, f: &mut Findings) {
    let broken_llm = f.mistakes.iter().any(|m| m.key.starts_with("llm"));
    if config.evaluate.judge.asks_model() && config.llm.endpoint.is_none() && !broken_llm {
        let evaluate = root.section("evaluate", &mut Findings::default());
        let problem = format!(
            "is {:?}, which asks a model, and none is named; add [llm] with `url` and `model`, or use \"slice\"",
            config.evaluate.judge.as_str()
        );
        f.mistakes.push(evaluate.mistake("judge", problem));
    }
}

/// A slip in `[auth]`, or in its name, would leave the door open: never a mere warning.
fn be_strict_about_auth(f: &mut Findings) {
    let is_auth = |m: &Mistake| {
        let section = m.key.split(['.', '[']).next().unwrap_or_default();
        closest(section, &["auth"]).is_some()
    };
    let (strict, lenient): (Vec<_>, Vec<_>) = std::mem::take(&mut f.unused).into_iter().partition(is_auth);
    f.unused = lenient;
    f.mistakes.extend(strict);
}
