//! What every [`Upkeep`] and [`Compactions`] must do. [`upkeep_suite!`](crate::upkeep_suite) makes a test of each
//! check. Each takes a tenant of its own, so that they may share a store.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, sync::Arc};

use hindsight_types::{
    CompactionRun, CompactionTask, EvaluationState, Experience, Memory, MemoryKind, OpenTask, Policy,
    RecalledItem, RunState, Scope, ScoreFactors, SimilarityParts, TaskCounts, TaskState, TaskType, TenantId,
    TraceId, Trigger, Viewer, Work,
};

use super::samples::{
    encoded, evaluation_record, experience, failure_pattern, private, receipt, shared, started, step_event,
    tenant, time, trace,
};
use crate::{Compactions, MemoryStore, PageRequest, Upkeep};

/// Everything in one.
pub trait Keeper: MemoryStore + Upkeep + Compactions {}
impl<T: MemoryStore + Upkeep + Compactions> Keeper for T {}

type Store = Arc<dyn Keeper>;

fn page(size: usize) -> PageRequest {
    PageRequest { size, token: String::new() }
}

fn run(tenant: &TenantId, policy: Policy, due: i64) -> CompactionRun {
    CompactionRun::due(tenant.clone(), policy, Trigger::Schedule, time(due), time(due))
}

fn task(run: &CompactionRun, name: &str) -> CompactionTask {
    let work = Work::ExpireEvents { traces: vec![trace(name)] };
    CompactionTask::of_run(run, work, "it is old".to_owned(), time(1))
}

/// Of two that go on from the same state one does, and learns so.
pub async fn a_run_is_led_on_by_one(store: Store) {
    let tenant = tenant("led-on");
    let fresh = run(&tenant, Policy::Merge, 10);
    assert!(store.put_run(&fresh).await.unwrap());
    assert!(!store.put_run(&fresh).await.unwrap(), "it is there already");
    let known = store.run(&tenant, fresh.id).await.unwrap().unwrap();
    assert_eq!(known, CompactionRun { revision: 1, ..fresh });
    let mine = CompactionRun { cursor: "mine".to_owned(), ..known.clone() };
    let theirs = CompactionRun { cursor: "theirs".to_owned(), ..known.clone() };
    let (a, b) = tokio::join!(store.put_run(&mine), store.put_run(&theirs));
    assert!(a.unwrap() != b.unwrap(), "one of two is quicker");
    let same = tokio::join!(store.put_run(&mine), store.put_run(&mine));
    assert_eq!((same.0.unwrap(), same.1.unwrap()), (false, false), "the state they know is gone");
    assert_eq!(store.run(&tenant, mine.id).await.unwrap().unwrap().revision, 2);
}

/// Runs are listed by when they began; those that are open are found without knowing whose they are.
pub async fn runs_are_listed_and_found_while_open(store: Store) {
    let tenant = tenant("listed");
    for (n, policy) in [Policy::Merge, Policy::Facts, Policy::Merge].into_iter().enumerate() {
        store.put_run(&run(&tenant, policy, n as i64)).await.unwrap();
    }
    let all = store.runs(&tenant, None, &page(2)).await.unwrap();
    let due: Vec<_> = all.items.iter().map(|run| run.due_at).collect();
    assert_eq!(due, [time(2), time(1)]);
    let rest = PageRequest { size: 2, token: all.next_token };
    assert_eq!(store.runs(&tenant, None, &rest).await.unwrap().items.len(), 1);
    assert_eq!(store.runs(&tenant, Some(Policy::Merge), &page(9)).await.unwrap().items.len(), 2);
    let over = store.run(&tenant, all.items[0].id).await.unwrap().unwrap();
    store.put_run(&CompactionRun { state: RunState::Done, ended_at: Some(time(9)), ..over }).await.unwrap();
    let (mut open, mut request) = (Vec::new(), page(1));
    loop {
        let found = store.open_runs(&request).await.unwrap();
        open.extend(found.items.into_iter().filter(|run| *run.tenant() == tenant).map(|run| run.due_at));
        if found.next_token.is_empty() {
            break;
        }
        request.token = found.next_token;
    }
    open.sort_unstable();
    assert_eq!(open, [time(0), time(1)]);
}

