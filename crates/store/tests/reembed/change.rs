use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use hindsight_ports::{EmbedError, Embedder, EmbedderId, Encoded, MemoryStore, Purpose, Reembed, StoreError};
use hindsight_store::Store;
use hindsight_types::{Memory, MemoryKind};
use qdrant_client::qdrant::value::Kind;

use crate::{common::scratch, support::*};

/// More than one step handles, in each collection.
const MANY: u64 = 300;

#[tokio::test(flavor = "multi_thread")]
async fn new_vectors_are_built_beside_the_old_while_both_are_searched() {
    let dir = scratch();
    let world = World::open(dir.path());
    let (old, new) = (model("old", 8), model("new", 12));
    let before = world.holding(&old, 0..MANY).await;

    let after = world.prepared(&new).await;
    let viewer = world.viewer();
    let all = MANY as usize;
    assert_eq!(
        found(&after, &viewer, MemoryKind::Fact, &new).await,
        (all, 0),
        "words find what meaning cannot"
    );
    let mut percents = Vec::new();
    while after.reembed(&new, now()).await.unwrap().more {
        let state = state(&after);
        if let Some(build) = &state.building {
            percents.push(build.percent());
            assert_eq!(state.serving, *old.id());
            assert_eq!(
                found(&before, &viewer, MemoryKind::Fact, &old).await,
                (all, all),
                "the old ones serve"
            );
            let (words, meaning) = found(&after, &viewer, MemoryKind::Fact, &new).await;
            assert_eq!(words, all);
            assert!(build.percent() < 100 || meaning == all, "{meaning} at {} %", build.percent());
        }
    }
    assert!(percents.is_sorted() && percents.iter().any(|p| (1..100).contains(p)), "{percents:?}");
    assert_eq!(percents.last(), Some(&100));
    assert_eq!(world.assert_all_by(&new).await, 5 * MANY);
    let state = state(&after);
    assert_eq!((state.serving, state.building, state.configured), (new.id().clone(), None, new.id().clone()));
    assert_eq!(found(&after, &viewer, MemoryKind::Fact, &new).await, (all, all));
    assert_eq!(found(&before, &viewer, MemoryKind::Fact, &old).await, (all, 0), "its vectors are gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_meanwhile_keeps_the_vector_of_its_own_text() {
    let dir = scratch();
    let world = World::open(dir.path());
    let (old, new) = (model("old", 8), model("new", 8));
    let before = world.holding(&old, 0..MANY).await;
    let after = world.prepared(&new).await;
    let write = async {
        for version in 2..12 {
            let changed = world.many(0..20, version);
            let (by, embedder) = if version % 2 == 0 { (&before, &old) } else { (&after, &new) };
            let changed: Vec<_> = changed.iter().map(|m| embedder.encoded(m)).collect();
            by.upsert(&changed).await.unwrap();
        }
    };
    let (steps, ()) = tokio::join!(run_to_end(&after, &new), write);
    steps.unwrap();
    // The old process may have written the last word after the walk was there.
    run_to_end(&after, &new).await.unwrap();
    assert_eq!(world.assert_all_by(&new).await, 5 * MANY);
}

/// Has a process of the former embedder write memories anew just when the vectors of facts were made.
struct Meddler {
    inner: Arc<Fake>,
    other: Arc<Store>,
    writes: Mutex<Option<Vec<Encoded<Memory>>>>,
}

#[async_trait]
impl Embedder for Meddler {
    fn id(&self) -> &EmbedderId {
        self.inner.id()
    }

    async fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = self.inner.embed(texts, purpose).await;
        let facts = texts.iter().any(|text| text.contains("tea of kind"));
        let writes = self.writes.lock().unwrap().take_if(|_| facts);
        if let Some(writes) = writes {
            self.other.upsert(&writes).await.unwrap();
        }
        vectors
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vector_of_a_former_text_is_not_stored() {
    let dir = scratch();
    let world = World::open(dir.path());
    let (old, new) = (Arc::new(model("old", 8)), Arc::new(model("new", 12)));
    let before = Arc::new(world.holding(&old, 0..20).await);
    let store = world.prepared(&new).await;
    let changed = world.many(0..20, 2).iter().map(|m| old.encoded(m)).collect();
    let meddler = Meddler { inner: new.clone(), other: before, writes: Mutex::new(Some(changed)) };
    while store.reembed(&meddler, now()).await.unwrap().more {}
    assert_eq!(world.assert_all_by(&new).await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_in_the_middle_drops_what_was_built() {
    let dir = scratch();
    let world = World::open(dir.path());
    let (old, new) = (model("old", 8), model("new", 12));
    world.holding(&old, 0..MANY).await;
    let store = world.prepared(&new).await;
    while state(&store).building.is_none_or(|build| build.done < MANY) {
        assert!(store.reembed(&new, now()).await.unwrap().more);
    }
    store.upsert(&[new.encoded(&world.memories(1_000, 1)[0])]).await.unwrap();

    let back = world.prepared(&old).await;
    assert!(state(&back).building.is_some());
    run_to_end(&back, &old).await.unwrap();
    assert_eq!(world.assert_all_by(&old).await, 5 * MANY + 1, "also what was written with the new one alone");
    assert_eq!(state(&back).building, None);
    let viewer = world.viewer();
    let words = found(&store, &viewer, MemoryKind::Fact, &new).await;
    assert_eq!(words, (MANY as usize + 1, 0), "the process of the new one still finds words");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_different_embedders_do_not_fight() {
    let dir = scratch();
    let world = World::open(dir.path());
    let (old, new) = (model("old", 8), model("new", 12));
    let first = world.holding(&old, 0..20).await;
    let second = world.prepared(&new).await;
    let third = world.prepared(&old).await;
    // Whoever leads, in turn: the one configured last has not begun anything, so the second may.
    for _ in 0..40 {
        second.reembed(&new, now()).await.unwrap();
        first.reembed(&old, now()).await.unwrap();
        third.reembed(&old, now()).await.unwrap();
    }
    assert_eq!(world.assert_all_by(&new).await, 100);
    let stranger = state(&first);
    assert!(!stranger.are_used());
    assert!(stranger.trouble().unwrap().contains("configured with old"), "{stranger:?}");
    // What a stranger writes is found by words, and gets its vector in time.
    first.upsert(&[old.encoded(&world.memories(77, 1)[0])]).await.unwrap();
    run_to_end(&second, &new).await.unwrap();
    assert_eq!(world.assert_all_by(&new).await, 101);
    // A process that is started with the former embedder now is meant to go back.
    let later = world.prepared(&old).await;
    run_to_end(&later, &old).await.unwrap();
    for _ in 0..40 {
        second.reembed(&new, now()).await.unwrap();
    }
    assert_eq!(world.assert_all_by(&old).await, 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_that_is_away_holds_the_change_up_and_nothing_else() {
    let dir = scratch();
    let world = World::open(dir.path());
    let old = model("old", 8);
    let mut new = model("new", 12);
    world.holding(&old, 0..20).await;
    let store = world.prepared(&new).await;
    new.away = true;
    let held_up = run_to_end(&store, &new).await;
    assert!(matches!(&held_up, Err(StoreError::Unavailable(why)) if why.contains("away")), "{held_up:?}");
    assert_eq!(found(&store, &world.viewer(), MemoryKind::Fact, &new).await, (20, 0));
    new.away = false;
    run_to_end(&store, &new).await.unwrap();
    assert_eq!(world.assert_all_by(&new).await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_refused_is_left_out_and_counted() {
    let dir = scratch();
    let world = World::open(dir.path());
    let old = model("old", 8);
    let mut new = model("new", 12);
    world.holding(&old, 0..40).await;
    let store = world.prepared(&new).await;
    new.refuses = Some("tea of kind 7,");
    let mut skipped = 0;
    while store.reembed(&new, now()).await.unwrap().more {
        skipped = skipped.max(state(&store).building.map_or(0, |build| build.skipped));
    }
    assert_eq!(skipped, 1);
    assert_eq!(state(&store).serving, *new.id());
    assert_eq!(found(&store, &world.viewer(), MemoryKind::Fact, &new).await, (40, 39));
    let marked =
        world.points("facts").await.into_iter().filter(|point| point.payload.contains_key("unencoded"));
    let marked: Vec<_> = marked.collect();
    assert_eq!(marked.len(), 1);
    assert!(read(&marked[0]).indexed_text().contains("tea of kind 7,"));
    assert!(matches!(marked[0].payload["unencoded"].kind, Some(Kind::StringValue(_))));
    // Written anew it is tried anew.
    new.refuses = None;
    store.upsert(&[new.encoded(&world.memories(7, 2)[0])]).await.unwrap();
    assert_eq!(world.assert_all_by(&new).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_that_refuses_everything_does_not_take_over() {
    let dir = scratch();
    let world = World::open(dir.path());
    let old = model("old", 8);
    let mut new = model("new", 12);
    world.holding(&old, 0..40).await;
    let store = world.prepared(&new).await;
    new.refuses = Some("");
    let stuck = run_to_end(&store, &new).await;
    assert!(
        matches!(&stuck, Err(StoreError::Unavailable(why)) if why.contains("refuses every text")),
        "{stuck:?}"
    );
    assert_eq!(state(&store).serving, *old.id());
    new.refuses = None;
    run_to_end(&store, &new).await.unwrap();
    assert_eq!(world.assert_all_by(&new).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_store_takes_any_embedder_at_once() {
    let dir = scratch();
    let world = World::open(dir.path());
    let (old, new) = (model("old", 8), model("new", 12));
    world.prepared(&old).await;
    let store = world.prepared(&new).await;
    assert!(run_to_end(&store, &new).await.unwrap() < 10);
    store.upsert(&[new.encoded(&world.memories(1, 1)[0])]).await.unwrap();
    assert_eq!(world.assert_all_by(&new).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn before_it_is_prepared_nothing_is_changed() {
    let dir = scratch();
    let world = World::open(dir.path());
    let store = world.process();
    let refused = store.reembed(&model("new", 12), now()).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert_eq!(store.known_vectors(), None);
}
