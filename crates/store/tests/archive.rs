//! Memories leave for the archive and come back, whatever happens on the way.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use common::{Opened, open};
use hindsight_ports::{
    Archive, Arm, Leaving, Ledger, MemoryStore, PageRequest, Search, StoreError,
    testkit::samples::{self, dense, encoded, experience, private, shared, tenant, time, trace},
};
use hindsight_store::{Scrolled, Store, StoreOptions, VectorBackend};
use hindsight_types::{Archived, EvaluationState, Memory, MemoryId, MemoryKind, Scope, TenantId, Viewer};
use qdrant_client::qdrant::{
    CollectionInfo, CountPoints, CreateCollection, CreateFieldIndexCollection, CreateVectorNameRequest,
    DeletePoints, DeleteVectorNameRequest, FacetCounts, FacetHit, GetPoints, QueryPoints, RetrievedPoint,
    ScoredPoint, ScrollPoints, SetPayloadPoints, UpdatePointVectors, UpsertPoints,
};

const RUN: MemoryKind = MemoryKind::Experience;

struct World {
    store: Store,
    opened: Opened,
    backend: Arc<Interrupted>,
    viewer: Viewer,
}

/// What happens right before the next deletion.
enum Event {
    Crash,
    Write(Box<UpsertPoints>),
}

/// A backend that something happens to.
struct Interrupted {
    inner: Arc<dyn VectorBackend>,
    next: Mutex<Option<Event>>,
    /// The last upsert of runs.
    written: Mutex<Option<UpsertPoints>>,
}

async fn world(name: &str) -> World {
    let opened = open().await;
    let (next, written) = (Mutex::default(), Mutex::default());
    let backend = Arc::new(Interrupted { inner: opened.backend.clone(), next, written });
    let store = Store::new(backend.clone(), StoreOptions::default());
    store.prepare(&samples::embedder()).await.unwrap();
    World { store, opened, backend, viewer: Viewer::of_tenant(tenant(name)) }
}

impl World {
    fn tenant(&self) -> &TenantId {
        &self.viewer.tenant
    }

    fn scope(&self) -> Scope {
        shared(self.tenant())
    }

    async fn write(&self, memory: &Memory) {
        self.store.upsert(&[encoded(memory.clone(), 0, &[1, 2])]).await.unwrap();
    }

    async fn leave(&self, memory: &Memory) -> Result<BTreeSet<MemoryId>, StoreError> {
        let leaving = [Leaving { id: memory.id(), why: "faded".to_owned(), instead: None }];
        self.store.archive(self.tenant(), memory.kind(), &leaving, time(100)).await
    }

    async fn there(&self, memory: &Memory) -> Option<Memory> {
        self.store.get(&self.viewer, memory.kind(), memory.id()).await.unwrap()
    }

    async fn away(&self) -> Vec<MemoryId> {
        let page = self.store.list_archived(&self.viewer, &PageRequest::default()).await.unwrap();
        page.items.iter().map(|a| a.memory.id()).collect()
    }

