//! Forgetting a subject takes all that is theirs and all that came of it, from the store and from its files, and
//! nothing else; whatever call it breaks off at.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../reembed/faulty.rs"]
mod faulty;
mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use common::scratch;
use faulty::{Faulty, Fuse, Loss};
use hindsight_ports::{
    Forget, MemoryStore, Probes, Vacuum,
    testkit::samples::{
        embedder, encoded, fact, lesson, private, shared, started, step_event, time, trace, user,
    },
};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    EventBody, Fact, Forgetting, ForgettingId, ForgettingState, Memory, MemoryId, MemoryKind, Scope, Subject,
    Timestamp, Visibility,
};
use tempfile::TempDir;
use world::{FORGOTTEN_AT, World, forget, secret};

struct Opened {
    store: Store,
    fuse: Fuse,
    inner: Arc<EdgeBackend>,
    _dir: TempDir,
}

async fn open() -> Opened {
    let dir = scratch();
    let inner = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
    let fuse = Fuse::default();
    fuse.clear();
    let backend =
        Arc::new(Faulty { inner: Arc::clone(&inner), fuse: fuse.clone(), made: Default::default() });
    let store = Store::new(backend, StoreOptions::default());
    store.prepare(&embedder()).await.unwrap();
    Opened { store, fuse, inner, _dir: dir }
}

async fn is_held(store: &Store, words: &str) -> bool {
    !store.held(&Probes::of([words])).await.unwrap().is_empty()
}

async fn is_on_disk(opened: &Opened, words: &str) -> bool {
    use hindsight_store::VectorBackend as _;
    let read = opened.inner.find(&Probes::of([words])).await.unwrap().unwrap();
    !read.found.is_empty()
}

fn now() -> Timestamp {
    time(FORGOTTEN_AT + 1)
}

fn ann() -> Subject {
    Subject::User(user("ann"))
}

