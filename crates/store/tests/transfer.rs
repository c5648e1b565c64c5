//! Everything of a tenant goes from one store into another.
#![allow(clippy::unwrap_used)]

mod common;

use std::{collections::BTreeMap, sync::Arc};

use common::scratch;
use hindsight_ports::{
    Browse, Encoded, Encoding, Forget, Leaving, MemoryStore, PageRequest, Restored, Selection, StoreError,
    Transfer,
    testkit::samples::{
        completed, dense, embedder, encoded, evaluation_record, evidence, experience, fact, failure_pattern,
        lesson, private, receipt, shared, sparse, started, step_event, step_memory, tenant, time, trace,
        user,
    },
};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use hindsight_types::{
    EvaluationState, Fact, FactStatus, Feedback, FeedbackVerdict, Forgotten, Memory, MemoryKind, OpenTask,
    OutcomeStatus, RecalledItem, Receipt, RecordBody, Scope, ScoreFactors, SimilarityParts, Stage, Subject,
    TenantId, Verdict, Viewer,
};
use tempfile::TempDir;

struct Opened {
    store: Arc<Store>,
    _dir: TempDir,
}

async fn open() -> Opened {
    let dir = scratch();
    let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
    let store = Arc::new(Store::new(backend, StoreOptions::default()));
    store.prepare(&embedder()).await.unwrap();
    Opened { store, _dir: dir }
}

/// One of every kind, of a user and of all.
async fn fill(store: &Store, tenant: &TenantId) {
    use hindsight_ports::{Archive, History as _, Ledger as _};
    let (all, own) = (shared(tenant), private(tenant, "ann"));
    let t = trace("t");
    let mut events = vec![started(&all, &t), completed(&all, &t, 5)];
    events.extend((0..5).map(|index| step_event(&all, &t, index)));
    events.push(started(&own, &trace("private")));
    store.append_events(&events).await.unwrap();
    store
        .mark_open(&[OpenTask { trace_id: trace("private"), scope: own.clone(), touched_at: time(1) }])
        .await
        .unwrap();
    store.put_evaluation_record(&evaluation_record(&all, &t, EvaluationState::Judged, 3)).await.unwrap();
    let run = experience(&all, &t, 10);
    let advice = lesson(&all, "k", &["t"], 10);
    let mut memories = vec![
        encoded(run.clone(), 0, &[1]),
        encoded(step_memory(&all, &t, 0, "ls"), 1, &[2]),
        encoded(Memory::FailurePattern(failure_pattern(&all, "pull", &["t"], 5)), 2, &[3]),
        encoded(Memory::Lesson(advice.clone()), 3, &[4]),
        encoded(step_memory(&all, &t, 1, "old"), 1, &[2]),
    ];
    memories.extend((0..4).map(|n| encoded(Memory::Fact(fact(tenant, "ann", &n.to_string(), n)), 1, &[5])));
    store.upsert(&memories).await.unwrap();
    let leaving =
        [Leaving { id: step_memory(&all, &t, 1, "old").id(), why: "old".to_owned(), instead: None }];
    assert_eq!(Archive::archive(store, tenant, MemoryKind::Step, &leaving, time(20)).await.unwrap().len(), 1);
    let former = Memory::Fact(fact(tenant, "ann", "0", 0));
    let mut next = fact(tenant, "ann", "0", 0);
    next.set_status(FactStatus::Resolved, time(30));
    next.revision = Some(hindsight_types::Revision {
        at: time(30),
        cause: hindsight_types::RevisionCause::Updated,
        by: "ops".to_owned(),
        reason: "done".to_owned(),
        request_id: String::new(),
    });
    store.revise(&former, &Memory::Fact(next), None).await.unwrap();
    let factors = ScoreFactors {
        similarity: 0.5,
        parts: SimilarityParts::default(),
        decay: 1.0,
        reliability: 0.5,
        environment: 1.0,
        trust: 1.0,
        stage: 1.0,
    };
    let item = RecalledItem {
        memory_id: run.id(),
        kind: MemoryKind::Experience,
        factors,
        why: "the same words".to_owned(),
        supersedes: vec![],
    };
    let given = Receipt { injected: vec![item], ..receipt(&all) };
    store.put_receipt(&given).await.unwrap();
    store
        .put_feedback(&[Feedback {
            receipt_id: given.id,
            memory_id: run.id(),
            scope: all.clone(),
            verdict: FeedbackVerdict::Helpful,
            trace_id: None,
            outcome: OutcomeStatus::Success,
            note: "谢谢".to_owned(),
            at: time(9),
        }])
        .await
        .unwrap();
    store
        .append_evidence(&[evidence(&all, advice.id, &trace("later"), Verdict::Supported, 11)])
        .await
        .unwrap();
    let review = hindsight_types::Review {
        id: hindsight_types::ReviewId::of_request(tenant, "r"),
        memory_id: advice.id,
        scope: all.clone(),
        decision: hindsight_types::ReviewDecision::Approved,
        by: "ops".to_owned(),
        reason: "seen it".to_owned(),
        at: time(12),
    };
    store.review(&review).await.unwrap();
    store.entomb(&Forgotten { scope: all, subject: Subject::User(user("gone")), at: time(2) }).await.unwrap();
}

