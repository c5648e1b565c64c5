//! A store that can break, and what is in it for one user.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hindsight_ports::{
    Begun, Encoded, Encoding, History, MemoryStore, PageRequest, StoreError, Subjects,
    testkit::samples::{
        completed, embedder, encoded, evaluation_record, evidence, experience, fact, failure_pattern, lesson,
        private, receipt, started, step_event, step_memory, time, trace, user,
    },
};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    EvaluationState, Fact, Feedback, FeedbackVerdict, Memory, MemoryKind, OpenTask, OutcomeStatus, Receipt,
    ReceiptId, Scope, SubjectMerge, TenantId, Timestamp, TraceId, UserId, Verdict, Viewer,
};
use tempfile::TempDir;
use uuid::Uuid;

use crate::{
    common::scratch,
    faulty::{Faulty, Fuse, Made},
};

pub(crate) struct World {
    pub(crate) store: Arc<Store>,
    pub(crate) fuse: Fuse,
    pub(crate) made: Made,
    _dir: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        let dir = scratch();
        let inner = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
        let fuse = Fuse::default();
        fuse.clear();
        let made = Made::default();
        let backend = Arc::new(Faulty { inner, fuse: fuse.clone(), made: made.clone() });
        let store = Arc::new(Store::new(backend, StoreOptions::default()));
        store.prepare(&embedder()).await.unwrap();
        Self { store, fuse, made, _dir: dir }
    }
}

/// What a person owns, without the ids that are made of the owner.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Owned {
    /// By key: what holds, and what was before, oldest first.
    pub(crate) facts: BTreeMap<String, (String, BTreeSet<String>)>,
    /// By run: how many records there are of it.
    pub(crate) runs: BTreeMap<String, usize>,
    /// What was learned, with the runs that taught it.
    pub(crate) lessons: BTreeMap<String, Vec<String>>,
    pub(crate) patterns: BTreeMap<String, Vec<String>>,
    /// Receipts with what was said of each.
    pub(crate) receipts: BTreeMap<ReceiptId, usize>,
}

/// Of one tenant in a world.
pub(crate) struct Tenant<'a> {
    pub(crate) world: &'a World,
    pub(crate) id: TenantId,
}

pub(crate) const ANON: &str = "anon-1";
pub(crate) const ANNA: &str = "anna";
pub(crate) const OTHER: &str = "other";

impl<'a> Tenant<'a> {
    pub(crate) fn new(world: &'a World, id: TenantId) -> Self {
        Self { world, id }
    }

    fn store(&self) -> &Store {
        &self.world.store
    }

    pub(crate) fn scope(&self, name: &str) -> Scope {
        private(&self.id, name)
    }

    pub(crate) fn viewer(&self, name: &str) -> Viewer {
        Viewer::of_scope(&self.scope(name))
    }

    pub(crate) fn fact(&self, name: &str, key: &str, at: i64) -> Fact {
        Fact { content: format!("{key} at {at}; 第{at}次"), ..fact(&self.id, name, key, at) }
    }

    pub(crate) async fn retain(&self, name: &str, key: &str, at: i64) -> Result<(), StoreError> {
        let fact = Memory::Fact(self.fact(name, key, at));
        self.store().upsert(&[encoded(fact, 0, &[1])]).await
    }

    /// Everything that is kept of a run.
    pub(crate) async fn run(&self, name: &str, run: &str, at: i64) -> Result<(), StoreError> {
        let (scope, trace) = (self.scope(name), trace(run));
        let store = self.store();
        let events = [started(&scope, &trace), step_event(&scope, &trace, 0), completed(&scope, &trace, 1)];
        store.append_events(&events).await?;
        store
            .mark_open(&[OpenTask { trace_id: trace.clone(), scope: scope.clone(), touched_at: time(at) }])
            .await?;
        let judged = evaluation_record(&scope, &trace, EvaluationState::Judged, at);
        store.put_evaluation_record(&judged).await?;
        let learned = lesson(&scope, "loop", &[run], at);
        let pattern = self.pattern(&scope, run, at);
        store
            .upsert(&[
                encoded(experience(&scope, &trace, at + 100), 1, &[2]),
                encoded(step_memory(&scope, &trace, 0, "ls"), 1, &[2]),
                encoded(Memory::Lesson(learned.clone()), 1, &[2]),
                encoded(Memory::FailurePattern(pattern), 1, &[2]),
            ])
            .await?;
        store.append_evidence(&[evidence(&scope, learned.id, &trace, Verdict::Supported, at)]).await?;
        let receipt = self.receipt(name, run, at);
        store.put_receipt(&receipt).await?;
        store
            .put_feedback(&[Feedback {
                receipt_id: receipt.id,
                memory_id: learned.id,
                scope,
                verdict: FeedbackVerdict::Helpful,
                trace_id: Some(trace),
                outcome: OutcomeStatus::Success,
                note: String::new(),
                at: time(at),
            }])
            .await
    }

    fn pattern(&self, scope: &Scope, run: &str, at: i64) -> hindsight_types::FailurePattern {
        let pattern = failure_pattern(scope, "pull", &[run], at);
        let key = format!("{}\u{1f}{}", pattern.action_name, pattern.signature);
        let id = hindsight_types::MemoryId::failure_pattern(&self.id, &scope.visibility.keyword(), &key);
        hindsight_types::FailurePattern { id, ..pattern }
    }

