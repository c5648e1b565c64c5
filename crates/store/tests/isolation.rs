//! No sequence of operations makes one tenant or user see what is another's, and each sees all of its own.
//! Tenants and users attack with the same ids, traces and texts. A model says who may see what; its rule is
//! written out here and not taken from the code under test.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use common::open;
use hindsight_ports::{
    Arm, CandidateId, MemoryStore, PageRequest, Search, StoreError,
    testkit::samples::{
        dense, encoded, evaluation_record, evidence, experience, fact, failure_pattern, lesson, receipt,
        sparse, step_event, step_memory, tenant, time, trace, user,
    },
};
use hindsight_types::{
    AgentId, EvaluationRecord, EvaluationState, Event, EventId, Evidence, EvidenceId, Memory, MemoryId,
    MemoryKind, Period, Receipt, ReceiptId, Scope, TaskType, TenantId, TraceId, Verdict, Viewer, Visibility,
};
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};

/// Who writes or reads. Tenants are `0` and `1` of the case.
#[derive(Debug, Clone)]
struct Who {
    tenant: usize,
    user: Option<&'static str>,
    agent: bool,
    task: bool,
}

#[derive(Debug, Clone)]
enum Op {
    /// A memory of this kind with this key, shared with everyone, the writer's agent or task, or its user.
    Upsert(Who, MemoryKind, u8),
    Event(Who, u8),
    Evaluation(Who, u8, bool),
    Receipt(Who, u8),
    Evidence(Who, u8),
    /// Everything that can be read, by everyone who could.
    Read(Who),
}

fn who() -> impl Strategy<Value = Who> {
    (0..2usize, select(vec![None, Some("anna"), Some("本")]), any::<bool>(), any::<bool>())
        .prop_map(|(tenant, user, agent, task)| Who { tenant, user, agent, task })
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..3u8;
    let kind = select(MemoryKind::ALL.to_vec());
    prop_oneof![
        6 => (who(), kind, key.clone()).prop_map(|(w, k, n)| Op::Upsert(w, k, n)),
        2 => (who(), key.clone()).prop_map(|(w, n)| Op::Event(w, n)),
        2 => (who(), key.clone(), any::<bool>()).prop_map(|(w, n, done)| Op::Evaluation(w, n, done)),
        1 => (who(), key.clone()).prop_map(|(w, n)| Op::Receipt(w, n)),
        2 => (who(), key).prop_map(|(w, n)| Op::Evidence(w, n)),
        4 => who().prop_map(Op::Read),
    ]
}

/// What is stored, by tenant and the id that is unique in it.
#[derive(Default)]
struct Model {
    memories: BTreeMap<(TenantId, MemoryKind, MemoryId), Scope>,
    events: BTreeMap<(TenantId, EventId), Event>,
    evaluations: BTreeMap<(TenantId, TraceId), EvaluationRecord>,
    receipts: BTreeMap<(TenantId, ReceiptId), Receipt>,
    evidence: BTreeMap<(TenantId, EvidenceId), Evidence>,
}

struct Case<'a> {
    store: &'a dyn MemoryStore,
    tenants: [TenantId; 2],
    model: Model,
    /// Every key that a search gave out.
    candidates: Mutex<BTreeSet<CandidateId>>,
}

/// The same ids in every tenant.
fn id(key: u8) -> uuid::Uuid {
    uuid::Uuid::from_u128(0x1000 + u128::from(key))
}

fn run(key: u8) -> TraceId {
    trace(&format!("run-{key}"))
}

fn may_see(viewer: &Viewer, scope: &Scope, kind: Option<MemoryKind>) -> bool {
    viewer.tenant == scope.tenant
        && match &scope.visibility {
            Visibility::User(u) => viewer.user.as_ref() == Some(u),
            _ if kind == Some(MemoryKind::Fact) => false,
            Visibility::Tenant => true,
            Visibility::Agent(a) => viewer.agent.as_ref() == Some(a),
            Visibility::Task(t) => viewer.task_type.as_ref() == Some(t),
        }
}