/// A task that is planned again stays as it is, and the first end that is told stays.
pub async fn tasks_are_planned_once_and_end_once(store: Store) {
    let tenant = tenant("tasks");
    let run = run(&tenant, Policy::RawEvents, 1);
    let tasks = [task(&run, "a"), task(&run, "b"), task(&run, "c")];
    store.add_tasks(&tasks).await.unwrap();
    let done = CompactionTask { state: TaskState::Done, ended_at: Some(time(5)), ..tasks[0].clone() };
    store.end_task(&done).await.unwrap();
    let failed = TaskState::Failed { why: "too late".to_owned() };
    store.end_task(&CompactionTask { state: failed.clone(), ..done.clone() }).await.unwrap();
    store.end_task(&CompactionTask { state: failed, ..tasks[1].clone() }).await.unwrap();
    store.add_tasks(&tasks).await.unwrap();
    assert_eq!(store.task(&tenant, done.id).await.unwrap(), Some(done));
    let counts = store.count_tasks(&tenant, run.id).await.unwrap();
    assert_eq!(counts, TaskCounts { planned: 3, done: 1, skipped: 0, failed: 1 });
    assert_eq!(counts.open(), 1);
    let open = store.tasks(&tenant, run.id, true, &page(9)).await.unwrap();
    assert_eq!(open.items, [tasks[2].clone()]);
    assert_eq!(store.tasks(&tenant, run.id, false, &page(2)).await.unwrap().items.len(), 2);
    let other = CompactionRun::requested(tenant.clone(), Policy::RawEvents, "r", time(1));
    assert_eq!(store.count_tasks(&tenant, other.id).await.unwrap(), TaskCounts::default());
}

/// Runs and their tasks leave when they are older than they are kept.
pub async fn old_runs_of_upkeep_expire(store: Store) {
    let tenant = tenant("kept");
    let (old, young) = (run(&tenant, Policy::Merge, -1_000_000), run(&tenant, Policy::Merge, 1));
    for run in [&old, &young] {
        store.put_run(run).await.unwrap();
        let planned_at = run.started_at;
        store.add_tasks(&[CompactionTask { planned_at, ..task(run, "a") }]).await.unwrap();
    }
    assert_eq!(store.expire_runs(time(-999_999)).await.unwrap(), 2);
    assert_eq!(store.run(&tenant, old.id).await.unwrap(), None);
    assert_eq!(store.count_tasks(&tenant, old.id).await.unwrap().planned, 0);
    assert!(store.run(&tenant, young.id).await.unwrap().is_some());
    assert_eq!(store.count_tasks(&tenant, young.id).await.unwrap().planned, 1);
}

/// Whoever has anything is found, and nobody sees what is another's.
pub async fn tenants_are_told_apart(store: Store) {
    let (a, b) = (tenant("told-a"), tenant("told-b"));
    for tenant in [&a, &b] {
        store.append_events(&[started(&shared(tenant), &trace("same"))]).await.unwrap();
    }
    let all = store.tenants().await.unwrap();
    assert!(all.contains(&a) && all.contains(&b), "{all:?}");
    assert_eq!(store.delete_events(&a, &[trace("same")]).await.unwrap(), 1);
    assert_eq!(store.count_old_events(&a, time(1_000)).await.unwrap(), 0);
    assert_eq!(store.count_old_events(&b, time(1_000)).await.unwrap(), 1);
    let run = run(&a, Policy::Merge, 1);
    store.put_run(&run).await.unwrap();
    assert_eq!(store.run(&b, run.id).await.unwrap(), None);
    assert_eq!(store.runs(&b, None, &page(9)).await.unwrap().items, []);
}