/// Everything of a tenant, by what it is, in pages of this size.
async fn exported(store: &Store, tenant: &TenantId, size: usize) -> Vec<RecordBody> {
    let (mut all, mut token) = (Vec::new(), String::new());
    loop {
        let page = store.records(tenant, &PageRequest { size, token }).await.unwrap();
        assert_eq!(page.unreadable, 0);
        all.extend(page.records);
        token = page.next;
        if token.is_empty() {
            return all;
        }
    }
}

fn kind(record: &RecordBody) -> &'static str {
    match record {
        RecordBody::Event(_) => "event",
        RecordBody::Memory(memory) => memory.kind().as_str(),
        RecordBody::Evaluation(_) => "evaluation",
        RecordBody::Receipt(_) => "receipt",
        RecordBody::Evidence(_) => "evidence",
        RecordBody::OpenTask(_) => "open task",
        RecordBody::Feedback(_) => "feedback",
        RecordBody::Review(_) => "review",
        RecordBody::Version(_) => "version",
        RecordBody::Forgotten(_) => "tombstone",
        RecordBody::Archived(_) => "archived",
        _ => "other",
    }
}

fn with_encoding(record: RecordBody) -> Encoded<RecordBody> {
    Encoded { value: record, encoding: Encoding { dense: dense(1), sparse: sparse(&[1]) } }
}

