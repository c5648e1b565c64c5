//! Two compactors, one of which is killed at each of its calls in turn, before it is made and after: the other brings
//! the run to its end, once, and every task has its effect once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_codec::compaction_task_from_proto;
use hindsight_ports::{
    MemoryStore, Page, Queue,
    testkit::{
        mortal::{Life, MortalBus, MortalCompactions, MortalUpkeep},
        samples,
    },
};
use hindsight_proto::event::v1::CompactionRequested;
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    CompactionRunId, CompactionTask, CompactionTaskId, RunState, TaskCounts, TaskState, Timestamp, Trigger,
    Work,
};
use prost::Message as _;
use tempfile::TempDir;

use super::*;

const DAY: i64 = 24 * 60 * 60;

struct Hands(Mutex<Timestamp>);

impl Hands {
    fn forward(&self, seconds: i64) {
        let mut now = self.0.lock().unwrap();
        *now = Timestamp::from_second(now.as_second() + seconds).unwrap();
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// What everybody shares.
struct World {
    store: Arc<Store>,
    bus: Arc<dyn Bus>,
    clock: Arc<Hands>,
    _dir: TempDir,
}

impl World {
    async fn new() -> Self {
        let shm = std::path::Path::new("/dev/shm");
        let dir = if shm.is_dir() { tempfile::tempdir_in(shm) } else { tempfile::tempdir() }.unwrap();
        let clock = Arc::new(Hands(Mutex::new(samples::time(30 * DAY))));
        let options = LocalBusOptions { clock: clock.clone(), ..LocalBusOptions::default() };
        let bus = Arc::new(LocalBus::open(&dir.path().join("bus.db"), options).unwrap());
        let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
        let store = Arc::new(Store::new(backend, StoreOptions::default()));
        store.prepare(&samples::embedder()).await.unwrap();
        Self { store, bus, clock, _dir: dir }
    }

    /// Old events of runs that nobody judged: three tasks.
    async fn age(&self, tenant: &TenantId) {
        let scope = samples::shared(tenant);
        let events: Vec<_> =
            (0..110).map(|n| samples::started(&scope, &samples::trace(&format!("t-{n:03}")))).collect();
        self.store.append_events(&events).await.unwrap();
    }

    fn parts(&self) -> CompactionParts {
        CompactionParts {
            upkeep: self.store.clone(),
            archive: self.store.clone(),
            compactions: self.store.clone(),
            ledger: self.store.clone(),
            evidence: Arc::default(),
            policies: Arc::default(),
            runs: RunSettings { lost_after: Duration::from_secs(60), ..RunSettings::default() },
        }
    }

    fn compactor(&self) -> Compaction {
        Compaction::new(self.parts(), self.bus.clone(), self.clock.clone())
    }

    /// One that dies as `life` says.
    fn mortal(&self, life: &Arc<Life>, wins: &Arc<Wins>) -> Compaction {
        let mut parts = self.parts();
        let life = || life.clone();
        parts.upkeep = Arc::new(MortalUpkeep { inner: self.store.clone(), life: life() });
        let counted = Counted { inner: self.store.clone(), wins: wins.clone() };
        parts.compactions = Arc::new(MortalCompactions { inner: Arc::new(counted), life: life() });
        let bus = MortalBus { inner: self.bus.clone(), life: life() };
        Compaction::new(parts, Arc::new(bus), self.clock.clone())
    }

    fn counted(&self, wins: &Arc<Wins>) -> Compaction {
        let mut parts = self.parts();
        parts.compactions = Arc::new(Counted { inner: self.store.clone(), wins: wins.clone() });
        Compaction::new(parts, self.bus.clone(), self.clock.clone())
    }

    /// Does the tasks that wait, as a worker does, and says which.
    async fn work(&self, tenant: &TenantId) -> Vec<CompactionTaskId> {
        let mut consumer = self.bus.subscribe(Queue::Compact, 1).await.unwrap();
        let mut done = Vec::new();
        while self.waiting().await > 0 {
            let delivery = consumer.next().await.unwrap();
            let asked = CompactionRequested::decode(delivery.envelope.payload.as_slice()).unwrap();
            let task = compaction_task_from_proto(&delivery.envelope.tenant, asked.task.unwrap()).unwrap();
            assert_eq!(task.tenant(), tenant);
            let known =
                self.store.task(tenant, task.id).await.unwrap().expect("published before it was on record");
            if known.state == TaskState::Planned {
                let Work::ExpireEvents { traces } = &task.work else { panic!("other work: {task:?}") };
                let deleted = self.store.delete_events(tenant, traces).await.unwrap();
                assert_eq!(deleted, traces.len() as u64, "the effect of {} came twice", task.id);
                let ended =
                    CompactionTask { state: TaskState::Done, ended_at: Some(self.clock.now()), ..task };
                self.store.end_task(&ended).await.unwrap();
                done.push(known.id);
            }
            delivery.settle.ack().await.unwrap();
        }
        done
    }

    /// Messages that wait, or are on their way to a worker.
    async fn waiting(&self) -> u64 {
        let stats = self.bus.stats(Queue::Compact).await.unwrap();
        stats.ready + stats.unsettled
    }

    async fn the_run(&self, tenant: &TenantId) -> CompactionRun {
        let page = PageRequest { size: 9, token: String::new() };
        let mut runs = self.store.runs(tenant, None, &page).await.unwrap().items;
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }
}

/// How often runs were ended.
#[derive(Debug, Default)]
struct Wins(AtomicU64);

/// Tells when a run ends.
struct Counted {
    inner: Arc<dyn Compactions>,
    wins: Arc<Wins>,
}

#[async_trait]
impl Compactions for Counted {
    async fn put_run(&self, next: &CompactionRun) -> Result<bool, StoreError> {
        let won = self.inner.put_run(next).await?;
        if won && next.state.is_over() {
            self.wins.0.fetch_add(1, Ordering::SeqCst);
        }
        Ok(won)
    }

    async fn run(&self, tenant: &TenantId, id: CompactionRunId) -> Result<Option<CompactionRun>, StoreError> {
        self.inner.run(tenant, id).await
    }

    async fn runs(
        &self,
        tenant: &TenantId,
        policy: Option<Policy>,
        page: &PageRequest,
    ) -> Result<Page<CompactionRun>, StoreError> {
        self.inner.runs(tenant, policy, page).await
    }

    async fn open_runs(&self, page: &PageRequest) -> Result<Page<CompactionRun>, StoreError> {
        self.inner.open_runs(page).await
    }

    async fn add_tasks(&self, tasks: &[CompactionTask]) -> Result<(), StoreError> {
        self.inner.add_tasks(tasks).await
    }

    async fn task(
        &self,
        tenant: &TenantId,
        id: CompactionTaskId,
    ) -> Result<Option<CompactionTask>, StoreError> {
        self.inner.task(tenant, id).await
    }

    async fn tasks(
        &self,
        tenant: &TenantId,
        run: CompactionRunId,
        open_only: bool,
        page: &PageRequest,
    ) -> Result<Page<CompactionTask>, StoreError> {
        self.inner.tasks(tenant, run, open_only, page).await
    }

    async fn end_task(&self, task: &CompactionTask) -> Result<(), StoreError> {
        self.inner.end_task(task).await
    }

    async fn count_tasks(&self, tenant: &TenantId, run: CompactionRunId) -> Result<TaskCounts, StoreError> {
        self.inner.count_tasks(tenant, run).await
    }

    async fn expire_runs(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.inner.expire_runs(before).await
    }
}

/// Brings what is open to its end: looks, works, lets time pass.
async fn finish(world: &World, compactor: &Compaction, tenant: &TenantId) -> Vec<CompactionTaskId> {
    let mut done = Vec::new();
    for _ in 0..10 {
        let open = compactor.look(false).await.unwrap();
        done.extend(world.work(tenant).await);
        if open == 0 {
            return done;
        }
        world.clock.forward(61);
    }
    panic!("the run does not end: {:?}", world.the_run(tenant).await);
}

/// A run from its request to its end by a compactor that dies at call `last`, and by another one that goes on.
/// Returns whether the first one died.
async fn killed_at(world: &World, last: u64, made: bool) -> bool {
    let tenant = samples::tenant(&format!("killed-{last}-{made}"));
    world.age(&tenant).await;
    let (life, wins) = (Life::ending_at(last, made), Arc::new(Wins::default()));
    let (first, second) = (world.mortal(&life, &wins), world.counted(&wins));
    let mut done = Vec::new();
    let lived = life
        .live(async {
            let run = first.request(&tenant, Policy::RawEvents, "r").await.unwrap();
            assert_eq!(run.trigger, Trigger::Request);
            finish(world, &first, &tenant).await
        })
        .await;
    let died = lived.is_none();
    done.extend(lived.unwrap_or_default());
    let asked = second.request(&tenant, Policy::RawEvents, "r").await.unwrap();
    done.extend(finish(world, &second, &tenant).await);
    let run = world.the_run(&tenant).await;
    assert_eq!(run.id, asked.id, "the same request is the same run");
    assert_eq!(run.state, RunState::Done, "killed at {last}, {made}");
    assert_eq!(run.counts, TaskCounts { planned: 3, done: 3, skipped: 0, failed: 0 });
    assert_eq!(world.store.count_old_events(&tenant, samples::time(DAY)).await.unwrap(), 0);
    let unique: BTreeSet<_> = done.iter().collect();
    assert_eq!(unique.len(), done.len(), "a task was done twice");
    assert_eq!(wins.0.load(Ordering::SeqCst), 1, "killed at {last}, {made}: it ended more than once");
    died
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_ends_once_wherever_its_compactor_is_killed() {
    let world = World::new().await;
    for made in [false, true] {
        let mut last = 1;
        while killed_at(&world, last, made).await {
            last += 1;
        }
        assert!(last > 15, "only {last} calls: what was killed?");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_both_believe_to_lead_end_a_run_once() {
    let world = World::new().await;
    for n in 0..5 {
        let tenant = samples::tenant(&format!("both-{n}"));
        world.age(&tenant).await;
        let wins = Arc::new(Wins::default());
        let (a, b) = (world.counted(&wins), world.counted(&wins));
        a.request(&tenant, Policy::RawEvents, "r").await.unwrap();
        let mut done = Vec::new();
        for _ in 0..10 {
            let (x, y) = tokio::join!(a.look(false), b.look(false));
            done.extend(world.work(&tenant).await);
            if x.unwrap() + y.unwrap() == 0 {
                break;
            }
            world.clock.forward(61);
        }
        let run = world.the_run(&tenant).await;
        assert_eq!((run.state, run.counts.done), (RunState::Done, 3));
        assert_eq!((done.len(), wins.0.load(Ordering::SeqCst)), (3, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_changes_nothing_and_tells_what_a_run_then_does() {
    let world = World::new().await;
    let tenant = samples::tenant("dry");
    world.age(&tenant).await;
    let compactor = world.compactor();
    let plan = compactor.plan(&tenant, Policy::RawEvents).await.unwrap();
    assert_eq!((plan.planned.len(), plan.cut), (3, false));
    assert!(plan.planned[0].why.contains("50 not judged"), "{}", plan.planned[0].why);
    let page = PageRequest { size: 9, token: String::new() };
    assert_eq!(world.store.runs(&tenant, None, &page).await.unwrap().items, []);
    assert_eq!(world.store.count_old_events(&tenant, samples::time(DAY)).await.unwrap(), 110);
    assert_eq!(world.bus.stats(Queue::Compact).await.unwrap().ready, 0);
    let run = compactor.request(&tenant, Policy::RawEvents, "r").await.unwrap();
    finish(&world, &compactor, &tenant).await;
    let tasks = world.store.tasks(&tenant, run.id, false, &page).await.unwrap().items;
    let did: BTreeMap<Vec<String>, String> = tasks.into_iter().map(|t| (t.work.names(), t.why)).collect();
    let told = plan.planned.into_iter().map(|p| (p.work.names(), p.why)).collect();
    assert_eq!(did, told);
    assert_eq!(
        compactor.plan(&tenant, Policy::RawEvents).await.unwrap(),
        Plan { planned: vec![], cut: false }
    );
}

/// Their events lie on several pages of the store, in no order.
#[tokio::test(flavor = "multi_thread")]
async fn runs_of_many_events_are_named_once() {
    let world = World::new().await;
    let tenant = samples::tenant("many");
    let (scope, name) = (samples::shared(&tenant), |n| samples::trace(&format!("t-{n:03}")));
    let events = (0..60).flat_map(|n| (0..40).map(move |at| (n, at)));
    let events: Vec<_> = events.map(|(n, at)| samples::step_event(&scope, &name(n), at)).collect();
    world.store.append_events(&events).await.unwrap();
    let plan = world.compactor().plan(&tenant, Policy::RawEvents).await.unwrap();
    let mut named: Vec<String> = plan.planned.iter().flat_map(|task| task.work.names()).collect();
    named.sort_unstable();
    assert_eq!(named, (0..60).map(|n| name(n).to_string()).collect::<Vec<_>>());
    assert_eq!(plan.planned.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_does_no_more_than_it_may_and_the_next_one_goes_on() {
    let world = World::new().await;
    let tenant = samples::tenant("cut");
    world.age(&tenant).await;
    let mut parts = world.parts();
    parts.runs.tasks = 2;
    let compactor = Compaction::new(parts, world.bus.clone(), world.clock.clone());
    assert!(compactor.plan(&tenant, Policy::RawEvents).await.unwrap().cut);
    compactor.request(&tenant, Policy::RawEvents, "1").await.unwrap();
    finish(&world, &compactor, &tenant).await;
    let run = world.the_run(&tenant).await;
    assert_eq!((run.cut, run.counts.done), (true, 2));
    let next = compactor.request(&tenant, Policy::RawEvents, "2").await.unwrap();
    finish(&world, &compactor, &tenant).await;
    let next = world.store.run(&tenant, next.id).await.unwrap().unwrap();
    assert_eq!((next.cut, next.counts.done), (false, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_published_and_lost_is_published_again() {
    let world = World::new().await;
    let tenant = samples::tenant("lost");
    world.age(&tenant).await;
    let compactor = world.compactor();
    compactor.request(&tenant, Policy::RawEvents, "r").await.unwrap();
    assert_eq!(compactor.look(false).await.unwrap(), 1);
    assert_eq!(world.bus.stats(Queue::Compact).await.unwrap().ready, 3);
    // While they wait in the queue they are not lost, however long that takes.
    world.clock.forward(3_600);
    compactor.look(false).await.unwrap();
    assert_eq!(world.bus.stats(Queue::Compact).await.unwrap().ready, 3);
    let mut consumer = world.bus.subscribe(Queue::Compact, 3).await.unwrap();
    for _ in 0..3 {
        consumer.next().await.unwrap().settle.ack().await.unwrap();
    }
    drop(consumer);
    compactor.look(false).await.unwrap();
    assert_eq!(world.bus.stats(Queue::Compact).await.unwrap().ready, 3);
    finish(&world, &compactor, &tenant).await;
    assert_eq!(world.the_run(&tenant).await.counts.done, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_is_begun_once_and_what_was_missed_is_made_up_for_once() {
    let world = World::new().await;
    let tenant = samples::tenant("due");
    world.age(&tenant).await;
    // Of whom nothing is stored nothing is due.
    let mut young = samples::step_event(&samples::shared(&tenant), &samples::trace("young"), 0);
    young.recorded_at = samples::time(90 * DAY);
    world.store.append_events(&[young]).await.unwrap();
    let begun = async |compactor: &Compaction| {
        compactor.look(true).await.unwrap();
        world.work(&tenant).await;
        compactor.look(true).await.unwrap();
        let page = PageRequest { size: 500, token: String::new() };
        let runs = world.store.runs(&tenant, Some(Policy::RawEvents), &page).await.unwrap().items;
        runs.iter().map(|run| run.due_at).collect::<Vec<_>>()
    };
    let first = world.compactor();
    assert_eq!(begun(&first).await.len(), 1, "what was due before anything ran is due once");
    world.clock.forward(60);
    assert_eq!(begun(&first).await.len(), 1);
    assert_eq!(begun(&world.compactor()).await.len(), 1, "one that leads next finds it begun");
    world.clock.forward(5 * DAY);
    let due = begun(&world.compactor()).await;
    assert_eq!(due.len(), 2, "five nights were missed: {due:?}");
    world.clock.forward(DAY);
    assert_eq!(begun(&first).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn much_that_gathered_does_not_wait_for_its_time() {
    let world = World::new().await;
    let tenant = samples::tenant("burst");
    world.age(&tenant).await;
    let mut parts = world.parts();
    parts.runs.old_events = 100;
    let yearly = hindsight_lifecycle::plan::Timing { enabled: true, schedule: "0 0 1 1 *".parse().unwrap() };
    let mut policies = ByTenant::default();
    policies.all.set_timing(Policy::RawEvents, yearly);
    parts.policies = Arc::new(policies);
    let compactor = Compaction::new(parts, world.bus.clone(), world.clock.clone());
    compactor.look(true).await.unwrap();
    let page = PageRequest { size: 9, token: String::new() };
    let runs = world.store.runs(&tenant, Some(Policy::RawEvents), &page).await.unwrap().items;
    assert_eq!(runs.iter().map(|run| run.trigger).collect::<Vec<_>>(), [Trigger::Threshold]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_is_off_is_left_alone() {
    let world = World::new().await;
    let tenant = samples::tenant("off");
    world.age(&tenant).await;
    let mut policies = ByTenant::default();
    for policy in Policy::ALL {
        let mut timing = policies.all.timing(policy).unwrap().clone();
        timing.enabled = false;
        policies.all.set_timing(policy, timing);
    }
    let mut parts = world.parts();
    parts.policies = Arc::new(policies);
    let compactor = Compaction::new(parts, world.bus.clone(), world.clock.clone());
    assert_eq!(compactor.look(true).await.unwrap(), 0);
    let page = PageRequest { size: 9, token: String::new() };
    assert_eq!(world.store.runs(&tenant, None, &page).await.unwrap().items, []);
}
