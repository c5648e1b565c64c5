//! A merge and its undoing, broken off at every call to the engine, with the call made and not made.

use std::collections::BTreeSet;

use hindsight_ports::{
    Begun, MemoryStore, StoreError, Subjects,
    testkit::samples::{encoded, tenant, time, user},
};
use hindsight_types::{Lesson, Memory, MergeState, Timestamp};

use crate::{
    faulty::Loss,
    world::{ANNA, ANON, OTHER, Owned, Tenant, World},
};

const RUNS: [&str; 4] = ["anon-run", "anna-run", "late-run", "other-run"];

fn now() -> Timestamp {
    time(1_000)
}

/// Anonymous: a key of its own, one that the user has too and said earlier, one that it said later; a run.
async fn fill(t: &Tenant<'_>) {
    for (name, key, at) in [
        (ANON, "own", 1),
        (ANON, "own", 2),
        (ANON, "older", 3),
        (ANNA, "older", 4),
        (ANNA, "newer", 5),
        (ANON, "newer", 6),
        (ANNA, "mine", 7),
        (OTHER, "own", 8),
    ] {
        t.retain(name, key, at).await.unwrap();
    }
    t.run(ANON, "anon-run", 10).await.unwrap();
    t.run(ANNA, "anna-run", 20).await.unwrap();
    t.run(OTHER, "other-run", 30).await.unwrap();
}

fn said(key: &str, at: i64) -> String {
    format!("{key} at {at}; 第{at}次")
}

fn facts(all: &[(&str, i64, &[i64])]) -> Owned {
    let entry = |(key, at, former): &(&str, i64, &[i64])| {
        let former = former.iter().map(|at| said(key, *at)).collect::<BTreeSet<_>>();
        ((*key).to_owned(), (said(key, *at), former))
    };
    Owned { facts: all.iter().map(entry).collect(), ..Owned::default() }
}

async fn merged(t: &Tenant<'_>) {
    let anon = t.owned(ANON, &RUNS).await;
    assert_eq!(anon, Owned::default());
    let anna = t.owned(ANNA, &RUNS).await;
    let expected = facts(&[("own", 2, &[1]), ("older", 4, &[3]), ("newer", 6, &[5]), ("mine", 7, &[])]);
    assert_eq!(anna.facts, expected.facts);
    assert_eq!(anna.runs.keys().collect::<Vec<_>>(), ["anna-run", "anon-run"]);
    assert!(anna.runs.values().all(|n| *n == 6), "{:?}", anna.runs);
    let both = vec!["anna-run".to_owned(), "anon-run".to_owned()];
    assert_eq!(anna.lessons.values().collect::<Vec<_>>(), [&both]);
    assert_eq!(anna.patterns.values().collect::<Vec<_>>(), [&both]);
    assert_eq!(anna.receipts.values().collect::<Vec<_>>(), [&1, &1]);
    untouched(t).await;
}

async fn undone(t: &Tenant<'_>) {
    let anon = t.owned(ANON, &RUNS).await;
    assert_eq!(anon.facts, facts(&[("own", 2, &[1]), ("older", 3, &[]), ("newer", 6, &[])]).facts);
    let anna = t.owned(ANNA, &RUNS).await;
    assert_eq!(anna.facts, facts(&[("older", 4, &[]), ("newer", 5, &[]), ("mine", 7, &[])]).facts);
    for (owned, run) in [(anon, "anon-run"), (anna, "anna-run")] {
        assert_eq!(owned.runs, [(run.to_owned(), 6)].into());
        assert_eq!(owned.lessons.into_values().collect::<Vec<_>>(), [[run]]);
        assert_eq!(owned.patterns.into_values().collect::<Vec<_>>(), [[run]]);
        assert_eq!(owned.receipts.into_values().collect::<Vec<_>>(), [1]);
    }
    untouched(t).await;
}

