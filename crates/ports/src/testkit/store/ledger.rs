use std::sync::Arc;

use hindsight_types::{EvaluationState, Memory, ReceiptId, Verdict, Viewer};
use tokio::task::JoinSet;

use super::merges::stored_lesson;
use crate::{
    MemoryStore, PageRequest,
    testkit::samples::{
        encoded, evaluation_record, evidence, lesson, private, receipt, shared, tenant, time, trace, user,
    },
};

pub async fn evaluations_are_replaced_and_listed(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("evaluations");
    let (scope, viewer) = (shared(&tenant), Viewer::of_tenant(tenant.clone()));
    let waiting = || EvaluationState::Waiting { reason: "2 of 3 steps".to_owned() };
    let failed = || EvaluationState::Failed { reason: "模型没有回答".to_owned() };
    let records = [
        evaluation_record(&scope, &trace("a"), waiting(), 1),
        evaluation_record(&scope, &trace("b"), failed(), 2),
        evaluation_record(&scope, &trace("c"), waiting(), 3),
        evaluation_record(&scope, &trace("d"), EvaluationState::Skipped { reason: "short".to_owned() }, 4),
        evaluation_record(&scope, &trace("c"), EvaluationState::Judged, 5),
        evaluation_record(&private(&tenant, "anna"), &trace("e"), failed(), 6),
    ];
    for record in &records {
        store.put_evaluation_record(record).await.unwrap();
        store.put_evaluation_record(record).await.unwrap();
    }
    let found = async |viewer: &Viewer, name| store.evaluation_record(viewer, &trace(name)).await.unwrap();
    assert_eq!(found(&viewer, "c").await.as_ref(), Some(&records[4]));
    assert_eq!(found(&viewer, "e").await, None);
    assert_eq!(found(&viewer, "unknown").await, None);

    let page = store.unfinished_evaluations(&viewer, &PageRequest::default()).await.unwrap();
    assert_eq!(page.items, [records[1].clone(), records[0].clone()]);
    assert_eq!(page.next_token, "");
    let anna = viewer.with_user(Some(user("anna")));
    let first = PageRequest { size: 1, token: String::new() };
    let page = store.unfinished_evaluations(&anna, &first).await.unwrap();
    assert_eq!(page.items, [records[5].clone()]);
    let rest = PageRequest { size: 5, token: page.next_token };
    let page = store.unfinished_evaluations(&anna, &rest).await.unwrap();
    assert_eq!(page.items, [records[1].clone(), records[0].clone()]);
}

pub async fn receipts_are_kept(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("receipts");
    let receipt = receipt(&private(&tenant, "anna"));
    store.put_receipt(&receipt).await.unwrap();
    let viewer = Viewer::of_tenant(tenant);
    let anna = viewer.clone().with_user(Some(user("anna")));
    assert_eq!(store.receipt(&anna, receipt.id).await.unwrap().as_ref(), Some(&receipt));
    assert_eq!(store.receipt(&anna, ReceiptId::generate()).await.unwrap(), None);
    assert_eq!(store.receipt(&viewer, receipt.id).await.unwrap(), None);
}

pub async fn evidence_is_append_only(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("evidence");
    let (scope, viewer) = (shared(&tenant), Viewer::of_tenant(tenant.clone()));
    let memory = lesson(&scope, "loop", &[], 0).id;
    let first = evidence(&scope, memory, &trace("a"), Verdict::Supported, 1);
    let second = evidence(&scope, memory, &trace("b"), Verdict::Ignored, 2);
    let private = evidence(&private(&tenant, "anna"), memory, &trace("c"), Verdict::Refuted, 3);
    let other = evidence(&scope, lesson(&scope, "disk", &[], 0).id, &trace("a"), Verdict::Refuted, 4);
    store.append_evidence(&[second.clone(), first.clone(), private.clone(), other]).await.unwrap();
    // The same run speaks again about the same memory.
    let changed = evidence(&scope, memory, &trace("a"), Verdict::Refuted, 9);
    store.append_evidence(&[changed]).await.unwrap();
    assert_eq!(store.evidence(&viewer, memory).await.unwrap(), [first.clone(), second.clone()]);
    let anna = viewer.with_user(Some(user("anna")));
    assert_eq!(store.evidence(&anna, memory).await.unwrap(), [first, second, private]);
}

/// Whoever wrote it and in whatever order: a lesson's counts are what its tenant's ledger says.
pub async fn lesson_counts_follow_the_ledger(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("ledger-counts");
    let scope = shared(&tenant);
    let lesson = lesson(&scope, "loop", &["a"], 0);
    let line =
        |name: &str, verdict, at| evidence(&private(&tenant, name), lesson.id, &trace(name), verdict, at);
    // Before the lesson itself.
    store.append_evidence(&[line("early", Verdict::Supported, 5)]).await.unwrap();
    store.upsert(&[encoded(Memory::Lesson(lesson.clone()), 0, &[1])]).await.unwrap();
    assert_eq!(stored_lesson(&*store, &lesson).await.supported, 1);
    let mut writers = JoinSet::new();
    for n in 0..6 {
        let verdict = if n % 3 == 0 { Verdict::Refuted } else { Verdict::Supported };
        let lines = [line(&format!("run-{n}"), verdict, 10 + n)];
        let store = store.clone();
        writers.spawn(async move {
            store.append_evidence(&lines).await.unwrap();
            store.append_evidence(&lines).await.unwrap();
        });
    }
    writers.join_all().await;
    // A run that refuted it does not support it afterwards.
    store.append_evidence(&[line("run-3", Verdict::Supported, 99)]).await.unwrap();
    let found = stored_lesson(&*store, &lesson).await;
    assert_eq!((found.supported, found.refuted), (5, 2));
    assert_eq!(found.last_supported_at, time(15));
    assert_eq!(found.sources, lesson.sources);
}
