//! The check before a call on a stream: what it takes beside an embedding, with many memories and with none.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::channel::mpsc;
use hindsight_api::{DEFAULT_TENANT, EdgeLayer, Keyring};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_client::Client;
use hindsight_embed::EmbedderSpec;
use hindsight_ports::{Clock, Embedder, MemoryStore, Purpose, SystemClock};
use hindsight_proto::recall::v1::{
    BeforeCall, WatchRequest, WatchResponse, WatchStart, watch_request::Event, watch_response::Said,
};
use hindsight_recall::{CacheSettings, Recall, RecallSettings};
use hindsight_runtime::{Role, Running};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    Environment, FailurePattern, Memory, MemoryId, Scope, TenantId, Timestamp, TraceId, Visibility,
};

use crate::{
    memories,
    report::{Report, Times},
};

const GRACE: Duration = Duration::from_secs(5);
/// Longest time for the failures to be read, and between two looks.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Memories encoded and written at a time.
const BATCH: u64 = 500;
/// Calls before the clock runs.
const WARM_UP: usize = 50;
/// Of the memories, one of so many is a failure that was seen of late.
const FAILURES: u64 = 5;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many memories there are; an empty store is measured in any case.
    #[arg(long, num_args = 1.., default_values_t = [10_000, 100_000])]
    memories: Vec<u64>,
    /// Calls of each sort.
    #[arg(long, default_value_t = 2_000)]
    calls: usize,
}

pub(crate) async fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    for memories in [0].into_iter().chain(args.memories.iter().copied()) {
        measure(memories, args.calls, report).await?;
    }
    Ok(())
}

async fn measure(count: u64, calls: usize, report: &mut Report) -> anyhow::Result<()> {
    let dir = tempfile::tempdir()?;
    let embedder = EmbedderSpec::Static.build().await?;
    let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default())?);
    let store: Arc<dyn MemoryStore> = Arc::new(Store::new(backend.clone(), StoreOptions::default()));
    store.prepare(embedder.id()).await?;
    let scope = Scope::new(TenantId::new(DEFAULT_TENANT)?, Visibility::Tenant);
    fill(&*store, &*embedder, &scope, count).await?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let bus = Arc::new(LocalBus::open(&dir.path().join("bus.db"), LocalBusOptions::default())?);
    let settings = RecallSettings::default();
    let role = Recall::remembering(settings, &CacheSettings::default(), bus, store, embedder.clone(), clock);
    let roles: Vec<Arc<dyn Role>> = vec![Arc::new(role)];
    let keyring = Keyring::open(TenantId::new(DEFAULT_TENANT)?);
    let running = Running::start(roles, EdgeLayer::new(keyring), GRACE).await?;
    let client = Client::local(running.routes(), None)?;

    let [mut embedding, mut other, mut known, mut said]: [Times; 4] = Default::default();
    let mut stream = Stream::open(&client).await?;
    warm(&client, count).await?;
    for index in 0..WARM_UP + calls {
        // In turn, so that all see the same noise of the machine.
        let begun = Instant::now();
        embedder.embed(&[command(index as u64)], Purpose::Query).await?;
        let embedded = begun.elapsed();
        let (looked, answer) = stream.before("bash", &format!("ls -la /srv/app-{index}")).await?;
        anyhow::ensure!(!is_reminder(&answer), "a call that nobody knows was warned of: {answer:?}");
        // A stream of its own for each: nothing is said twice.
        stream = Stream::open(&client).await?;
        let (warned, answer) = stream.before("bash", &command(latest(count, index))).await?;
        anyhow::ensure!(is_reminder(&answer) == (count > 0), "known to fail: {answer:?}");
        let (again, _) = stream.before("bash", &command(latest(count, index))).await?;
        if index >= WARM_UP {
            embedding.push(embedded);
            other.push(looked);
            said.push(warned);
            known.push(again);
        }
    }
    tell(count, [("an unknown call", other), ("a call warned of", said), ("the same again", known)], report);
    for percent in [50, 95, 99] {
        report.add(
            format!("{count} memories: embedding of such a call, p{percent}"),
            embedding.percentile(percent),
            "ms",
        );
    }
    running.stop().await;
    backend.close().await;
    Ok(())
}