fn same<T: Debug + PartialEq>(what: &str, viewer: &Viewer, found: T, expected: T) {
    assert_eq!(found, expected, "{what} as {viewer:?}");
}

impl Case<'_> {
    fn scope(&self, who: &Who) -> Scope {
        let visibility = match who {
            Who { user: Some(name), .. } => Visibility::User(user(name)),
            Who { agent: true, .. } => Visibility::Agent(AgentId::new("bot").unwrap()),
            Who { task: true, .. } => Visibility::Task(TaskType::new("incident").unwrap()),
            _ => Visibility::Tenant,
        };
        Scope::new(self.tenants[who.tenant].clone(), visibility)
    }

    fn viewer(&self, who: &Who) -> Viewer {
        Viewer::of_tenant(self.tenants[who.tenant].clone())
            .with_user(who.user.map(user))
            .with_agent(who.agent.then(|| AgentId::new("bot").unwrap()))
            .with_task_type(who.task.then(|| TaskType::new("incident").unwrap()))
    }

    async fn apply(&mut self, op: Op) {
        match op {
            Op::Upsert(who, kind, key) => self.upsert(&self.scope(&who), kind, key).await,
            Op::Event(who, key) => {
                let mut event = step_event(&self.scope(&who), &run(0), key.into());
                event.event_id = EventId(id(key));
                self.store.append_events(std::slice::from_ref(&event)).await.unwrap();
                self.model.events.entry((event.scope.tenant.clone(), event.event_id)).or_insert(event);
            }
            Op::Evaluation(who, key, done) => {
                let waiting = EvaluationState::Waiting { reason: "steps".to_owned() };
                let state = if done { EvaluationState::Judged } else { waiting };
                let record = evaluation_record(&self.scope(&who), &run(key), state, key.into());
                self.store.put_evaluation_record(&record).await.unwrap();
                self.model.evaluations.insert((record.scope.tenant.clone(), record.trace_id.clone()), record);
            }
            Op::Receipt(who, key) => {
                let receipt = Receipt { id: ReceiptId(id(key)), ..receipt(&self.scope(&who)) };
                self.store.put_receipt(&receipt).await.unwrap();
                self.model.receipts.insert((receipt.scope.tenant.clone(), receipt.id), receipt);
            }
            Op::Evidence(who, key) => {
                let scope = self.scope(&who);
                let mut line = evidence(&scope, MemoryId(id(0)), &run(key), Verdict::Supported, key.into());
                line.id = EvidenceId(id(key));
                self.store.append_evidence(std::slice::from_ref(&line)).await.unwrap();
                let there = self.model.evidence.entry((scope.tenant, line.id));
                there.and_modify(|there| *there = there.join(&line)).or_insert(line);
            }
            Op::Read(who) => self.read(&self.viewer(&who)).await,
        }
    }

    async fn upsert(&mut self, scope: &Scope, kind: MemoryKind, key: u8) {
        let memory = match kind {
            MemoryKind::Fact => {
                let Some(user) = scope.user() else { return };
                let fact = fact(&scope.tenant, user.as_str(), "tea", key.into());
                Memory::Fact(hindsight_types::Fact { id: MemoryId(id(key)), ..fact })
            }
            MemoryKind::Experience => experience(scope, &run(key), key.into()),
            MemoryKind::Lesson => Memory::Lesson(hindsight_types::Lesson {
                id: MemoryId(id(key)),
                entities: vec!["x".to_owned()],
                ..lesson(scope, "x", &[], 0)
            }),
            MemoryKind::FailurePattern => Memory::FailurePattern(hindsight_types::FailurePattern {
                id: MemoryId(id(key)),
                ..failure_pattern(scope, "pull", &["t"], 0)
            }),
            MemoryKind::Step => match step_memory(scope, &run(0), key.into(), "pull") {
                Memory::Step(step) => {
                    Memory::Step(hindsight_types::StepMemory { id: MemoryId(id(key)), ..step })
                }
                other => other,
            },
        };
        let known = self.model.memories.entry((scope.tenant.clone(), kind, memory.id()));
        let merges = matches!(kind, MemoryKind::Lesson | MemoryKind::FailurePattern | MemoryKind::Fact);
        let written = self.store.upsert(&[encoded(memory, 0, &[7])]).await;
        // A merge, and a former version, would carry one user's words to another.
        let foreign = matches!(&known, std::collections::btree_map::Entry::Occupied(e) if e.get() != scope);
        if merges && foreign {
            assert!(matches!(written, Err(StoreError::Rejected(_))), "{written:?}");
        } else {
            written.unwrap();
            known.insert_entry(scope.clone());
        }
    }

    async fn read(&self, viewer: &Viewer) {
        for kind in MemoryKind::ALL {
            self.read_memories(viewer, kind).await;
        }
        self.read_records(viewer).await;
        self.read_events(viewer).await;
        let of = |kind| self.visible(viewer, kind).len() as u64;
        let stats = self.store.stats(viewer).await.unwrap();
        let memories = (stats.experiences, stats.steps, stats.failure_patterns, stats.lessons, stats.facts);
        let expected = (
            of(MemoryKind::Experience),
            of(MemoryKind::Step),
            of(MemoryKind::FailurePattern),
            of(MemoryKind::Lesson),
            of(MemoryKind::Fact),
        );
        same("stats", viewer, memories, expected);
        let events = self.model.events.values().filter(|e| may_see(viewer, &e.scope, None)).count();
        same("event count", viewer, stats.events, events as u64);
    }

    fn visible(&self, viewer: &Viewer, kind: MemoryKind) -> Vec<(MemoryId, Scope)> {
        let all = self.model.memories.iter().filter(|((_, of, _), _)| *of == kind);
        all.filter(|(_, scope)| may_see(viewer, scope, Some(kind)))
            .map(|((.., id), scope)| (*id, scope.clone()))
            .collect()
    }

    async fn read_memories(&self, viewer: &Viewer, kind: MemoryKind) {
        let expected = self.visible(viewer, kind);
        let known = |memory: &Memory| (memory.id(), memory.scope().clone());
        let sorted = |mut found: Vec<(MemoryId, Scope)>| {
            found.sort_by_key(|(id, _)| *id);
            found
        };
        let every_id: Vec<MemoryId> = self.model.memories.keys().map(|(.., id)| *id).collect();
        for (arm, ids) in
            every_arm().into_iter().flat_map(|arm| [(arm.clone(), None), (arm, Some(every_id.clone()))])
        {
            let named = !matches!(arm, Arm::Entities(_)) || names_any(kind);
            let search = Search { kind, arm, limit: 100, action_name: None, ids };
            let candidates = self.store.search(viewer, &search).await.unwrap();
            let keys: Vec<CandidateId> = candidates.iter().map(|c| c.id).collect();
            let fetched = self.store.fetch(viewer, kind, &keys).await.unwrap();
            let found = fetched.iter().map(|f| known(&f.memory)).collect();
            let expected = if named { expected.clone() } else { Vec::new() };
            same(search.arm.name(), viewer, sorted(found), expected);
            self.candidates.lock().unwrap().extend(keys);
        }
        // The keys of whatever anyone found before open nothing that is another's.
        let keys: Vec<CandidateId> = self.candidates.lock().unwrap().iter().copied().collect();
        let fetched = self.store.fetch(viewer, kind, &keys).await.unwrap();
        let fetched: Vec<_> = fetched.iter().map(|f| known(&f.memory)).collect();
        assert!(fetched.iter().all(|one| expected.contains(one)), "fetch as {viewer:?}: {fetched:?}");
        let (mut listed, mut token) = (Vec::new(), String::new());
        loop {
            let page = self.store.list(viewer, kind, &PageRequest { size: 2, token }).await.unwrap();
            listed.extend(page.items.iter().map(known));
            token = page.next_token;
            if token.is_empty() {
                break;
            }
        }
        same("list", viewer, sorted(listed), expected.clone());
        for (_, of, id) in self.model.memories.keys().filter(|(_, of, _)| *of == kind) {
            let found = self.store.get(viewer, *of, *id).await.unwrap();
            let expected = expected.iter().find(|(known, _)| known == id);
            same("get", viewer, found.as_ref().map(known).as_ref(), expected);
        }
    }

    async fn read_records(&self, viewer: &Viewer) {
        let tenant = &viewer.tenant;
        for key in 0..3 {
            let found = self.store.experience(viewer, &run(key)).await.unwrap().map(|e| e.id);
            let experiences = self.visible(viewer, MemoryKind::Experience);
            let own = MemoryId::experience(tenant, &run(key));
            let expected = experiences.iter().map(|(id, _)| *id).find(|id| *id == own);
            same("experience", viewer, found, expected);

            let found = self.store.evaluation_record(viewer, &run(key)).await.unwrap();
            let expected = self.model.evaluations.get(&(tenant.clone(), run(key)));
            let expected = expected.filter(|r| may_see(viewer, &r.scope, None));
            same("evaluation", viewer, found.as_ref(), expected);

            let found = self.store.receipt(viewer, ReceiptId(id(key))).await.unwrap();
            let expected = self.model.receipts.get(&(tenant.clone(), ReceiptId(id(key))));
            let expected = expected.filter(|r| may_see(viewer, &r.scope, None));
            same("receipt", viewer, found.as_ref(), expected);
        }
        let mut found = self.store.evidence(viewer, MemoryId(id(0))).await.unwrap();
        found.sort_by_key(|line| line.id);
        let lines = self.model.evidence.values().filter(|line| may_see(viewer, &line.scope, None));
        same("evidence", viewer, found, lines.cloned().collect());

        let page = self.store.unfinished_evaluations(viewer, &PageRequest::default()).await.unwrap();
        let mut found = page.items;
        found.sort_by(|a, b| a.trace_id.cmp(&b.trace_id));
        let unfinished = self.model.evaluations.values().filter(|r| {
            may_see(viewer, &r.scope, None) && matches!(r.state, EvaluationState::Waiting { .. })
        });
        same("unfinished", viewer, found, unfinished.cloned().collect());
    }

    async fn read_events(&self, viewer: &Viewer) {
        for visibility in viewer.visibilities() {
            let scope = Scope::new(viewer.tenant.clone(), visibility);
            let mut found = self.store.events(&scope, &run(0)).await.unwrap();
            found.sort_by_key(|e| e.event_id);
            let expected = self.model.events.values().filter(|e| e.scope == scope);
            same("events", viewer, found, expected.cloned().collect());
        }
    }
}

