//! Recall of a user's facts, asked of the store each time and with what recall keeps in memory.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use hindsight_api::{DEFAULT_TENANT, EdgeLayer, Keyring};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_client::Client;
use hindsight_embed::EmbedderSpec;
use hindsight_ports::{
    Clock, Embedder, Encoded, Encoding, MemoryStore, Purpose, SparseVector, SystemClock,
    testkit::faulty_store::{Calls, Fault, FaultyStore, StoreCall, When},
};
use hindsight_proto::{common::v1::MemoryKind, recall::v1::RecallRequest};
use hindsight_recall::{CacheSettings, Recall, RecallSettings};
use hindsight_runtime::{Role, Running};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_text::bm25;
use hindsight_types::{Fact, Memory, TenantId, Timestamp, UserId};

use crate::report::{Report, Times};

const GRACE: Duration = Duration::from_secs(5);
/// Facts written at a time.
const BATCH: usize = 500;
/// Recalls before the clock runs.
const WARM_UP: u64 = 30;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Facts of the user who is asked for.
    #[arg(long, default_value_t = 200)]
    facts: usize,
    /// Facts of others.
    #[arg(long, default_value_t = 10_000)]
    others: usize,
    #[arg(long, default_value_t = 300)]
    queries: u64,
    /// How much later the store answers a read than the engine does, in milliseconds, as one in the network.
    #[arg(long, default_value_t = 0)]
    store_away: u64,
    /// A sentence-transformers directory to encode with.
    #[arg(long)]
    model: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let spec = args.model.clone().map_or(EmbedderSpec::Static, EmbedderSpec::Directory);
    let embedder = spec.build().await?;
    let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default())?);
    let store: Arc<dyn MemoryStore> = Arc::new(Store::new(backend.clone(), StoreOptions::default()));
    store.prepare(embedder.id()).await?;
    fill(&*store, &*embedder, args).await?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let bus = Arc::new(LocalBus::open(&dir.path().join("bus.db"), LocalBusOptions::default())?);
    let settings = RecallSettings::default();
    let [asked, spared] = [away(&store, args.store_away), away(&store, args.store_away)];
    let plain = Recall::new(settings.clone(), asked.clone(), embedder.clone(), clock.clone());
    let caches = CacheSettings { facts_per_user: 999, ..CacheSettings::default() };
    let kept = Recall::remembering(settings, &caches, bus, spared.clone(), embedder, clock);
    let (plain, kept) = (serve(plain).await?, serve(kept).await?);

    let mut measured: [Measured; 3] = Default::default();
    for index in 0..WARM_UP + args.queries {
        if index == WARM_UP {
            measured = Default::default();
        }
        // In turn, so that all see the same noise of the machine.
        let question = question(index);
        let ways = [(&plain.0, &asked), (&kept.0, &spared), (&kept.0, &spared)];
        for ((client, store), measured) in ways.into_iter().zip(&mut measured) {
            let before = reads(store);
            ask(client, &question, &mut measured.times).await?;
            measured.reads += reads(store) - before;
        }
    }
    tell(args, &measured, report);
    for (_, running) in [plain, kept] {
        running.stop().await;
    }
    backend.close().await;
    Ok(())
}

fn tell(args: &Args, measured: &[Measured; 3], report: &mut Report) {
    let of = format!("{} of {} facts", args.facts, args.facts + args.others);
    let ways =
        ["from the store", "with facts in memory, new question", "with facts in memory, same question"];
    let name = |way: &str, what: &str| format!("recall {way}, {of}, {what}");
    for (way, measured) in ways.iter().zip(measured) {
        report.add(
            name(way, "reads of the store"),
            measured.reads as f64 / args.queries.max(1) as f64,
            "each",
        );
        for percent in [50, 99] {
            let what = format!("p{percent}");
            report.add_beside(
                name(way, &what),
                measured.times.percentile(percent),
                "ms",
                &name(ways[0], &what),
            );
        }
    }
}

/// Counts, and answers reads later.
fn away(store: &Arc<dyn MemoryStore>, ms: u64) -> Arc<FaultyStore> {
    let store = FaultyStore::new(store.clone(), 1);
    if ms > 0 {
        store.inject(Calls::Reads, When::Always, Fault::Delay(Duration::from_millis(ms)));
    }
    Arc::new(store)
}

fn reads(store: &FaultyStore) -> u64 {
    store.made(StoreCall::Search) + store.made(StoreCall::Fetch)
}

/// What was measured of one way to ask.
#[derive(Default)]
struct Measured {
    times: Times,
    reads: u64,
}

async fn serve(role: Recall) -> anyhow::Result<(Client, Running)> {
    let roles: Vec<Arc<dyn Role>> = vec![Arc::new(role)];
    let keyring = Keyring::open(TenantId::new(DEFAULT_TENANT)?);
    let running = Running::start(roles, EdgeLayer::new(keyring), GRACE).await?;
    Ok((Client::local(running.routes(), None)?, running))
}

fn question(index: u64) -> String {
    format!("which order {} was late, 第 {index} 单", index * 7)
}

async fn ask(client: &Client, question: &str, times: &mut Times) -> anyhow::Result<()> {
    let request = RecallRequest {
        query: question.to_owned(),
        user: user(0)?.to_string(),
        kinds: vec![MemoryKind::Fact as i32],
        ..RecallRequest::default()
    };
    let started = Instant::now();
    let answer = client.recall(request).await?;
    times.push(started.elapsed());
    anyhow::ensure!(!answer.degraded, "a recall missed its deadline: {:?}", answer.arms);
    Ok(())
}

fn user(n: usize) -> anyhow::Result<UserId> {
    Ok(UserId::new(format!("user-{n}"))?)
}

async fn fill(store: &dyn MemoryStore, embedder: &dyn Embedder, args: &Args) -> anyhow::Result<()> {
    let tenant = TenantId::new(DEFAULT_TENANT)?;
    let mut facts = Vec::new();
    for n in 0..args.facts + args.others {
        let user = user(if n < args.facts { 0 } else { 1 + n % 100 })?;
        let at = Timestamp::from_second(1_780_000_000 + 600 * n as i64)?;
        let content = format!("order {n} was late by {} days, 客户要求退款", n % 9);
        facts.push(Memory::Fact(Fact::new(&tenant, user, &format!("k{n}"), &content, at)));
    }
    for batch in facts.chunks(BATCH) {
        let texts: Vec<String> = batch.iter().map(Memory::indexed_text).collect();
        let vectors = embedder.embed(&texts, Purpose::Passage).await?;
        let encoded: Vec<Encoded<Memory>> = batch
            .iter()
            .zip(texts)
            .zip(vectors)
            .map(|((value, text), dense)| {
                let (indices, values) = bm25::encode_document(&text);
                let encoding = Encoding { dense, sparse: SparseVector { indices, values } };
                Encoded { value: value.clone(), encoding }
            })
            .collect();
        store.upsert(&encoded).await?;
    }
    Ok(())
}