/// Counts but for those of collections of which nothing was there.
fn some(f: &Forgetting) -> Vec<(&str, u64)> {
    f.removed.iter().filter(|(_, n)| **n > 0).map(|(name, n)| (name.as_str(), *n)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_is_a_users_is_gone_and_nothing_else() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    world.fill(store).await.unwrap();
    World::new("elsewhere").fill(store).await.unwrap();
    let before = world.memories(store, "bob").await;
    let elsewhere = World::new("elsewhere").memories(store, "ann").await;
    let preview = store.preview(&world.tenant, &ann(), time(FORGOTTEN_AT)).await.unwrap();

    let mut relearned = Vec::new();
    let f = forget(store, &world.forgetting(ann()), now(), &mut relearned).await.unwrap();
    assert_eq!(f.state, ForgettingState::Vacuuming);
    let counted: Vec<_> =
        preview.removed.iter().filter(|(_, n)| **n > 0).map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(some(&f), counted, "what was said before is what was done");
    assert_eq!((f.rederived, preview.rederived), (2, 2), "a lesson and a pattern of both");
    let relearned: BTreeSet<_> = relearned.into_iter().collect();
    assert!(relearned.contains(&(world.lesson_of_both(), vec!["bob-open".to_owned()])), "{relearned:?}");

    let left = store.remaining(&f).await.unwrap();
    assert!(left.len() > 10 && left.values().all(|n| *n == 0), "{left:?}");
    // The other tenant says the same.
    assert!(is_held(store, &secret("ann")).await);
    assert_eq!(World::new("elsewhere").memories(store, "ann").await, elsewhere);

    let after = world.memories(store, "bob").await;
    let gone = |m: &Memory| !after.iter().any(|other| other.id() == m.id());
    let gone: Vec<&Memory> = before.iter().filter(|m| gone(m)).collect();
    let shared_by_ann = |m: &Memory| match m {
        Memory::Experience(e) => e.trajectory.trace_id == trace("ann-open"),
        Memory::Step(s) => s.trace_id == trace("ann-open"),
        Memory::Lesson(l) => l.sources.contains(&trace("ann-open")),
        Memory::FailurePattern(p) => p.sources.contains(&trace("ann-open")),
        Memory::Fact(_) => false,
    };
    assert!(gone.len() >= 6 && gone.iter().all(|m| shared_by_ann(m)), "{gone:?}");
    for memory in &after {
        match (memory, before.iter().find(|m| m.id() == memory.id()).unwrap()) {
            // Two of the three who spoke for it are forgotten.
            (Memory::Lesson(now), Memory::Lesson(then)) if now.id == world.lesson_of("bob") => {
                assert_eq!((then.supported, now.supported), (3, 1));
            }
            (now, then) => assert_eq!(now, then),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_vacuum_nothing_is_on_the_disk() {
    let opened = open().await;
    // Nothing fails here, and files are in reach.
    let store = &Store::new(opened.inner.clone(), StoreOptions::default());
    store.prepare(&embedder()).await.unwrap();
    let world = World::new("acme");
    world.fill(store).await.unwrap();
    assert!(is_on_disk(&opened, &secret("ann")).await);
    let f = forget(store, &world.forgetting(ann()), now(), &mut Vec::new()).await.unwrap();
    let probes = Probes::from_fingerprints(f.probes.iter().copied());
    assert!(probes.len() > 40, "texts of all sorts of records are looked for");
    assert!(!store.find(&probes).await.unwrap().unwrap().found.is_empty(), "it is only marked as deleted");
    let parts: Vec<String> = f.removed.keys().cloned().collect();
    store.vacuum(&parts, f.erased_at.unwrap(), now()).await.unwrap();

    let found = store.find(&probes).await.unwrap().unwrap().found;
    let held = store.held(&Probes::from_fingerprints(found.iter().copied())).await.unwrap();
    assert_eq!(found, held, "what is found was said by others as well");
    assert!(!is_on_disk(&opened, &secret("ann")).await);
    assert!(is_on_disk(&opened, &secret("bob")).await);
    assert!(!is_held(store, &secret("ann")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_any_call_is_made_up_for() {
    let opened = open().await;
    let (store, reference) = (&opened.store, World::new("reference"));
    reference.fill(store).await.unwrap();
    let mut taught = Vec::new();
    let expected = forget(store, &reference.forgetting(ann()), now(), &mut taught).await.unwrap();
    for loss in [Loss::Call, Loss::Answer] {
        // Sharing one store, so that each try costs little; far apart, so that all sorts of calls are met.
        for calls in (0..).step_by(3) {
            let world = World::new(&format!("t-{calls}-{loss:?}"));
            world.fill(store).await.unwrap();
            let (forgetting, mut again) = (world.forgetting(ann()), Vec::new());
            opened.fuse.set(calls, loss);
            let broke_off = forget(store, &forgetting, now(), &mut again).await.is_err();
            let blown = opened.fuse.is_blown();
            opened.fuse.clear();
            let f = forget(store, &forgetting, now(), &mut again).await.unwrap();
            assert_eq!(f.removed, expected.removed, "after {calls} calls, {loss:?}");
            assert_eq!(f.rederived, expected.rederived, "after {calls} calls, {loss:?}");
            let taught_again: BTreeSet<_> = again.iter().map(|(_, runs)| runs.clone()).collect();
            assert_eq!(taught_again.len(), 1, "asked for at least once: {again:?}");
            let left = store.remaining(&f).await.unwrap();
            assert!(left.values().all(|n| *n == 0), "after {calls} calls, {loss:?}: {left:?}");
            if !blown {
                assert!(!broke_off && calls > 60, "{calls}");
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_at_once_end_alike() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    world.fill(store).await.unwrap();
    let preview = store.preview(&world.tenant, &ann(), time(FORGOTTEN_AT)).await.unwrap();
    let forgetting = world.forgetting(ann());
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let (a, b) = tokio::join!(
        forget(store, &forgetting, now(), &mut one),
        forget(store, &forgetting, now(), &mut other)
    );
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(a.removed, b.removed, "they carry on one and the same");
    assert_eq!(a.removed.values().sum::<u64>(), preview.removed.values().sum::<u64>(), "counted once");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_meanwhile_is_remembered_anew() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    world.fill(store).await.unwrap();
    let forgetting = world.forgetting(ann());
    store.begin(&forgetting).await.unwrap();
    let late = FORGOTTEN_AT + 5;
    let new = Fact { retained_at: time(late), ..fact(&world.tenant, "ann", "new", late) };
    store.upsert(&[encoded(Memory::Fact(new.clone()), 1, &[7])]).await.unwrap();
    let scope = shared(&world.tenant);
    let mut events = vec![started(&scope, &trace("ann-new")), step_event(&scope, &trace("ann-new"), 0)];
    for event in &mut events {
        event.recorded_at = time(late);
        if let EventBody::Started(start) = &mut event.body {
            start.user = Some(user("ann"));
        }
    }
    store.append_events(&events).await.unwrap();

    let f = forget(store, &forgetting, now(), &mut Vec::new()).await.unwrap();
    let viewer = world.of("ann");
    let found = store.get(&viewer, MemoryKind::Fact, new.id).await.unwrap();
    assert_eq!(found, Some(Memory::Fact(new)));
    assert_eq!(store.events(&scope, &trace("ann-new")).await.unwrap().len(), 2);
    assert!(store.remaining(&f).await.unwrap().values().all(|n| *n == 0), "what is new does not count");
    assert!(store.events(&scope, &trace("ann-open")).await.unwrap().is_empty());
    assert!(!is_held(store, &secret("ann")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn tombstones_are_found_and_the_latest_counts() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    let scope = Scope::new(world.tenant.clone(), Visibility::Tenant);
    let at = |seconds| hindsight_types::Forgotten { scope: scope.clone(), subject: ann(), at: time(seconds) };
    for seconds in [5, 9, 7] {
        store.entomb(&at(seconds)).await.unwrap();
    }
    let others = [ann(), Subject::User(user("bob")), Subject::Run(trace("ann"))];
    assert_eq!(store.forgotten(&world.tenant, &others).await.unwrap(), [at(9)]);
    let elsewhere = World::new("elsewhere").tenant;
    assert_eq!(store.forgotten(&elsewhere, &others).await.unwrap(), []);
    world.fill(store).await.unwrap();
    forget(store, &world.forgetting(ann()), now(), &mut Vec::new()).await.unwrap();
    let runs = [Subject::Run(trace("ann-open")), Subject::Run(trace("bob-open"))];
    let known = store.forgotten(&world.tenant, &runs).await.unwrap();
    assert_eq!(known.len(), 1, "a run that all may see is known by itself: {known:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_memory_goes_with_what_stands_beside_it() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    world.fill(store).await.unwrap();
    let before = world.memories(store, "ann").await;
    let fact = fact(&world.tenant, "ann", "k1", 1).id;
    let subject = Subject::Memory(MemoryKind::Fact, fact);
    let f = forget(store, &world.forgetting(subject), now(), &mut Vec::new()).await.unwrap();
    assert_eq!(some(&f), [("facts", 1), ("versions", 1)]);
    let after = world.memories(store, "ann").await;
    assert_eq!(after.len() + 1, before.len());
    assert!(after.iter().all(|m| before.contains(m)), "the others stay as they were");
    assert!(private(&world.tenant, "ann").user().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lesson_goes_with_its_evidence_and_what_was_said_of_it() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    world.fill(store).await.unwrap();
    let subject = Subject::Memory(MemoryKind::Lesson, world.lesson_of_both());
    let f = forget(store, &world.forgetting(subject), now(), &mut Vec::new()).await.unwrap();
    assert_eq!(some(&f), [("evidence", 2), ("lessons", 1), ("receipts", 2)]);
    let viewer = world.of("bob");
    assert_eq!(store.get(&viewer, MemoryKind::Lesson, world.lesson_of_both()).await.unwrap(), None);
    assert!(store.evidence(&viewer, world.lesson_of_both()).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_with_everything_that_came_of_it() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    world.fill(store).await.unwrap();
    let mut relearned = Vec::new();
    let subject = Subject::Run(trace("ann-open"));
    let preview = store.preview(&world.tenant, &subject, time(FORGOTTEN_AT)).await.unwrap();
    let f = forget(store, &world.forgetting(subject), now(), &mut relearned).await.unwrap();
    let counted: Vec<_> =
        preview.removed.iter().filter(|(_, n)| **n > 0).map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(some(&f), counted);
    assert_eq!(relearned.len(), 2);
    let scope = shared(&world.tenant);
    assert!(store.events(&scope, &trace("ann-open")).await.unwrap().is_empty());
    assert!(store.experience(&world.of("ann"), &trace("ann-open")).await.unwrap().is_none());
    assert!(store.experience(&world.of("ann"), &trace("ann-own")).await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_private_run_taught_everybody_goes_with_its_user() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    world.fill(store).await.unwrap();
    let early = lesson(&shared(&world.tenant), "early", &["ann-own"], 8);
    store.upsert(&[encoded(Memory::Lesson(early.clone()), 3, &[9])]).await.unwrap();
    let preview = store.preview(&world.tenant, &ann(), time(FORGOTTEN_AT)).await.unwrap();
    let f = forget(store, &world.forgetting(ann()), now(), &mut Vec::new()).await.unwrap();
    assert_eq!(store.get(&world.of("bob"), MemoryKind::Lesson, early.id).await.unwrap(), None);
    assert_eq!(f.removed.get("lessons"), preview.removed.get("lessons"));
    let remaining = store.remaining(&f).await.unwrap();
    assert!(remaining.values().all(|n| *n == 0), "{remaining:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_run_taught_everybody_goes_and_the_run_stays() {
    let opened = open().await;
    let (store, world) = (&opened.store, World::new("acme"));
    world.fill(store).await.unwrap();
    let own = MemoryId::lesson(&world.tenant, "user:ann", "own");
    for (run, (gone, anew)) in [("ann-open", (1, 2)), ("ann-own", (0, 0))] {
        let mut relearned = Vec::new();
        let subject = Subject::Taught(trace(run));
        let preview = store.preview(&world.tenant, &subject, time(FORGOTTEN_AT)).await.unwrap();
        let id = ForgettingId::of_request(&world.tenant, run);
        let asked = Forgetting { id, ..world.forgetting(subject) };
        let f = forget(store, &asked, now(), &mut relearned).await.unwrap();
        let learned = |counts: &BTreeMap<String, u64>| {
            let of = |name: &str| counts.get(name).copied().unwrap_or_default();
            of("lessons") + of("failure_patterns")
        };
        assert_eq!((learned(&f.removed), learned(&preview.removed)), (gone + anew, gone + anew), "{run}");
        assert_eq!((relearned.len() as u64, preview.rederived), (anew, anew), "{run}");
        assert!(relearned.iter().all(|(_, runs)| *runs == ["bob-open"]), "{relearned:?}");
        assert!(store.experience(&world.of("ann"), &trace(run)).await.unwrap().is_some());
    }
    let ann = world.of("ann");
    assert_eq!(store.get(&ann, MemoryKind::Lesson, world.lesson_of("ann")).await.unwrap(), None);
    assert!(store.get(&ann, MemoryKind::Lesson, world.lesson_of("bob")).await.unwrap().is_some());
    assert!(store.get(&ann, MemoryKind::Lesson, own).await.unwrap().is_some(), "she may see what is hers");
    assert!(!store.events(&shared(&world.tenant), &trace("ann-open")).await.unwrap().is_empty());
}
