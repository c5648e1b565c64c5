use std::{collections::BTreeSet, sync::Arc};

use hindsight_types::{FactStatus, Memory, MemoryId, MemoryKind, Period, Viewer};

use crate::{
    Arm, Candidate, CandidateId, Encoded, Encoding, MemoryStore, Search, SparseVector, StoreError,
    testkit::samples::{
        DIMENSION, dense, encoded, experience, fact, failure_pattern, lesson, private, shared, sparse,
        step_memory, tenant, time, trace, user,
    },
};

fn search(kind: MemoryKind, arm: Arm, limit: usize) -> Search {
    Search { kind, arm, limit, action_name: None, ids: None }
}

/// Every arm there is, each of which finds what has term 99, lies along axis 0, names tea or is of the first
/// minute.
fn every_arm() -> [Arm; 4] {
    let (from, until) = (time(0), time(60));
    let tea = vec!["tea".to_owned()];
    [Arm::Dense(dense(0)), Arm::Bm25(sparse(&[99])), Arm::Entities(tea), Arm::Period(Period { from, until })]
}

/// The memories of candidates, in the order of the candidates.
async fn fetched(
    store: &dyn MemoryStore,
    viewer: &Viewer,
    kind: MemoryKind,
    found: &[Candidate],
) -> Vec<Memory> {
    let ids: Vec<CandidateId> = found.iter().map(|candidate| candidate.id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "a candidate stands once: {found:?}");
    let mut fetched = store.fetch(viewer, kind, &ids).await.unwrap();
    fetched.sort_by_key(|f| ids.iter().position(|id| *id == f.id));
    assert_eq!(fetched.iter().map(|f| f.id).collect::<Vec<_>>(), ids, "every candidate can be fetched");
    fetched.into_iter().map(|f| f.memory).collect()
}

/// The ids of what a search finds, best first.
async fn found(store: &dyn MemoryStore, viewer: &Viewer, search: &Search) -> Vec<MemoryId> {
    let found = store.search(viewer, search).await.unwrap();
    fetched(store, viewer, search.kind, &found).await.iter().map(Memory::id).collect()
}

fn ids(memories: &[&Encoded<Memory>]) -> Vec<MemoryId> {
    memories.iter().map(|m| m.value.id()).collect()
}