async fn untouched(t: &Tenant<'_>) {
    let other = t.owned(OTHER, &RUNS).await;
    assert_eq!(other.facts, facts(&[("own", 8, &[])]).facts);
    assert_eq!(other.runs, [("other-run".to_owned(), 6)].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_moves_and_moves_back() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("whole"));
    fill(&t).await;
    let merge = t.merge(ANON, ANNA, now()).await.unwrap();
    assert_eq!(merge.state, MergeState::Merged);
    merged(&t).await;
    let again = t.merge(ANON, ANNA, time(1_500)).await.unwrap();
    assert_eq!(again, merge, "the same again is the same");
    let tally = world.store.tally(&merge).await.unwrap();
    assert_eq!((tally.facts, tally.runs, tally.receipts), (4, 1, 1));
    let back = t.undo(ANON, time(2_000)).await.unwrap().unwrap();
    assert_eq!((back.state, back.undone_at), (MergeState::Undone, Some(time(2_000))));
    undone(&t).await;
    assert_eq!(t.undo(ANON, time(2_001)).await.unwrap(), Some(back), "the same again is the same");
    t.merge(ANON, ANNA, time(3_000)).await.unwrap();
    merged(&t).await;
}

/// Runs `work` with the nth call broken, for every n, in a tenant of its own that `before` made ready; then again
/// with nothing broken.
async fn at_every_call<B, W>(name: &str, world: &World, before: B, work: W, after: impl AsyncFn(&Tenant<'_>))
where
    B: AsyncFn(&Tenant<'_>),
    W: AsyncFn(&Tenant<'_>) -> Result<(), StoreError>,
{
    for n in 0.. {
        let mut whole = true;
        for loss in [Loss::Call, Loss::Answer] {
            let t = Tenant::new(world, tenant(&format!("{name}-{n}-{loss:?}")));
            before(&t).await;
            world.fuse.set(n, loss);
            let broke = work(&t).await.is_err();
            whole &= !broke && !world.fuse.is_blown();
            world.fuse.clear();
            work(&t).await.unwrap();
            after(&t).await;
        }
        if whole {
            assert!(n > 40, "only {n} calls were broken");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_breaks_off_anywhere_is_finished() {
    let world = World::new().await;
    let work = async |t: &Tenant<'_>| t.merge(ANON, ANNA, now()).await.map(drop);
    at_every_call("merge", &world, fill, work, merged).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undoing_that_breaks_off_anywhere_is_finished() {
    let world = World::new().await;
    let ready = async |t: &Tenant<'_>| {
        fill(t).await;
        t.merge(ANON, ANNA, now()).await.unwrap();
    };
    let work = async |t: &Tenant<'_>| t.undo(ANON, time(2_000)).await.map(drop);
    at_every_call("undo", &world, ready, work, undone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn upkeep_goes_on_with_what_broke_off_and_sweeps_before_it_closes() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("upkeep"));
    fill(&t).await;
    let Begun::Stands(merge) = world.store.begin(&t.merge_request(ANON, ANNA, now())).await.unwrap() else {
        panic!("refused")
    };
    assert_eq!(world.store.upkeep(time(1_060)).await.unwrap(), 1);
    merged(&t).await;
    assert_eq!(world.store.upkeep(time(1_120)).await.unwrap(), 0, "nothing more is to be done");
    // Somebody who did not look: found by the last sweep.
    t.retain(ANON, "late", 50).await.unwrap();
    let day = 24 * 60 * 60;
    assert_eq!(world.store.upkeep(time(1_000 + day - 60)).await.unwrap(), 1);
    assert!(t.owned(ANNA, &[]).await.facts.contains_key("late"));
    let closed = world.store.merge_of(&t.id, &user(ANON)).await.unwrap().unwrap();
    assert_eq!(closed.state, MergeState::Closed);
    assert_eq!(closed.id(), merge.id());
    // Then the id is somebody else's, and the merge cannot be taken back any more.
    let later = time(1_000 + day);
    t.retain(ANON, "stranger", 60).await.unwrap();
    let scope = t.scope(ANON);
    assert_eq!(world.store.follow(std::slice::from_ref(&scope), later).await.unwrap(), [scope]);
    assert_eq!(t.undo(ANON, later).await.unwrap(), None);
    world.store.upkeep(time(1_000 + 3 * day)).await.unwrap();
    assert_eq!(t.owned(ANON, &[]).await.facts.len(), 1);
    assert_eq!(world.store.tally(&closed).await.unwrap().facts, 0, "the log is gone");
    assert_eq!(world.store.merge_of(&t.id, &user(ANON)).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_under_the_id_for_a_day_follows() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("follow"));
    fill(&t).await;
    t.merge(ANON, ANNA, now()).await.unwrap();
    t.retain(ANON, "own", 70).await.unwrap();
    t.run(ANON, "late-run", 80).await.unwrap();
    let scopes =
        [t.scope(ANON), t.scope(OTHER), t.scope(ANNA), hindsight_ports::testkit::samples::shared(&t.id)];
    let whose = world.store.follow(&scopes, time(1_100)).await.unwrap();
    assert_eq!(whose, [t.scope(ANNA), scopes[1].clone(), t.scope(ANNA), scopes[3].clone()]);
    assert_eq!(t.owned(ANON, &RUNS).await, Owned::default());
    let anna = t.owned(ANNA, &RUNS).await;
    assert_eq!(anna.facts["own"], (said("own", 70), [said("own", 1), said("own", 2)].into()));
    assert!(anna.runs.contains_key("late-run"));
    // What came of the runs since goes back with them; what the user said stays.
    t.retain(ANNA, "own", 90).await.unwrap();
    let learned = Lesson { key: "since".to_owned(), ..lesson_of(&t, "late-run") };
    world.store.upsert(&[encoded(Memory::Lesson(learned), 0, &[1])]).await.unwrap();
    t.undo(ANON, time(2_000)).await.unwrap();
    let (anon, anna) = (t.owned(ANON, &RUNS).await, t.owned(ANNA, &RUNS).await);
    assert_eq!(anon.facts["own"], (said("own", 70), [said("own", 1), said("own", 2)].into()));
    assert_eq!(anna.facts["own"], (said("own", 90), BTreeSet::new()));
    assert_eq!(anon.runs.keys().collect::<Vec<_>>(), ["anon-run", "late-run"]);
    assert!(anon.lessons.contains_key("since") && !anna.lessons.contains_key("since"));
}

fn lesson_of(t: &Tenant<'_>, run: &str) -> Lesson {
    let scope = t.scope(ANNA);
    let id = hindsight_types::MemoryId::lesson(&t.id, &scope.visibility.keyword(), "since");
    Lesson { id, ..hindsight_ports::testkit::samples::lesson(&scope, "since", &[run], 95) }
}

#[tokio::test(flavor = "multi_thread")]
async fn merges_that_are_in_each_others_way_are_refused() {
    let world = World::new().await;
    let t = Tenant::new(&world, tenant("chain"));
    t.retain("a", "k", 1).await.unwrap();
    let begin = async |from: &str, to: &str| world.store.begin(&t.merge_request(from, to, now())).await;
    assert!(matches!(begin("a", "a").await, Err(StoreError::Rejected(_))));
    assert!(matches!(begin("a", "b").await, Ok(Begun::Stands(_))));
    for (from, to) in [("a", "c"), ("x", "a"), ("b", "a")] {
        assert!(
            matches!(begin(from, to).await, Ok(Begun::InTheWay(m)) if m.from == user("a")),
            "{from} {to}"
        );
    }
    // A chain is followed to its end, and is taken back from its end.
    assert!(matches!(begin("b", "c").await, Ok(Begun::Stands(_))));
    let whose = world.store.follow(&[t.scope("a")], now()).await.unwrap();
    assert_eq!(whose, [t.scope("c")]);
    assert_eq!(t.owned("c", &[]).await.facts.len(), 1);
    let refused = world.store.retract(&t.id, &user("a"), "ops", "", time(1_100)).await.unwrap();
    assert!(matches!(refused, Some(Begun::InTheWay(m)) if m.from == user("b")));
    t.undo("b", time(1_200)).await.unwrap();
    t.undo("a", time(1_300)).await.unwrap();
    assert_eq!(t.owned("a", &[]).await.facts.len(), 1);
    assert_eq!(t.undo("nobody", time(1_400)).await.unwrap(), None);
}
