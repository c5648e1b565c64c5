use std::sync::Arc;

use hindsight_types::{FactStatus, Memory, MemoryId, MemoryKind, Viewer};

use crate::{
    Encoded, Encoding, Hit, MemoryStore, Search, SparseVector, StoreError,
    testkit::samples::{
        DIMENSION, dense, encoded, fact, failure_pattern, private, shared, sparse, step_memory, tenant,
        trace, user,
    },
};

fn search(kind: MemoryKind, dense: Vec<f32>, sparse: SparseVector, limit: usize) -> Search {
    Search { kind, encoding: Encoding { dense, sparse }, limit, action_name: None, ids: None }
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
    let hits = store.search(&viewer, &asked).await.unwrap();
    assert_eq!(ids(&hits), sorted(&[&steps[0], &steps[3]]));
    for hit in &hits {
        let (dense, sparse) = (hit.dense.unwrap(), hit.sparse.unwrap());
        let is_first = hit.memory == steps[0].value;
        assert!((dense - if is_first { 1.0 } else { 0.0 }).abs() < 1e-3, "cosine {dense}");
        assert!(if is_first { sparse == 0.0 } else { sparse > 0.0 }, "words {sparse}");
    }
    for _ in 0..3 {
        assert_eq!(store.search(&viewer, &asked).await.unwrap(), hits, "the same answer every time");
    }
}

pub async fn arms_switch_off(store: Arc<dyn MemoryStore>) {
    let (viewer, steps) = steps(&*store, "search-off", 4).await;
    let by_meaning = search(MemoryKind::Step, dense(2), SparseVector::default(), 1);
    let hits = store.search(&viewer, &by_meaning).await.unwrap();
    assert_eq!((ids(&hits), hits[0].sparse), (sorted(&[&steps[2]]), None));
    assert!(hits[0].dense.unwrap() > 0.999);
    let by_words = search(MemoryKind::Step, Vec::new(), sparse(&[101]), 5);
    let hits = store.search(&viewer, &by_words).await.unwrap();
    assert_eq!((ids(&hits), hits[0].dense), (sorted(&[&steps[1]]), None));
    assert!(hits[0].sparse.unwrap() > 0.0);
    let neither = search(MemoryKind::Step, Vec::new(), SparseVector::default(), 5);
    assert_eq!(store.search(&viewer, &neither).await.unwrap(), []);
    let nothing = search(MemoryKind::Step, dense(0), sparse(&[99]), 0);
    assert_eq!(store.search(&viewer, &nothing).await.unwrap(), []);

    // A memory without a dense vector is found by its words, and has nothing in common by meaning.
    let bare = step_memory(&shared(&viewer.tenant), &trace("bare"), 0, "ls");
    let bare = Encoded { value: bare, encoding: Encoding { dense: Vec::new(), sparse: sparse(&[500]) } };
    store.upsert(std::slice::from_ref(&bare)).await.unwrap();
    let asked = search(MemoryKind::Step, dense(0), sparse(&[500]), 1);
    let hits = store.search(&viewer, &asked).await.unwrap();
    assert_eq!(ids(&hits), sorted(&[&steps[0], &bare]));
    assert!(hits.iter().all(|hit| hit.memory != bare.value || hit.dense == Some(0.0)));
}

pub async fn searches_are_narrowed(store: Arc<dyn MemoryStore>) {
    let (viewer, steps) = steps(&*store, "search-narrow", 6).await;
    let all = || search(MemoryKind::Step, dense(0), sparse(&[99]), 50);
    let chosen = Some(vec![steps[1].value.id(), steps[4].value.id(), lesson_id(&viewer)]);
    let hits = store.search(&viewer, &Search { ids: chosen, ..all() }).await.unwrap();
    assert_eq!(ids(&hits), sorted(&[&steps[1], &steps[4]]));
    let hits = store.search(&viewer, &Search { ids: Some(Vec::new()), ..all() }).await.unwrap();
    assert_eq!(hits, []);

    let scope = shared(&viewer.tenant);
    let pattern =
        |action: &str| encoded(Memory::FailurePattern(failure_pattern(&scope, action, &["t"], 1)), 0, &[99]);
    let (pull, push) = (pattern("docker_pull"), pattern("推送"));
    store.upsert(&[pull.clone(), push.clone()]).await.unwrap();
    for (action, expected) in [("docker_pull", vec![&pull]), ("推送", vec![&push]), ("docker", vec![])] {
        let asked = Search {
            action_name: Some(action.to_owned()),
            ..search(MemoryKind::FailurePattern, dense(0), sparse(&[99]), 50)
        };
        assert_eq!(ids(&store.search(&viewer, &asked).await.unwrap()), sorted(&expected), "{action}");
    }
}

