//! The worker of upkeep: what it does with tasks, twice, wrongly told, or killed at any of its calls.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod upkeep;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_codec::{compaction_task_to_proto, schema};
use hindsight_evaluator::{Compaction, Evaluator, EvaluatorSettings};
use hindsight_ports::{
    Bus, Compactions, Envelope, MemoryStore, Queue, Upkeep,
    testkit::{
        mortal::{Life, MortalCompactions, MortalUpkeep},
        samples::{self, time, trace},
    },
};
use hindsight_proto::event::v1::CompactionRequested;
use hindsight_runtime::Role as _;
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    CompactionRun, CompactionTask, EvaluationState, Memory, MemoryId, MemoryKind, Policy, TaskState,
    TaskType, Trigger, Work,
};
use prost::Message as _;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use upkeep::{DAY, House, scope, tenant, viewer};

/// Longest wait for a condition.
const PATIENCE: Duration = Duration::from_secs(60);

fn expire(names: &[&str]) -> Work {
    Work::ExpireEvents { traces: names.iter().map(|name| trace(name)).collect() }
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_events_leave_unless_their_run_is_rare_and_important() {
    let house = House::new().await;
    let names = ["rare", "common-1", "common-2", "common-3", "common-4", "plain", "waiting"];
    let mut events: Vec<_> = names.iter().map(|name| samples::started(&scope(), &trace(name))).collect();
    let mut young = samples::step_event(&scope(), &trace("young"), 1);
    young.recorded_at = time(39 * DAY);
    events.extend([samples::started(&scope(), &trace("young")), young]);
    house.store.append_events(&events).await.unwrap();
    let runs = names[..5].iter().map(|name| {
        let Memory::Experience(mut run) = samples::experience(&scope(), &trace(name), 1) else {
            unreachable!("a sample of an experience")
        };
        run.evaluation.worth_reference = true;
        let kind = name.split('-').next().unwrap_or_default();
        run.trajectory.task_type = Some(TaskType::new(kind).unwrap());
        Memory::Experience(run)
    });
    house.write(&runs.collect::<Vec<_>>()).await;
    let waits = EvaluationState::Waiting { reason: "the model is away".to_owned() };
    let record = samples::evaluation_record(&scope(), &trace("waiting"), waits, 3);
    house.store.put_evaluation_record(&record).await.unwrap();
    house.set(40);
    let all = ["rare", "common-1", "common-2", "common-3", "common-4", "plain", "waiting", "young"];
    assert_eq!(house.work(expire(&all)).await, TaskState::Done);
    for name in all {
        let left = house.store.events(&scope(), &trace(name)).await.unwrap().len();
        let stays = ["rare", "waiting", "young"].contains(&name);
        assert_eq!(left > 0, stays, "{name}");
    }
    let again = house.work(expire(&all)).await;
    assert!(matches!(again, TaskState::Skipped { .. }), "{again:?}");
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_patterns_are_counted_by_the_runs_that_are_stored() {
    let house = House::new().await;
    let ended = |name: &str, day| samples::experience(&scope(), &trace(name), day * DAY);
    let seen = samples::failure_pattern(&scope(), "pull", &["t-1", "t-2", "t-3", "gone"], 38 * DAY);
    let pattern = Memory::FailurePattern(seen.clone());
    house.write(&[ended("t-1", 1), ended("t-2", 20), ended("t-3", 38), pattern]).await;
    house.set(40);
    let recount = || Work::Recount { patterns: vec![seen.id, MemoryId::lesson(&tenant(), "x", "y")] };
    assert_eq!(house.work(recount()).await, TaskState::Done);
    let found = house.store.get(&viewer(), MemoryKind::FailurePattern, seen.id).await.unwrap();
    let Some(Memory::FailurePattern(found)) = found else { panic!("it is gone") };
    let frequency = found.frequency.unwrap();
    assert_eq!((frequency.week, frequency.month), (1, 2));
    assert!(matches!(house.work(recount()).await, TaskState::Skipped { .. }));
    house.stop().await;
}

/// Everything but a worker.
struct World {
    store: Arc<Store>,
    bus: Arc<dyn Bus>,
    backend: Arc<EdgeBackend>,
    _dir: TempDir,
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bus: Arc<dyn Bus> =
            Arc::new(LocalBus::open(&dir.path().join("bus.db"), LocalBusOptions::default()).unwrap());
        let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
        let store = Arc::new(Store::new(backend.clone(), StoreOptions::default()));
        store.prepare(&samples::embedder()).await.unwrap();
        Self { store, bus, backend, _dir: dir }
    }

    fn worker(&self, life: Option<&Arc<Life>>) -> Evaluator {
        let (mut upkeep, mut compactions): (Arc<dyn Upkeep>, Arc<dyn Compactions>) =
            (self.store.clone(), self.store.clone());
        if let Some(life) = life {
            upkeep = Arc::new(MortalUpkeep { inner: upkeep, life: life.clone() });
            compactions = Arc::new(MortalCompactions { inner: compactions, life: life.clone() });
        }
        let compaction = Compaction {
            upkeep,
            compactions,
            ledger: self.store.clone(),
            history: self.store.clone(),
            archive: self.store.clone(),
            evidence: Arc::default(),
            settings: Arc::default(),
        };
        let (settings, clock) = (EvaluatorSettings::default(), Arc::new(hindsight_ports::SystemClock));
        let embedder = Arc::new(upkeep::Bytes8(samples::embedder()));
        Evaluator::new(settings, self.bus.clone(), self.store.clone(), embedder, None, clock)
            .compacting(compaction)
    }

    async fn publish(&self, task: &CompactionTask) {
        let envelope = Envelope {
            id: task.id.0,
            schema: schema::COMPACTION_REQUESTED.to_owned(),
            tenant: task.tenant().clone(),
            occurred_at: task.planned_at,
            trace_context: BTreeMap::new(),
            payload: CompactionRequested { task: Some(compaction_task_to_proto(task)) }.encode_to_vec(),
        };
        self.bus.publish(Queue::Compact, vec![envelope]).await.unwrap();
    }

    /// A task of a run that deletes the events of one run, which are there.
    async fn task(&self, name: &str) -> CompactionTask {
        let (tenant, scope) = (samples::tenant(name), samples::shared(&samples::tenant(name)));
        self.store.append_events(&[samples::started(&scope, &trace("t-1"))]).await.unwrap();
        let run = CompactionRun::due(tenant, Policy::RawEvents, Trigger::Schedule, time(0), time(0));
        let task = CompactionTask::of_run(&run, expire(&["t-1"]), "a test".to_owned(), time(0));
        self.store.add_tasks(std::slice::from_ref(&task)).await.unwrap();
        task
    }

    async fn empty(&self) {
        until("the queue is empty", async || {
            let stats = self.bus.stats(Queue::Compact).await.unwrap();
            stats.ready + stats.delayed + stats.unsettled == 0
        })
        .await;
    }
}

async fn until(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !look().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("waited in vain: {what}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_at_any_of_its_calls_leaves_the_task_to_the_next() {
    let world = World::new().await;
    for made in [false, true] {
        for last in 1.. {
            let task = world.task(&format!("killed-{last}-{made}")).await;
            world.publish(&task).await;
            let life = Life::ending_at(last, made);
            let (first, stop) = (world.worker(Some(&life)), CancellationToken::new());
            let died = tokio::select! {
                lived = life.live(first.run(stop.clone())) => lived.is_none(),
                () = world.empty() => false,
            };
            drop(first);
            let (second, stop) = (world.worker(None), CancellationToken::new());
            let running = tokio::spawn({
                let stop = stop.clone();
                async move { second.run(stop).await.unwrap() }
            });
            world.empty().await;
            stop.cancel();
            running.await.unwrap();
            let ended = world.store.task(task.tenant(), task.id).await.unwrap().unwrap();
            // Killed between the deed and its record, the next one finds nothing left to do.
            let told = matches!(ended.state, TaskState::Done | TaskState::Skipped { .. });
            assert!(told, "killed at {last}, {made}: {ended:?}");
            let left = world.store.count_old_events(task.tenant(), time(DAY)).await.unwrap();
            assert_eq!(left, 0, "killed at {last}, {made}");
            if !died {
                assert!(last > 4, "only {last} calls: what was killed?");
                break;
            }
        }
    }
    world.backend.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_comes_again_or_was_forgotten_is_not_done() {
    let world = World::new().await;
    let task = world.task("again").await;
    let ended = CompactionTask { state: TaskState::Done, ended_at: Some(time(5)), ..task.clone() };
    world.store.end_task(&ended).await.unwrap();
    let run =
        CompactionRun::due(task.tenant().clone(), Policy::RawEvents, Trigger::Request, time(9), time(9));
    let unknown = CompactionTask::of_run(&run, task.work.clone(), "its record left".to_owned(), time(9));
    let (worker, stop) = (world.worker(None), CancellationToken::new());
    for message in [&task, &task, &unknown] {
        world.publish(message).await;
    }
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await.unwrap() }
    });
    world.empty().await;
    stop.cancel();
    running.await.unwrap();
    assert_eq!(world.store.task(task.tenant(), task.id).await.unwrap(), Some(ended));
    assert_eq!(
        world.store.count_old_events(task.tenant(), time(DAY)).await.unwrap(),
        1,
        "nothing was deleted"
    );
    assert_eq!(world.bus.dead_letters(Queue::Compact, 9).await.unwrap(), []);
    world.backend.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_set_aside_and_what_no_run_asked_for_is_done() {
    let world = World::new().await;
    let task = world.task("trigger").await;
    let triggered =
        CompactionTask::triggered(task.tenant().clone(), task.work.clone(), String::new(), "t-1", time(0));
    world.publish(&triggered).await;
    for (n, (schema, payload)) in [
        (schema::COMPACTION_REQUESTED, vec![0xff]),
        (schema::COMPACTION_REQUESTED, Vec::new()),
        (schema::EVENT_RECORDED, Vec::new()),
    ]
    .into_iter()
    .enumerate()
    {
        let envelope = Envelope {
            id: uuid::Uuid::from_u128(n as u128),
            schema: schema.to_owned(),
            tenant: tenant(),
            occurred_at: time(0),
            trace_context: BTreeMap::new(),
            payload,
        };
        world.bus.publish(Queue::Compact, vec![envelope]).await.unwrap();
    }
    let (worker, stop) = (world.worker(None), CancellationToken::new());
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await.unwrap() }
    });
    world.empty().await;
    stop.cancel();
    running.await.unwrap();
    assert_eq!(world.bus.dead_letters(Queue::Compact, 9).await.unwrap().len(), 3);
    assert_eq!(world.store.count_old_events(task.tenant(), time(DAY)).await.unwrap(), 0);
    assert_eq!(world.store.task(triggered.tenant(), triggered.id).await.unwrap(), None, "it has no record");
    world.backend.close().await;
}
