use std::sync::Arc;

use hindsight_types::{Memory, MemoryId, MemoryKind, Viewer};

use crate::{
    Encoded, Encoding, Hit, HitSearch, MemoryStore, SparseVector,
    testkit::samples::{dense, encoded, shared, sparse, step_memory, tenant, trace},
};

fn search(kind: MemoryKind, dense: Vec<f32>, sparse: SparseVector, limit: usize) -> HitSearch {
    HitSearch { kind, encoding: Encoding { dense, sparse }, limit, action_name: None, ids: None }
}

fn ids(hits: &[Hit]) -> Vec<MemoryId> {
    let mut ids: Vec<MemoryId> = hits.iter().map(|hit| hit.memory.id()).collect();
    ids.sort_unstable();
    ids
}

fn sorted(memories: &[&Encoded<Memory>]) -> Vec<MemoryId> {
    let mut ids: Vec<MemoryId> = memories.iter().map(|m| m.value.id()).collect();
    ids.sort_unstable();
    ids
}

/// Steps of one shared run: the nth lies along axis n and holds the terms 100 + n and 99.
async fn steps(store: &dyn MemoryStore, name: &str, count: u32) -> (Viewer, Vec<Encoded<Memory>>) {
    let viewer = Viewer::of_tenant(tenant(name));
    let scope = shared(&viewer.tenant);
    let steps: Vec<_> = (0..count)
        .map(|n| encoded(step_memory(&scope, &trace("t"), n, "ls"), n as usize, &[99, 100 + n]))
        .collect();
    store.upsert(&steps).await.unwrap();
    (viewer, steps)
}

pub async fn arms_score_every_hit(store: Arc<dyn MemoryStore>) {
    let (viewer, steps) = steps(&*store, "search-arms", 6).await;
    // By meaning the first, by words the fourth: each arm must score what only the other one found.
    let asked = search(MemoryKind::Step, dense(0), sparse(&[103]), 1);
    let hits = store.search_hits(&viewer, &asked).await.unwrap();
    assert_eq!(ids(&hits), sorted(&[&steps[0], &steps[3]]));
    for hit in &hits {
        let (dense, sparse) = (hit.dense.unwrap(), hit.sparse.unwrap());
        let is_first = hit.memory == steps[0].value;
        assert!((dense - if is_first { 1.0 } else { 0.0 }).abs() < 1e-3, "cosine {dense}");
        assert!(if is_first { sparse == 0.0 } else { sparse > 0.0 }, "words {sparse}");
    }
    for _ in 0..3 {
        assert_eq!(store.search_hits(&viewer, &asked).await.unwrap(), hits, "the same answer every time");
    }
}

pub async fn arms_switch_off(store: Arc<dyn MemoryStore>) {
    let (viewer, steps) = steps(&*store, "search-off", 4).await;
    let by_meaning = search(MemoryKind::Step, dense(2), SparseVector::default(), 1);
    let hits = store.search_hits(&viewer, &by_meaning).await.unwrap();
    assert_eq!((ids(&hits), hits[0].sparse), (sorted(&[&steps[2]]), None));
    assert!(hits[0].dense.unwrap() > 0.999);
    let by_words = search(MemoryKind::Step, Vec::new(), sparse(&[101]), 5);
    let hits = store.search_hits(&viewer, &by_words).await.unwrap();
    assert_eq!((ids(&hits), hits[0].dense), (sorted(&[&steps[1]]), None));
    assert!(hits[0].sparse.unwrap() > 0.0);
    let neither = search(MemoryKind::Step, Vec::new(), SparseVector::default(), 5);
    assert_eq!(store.search_hits(&viewer, &neither).await.unwrap(), []);
    let nothing = search(MemoryKind::Step, dense(0), sparse(&[99]), 0);
    assert_eq!(store.search_hits(&viewer, &nothing).await.unwrap(), []);

    // A memory without a dense vector is found by its words, and has nothing in common by meaning.
    let bare = step_memory(&shared(&viewer.tenant), &trace("bare"), 0, "ls");
    let bare = Encoded { value: bare, encoding: Encoding { dense: Vec::new(), sparse: sparse(&[500]) } };
    store.upsert(std::slice::from_ref(&bare)).await.unwrap();
    let asked = search(MemoryKind::Step, dense(0), sparse(&[500]), 1);
    let hits = store.search_hits(&viewer, &asked).await.unwrap();
    assert_eq!(ids(&hits), sorted(&[&steps[0], &bare]));
    assert!(hits.iter().all(|hit| hit.memory != bare.value || hit.dense == Some(0.0)));
}