fn lesson_id(viewer: &Viewer) -> MemoryId {
    MemoryId::lesson(&viewer.tenant, "tenant", "of another kind")
}

pub async fn searches_stay_in_their_scope(store: Arc<dyn MemoryStore>) {
    let (mine, yours) = (tenant("search-mine"), tenant("search-yours"));
    let step = |scope| encoded(step_memory(&scope, &trace("t"), 0, "ls"), 0, &[99]);
    let (anna, foreign) = (step(private(&mine, "anna")), step(shared(&yours)));
    let mut everyone = step(shared(&mine));
    if let Memory::Step(step) = &mut everyone.value {
        step.id = MemoryId::step(&mine, &trace("other"), 0);
    }
    store.upsert(&[anna.clone(), foreign.clone(), everyone.clone()]).await.unwrap();
    let every_id = vec![anna.value.id(), foreign.value.id(), everyone.value.id()];
    let seen = async |viewer: &Viewer| {
        let asked = search(MemoryKind::Step, dense(0), sparse(&[99]), 50);
        let found = ids(&store.search(viewer, &asked).await.unwrap());
        let named = Search { ids: Some(every_id.clone()), ..asked };
        assert_eq!(ids(&store.search(viewer, &named).await.unwrap()), found);
        found
    };
    let viewer = Viewer::of_tenant(mine.clone());
    assert_eq!(seen(&viewer).await, sorted(&[&everyone]));
    assert_eq!(seen(&viewer.clone().with_user(Some(user("ben")))).await, sorted(&[&everyone]));
    assert_eq!(seen(&viewer.with_user(Some(user("anna")))).await, sorted(&[&everyone, &anna]));
    assert_eq!(seen(&Viewer::of_tenant(yours)).await, sorted(&[&foreign]));
}

pub async fn obsolete_facts_are_not_found(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("search-facts");
    let of = |status, key: &str, expires| {
        let mut fact = fact(&tenant, "anna", key, 1);
        (fact.status, fact.expires_at) = (status, expires);
        encoded(Memory::Fact(fact), 0, &[99])
    };
    let open = of(FactStatus::Open, "open", None);
    let resolved = of(FactStatus::Resolved, "resolved", None);
    // Whether an expired one still helps is for ranking to say.
    let expired = of(FactStatus::Open, "expired", Some(crate::testkit::samples::time(2)));
    let obsolete = of(FactStatus::Obsolete, "obsolete", None);
    store.upsert(&[open.clone(), resolved.clone(), expired.clone(), obsolete]).await.unwrap();
    let viewer = Viewer::of_tenant(tenant.clone()).with_user(Some(user("anna")));
    let asked = search(MemoryKind::Fact, dense(0), sparse(&[99]), 50);
    let hits = store.search(&viewer, &asked).await.unwrap();
    assert_eq!(ids(&hits), sorted(&[&open, &resolved, &expired]));
    let nobody = Viewer::of_tenant(tenant);
    assert_eq!(store.search(&nobody, &asked).await.unwrap(), []);
}

pub async fn unusable_vectors_are_refused(store: Arc<dyn MemoryStore>) {
    let viewer = Viewer::of_tenant(tenant("search-refused")).with_user(Some(user("anna")));
    let good = search(MemoryKind::Fact, dense(0), sparse(&[1]), 5);
    assert_eq!(store.search(&viewer, &good).await.unwrap(), []);
    let bad = [
        Search { limit: 1_000_000, ..good.clone() },
        Search { action_name: Some("ls".to_owned()), ..good.clone() },
    ];
    for search in bad {
        let refused = store.search(&viewer, &search).await;
        assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?} for {search:?}");
    }
    let sparse_of = |indices, values| Encoding { dense: dense(0), sparse: SparseVector { indices, values } };
    let unusable = [
        Encoding { dense: vec![1.0; 3], sparse: sparse(&[]) },
        Encoding { dense: vec![f32::NAN; DIMENSION], sparse: sparse(&[]) },
        sparse_of(vec![1, 2], vec![1.0]),
        sparse_of(vec![2, 1], vec![1.0, 1.0]),
        sparse_of(vec![1, 1], vec![1.0, 1.0]),
        sparse_of(vec![1], vec![f32::INFINITY]),
    ];
    for encoding in unusable {
        let search = Search { encoding: encoding.clone(), ..good.clone() };
        let refused = store.search(&viewer, &search).await;
        assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?} for {encoding:?}");
        let value = Memory::Fact(fact(&viewer.tenant, "anna", "tea", 1));
        let refused = store.upsert(&[Encoded { value, encoding: encoding.clone() }]).await;
        assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?} for {encoding:?}");
    }
    assert_eq!(store.stats(&viewer).await.unwrap().facts, 0);
}