    pub(crate) fn receipt(&self, name: &str, run: &str, at: i64) -> Receipt {
        let id = ReceiptId(Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{}{name}{run}", self.id).as_bytes()));
        Receipt { id, at: time(at), ..receipt(&self.scope(name)) }
    }

    pub(crate) fn merge_request(&self, from: &str, to: &str, now: Timestamp) -> SubjectMerge {
        SubjectMerge::new(self.id.clone(), user(from), user(to), "ops", "signed in; 登录", now)
    }

    /// `Err` where the store broke, to be done again.
    pub(crate) async fn merge(
        &self,
        from: &str,
        to: &str,
        now: Timestamp,
    ) -> Result<SubjectMerge, StoreError> {
        match self.store().begin(&self.merge_request(from, to, now)).await? {
            Begun::Stands(merge) => self.store().carry(&merge, now).await,
            Begun::InTheWay(other) => panic!("in the way: {other:?}"),
        }
    }

    pub(crate) async fn undo(&self, from: &str, now: Timestamp) -> Result<Option<SubjectMerge>, StoreError> {
        match self.store().retract(&self.id, &user(from), "ops", "by mistake", now).await? {
            Some(Begun::Stands(merge)) => self.store().carry_back(&merge).await.map(Some),
            Some(Begun::InTheWay(other)) => panic!("in the way: {other:?}"),
            None => Ok(None),
        }
    }

    pub(crate) async fn owned(&self, name: &str, runs: &[&str]) -> Owned {
        let (store, viewer) = (self.store(), self.viewer(name));
        let mut owned = Owned::default();
        for memory in self.all(&viewer, MemoryKind::Fact).await {
            let Memory::Fact(fact) = memory else { panic!() };
            assert_eq!(fact.scope, self.scope(name), "nothing crosses users");
            assert_eq!(fact.id, hindsight_types::MemoryId::fact(&self.id, &user(name), &fact.key));
            let former =
                store.history(&viewer, MemoryKind::Fact, fact.id, &PageRequest::default()).await.unwrap();
            let contents = former.items.iter().map(|m| match m {
                Memory::Fact(f) => {
                    assert!(f.age() < fact.age(), "the newest stands: {f:?} {fact:?}");
                    f.content.clone()
                }
                other => panic!("{other:?}"),
            });
            let former: Vec<String> = contents.collect();
            let distinct: BTreeSet<String> = former.iter().cloned().collect();
            assert_eq!(distinct.len(), former.len(), "nothing is there twice: {former:?}");
            owned.facts.insert(fact.key.clone(), (fact.content.clone(), distinct));
        }
        for run in runs {
            let count = self.records_of_run(name, &trace(run)).await;
            if count > 0 {
                owned.runs.insert((*run).to_owned(), count);
            }
            for teller in [ANON, ANNA, OTHER] {
                let id = self.receipt(teller, run, 0).id;
                if let Some(receipt) = store.receipt(&viewer, id).await.unwrap() {
                    assert_eq!(receipt.scope, self.scope(name));
                    let lessons = self.all(&viewer, MemoryKind::Lesson).await;
                    let ids: Vec<_> = lessons.iter().map(Memory::id).collect();
                    let said = store.feedback(&viewer, id, &ids).await.unwrap();
                    owned.receipts.insert(id, said.len());
                }
            }
        }
        for memory in self.all(&viewer, MemoryKind::Lesson).await {
            let Memory::Lesson(lesson) = memory else { panic!() };
            let lines = store.evidence(&viewer, lesson.id).await.unwrap();
            let own = hindsight_types::teacher(&lesson.sources, &lines);
            let others = lines.iter().filter(|line| Some(&line.trace_id) != own).count();
            assert_eq!(others, lesson.supported as usize, "counts follow the ledger: {lesson:?}");
            owned.lessons.insert(lesson.key.clone(), names(&lesson.sources));
        }
        for memory in self.all(&viewer, MemoryKind::FailurePattern).await {
            let Memory::FailurePattern(pattern) = memory else { panic!() };
            owned.patterns.insert(pattern.signature.clone(), names(&pattern.sources));
        }
        owned
    }

    async fn all(&self, viewer: &Viewer, kind: MemoryKind) -> Vec<Memory> {
        let page = PageRequest { size: 500, token: String::new() };
        let found = self.store().list(viewer, kind, &page).await.unwrap();
        assert!(found.next_token.is_empty());
        found.items
    }

    async fn records_of_run(&self, name: &str, trace: &TraceId) -> usize {
        let (store, viewer) = (self.store(), self.viewer(name));
        let events = store.events(&self.scope(name), trace).await.unwrap().len();
        let judged = store.evaluation_record(&viewer, trace).await.unwrap().iter().count();
        let run = store.experience(&viewer, trace).await.unwrap();
        if let Some(run) = &run {
            assert_eq!(run.trajectory.user, Some(UserId::new(name).unwrap()));
        }
        let steps = self.all(&viewer, MemoryKind::Step).await;
        let steps = steps.iter().filter(|m| matches!(m, Memory::Step(s) if s.trace_id == *trace)).count();
        events + judged + run.iter().count() + steps
    }

    /// A memory as it is found by its vector.
    pub(crate) fn encoding() -> Encoding {
        let Encoded { encoding, .. } =
            encoded(Memory::Fact(fact(&TenantId::new("x").unwrap(), "x", "x", 0)), 0, &[1]);
        encoding
    }
}

fn names(traces: &[TraceId]) -> Vec<String> {
    traces.iter().map(ToString::to_string).collect()
}
