//! Broken off between any two operations, the change ends as if it had not been.

use std::sync::Arc;

use hindsight_ports::{Embedder, MemoryStore};
use hindsight_store::Store;
use hindsight_types::MemoryKind;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use crate::{common::scratch, faulty::Loss, support::*};

/// Fails the call after each number of calls, until a change needs no more of them. After the failure the process
/// is gone, and another one goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_at_any_call_leaves_what_the_next_one_finishes() {
    let dir = scratch();
    let world = World::open(dir.path());
    let mut serving = model("model 0", 8);
    world.holding(&serving, 0..6).await;
    let mut changes = 0;
    'calls: for calls in 0.. {
        for loss in [Loss::Call, Loss::Answer] {
            changes += 1;
            let next = model(&format!("model {changes}"), 8 + changes % 3);
            world.fuse.set(calls, loss);
            let died = die(&world, &next).await;
            let unharmed = !world.fuse.is_blown();
            world.fuse.clear();
            assert_eq!(died, !unharmed, "an error is an error to the one who leads");
            let store = world.prepared(&next).await;
            let (words, _) = found(&store, &world.viewer(), MemoryKind::Fact, &next).await;
            assert_eq!(words, 6, "found by words whatever happened");
            run_to_end(&store, &next).await.unwrap();
            assert_eq!(world.assert_all_by(&next).await, 30, "call {calls}, {loss:?}");
            serving = next;
            if unharmed {
                break 'calls;
            }
        }
        assert!(calls < 1_000, "a change never ends");
    }
    assert!(changes > 40, "a change makes more calls than this");
    assert_eq!(
        found(&world.prepared(&serving).await, &world.viewer(), MemoryKind::Fact, &serving).await,
        (6, 6)
    );
}

/// Prepares a process and changes the embedder until something fails. `false`: nothing did.
async fn die(world: &World, embedder: &Fake) -> bool {
    let store = world.process();
    store.prepare(embedder.id()).await.is_err() || run_to_end(&store, embedder).await.is_err()
}

#[derive(Debug, Clone)]
enum Op {
    /// A process is started in this place, with this model.
    Start(usize, usize),
    /// The process in this place takes some steps as the one that leads, with or without a failing call.
    Lead(usize, usize, Option<(i64, bool)>),
    /// It writes memories anew.
    Write(usize, u64),
}

fn op() -> impl Strategy<Value = Op> {
    let fault = proptest::option::of((0..20_i64, any::<bool>()));
    prop_oneof![
        2 => (0..2_usize, 0..3_usize).prop_map(|(at, model)| Op::Start(at, model)),
        4 => (0..2_usize, 1..8_usize, fault).prop_map(|(at, steps, fault)| Op::Lead(at, steps, fault)),
        3 => (0..2_usize, 0..6_u64).prop_map(|(at, n)| Op::Write(at, n)),
    ]
}

#[test]
fn whatever_happens_the_embedder_configured_last_has_all_memories_in_the_end() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = Config { cases: 24, ..Config::default() };
    let ops = proptest::collection::vec(op(), 1..24);
    TestRunner::new(config)
        .run(&(ops, 0..3_usize), |(ops, last)| {
            runtime.block_on(play(ops, last));
            Ok(())
        })
        .unwrap();
}

async fn play(ops: Vec<Op>, last: usize) {
    let dir = scratch();
    let world = World::open(dir.path());
    let models = [Arc::new(model("a", 8)), Arc::new(model("b", 12)), Arc::new(model("丙", 8))];
    let start =
        async |n: usize| -> (Store, Arc<Fake>) { (world.prepared(&models[n]).await, models[n].clone()) };
    let mut processes = [start(0).await, start(0).await];
    let mut version = 1;
    let memories: Vec<_> = world.many(0..6, version).iter().map(|m| models[0].encoded(m)).collect();
    processes[0].0.upsert(&memories).await.unwrap();
    for op in ops {
        match op {
            Op::Start(at, model) => processes[at] = start(model).await,
            Op::Lead(at, steps, fault) => {
                let (store, embedder) = &processes[at];
                if let Some((calls, answer)) = fault {
                    world.fuse.set(calls, if answer { Loss::Answer } else { Loss::Call });
                }
                for _ in 0..steps {
                    // What fails is tried again by whoever leads next.
                    let _ = hindsight_ports::Reembed::reembed(store, &**embedder, now()).await;
                }
                world.fuse.clear();
            }
            Op::Write(at, n) => {
                version += 1;
                let (store, embedder) = &processes[at];
                let changed: Vec<_> =
                    world.memories(n, version).iter().map(|m| embedder.encoded(m)).collect();
                store.upsert(&changed).await.unwrap();
            }
        }
        for (store, embedder) in &processes {
            let (words, _) = found(store, &world.viewer(), MemoryKind::Lesson, embedder).await;
            assert_eq!(words, 6);
        }
    }
    let (store, embedder) = start(last).await;
    run_to_end(&store, &embedder).await.unwrap();
    assert_eq!(world.assert_all_by(&embedder).await, 30);
}