/// Old events are found by their runs, whoever may see them, and leave with their runs.
pub async fn old_events_are_found_and_deleted(store: Store) {
    let tenant = tenant("old-events");
    let (all, ann) = (shared(&tenant), private(&tenant, "ann"));
    let mut events = vec![started(&all, &trace("both")), started(&ann, &trace("hers"))];
    events.extend((0..3).map(|n| step_event(&ann, &trace("hers"), n)));
    events.push(step_event(&all, &trace("young"), 500));
    store.append_events(&events).await.unwrap();
    let (mut found, mut request) = (BTreeSet::new(), page(0));
    loop {
        let page = store.old_runs(&tenant, time(100), &request).await.unwrap();
        found.extend(page.items);
        if page.next_token.is_empty() {
            break;
        }
        request.token = page.next_token;
    }
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [trace("both"), trace("hers")]);
    assert_eq!(store.count_old_events(&tenant, time(100)).await.unwrap(), 5);
    let traces = [trace("both"), trace("hers"), trace("young")];
    let young = store.events_since(&tenant, &traces, time(2)).await.unwrap();
    assert_eq!(young.get(&trace("hers")), Some(&2));
    assert_eq!((young.get(&trace("young")), young.get(&trace("both"))), (Some(&1), None));
    assert_eq!(store.delete_events(&tenant, &traces[..2]).await.unwrap(), 5);
    assert_eq!(store.delete_events(&tenant, &traces[..2]).await.unwrap(), 0);
    assert_eq!(store.events(&all, &trace("young")).await.unwrap().len(), 1);
    assert_eq!(store.events(&ann, &trace("hers")).await.unwrap(), []);
}

/// Runs that are under way are told from those that are not.
pub async fn open_runs_are_told_apart(store: Store) {
    let tenant = tenant("open-of");
    let task =
        |name: &str| OpenTask { trace_id: trace(name), scope: private(&tenant, "ann"), touched_at: time(1) };
    store.mark_open(&[task("a"), task("b")]).await.unwrap();
    let open = store.open_of(&tenant, &[trace("a"), trace("c")]).await.unwrap();
    assert_eq!(open, BTreeSet::from([trace("a")]));
    assert!(store.open_of(&tenant, &[]).await.unwrap().is_empty());
}

fn ran(scope: &Scope, name: &str, at: i64) -> Experience {
    match experience(scope, &trace(name), at) {
        Memory::Experience(run) => *run,
        other => panic!("the sample is {other:?}"),
    }
}

fn of_type(mut run: Experience, task_type: Option<&str>, goal: &str) -> Memory {
    run.trajectory.task_type = task_type.map(|t| TaskType::new(t).unwrap());
    run.trajectory.task_description = goal.to_owned();
    Memory::Experience(Box::new(run))
}

/// Runs are alike by their type, or by the words of their goals.
pub async fn runs_alike_are_counted(store: Store) {
    let tenant = tenant("alike");
    let scope = shared(&tenant);
    let ran = |n: i64| ran(&scope, &format!("t-{n}"), n);
    let deploy = Some("deploy");
    let runs = [
        of_type(ran(1), deploy, "roll out api-7"),
        of_type(ran(2), deploy, "something else"),
        of_type(ran(3), None, "restart the database db-12 after 3 failures"),
        of_type(ran(4), None, "Restart the database db-9, after 5 failures!"),
        of_type(ran(5), None, "重启数据库 db-3"),
        of_type(ran(6), None, "重启数据库 db-44"),
    ];
    store.upsert(&runs.map(|run| encoded(run, 0, &[1]))).await.unwrap();
    let deploy = TaskType::new("deploy").unwrap();
    let of_goal = |goal: &'static str| store.count_alike(&tenant, None, goal);
    assert_eq!(store.count_alike(&tenant, Some(&deploy), "whatever").await.unwrap(), 2);
    assert_eq!(of_goal("restart the database db-1 after 8 failures").await.unwrap(), 2);
    assert_eq!(of_goal("重启数据库 db-7").await.unwrap(), 2);
    assert_eq!(of_goal("roll out api-7").await.unwrap(), 0, "those that have a type are told by it");
}

/// Reads of a memory are the recalls that brought it, since a time.
pub async fn reads_are_counted(store: Store) {
    let tenant = tenant("reads");
    let scope = shared(&tenant);
    let runs: Vec<Experience> = (1..=3).map(|n| ran(&scope, &format!("t-{n}"), n)).collect();
    for (n, brought) in [(1, vec![0, 1]), (5, vec![0]), (9, vec![0, 2])] {
        let mut receipt = receipt(&scope);
        receipt.at = time(n);
        receipt.injected = brought
            .into_iter()
            .map(|at: usize| RecalledItem {
                memory_id: runs[at].id,
                kind: MemoryKind::Experience,
                factors: ScoreFactors {
                    similarity: 1.0,
                    parts: SimilarityParts::default(),
                    decay: 1.0,
                    reliability: 1.0,
                    environment: 1.0,
                    trust: 1.0,
                    stage: 1.0,
                },
                why: String::new(),
                supersedes: Vec::new(),
            })
            .collect();
        store.put_receipt(&receipt).await.unwrap();
    }
    let ids: Vec<_> = runs[..2].iter().map(|run| run.id).collect();
    let reads = store.reads(&tenant, &ids, time(0)).await.unwrap();
    assert_eq!(reads.into_iter().collect::<BTreeSet<_>>(), BTreeSet::from([(ids[0], 3), (ids[1], 1)]));
    let lately = store.reads(&tenant, &ids, time(5)).await.unwrap();
    assert_eq!(lately.into_iter().collect::<Vec<_>>(), [(ids[0], 2)]);
}