fn sorted(mut records: Vec<RecordBody>) -> Vec<String> {
    records.sort_by_key(|r| format!("{r:?}"));
    records.into_iter().map(|r| format!("{r:?}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_goes_whole_from_one_store_into_another() {
    let (here, there) = (open().await, open().await);
    let acme = tenant("acme");
    fill(&here.store, &acme).await;
    fill(&here.store, &tenant("other")).await;
    let records = exported(&here.store, &acme, 3).await;
    let mut counts = BTreeMap::new();
    for record in &records {
        *counts.entry(kind(record)).or_insert(0) += 1;
        assert_eq!(record.scope().tenant, acme);
    }
    let expected = [
        ("archived", 1),
        ("evaluation", 1),
        ("event", 8),
        ("evidence", 1),
        ("experience", 1),
        ("fact", 4),
        ("failure_pattern", 1),
        ("feedback", 1),
        ("lesson", 1),
        ("open task", 1),
        ("receipt", 1),
        ("review", 1),
        ("step", 1),
        ("tombstone", 1),
        ("version", 1),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
    assert_eq!(sorted(exported(&here.store, &acme, 0).await), sorted(records.clone()), "whatever the page");

    for round in 0..2 {
        let batch: Vec<_> = records.iter().cloned().map(with_encoding).collect();
        let restored = there.store.restore_all(&batch).await.unwrap();
        for (record, restored) in records.iter().zip(restored) {
            let joins = matches!(record, RecordBody::Evidence(_) | RecordBody::Forgotten(_))
                || matches!(kind(record), "fact" | "lesson" | "failure_pattern");
            let expected = if round == 0 || joins { Restored::Written } else { Restored::Present };
            assert_eq!(restored, expected, "round {round}: {}", kind(record));
        }
        assert_eq!(sorted(exported(&there.store, &acme, 2).await), sorted(records.clone()), "round {round}");
    }
    assert!(exported(&there.store, &tenant("other"), 0).await.is_empty());
    let found = there.store.forgotten(&acme, &[Subject::User(user("gone"))]).await.unwrap();
    assert_eq!(found.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_is_not_put_back_to_an_earlier_state() {
    let opened = open().await;
    let acme = tenant("acme");
    fill(&opened.store, &acme).await;
    let before = exported(&opened.store, &acme, 0).await;
    let scope = shared(&acme);
    let judged_since =
        evaluation_record(&scope, &trace("t"), EvaluationState::Failed { reason: "again".to_owned() }, 40);
    opened.store.put_evaluation_record(&judged_since).await.unwrap();
    let mut newer = fact(&acme, "ann", "1", 1);
    newer.retained_at = time(50);
    newer.content = "said anew".to_owned();
    opened.store.upsert(&[encoded(Memory::Fact(newer.clone()), 1, &[5])]).await.unwrap();

    let batch: Vec<_> = before.into_iter().map(with_encoding).collect();
    opened.store.restore_all(&batch).await.unwrap();
    let viewer = Viewer::of_scope(&private(&acme, "ann"));
    let record = opened.store.evaluation_record(&viewer, &trace("t")).await.unwrap();
    assert_eq!(record, Some(judged_since));
    let found = opened.store.get(&viewer, MemoryKind::Fact, newer.id).await.unwrap();
    assert!(matches!(found, Some(Memory::Fact(Fact { content, .. })) if content == "said anew"));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_narrowed_and_their_tokens_with_them() {
    let opened = open().await;
    let acme = tenant("acme");
    let store: &Store = &opened.store;
    let all = shared(&acme);
    let of_stage = |key: &str, stage, created| {
        let mut lesson = lesson(&all, key, &["t"], created);
        lesson.stage = stage;
        encoded(Memory::Lesson(lesson), 0, &[1])
    };
    let lessons = [
        of_stage("a", Stage::Active, 1),
        of_stage("b", Stage::Candidate, 2),
        of_stage("c", Stage::Active, 3),
    ];
    store.upsert(&lessons).await.unwrap();
    let mut facts: Vec<Fact> = (0..3).map(|n| fact(&acme, "ann", &n.to_string(), n)).collect();
    facts[1].entities = vec!["Bluebird Café".to_owned()];
    facts[2].status = FactStatus::Obsolete;
    let facts: Vec<_> = facts.into_iter().map(|f| encoded(Memory::Fact(f), 0, &[1])).collect();
    store.upsert(&facts).await.unwrap();

    let viewer = Viewer::of_scope(&private(&acme, "ann"));
    let list =
        async |kind, selection: Selection, page: PageRequest| -> Result<(Vec<i64>, String), StoreError> {
            let page = store.select(&viewer, kind, &selection, &page).await?;
            let at = |m: &Memory| match m {
                Memory::Fact(m) => m.occurred_at.as_second(),
                Memory::Lesson(m) => m.created_at.as_second(),
                _ => panic!("neither a fact nor a lesson"),
            };
            Ok((page.items.iter().map(at).collect(), page.next_token))
        };
    let from_start = |seconds: &[i64]| seconds.iter().map(|s| time(*s).as_second()).collect::<Vec<_>>();
    let whole = PageRequest::default();
    let active = Selection { stage: Some(Stage::Active), ..Selection::default() };
    let (found, _) = list(MemoryKind::Lesson, active.clone(), whole.clone()).await.unwrap();
    assert_eq!(found, from_start(&[3, 1]), "newest first");
    let named = Selection { entity: Some("BLUEBIRD café".to_owned()), ..Selection::default() };
    assert_eq!(list(MemoryKind::Fact, named, whole.clone()).await.unwrap().0, from_start(&[1]));
    let obsolete = Selection { status: Some(FactStatus::Obsolete), ..Selection::default() };
    assert_eq!(list(MemoryKind::Fact, obsolete, whole.clone()).await.unwrap().0, from_start(&[2]));
    let between = Selection { from: Some(time(1)), until: Some(time(2)), ..Selection::default() };
    assert_eq!(list(MemoryKind::Fact, between, whole.clone()).await.unwrap().0, from_start(&[1]));
    let learned = Selection { trace: Some(trace("t")), ..Selection::default() };
    assert_eq!(list(MemoryKind::Lesson, learned, whole.clone()).await.unwrap().0.len(), 3);

    let one = PageRequest { size: 1, token: String::new() };
    let (first, token) = list(MemoryKind::Lesson, active.clone(), one.clone()).await.unwrap();
    let next = PageRequest { token, ..one.clone() };
    let (second, end) = list(MemoryKind::Lesson, active, next.clone()).await.unwrap();
    assert_eq!(([first, second].concat(), end.as_str()), (from_start(&[3, 1]), ""));
    let refused = list(MemoryKind::Lesson, Selection::default(), next).await.unwrap_err();
    assert!(matches!(refused, StoreError::Rejected(_)), "{refused}");
    let strange = Selection { stage: Some(Stage::Active), ..Selection::default() };
    let refused = list(MemoryKind::Fact, strange, whole).await.unwrap_err();
    assert!(refused.to_string().contains("stage"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_are_found_by_what_they_gave() {
    let opened = open().await;
    let acme = tenant("acme");
    fill(&opened.store, &acme).await;
    let viewer = Viewer::of_tenant(acme.clone());
    let page = PageRequest::default();
    let all = opened.store.receipts(&viewer, None, &page).await.unwrap().items;
    assert_eq!(all.len(), 1, "what was said of it is none");
    let given = all[0].injected[0].memory_id;
    assert_eq!(opened.store.receipts(&viewer, Some(given), &page).await.unwrap().items, all);
    let other = fact(&acme, "ann", "x", 0).id;
    assert!(opened.store.receipts(&viewer, Some(other), &page).await.unwrap().items.is_empty());
    let elsewhere = Scope::new(tenant("other"), hindsight_types::Visibility::Tenant);
    let elsewhere = Viewer::of_scope(&elsewhere);
    assert!(opened.store.receipts(&elsewhere, None, &page).await.unwrap().items.is_empty());
}