    async fn found(&self, arm: Arm) -> usize {
        let search = Search { kind: RUN, arm, limit: 10, action_name: None, ids: None };
        self.store.search(&self.viewer, &search).await.unwrap().len()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_left_is_not_found_and_comes_back_as_it_was() {
    let w = world("archive").await;
    let run = experience(&w.scope(), &trace("t"), 1);
    let stays = experience(&w.scope(), &trace("stays"), 2);
    w.write(&run).await;
    w.write(&stays).await;
    assert_eq!(w.leave(&run).await.unwrap(), BTreeSet::from([run.id()]));
    assert_eq!(w.there(&run).await, None);
    assert_eq!(w.found(Arm::Dense(dense(0))).await, 1);
    assert_eq!(w.found(Arm::Entities(vec!["db-0".to_owned()])).await, 1);
    let page = w.store.list(&w.viewer, RUN, &PageRequest::default()).await.unwrap();
    assert_eq!(page.items, std::slice::from_ref(&stays));
    let kept = w.store.archived(&w.viewer, run.id()).await.unwrap().unwrap();
    let expected = Archived {
        memory: run.clone(),
        at: time(100),
        why: "faded".to_owned(),
        instead: None,
        restored_at: None,
    };
    assert_eq!(kept, expected);
    assert_eq!(w.away().await, [run.id()]);

    assert_eq!(w.store.restore(&w.viewer, run.id(), time(200)).await.unwrap(), Some(run.clone()));
    assert_eq!(w.there(&run).await, Some(run.clone()));
    assert_eq!(w.found(Arm::Dense(dense(0))).await, 2, "its vector came back with it");
    let (indices, values) = hindsight_text::bm25::encode_query("restarting volume 测试环境");
    let words = hindsight_ports::SparseVector { indices, values };
    assert_eq!(w.found(Arm::Bm25(words)).await, 1, "its words were encoded again");
    assert!(w.away().await.is_empty());
    assert_eq!(w.leave(&run).await.unwrap(), BTreeSet::new(), "it does not leave again by itself");
    assert_eq!(w.there(&run).await, Some(run.clone()));
    let back = w.store.brought_back(w.tenant(), &PageRequest::default()).await.unwrap();
    assert_eq!(back.items, [Archived { restored_at: Some(time(200)), ..expected }]);
    assert_eq!(
        w.store.restore(&w.viewer, run.id(), time(300)).await.unwrap(),
        Some(run),
        "once more does nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_in_between_loses_nothing_and_is_finished_later() {
    let w = world("crash").await;
    let run = experience(&w.scope(), &trace("t"), 1);
    w.write(&run).await;
    *w.backend.next.lock().unwrap() = Some(Event::Crash);
    w.leave(&run).await.unwrap_err();
    assert_eq!(w.there(&run).await, Some(run.clone()));
    assert_eq!(w.leave(&run).await.unwrap(), BTreeSet::from([run.id()]));
    assert_eq!(w.there(&run).await, None);
    assert_eq!(w.away().await, [run.id()]);
    assert_eq!(w.leave(&run).await.unwrap(), BTreeSet::new(), "there is nothing left to leave");
    assert_eq!(w.away().await, [run.id()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_on_the_way_stays() {
    let w = world("race").await;
    let run = experience(&w.scope(), &trace("t"), 1);
    let Memory::Experience(mut judged_again) = run.clone() else { unreachable!() };
    judged_again.evaluation.summary = "looked at the volumes".to_owned();
    let changed = Memory::Experience(judged_again);
    w.write(&changed).await;
    let write = w.backend.written.lock().unwrap().clone().unwrap();
    w.write(&run).await;
    *w.backend.next.lock().unwrap() =
        Some(Event::Write(Box::new(UpsertPoints { update_filter: None, ..write })));
    assert_eq!(w.leave(&run).await.unwrap(), BTreeSet::new());
    assert_eq!(w.there(&run).await, Some(changed.clone()));
    assert_eq!(w.leave(&run).await.unwrap(), BTreeSet::from([run.id()]));
    let kept = w.store.archived(&w.viewer, run.id()).await.unwrap().unwrap();
    assert_eq!(kept.memory, changed);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_learned_anew_stays_when_the_old_comes_back() {
    let w = world("anew").await;
    let old = samples::lesson(&w.scope(), "k", &["a"], 1);
    let new = samples::lesson(&w.scope(), "k", &["b"], 5);
    let (old, new) = (Memory::Lesson(old), Memory::Lesson(new));
    w.write(&old).await;
    w.leave(&old).await.unwrap();
    w.write(&new).await;
    assert_eq!(w.store.restore(&w.viewer, old.id(), time(9)).await.unwrap(), Some(new.clone()));
    assert_eq!(w.there(&old).await, Some(new));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_archive_of_one_is_not_that_of_another() {
    let w = world("scopes").await;
    let anna = private(w.tenant(), "anna");
    let run = experience(&anna, &trace("t"), 1);
    w.write(&run).await;
    assert_eq!(w.leave(&run).await.unwrap().len(), 1);
    let strangers = [
        w.viewer.clone(),
        Viewer::of_scope(&private(w.tenant(), "bob")),
        Viewer::of_scope(&private(&tenant("others"), "anna")),
    ];
    for stranger in strangers {
        assert_eq!(w.store.archived(&stranger, run.id()).await.unwrap(), None);
        assert_eq!(w.store.restore(&stranger, run.id(), time(9)).await.unwrap(), None);
        let page = w.store.list_archived(&stranger, &PageRequest::default()).await.unwrap();
        assert!(page.items.is_empty());
    }
    let others = w.store.archive(&tenant("others"), RUN, &[leaving(&run, None)], time(9)).await.unwrap();
    assert!(others.is_empty());
    let own = Viewer::of_scope(&anna);
    assert_eq!(w.store.restore(&own, run.id(), time(9)).await.unwrap(), Some(run));
}

fn leaving(memory: &Memory, instead: Option<MemoryId>) -> Leaving {
    Leaving { id: memory.id(), why: "says the same".to_owned(), instead }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_speaks_for_is_listed_for_upkeep() {
    let w = world("merged").await;
    let lesson = |key: &str| Memory::Lesson(samples::lesson(&w.scope(), key, &[key], 1));
    let (a, b, c) = (lesson("a"), lesson("b"), lesson("c"));
    for lesson in [&a, &b, &c] {
        w.write(lesson).await;
    }
    let leaving = [leaving(&a, Some(c.id())), leaving(&b, None)];
    assert_eq!(w.store.archive(w.tenant(), a.kind(), &leaving, time(9)).await.unwrap().len(), 2);
    let page = w.store.spoken_for(w.tenant(), &PageRequest::default()).await.unwrap();
    assert_eq!(
        page.items.iter().map(|x| (x.memory.id(), x.instead)).collect::<Vec<_>>(),
        [(a.id(), Some(c.id()))]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_away_long_enough_is_deleted_with_what_was_said_of_it() {
    let w = world("expired").await;
    let run = |name: &str| experience(&w.scope(), &trace(name), 1);
    let (old, back, lately) = (run("old"), run("back"), run("lately"));
    let lesson = |key: &str| Memory::Lesson(samples::lesson(&w.scope(), key, &[key], 1));
    let (forgotten, learned_anew) = (lesson("forgotten"), lesson("anew"));
    let mut refuted = samples::lesson(&w.scope(), "refuted", &["refuted"], 1);
    refuted.stage = hindsight_types::Stage::Retired;
    let refuted = Memory::Lesson(refuted);
    for memory in [&old, &back, &lately, &forgotten, &learned_anew, &refuted] {
        w.write(memory).await;
        let verdict = hindsight_types::Verdict::Supported;
        let line = samples::evidence(&w.scope(), memory.id(), &trace("later"), verdict, 2);
        w.store.append_evidence(&[line]).await.unwrap();
    }
    for name in ["old", "lately"] {
        let judged = samples::evaluation_record(&w.scope(), &trace(name), EvaluationState::Judged, 1);
        w.store.put_evaluation_record(&judged).await.unwrap();
    }
    for memory in [&old, &back, &lately, &forgotten, &learned_anew, &refuted] {
        let at = if memory == &lately { 300 } else { 100 };
        w.store.archive(w.tenant(), memory.kind(), &[leaving(memory, None)], time(at)).await.unwrap();
    }
    w.store.restore(&w.viewer, back.id(), time(150)).await.unwrap();
    w.write(&learned_anew).await;

    let before = w.store.archived_before(w.tenant(), time(200), &PageRequest::default()).await.unwrap();
    let due: BTreeSet<MemoryId> = before.items.iter().map(|one| one.memory.id()).collect();
    assert_eq!(due, [&old, &forgotten, &learned_anew, &refuted].map(Memory::id).into());
    let runs = [&old, &back, &lately].map(Memory::id);
    let expire = |kind, ids| w.store.expire(w.tenant(), kind, ids, time(200));
    assert_eq!(expire(RUN, &runs).await.unwrap(), BTreeSet::from([old.id()]));
    assert_eq!(expire(RUN, &runs).await.unwrap(), BTreeSet::new(), "once");
    let lessons = [&forgotten, &learned_anew, &refuted].map(Memory::id);
    assert_eq!(expire(MemoryKind::Lesson, &lessons).await.unwrap(), lessons.into());

    assert_eq!(w.store.archived(&w.viewer, old.id()).await.unwrap(), None);
    assert!(w.store.archived(&w.viewer, lately.id()).await.unwrap().is_some());
    assert!(w.there(&back).await.is_some() && w.there(&learned_anew).await.is_some());
    let ids = [&old, &back, &lately, &forgotten, &learned_anew, &refuted].map(Memory::id);
    let said = w.store.ledgers(w.tenant(), &ids).await.unwrap();
    let said: BTreeSet<MemoryId> =
        said.into_iter().filter(|(_, s)| !s.0.is_empty()).map(|(id, _)| id).collect();
    assert_eq!(said, [&back, &lately, &learned_anew, &refuted].map(Memory::id).into());
    for (name, known) in [("old", false), ("lately", true)] {
        let judged = w.store.evaluation_record(&w.viewer, &trace(name)).await.unwrap();
        assert_eq!(judged.is_some(), known, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_archive_lies_on_disk_and_has_no_index_for_similarity() {
    let w = world("cold").await;
    let info = w.opened.backend.collection_info("archive").await.unwrap().unwrap();
    let config = info.config.unwrap();
    assert_eq!(config.hnsw_config.and_then(|hnsw| hnsw.m), Some(0));
    let params = config.params.unwrap();
    #[expect(deprecated, reason = "servers of the supported versions read it")]
    let on_disk_payload = params.on_disk_payload;
    assert!(on_disk_payload);
    assert!(params.sparse_vectors_config.is_none_or(|sparse| sparse.map.is_empty()));
    assert!(format!("{:?}", params.vectors_config).contains("on_disk: Some(true)"));
}

#[async_trait]
impl VectorBackend for Interrupted {
    async fn delete(&self, request: DeletePoints) -> Result<(), StoreError> {
        let event = self.next.lock().unwrap().take();
        match event {
            Some(Event::Crash) => return Err(StoreError::Unavailable("it broke off".to_owned())),
            Some(Event::Write(write)) => self.inner.upsert(*write).await?,
            None => {}
        }
        self.inner.delete(request).await
    }

    async fn upsert(&self, request: UpsertPoints) -> Result<(), StoreError> {
        if request.collection_name == "trajectories" {
            *self.written.lock().unwrap() = Some(request.clone());
        }
        self.inner.upsert(request).await
    }

    async fn create_collection(&self, request: CreateCollection) -> Result<(), StoreError> {
        self.inner.create_collection(request).await
    }

    async fn collection_info(&self, collection: &str) -> Result<Option<CollectionInfo>, StoreError> {
        self.inner.collection_info(collection).await
    }

    async fn create_field_index(&self, request: CreateFieldIndexCollection) -> Result<(), StoreError> {
        self.inner.create_field_index(request).await
    }

    async fn create_vector_name(&self, request: CreateVectorNameRequest) -> Result<(), StoreError> {
        self.inner.create_vector_name(request).await
    }

    async fn delete_vector_name(&self, request: DeleteVectorNameRequest) -> Result<(), StoreError> {
        self.inner.delete_vector_name(request).await
    }

    async fn update_vectors(&self, request: UpdatePointVectors) -> Result<(), StoreError> {
        self.inner.update_vectors(request).await
    }

    async fn set_payload(&self, request: SetPayloadPoints) -> Result<(), StoreError> {
        self.inner.set_payload(request).await
    }

    async fn get(&self, request: GetPoints) -> Result<Vec<RetrievedPoint>, StoreError> {
        self.inner.get(request).await
    }

    async fn query(&self, request: QueryPoints) -> Result<Vec<ScoredPoint>, StoreError> {
        self.inner.query(request).await
    }

    async fn scroll(&self, request: ScrollPoints) -> Result<Scrolled, StoreError> {
        self.inner.scroll(request).await
    }

    async fn count(&self, request: CountPoints) -> Result<u64, StoreError> {
        self.inner.count(request).await
    }

    async fn facet(&self, request: FacetCounts) -> Result<Vec<FacetHit>, StoreError> {
        self.inner.facet(request).await
    }
}
