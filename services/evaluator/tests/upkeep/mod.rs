//! An evaluator that does upkeep, over the embedded bus and store, with a clock that stands still until it is set.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_codec::{compaction_task_to_proto, schema};
use hindsight_evaluator::{Compaction, Evaluator, EvaluatorSettings};
use hindsight_forgetting::{Files, Forgetter};
use hindsight_lifecycle::plan::ByTenant;
use hindsight_ports::{
    Bus, Clock, Compactions, EmbedError, Embedder, EmbedderId, Encoded, Encoding, Envelope, Forget as _,
    MemoryStore, Purpose, Queue, testkit::samples,
};
use hindsight_proto::event::v1::CompactionRequested;
use hindsight_runtime::Role as _;
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    CompactionRun, CompactionTask, EvidencePolicies, Forgetting, ForgettingId, Memory, Policy, Scope,
    Subject, TaskState, TenantId, Timestamp, Trigger, Viewer, Work,
};
use prost::Message as _;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const DAY: i64 = 86_400;
/// Longest wait for a task.
const PATIENCE: Duration = Duration::from_secs(60);

struct Hands(Mutex<Timestamp>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

pub(crate) struct Bytes8(pub(crate) EmbedderId);

#[async_trait]
impl Embedder for Bytes8 {
    fn id(&self) -> &EmbedderId {
        &self.0
    }

    async fn embed(&self, texts: &[String], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| samples::dense(text.len())).collect())
    }
}

pub(crate) struct House {
    pub(crate) store: Arc<Store>,
    bus: Arc<dyn Bus>,
    clock: Arc<Hands>,
    forgetter: Forgetter,
    run: CompactionRun,
    tasks: AtomicI64,
    stop: CancellationToken,
    running: JoinHandle<()>,
    backend: Arc<EdgeBackend>,
    _dir: TempDir,
}

pub(crate) fn tenant() -> TenantId {
    samples::tenant("acme")
}

pub(crate) fn scope() -> Scope {
    samples::shared(&tenant())
}

pub(crate) fn viewer() -> Viewer {
    Viewer::of_tenant(tenant())
}

pub(crate) fn user(name: &str) -> Viewer {
    Viewer::of_scope(&samples::private(&tenant(), name))
}

impl House {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bus: Arc<dyn Bus> =
            Arc::new(LocalBus::open(&dir.path().join("bus.db"), LocalBusOptions::default()).unwrap());
        let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
        let embedder = Arc::new(Bytes8(samples::embedder()));
        let store = Arc::new(Store::new(backend.clone(), StoreOptions::default()));
        store.prepare(embedder.id()).await.unwrap();
        let clock = Arc::new(Hands(Mutex::new(samples::time(10 * DAY))));
        let compaction = Compaction {
            upkeep: store.clone(),
            compactions: store.clone(),
            ledger: store.clone(),
            history: store.clone(),
            archive: store.clone(),
            evidence: Arc::new(EvidencePolicies::default()),
            settings: Arc::new(ByTenant::default()),
        };
        let settings = EvaluatorSettings::default();
        let role = Evaluator::new(settings, bus.clone(), store.clone(), embedder, None, clock.clone());
        let forgetter = Forgetter {
            forget: store.clone(),
            bus: bus.clone(),
            clock: clock.clone(),
            store_files: Files::OutOfReach("those of the store"),
            queue_files: Files::OutOfReach("those of the queues"),
        };
        let role = role.compacting(compaction).forgetting(forgetter.clone());
        let stop = CancellationToken::new();
        let running = tokio::spawn({
            let stop = stop.clone();
            async move { role.run(stop).await.unwrap() }
        });
        let now = clock.now();
        let run = CompactionRun::due(tenant(), Policy::Merge, Trigger::Schedule, now, now);
        store.put_run(&run).await.unwrap();
        let tasks = AtomicI64::new(0);
        Self { store, bus, clock, forgetter, run, tasks, stop, running, backend, _dir: dir }
    }

    /// Sets the clock to a day.
    pub(crate) fn set(&self, day: i64) {
        *self.clock.0.lock().unwrap() = samples::time(day * DAY);
    }

    pub(crate) async fn write(&self, memories: &[Memory]) {
        let encode = |(n, memory): (usize, &Memory)| Encoded {
            value: memory.clone(),
            encoding: Encoding { dense: samples::dense(n), sparse: samples::sparse(&[1]) },
        };
        let encoded: Vec<Encoded<Memory>> = memories.iter().enumerate().map(encode).collect();
        self.store.upsert(&encoded).await.unwrap();
    }

    /// Has it done by a worker, and says how it ended.
    pub(crate) async fn work(&self, work: Work) -> TaskState {
        // The same work in another run is another task.
        let number = self.tasks.fetch_add(1, Ordering::Relaxed);
        let due = self.run.due_at + Duration::from_secs(number.unsigned_abs());
        let run = CompactionRun::due(tenant(), Policy::Merge, Trigger::Schedule, due, due);
        let task = CompactionTask::of_run(&run, work, "a test".to_owned(), due);
        self.store.add_tasks(std::slice::from_ref(&task)).await.unwrap();
        let envelope = Envelope {
            id: task.id.0,
            schema: schema::COMPACTION_REQUESTED.to_owned(),
            tenant: tenant(),
            occurred_at: due,
            trace_context: BTreeMap::new(),
            payload: CompactionRequested { task: Some(compaction_task_to_proto(&task)) }.encode_to_vec(),
        };
        self.bus.publish(Queue::Compact, vec![envelope]).await.unwrap();
        let ended = async {
            loop {
                let now = self.store.task(&tenant(), task.id).await.unwrap().unwrap();
                if now.state != TaskState::Planned {
                    return now.state;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, ended).await.expect("the task did not end")
    }

    /// Has a run be forgotten, with all that follows from it.
    pub(crate) async fn forget(&self, name: &str) -> Forgetting {
        let (id, now) = (ForgettingId::of_request(&tenant(), name), self.clock.now());
        let run = Subject::Run(samples::trace(name));
        let asked = Forgetting::begin(id, scope(), run, "asked".to_owned(), "ops".to_owned(), now);
        self.forgetter.begin(&asked).await.unwrap();
        let over = async {
            loop {
                let f = self.store.forgetting(&tenant(), id).await.unwrap().unwrap();
                let stats = self.bus.stats(Queue::Compact).await.unwrap();
                if f.state.is_over() && stats.ready + stats.delayed + stats.unsettled == 0 {
                    return f;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, over).await.expect("it is not forgotten")
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap();
        self.backend.close().await;
    }
}