fn sorted(mut ids: Vec<MemoryId>) -> Vec<MemoryId> {
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

pub async fn each_arm_finds_its_own(store: Arc<dyn MemoryStore>) {
    let (viewer, steps) = steps(&*store, "search-arms", 6).await;
    let by_meaning = search(MemoryKind::Step, Arm::Dense(dense(2)), 1);
    let candidates = store.search(&viewer, &by_meaning).await.unwrap();
    assert_eq!(fetched(&*store, &viewer, MemoryKind::Step, &candidates).await, [steps[2].value.clone()]);
    assert!((candidates[0].score - 1.0).abs() < 1e-3, "cosine {}", candidates[0].score);
    let by_words = search(MemoryKind::Step, Arm::Bm25(sparse(&[103])), 3);
    let candidates = store.search(&viewer, &by_words).await.unwrap();
    assert_eq!(fetched(&*store, &viewer, MemoryKind::Step, &candidates).await, [steps[3].value.clone()]);
    assert!(candidates[0].score > 0.0);
    let (from, until) = (time(1), time(3));
    let by_time = search(MemoryKind::Step, Arm::Period(Period { from, until }), 9);
    assert_eq!(found(&*store, &viewer, &by_time).await, ids(&[&steps[2], &steps[1]]), "newest first");
    let newest = Search { limit: 1, ..by_time };
    assert_eq!(found(&*store, &viewer, &newest).await, ids(&[&steps[2]]));
}

pub async fn candidates_come_with_their_vectors(store: Arc<dyn MemoryStore>) {
    let viewer = Viewer::of_tenant(tenant("search-vectors")).with_user(Some(user("anna")));
    let tea = encoded(Memory::Fact(fact(&viewer.tenant, "anna", "tea", 1)), 0, &[99, 7]);
    store.upsert(std::slice::from_ref(&tea)).await.unwrap();
    for arm in every_arm() {
        let name = arm.name();
        let candidates = store.search(&viewer, &search(MemoryKind::Fact, arm, 5)).await.unwrap();
        assert_eq!(candidates.len(), 1, "{name}");
        assert_eq!(candidates[0].encoding, tea.encoding, "{name}");
    }
}

pub async fn candidates_are_best_first(store: Arc<dyn MemoryStore>) {
    let viewer = Viewer::of_tenant(tenant("search-order"));
    let scope = shared(&viewer.tenant);
    let step = |n: u32, dense: Vec<f32>, terms: &[u32]| Encoded {
        value: step_memory(&scope, &trace("t"), n, "ls"),
        encoding: Encoding { dense, sparse: sparse(terms) },
    };
    let near = |share: f32| {
        let mut vector = dense(0);
        (vector[0], vector[1]) = (share, (1.0 - share * share).sqrt());
        vector
    };
    let stored = [step(0, near(0.5), &[1, 2, 3]), step(1, near(0.9), &[1]), step(2, near(0.7), &[1, 2])];
    store.upsert(&stored).await.unwrap();
    let expected = [
        (Arm::Dense(dense(0)), [&stored[1], &stored[2], &stored[0]]),
        (Arm::Bm25(sparse(&[1, 2, 3])), [&stored[0], &stored[2], &stored[1]]),
        (Arm::Period(Period { from: time(0), until: time(9) }), [&stored[2], &stored[1], &stored[0]]),
    ];
    for (arm, expected) in expected {
        let asked = search(MemoryKind::Step, arm, 5);
        let candidates = store.search(&viewer, &asked).await.unwrap();
        assert!(candidates.is_sorted_by(|a, b| a.score >= b.score), "{candidates:?}");
        assert_eq!(found(&*store, &viewer, &asked).await, ids(&expected), "{}", asked.arm.name());
        for _ in 0..3 {
            assert_eq!(store.search(&viewer, &asked).await.unwrap(), candidates, "the same every time");
        }
    }
}

pub async fn an_empty_arm_finds_nothing(store: Arc<dyn MemoryStore>) {
    let (viewer, _) = steps(&*store, "search-off", 4).await;
    let nothing = Period { from: time(2), until: time(2) };
    let empty = [
        Arm::Dense(Vec::new()),
        Arm::Bm25(SparseVector::default()),
        Arm::Entities(Vec::new()),
        Arm::Period(nothing),
    ];
    for arm in empty {
        assert_eq!(store.search(&viewer, &search(MemoryKind::Step, arm, 5)).await.unwrap(), []);
    }
    for arm in every_arm() {
        assert_eq!(store.search(&viewer, &search(MemoryKind::Step, arm, 0)).await.unwrap(), []);
    }
    assert_eq!(store.fetch(&viewer, MemoryKind::Step, &[]).await.unwrap(), []);

    // A memory without a dense vector is found by its words alone.
    let bare = step_memory(&shared(&viewer.tenant), &trace("bare"), 9, "ls");
    let bare = Encoded { value: bare, encoding: Encoding { dense: Vec::new(), sparse: sparse(&[500]) } };
    store.upsert(std::slice::from_ref(&bare)).await.unwrap();
    let by_words = search(MemoryKind::Step, Arm::Bm25(sparse(&[500])), 1);
    let candidates = store.search(&viewer, &by_words).await.unwrap();
    assert_eq!(candidates[0].encoding, bare.encoding);
    let by_meaning = search(MemoryKind::Step, Arm::Dense(dense(0)), 9);
    assert!(!found(&*store, &viewer, &by_meaning).await.contains(&bare.value.id()));
}

pub async fn names_are_found_however_they_are_written(store: Arc<dyn MemoryStore>) {
    let viewer = Viewer::of_tenant(tenant("search-names")).with_user(Some(user("anna")));
    let scope = shared(&viewer.tenant);
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut of_fact = fact(&viewer.tenant, "anna", "ticket", 3);
    of_fact.entities = names(&["INV-78901", "Ｒｅｄｉｓ Cluster"]);
    let mut of_lesson = lesson(&scope, "names", &["t"], 2);
    of_lesson.entities = names(&["INV-78901", "李雷"]);
    let mut of_run = experience(&scope, &trace("t"), 1);
    let Memory::Experience(run) = &mut of_run else { panic!("{of_run:?} is no run") };
    run.entities = names(&["inv-78901"]);
    let memories = [Memory::Fact(of_fact), Memory::Lesson(of_lesson), of_run];
    let memories = memories.map(|memory| encoded(memory, 0, &[99]));
    store.upsert(&memories).await.unwrap();
    for memory in &memories {
        let kind = memory.value.kind();
        for asked in [&["inv-78901"], &["Inv-78901"], &["ＩＮＶ-78901"]] {
            let asked = search(kind, Arm::Entities(names(asked)), 5);
            assert_eq!(found(&*store, &viewer, &asked).await, ids(&[memory]), "{asked:?}");
        }
        let others = search(kind, Arm::Entities(names(&["INV-7890", "inv", "李"])), 5);
        assert_eq!(found(&*store, &viewer, &others).await, []);
    }
    let one_of = search(MemoryKind::Fact, Arm::Entities(names(&["nobody", "redis cluster"])), 5);
    assert_eq!(found(&*store, &viewer, &one_of).await, ids(&[&memories[0]]));
    let one_of = search(MemoryKind::Lesson, Arm::Entities(names(&["李雷"])), 5);
    assert_eq!(found(&*store, &viewer, &one_of).await, ids(&[&memories[1]]));
    // Patterns and steps name nobody.
    for kind in [MemoryKind::FailurePattern, MemoryKind::Step] {
        let asked = search(kind, Arm::Entities(names(&["inv-78901"])), 5);
        assert_eq!(store.search(&viewer, &asked).await.unwrap(), []);
    }
}

pub async fn searches_are_narrowed(store: Arc<dyn MemoryStore>) {
    let (viewer, steps) = steps(&*store, "search-narrow", 6).await;
    let foreign = MemoryId::lesson(&viewer.tenant, "tenant", "of another kind");
    let chosen = vec![steps[1].value.id(), steps[4].value.id(), foreign];
    for arm in every_arm() {
        let of_ids = |ids| Search { ids: Some(ids), ..search(MemoryKind::Step, arm.clone(), 50) };
        let named = !matches!(arm, Arm::Entities(_));
        let expected = if named { ids(&[&steps[1], &steps[4]]) } else { Vec::new() };
        let found_now = found(&*store, &viewer, &of_ids(chosen.clone())).await;
        assert_eq!(sorted(found_now), sorted(expected), "{}", arm.name());
        assert_eq!(store.search(&viewer, &of_ids(Vec::new())).await.unwrap(), []);
    }

    let scope = shared(&viewer.tenant);
    let pattern =
        |action: &str| encoded(Memory::FailurePattern(failure_pattern(&scope, action, &["t"], 1)), 0, &[99]);
    let (pull, push) = (pattern("docker_pull"), pattern("推送"));
    store.upsert(&[pull.clone(), push.clone()]).await.unwrap();
    for (action, expected) in [("docker_pull", vec![&pull]), ("推送", vec![&push]), ("docker", vec![])] {
        for arm in every_arm().into_iter().filter(|arm| !matches!(arm, Arm::Entities(_))) {
            let asked = Search {
                action_name: Some(action.to_owned()),
                ..search(MemoryKind::FailurePattern, arm, 50)
            };
            assert_eq!(found(&*store, &viewer, &asked).await, ids(&expected), "{action}");
        }
    }
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
    // Whose candidates they are, anyone may know their keys.
    let all =
        [Viewer::of_tenant(mine.clone()).with_user(Some(user("anna"))), Viewer::of_tenant(yours.clone())];
    let mut keys = Vec::new();
    for viewer in &all {
        let asked = search(MemoryKind::Step, Arm::Dense(dense(0)), 50);
        keys.extend(store.search(viewer, &asked).await.unwrap().into_iter().map(|c| c.id));
    }
    let seen = async |viewer: &Viewer, expected: &[&Encoded<Memory>]| {
        let expected = sorted(ids(expected));
        for arm in every_arm().into_iter().filter(|arm| !matches!(arm, Arm::Entities(_))) {
            let asked = search(MemoryKind::Step, arm, 50);
            assert_eq!(sorted(found(&*store, viewer, &asked).await), expected);
            let named = Search { ids: Some(every_id.clone()), ..asked };
            assert_eq!(sorted(found(&*store, viewer, &named).await), expected);
        }
        let fetched = store.fetch(viewer, MemoryKind::Step, &keys).await.unwrap();
        assert_eq!(sorted(fetched.iter().map(|f| f.memory.id()).collect()), expected);
    };
    let viewer = Viewer::of_tenant(mine.clone());
    seen(&viewer, &[&everyone]).await;
    seen(&viewer.clone().with_user(Some(user("ben"))), &[&everyone]).await;
    seen(&viewer.with_user(Some(user("anna"))), &[&everyone, &anna]).await;
    seen(&Viewer::of_tenant(yours), &[&foreign]).await;
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
    let expired = of(FactStatus::Open, "expired", Some(time(2)));
    let soon_obsolete = of(FactStatus::Open, "obsolete", None);
    store.upsert(&[open.clone(), resolved.clone(), expired.clone(), soon_obsolete]).await.unwrap();
    let viewer = Viewer::of_tenant(tenant.clone()).with_user(Some(user("anna")));
    let asked = |arm| search(MemoryKind::Fact, arm, 50);
    let before = store.search(&viewer, &asked(Arm::Dense(dense(0)))).await.unwrap();
    assert_eq!(before.len(), 4);
    store.upsert(&[of(FactStatus::Obsolete, "obsolete", None)]).await.unwrap();
    for arm in every_arm() {
        let expected = sorted(ids(&[&open, &resolved, &expired]));
        assert_eq!(sorted(found(&*store, &viewer, &asked(arm.clone())).await), expected, "{}", arm.name());
        let nobody = Viewer::of_tenant(tenant.clone());
        assert_eq!(store.search(&nobody, &asked(arm)).await.unwrap(), []);
    }
    let ids: Vec<CandidateId> = before.iter().map(|c| c.id).collect();
    assert_eq!(
        store.fetch(&viewer, MemoryKind::Fact, &ids).await.unwrap().len(),
        3,
        "not even as a candidate"
    );
    let nobody = Viewer::of_tenant(tenant.clone());
    assert_eq!(store.fetch(&nobody, MemoryKind::Fact, &ids).await.unwrap(), []);
}

pub async fn unusable_searches_are_refused(store: Arc<dyn MemoryStore>) {
    let viewer = Viewer::of_tenant(tenant("search-refused")).with_user(Some(user("anna")));
    let of = |arm| search(MemoryKind::Fact, arm, 5);
    assert_eq!(store.search(&viewer, &of(Arm::Dense(dense(0)))).await.unwrap(), []);
    let refused = async |search: Search| {
        let refused = store.search(&viewer, &search).await;
        assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?} for {search:?}");
    };
    for arm in every_arm() {
        refused(Search { limit: 1_000_000, ..of(arm.clone()) }).await;
        refused(Search { action_name: Some("ls".to_owned()), ..of(arm) }).await;
    }
    refused(of(Arm::Entities(vec!["x".to_owned(); 1_000]))).await;
    let too_many = vec![CandidateId(uuid::Uuid::nil()); 100_000];
    let fetched = store.fetch(&viewer, MemoryKind::Fact, &too_many).await;
    assert!(matches!(fetched, Err(StoreError::Rejected(_))), "{fetched:?}");
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
        let bad_words = encoding.dense == dense(0);
        let Encoding { dense, sparse } = encoding.clone();
        refused(of(if bad_words { Arm::Bm25(sparse) } else { Arm::Dense(dense) })).await;
        let value = Memory::Fact(fact(&viewer.tenant, "anna", "tea", 1));
        let refused = store.upsert(&[Encoded { value, encoding: encoding.clone() }]).await;
        assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?} for {encoding:?}");
    }
    assert_eq!(store.stats(&viewer).await.unwrap().facts, 0);
}