/// Upkeep finds memories and states of whoever they are.
pub async fn everything_of_a_tenant_is_read(store: Store) {
    let tenant = tenant("whole");
    let (all, ann) = (shared(&tenant), private(&tenant, "ann"));
    let runs: Vec<Experience> =
        [(&all, "t-1", 1), (&ann, "t-2", 2)].map(|(scope, name, at)| ran(scope, name, at)).into();
    let memories: Vec<_> =
        runs.iter().map(|run| encoded(Memory::Experience(Box::new(run.clone())), 0, &[1])).collect();
    store.upsert(&memories).await.unwrap();
    let record = evaluation_record(&ann, &trace("t-2"), EvaluationState::Judged, 3);
    store.put_evaluation_record(&record).await.unwrap();
    let traces: Vec<TraceId> = runs.iter().map(|run| run.trajectory.trace_id.clone()).collect();
    let listed = store.memories(&tenant, MemoryKind::Experience, &page(9)).await.unwrap().items;
    let listed: Vec<_> = listed.iter().map(Memory::id).collect();
    assert_eq!(listed, [runs[1].id, runs[0].id]);
    let found = store.memories_of(&tenant, MemoryKind::Experience, &listed).await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(store.evaluations(&tenant, &traces).await.unwrap(), [record]);
    let ends = store.ends(&tenant, &traces).await.unwrap();
    assert_eq!(ends.get(&traces[1]), Some(&runs[1].trajectory.ended_at));
    assert_eq!(store.ends(&tenant, &[trace("t-9")]).await.unwrap().len(), 0);
}

/// The count made last stays, whoever writes the pattern again.
pub async fn frequencies_are_noted(store: Store) {
    let tenant = tenant("frequency");
    let pattern = failure_pattern(&shared(&tenant), "pull", &["a"], 5);
    let again = encoded(Memory::FailurePattern(pattern.clone()), 0, &[1]);
    store.upsert(std::slice::from_ref(&again)).await.unwrap();
    let counted = |at, week| hindsight_types::Frequency { counted_at: time(at), week, month: 7 };
    assert!(store.put_frequency(&tenant, pattern.id, counted(20, 2)).await.unwrap());
    assert!(!store.put_frequency(&tenant, pattern.id, counted(20, 2)).await.unwrap());
    assert!(!store.put_frequency(&tenant, pattern.id, counted(10, 9)).await.unwrap());
    store.upsert(&[again]).await.unwrap();
    let viewer = Viewer::of_tenant(tenant.clone());
    let found = store.get(&viewer, MemoryKind::FailurePattern, pattern.id).await.unwrap();
    let Some(Memory::FailurePattern(found)) = found else { panic!("the pattern is gone") };
    assert_eq!(found.frequency, Some(counted(20, 2)));
}

/// One test per check. `$open` is a future of anything whose `.keeper` is an `Arc<dyn Keeper>` that is prepared for
/// [`samples::embedder`](crate::testkit::samples::embedder); it is dropped after the check.
#[macro_export]
macro_rules! upkeep_suite {
    ($open:expr) => {
        $crate::upkeep_suite! { $open =>
            a_run_is_led_on_by_one everything_of_a_tenant_is_read frequencies_are_noted
            old_events_are_found_and_deleted open_runs_are_told_apart old_runs_of_upkeep_expire reads_are_counted runs_alike_are_counted
            runs_are_listed_and_found_while_open tasks_are_planned_once_and_end_once tenants_are_told_apart
        }
    };
    ($open:expr => $($check:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                let opened = $open.await;
                $crate::testkit::upkeep::$check(opened.keeper.clone()).await;
            }
        )*
    };
}