/// Waits until the failures are in memory.
async fn warm(client: &Client, count: u64) -> anyhow::Result<()> {
    if count == 0 {
        return Ok(());
    }
    let until = Instant::now() + PATIENCE;
    loop {
        let mut stream = Stream::open(client).await?;
        if is_reminder(&stream.before("bash", &command(latest(count, 0))).await?.1) {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < until, "the failures are not read");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn tell(count: u64, sorts: [(&str, Times); 3], report: &mut Report) {
    for (sort, times) in sorts {
        for percent in [50, 95, 99] {
            report.add(format!("{count} memories: {sort}, p{percent}"), times.percentile(percent), "ms");
        }
    }
}

fn is_reminder(answer: &WatchResponse) -> bool {
    matches!(answer.said, Some(Said::Reminder(_)))
}

/// One of the failures that are compared with: of many, those seen last.
fn latest(count: u64, index: usize) -> u64 {
    (count / FAILURES).saturating_sub(1 + index as u64 % 1_000)
}

/// The call that fails, number `index`.
fn command(index: u64) -> String {
    let services = ["cart", "billing", "search", "auth", "mail", "stock", "quota"];
    let service = services[(index % 7) as usize];
    format!(
        "deploy --service {service} --ticket T{index} --zone z{} --image registry/{service}:{}",
        index % 31,
        index / 7
    )
}

async fn fill(
    store: &dyn MemoryStore,
    embedder: &dyn Embedder,
    scope: &Scope,
    count: u64,
) -> anyhow::Result<()> {
    for from in (0..count).step_by(BATCH as usize) {
        let batch = (from..(from + BATCH).min(count)).map(|index| match index % FAILURES {
            0 => failure(scope, index / FAILURES),
            1 | 2 => memories::fact(&scope.tenant, &memories::user(index / 1_000), index),
            _ => memories::experience(scope, index),
        });
        let batch = batch.collect::<anyhow::Result<Vec<_>>>()?;
        store.upsert(&hindsight_ingest::encode::memories(embedder, batch).await?).await?;
    }
    Ok(())
}

/// Seen in four runs of the last weeks, the later the greater its number.
fn failure(scope: &Scope, index: u64) -> anyhow::Result<Memory> {
    let ago = |minutes: i64| Timestamp::from_second(Timestamp::now().as_second() - 60 * minutes);
    let error = format!("quota of zone z{} exceeded for ticket T{index}", index % 31);
    let key = format!("bash\u{1f}{error}");
    let sources = (0..4).map(|n| TraceId::new(format!("failed-{index}-{n}"))).collect::<Result<_, _>>()?;
    Ok(Memory::FailurePattern(FailurePattern {
        id: MemoryId::failure_pattern(&scope.tenant, &scope.visibility.keyword(), &key),
        scope: scope.clone(),
        action_name: "bash".to_owned(),
        signature: error.to_lowercase(),
        example: error.clone(),
        action_detail: command(index),
        cause: error,
        suggestion: format!("Worked: release --ticket T{index}, then deploy again"),
        environment: Environment::default(),
        sources,
        supported: 0,
        refuted: 0,
        first_seen: ago(30_000 - i64::try_from(index)?)?,
        last_seen: ago(29_000 - i64::try_from(index)?)?,
        frequency: None,
    }))
}

struct Stream {
    events: mpsc::Sender<WatchRequest>,
    answers: tonic::Streaming<WatchResponse>,
}

impl Stream {
    async fn open(client: &Client) -> anyhow::Result<Self> {
        let (mut events, sent) = mpsc::channel(1);
        let start = Some(Event::Start(WatchStart::default()));
        events.try_send(WatchRequest { sequence: 0, event: start })?;
        let mut answers = client.watch(sent).await?;
        anyhow::ensure!(answers.message().await?.is_some(), "no answer to the start");
        Ok(Self { events, answers })
    }

    /// The time from the event to its answer.
    async fn before(&mut self, tool: &str, command: &str) -> anyhow::Result<(Duration, WatchResponse)> {
        let arguments = serde_json::json!({ "command": command }).to_string();
        let call = BeforeCall { tool: tool.to_owned(), arguments, ..BeforeCall::default() };
        let event = WatchRequest { sequence: 1, event: Some(Event::BeforeCall(call)) };
        let begun = Instant::now();
        self.events.try_send(event)?;
        let answer = self.answers.message().await?;
        let answer = answer.ok_or_else(|| anyhow::anyhow!("the stream ended"))?;
        Ok((begun.elapsed(), answer))
    }
}
