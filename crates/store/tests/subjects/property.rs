//! Whatever is said, merged, taken back and broken off in whatever order: every statement is of exactly one person,
//! the newest of a key stands, and nothing is lost or there twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering},
};

use hindsight_ports::testkit::samples::{tenant, time};
use proptest::{prelude::*, test_runner::TestRunner};

use crate::{
    faulty::Loss,
    world::{ANNA, ANON, OTHER, Owned, Tenant, World},
};

const KEYS: [&str; 2] = ["drink", "home"];
const RUNS: [&str; 2] = ["run-0", "run-1"];

#[derive(Debug, Clone)]
enum Op {
    Retain(&'static str, &'static str),
    /// Said earlier than anything that was said since.
    Late(&'static str, &'static str),
    Run(&'static str, usize),
    Merge,
    Undo,
}

/// An operation whose nth call to the engine breaks.
type Broken = (Op, Option<(i64, bool)>);

fn op() -> impl Strategy<Value = Broken> {
    let who = || prop::sample::select(vec![ANON, ANNA, OTHER]);
    let key = || prop::sample::select(KEYS.to_vec());
    let op = prop_oneof![
        4 => (who(), key()).prop_map(|(who, key)| Op::Retain(who, key)),
        1 => (who(), key()).prop_map(|(who, key)| Op::Late(who, key)),
        2 => (who(), 0..RUNS.len()).prop_map(|(who, run)| Op::Run(who, run)),
        2 => Just(Op::Merge),
        2 => Just(Op::Undo),
    ];
    (op, prop::option::of((0..120_i64, any::<bool>())))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merge {
    Never,
    Stands,
    Undone,
}

/// Who owns which statement and run.
struct Model {
    statements: BTreeMap<(&'static str, i64), (&'static str, Moved)>,
    runs: BTreeMap<usize, (&'static str, Moved)>,
    merge: Merge,
    clock: i64,
    past: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moved(bool);

impl Model {
    fn merge(&mut self) {
        for (owner, moved) in self.statements.values_mut().chain(self.runs.values_mut()) {
            if *owner == ANON {
                (*owner, *moved) = (ANNA, Moved(true));
            }
        }
        self.merge = Merge::Stands;
    }

    fn undo(&mut self) {
        if self.merge != Merge::Stands {
            return;
        }
        for (owner, moved) in self.statements.values_mut().chain(self.runs.values_mut()) {
            if *moved == Moved(true) {
                (*owner, *moved) = (ANON, Moved(false));
            }
        }
        self.merge = Merge::Undone;
    }

    fn facts(&self, who: &str) -> Owned {
        let mut owned = Owned::default();
        for key in KEYS {
            let mut said: Vec<i64> = self
                .statements
                .iter()
                .filter(|((k, _), (owner, _))| *k == key && *owner == who)
                .map(|((_, at), _)| *at)
                .collect();
            let Some(newest) = said.pop() else { continue };
            let text = |at: i64| format!("{key} at {at}; 第{at}次");
            let former: BTreeSet<String> = said.into_iter().map(text).collect();
            owned.facts.insert(key.to_owned(), (text(newest), former));
        }
        owned
    }
}

async fn step(t: &Tenant<'_>, model: &mut Model, (op, breaks): Broken) {
    model.clock += 1;
    let at = model.clock;
    let when = time(1_000 + at);
    if let Some((n, answer)) = breaks {
        t.world.fuse.set(n, if answer { Loss::Answer } else { Loss::Call });
    }
    // Broken off it is done again, as a message that comes again or a caller that asks again.
    for _ in 0..2 {
        let done = match &op {
            Op::Retain(who, key) => t.retain(who, key, at).await,
            Op::Late(who, key) => t.retain(who, key, model.past - at).await,
            Op::Run(who, run) => {
                let owner = model.runs.get(run).map_or(*who, |(owner, _)| *owner);
                t.run(owner, RUNS[*run], 10).await
            }
            Op::Merge => t.merge(ANON, ANNA, when).await.map(drop),
            Op::Undo => t.undo(ANON, when).await.map(drop),
        };
        t.world.fuse.clear();
        if done.is_ok() {
            break;
        }
    }
    match op {
        Op::Retain(who, key) => drop(model.statements.insert((key, at), (who, Moved(false)))),
        Op::Late(who, key) => drop(model.statements.insert((key, model.past - at), (who, Moved(false)))),
        Op::Run(who, run) => {
            model.runs.entry(run).or_insert((who, Moved(false)));
        }
        Op::Merge => model.merge(),
        Op::Undo => model.undo(),
    }
}

async fn check(t: &Tenant<'_>, model: &mut Model) {
    // What was written under the id since is moved by whoever looks.
    if model.merge == Merge::Stands {
        model.clock += 1;
        t.merge(ANON, ANNA, time(1_000 + model.clock)).await.unwrap();
        model.merge();
    }
    for who in [ANON, ANNA, OTHER] {
        let owned = t.owned(who, &RUNS).await;
        assert_eq!(owned.facts, model.facts(who).facts, "{who}");
        let runs: Vec<&str> =
            model.runs.iter().filter(|(_, (owner, _))| *owner == who).map(|(run, _)| RUNS[*run]).collect();
        assert_eq!(owned.runs.keys().map(String::as_str).collect::<Vec<_>>(), runs, "{who}");
        assert!(owned.runs.values().all(|n| *n == 6), "{who}: {:?}", owned.runs);
        let taught: Vec<Vec<String>> =
            if runs.is_empty() { vec![] } else { vec![runs.iter().map(|r| (*r).to_owned()).collect()] };
        assert_eq!(owned.lessons.into_values().collect::<Vec<_>>(), taught, "{who}");
        assert_eq!(owned.patterns.into_values().collect::<Vec<_>>(), taught, "{who}");
    }
}

#[test]
fn nothing_is_lost_nothing_is_doubled_nothing_crosses_users() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let world = runtime.block_on(World::new());
    let case = AtomicU64::new(0);
    let config = ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() };
    let ops = prop::collection::vec(op(), 1..14);
    TestRunner::new(config)
        .run(&ops, |ops| {
            let id = tenant(&format!("case-{}", case.fetch_add(1, Ordering::Relaxed)));
            runtime.block_on(async {
                let t = Tenant::new(&world, id);
                let mut model = Model {
                    statements: BTreeMap::new(),
                    runs: BTreeMap::new(),
                    merge: Merge::Never,
                    clock: 0,
                    past: -1_000,
                };
                for op in ops {
                    step(&t, &mut model, op).await;
                }
                check(&t, &mut model).await;
            });
            Ok(())
        })
        .unwrap();
}