/// Each finds everything that the case writes of a kind that it can find.
fn every_arm() -> [Arm; 4] {
    let names = ["tea", "db-0", "x"].map(str::to_owned).to_vec();
    let (from, until) = (time(-1_000), time(1_000));
    [Arm::Dense(dense(0)), Arm::Bm25(sparse(&[7])), Arm::Entities(names), Arm::Period(Period { from, until })]
}

fn names_any(kind: MemoryKind) -> bool {
    matches!(kind, MemoryKind::Fact | MemoryKind::Experience | MemoryKind::Lesson)
}

#[test]
fn nobody_sees_what_is_anothers() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let opened = runtime.block_on(open());
    // Cases share the engine and not their tenants, so that each begins empty among the others' records.
    static CASE: AtomicU32 = AtomicU32::new(0);
    let mut runner = TestRunner::new(Config { cases: 32, max_shrink_iters: 200, ..Config::default() });
    let outcome = runner.run(&prop::collection::vec(op(), 1..30), |ops| {
        let case = CASE.fetch_add(1, Ordering::Relaxed);
        let tenants = [0, 1].map(|n| tenant(&format!("case-{case}-tenant-{n}")));
        let mut case =
            Case { store: &*opened.store, tenants, model: Model::default(), candidates: Mutex::default() };
        runtime.block_on(async {
            for op in ops {
                case.apply(op).await;
            }
            for tenant in 0..2 {
                for user in [None, Some("anna"), Some("本")] {
                    let who = Who { tenant, user, agent: true, task: true };
                    case.read(&case.viewer(&who)).await;
                }
            }
        });
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
