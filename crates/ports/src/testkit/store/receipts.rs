use std::sync::Arc;

use hindsight_types::{
    Asked, Feedback, FeedbackVerdict, Funnel, MemoryId, MemoryKind, OutcomeStatus, Period, Receipt,
    ReceiptId, ReminderTrigger, Viewer, Watched, WithheldReason,
};

use crate::{
    MemoryStore,
    testkit::samples::{private, receipt, shared, tenant, time, trace, user},
};

fn feedback(receipt: &Receipt, memory: MemoryId, verdict: FeedbackVerdict, at: i64) -> Feedback {
    Feedback {
        receipt_id: receipt.id,
        memory_id: memory,
        scope: receipt.scope.clone(),
        verdict,
        trace_id: Some(trace("t")),
        outcome: OutcomeStatus::Success,
        note: "它帮上了忙".to_owned(),
        at: time(at),
    }
}

pub async fn receipts_are_kept(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("receipts");
    let (shared, private) = (receipt(&shared(&tenant)), receipt(&private(&tenant, "anna")));
    let full = Receipt {
        id: ReceiptId::generate(),
        asked: Some(Asked {
            kinds: vec![MemoryKind::Fact],
            limit: 3,
            floor: 0.2,
            period: Some(Period { from: time(0), until: time(60) }),
            names: vec!["inv-78901".to_owned()],
            watched: Some(Watched {
                trigger: ReminderTrigger::BeforeCall,
                trace_id: Some(trace("run")),
                tool: "bash".to_owned(),
                session: None,
            }),
            ..Asked::default()
        }),
        funnel: Some(Funnel { distinct: 9, shortlisted: 4, withheld: vec![(WithheldReason::TooRare, 3)] }),
        ..shared.clone()
    };
    for receipt in [&shared, &private, &full] {
        store.put_receipt(receipt).await.unwrap();
        store.put_receipt(receipt).await.unwrap();
    }
    let everyone = Viewer::of_tenant(tenant);
    let anna = everyone.clone().with_user(Some(user("anna")));
    let found = async |viewer: &Viewer, id| store.receipt(viewer, id).await.unwrap();
    assert_eq!(found(&everyone, shared.id).await, Some(shared.clone()));
    assert_eq!(found(&anna, shared.id).await, Some(shared));
    assert_eq!(found(&anna, private.id).await, Some(private.clone()));
    assert_eq!(found(&everyone, private.id).await, None);
    assert_eq!(found(&everyone, full.id).await, Some(full));
    assert_eq!(found(&everyone, ReceiptId::generate()).await, None);
}

pub async fn the_last_word_on_a_memory_counts(store: Arc<dyn MemoryStore>) {
    let tenant = tenant("feedback");
    let [one, two] = ["one", "two"].map(|key| MemoryId::fact(&tenant, &user("anna"), key));
    let receipts = [receipt(&private(&tenant, "anna")), receipt(&private(&tenant, "anna"))];
    let first = feedback(&receipts[0], one, FeedbackVerdict::Helpful, 1);
    let other = feedback(&receipts[0], two, FeedbackVerdict::Used, 1);
    let elsewhere = feedback(&receipts[1], one, FeedbackVerdict::Ignored, 1);
    store.put_feedback(&[first, other.clone(), elsewhere.clone()]).await.unwrap();
    let last = feedback(&receipts[0], one, FeedbackVerdict::Harmful, 2);
    for _ in 0..2 {
        store.put_feedback(std::slice::from_ref(&last)).await.unwrap();
    }
    let viewer = Viewer::of_tenant(tenant).with_user(Some(user("anna")));
    let found = async |viewer: &Viewer, receipt: &Receipt, memories: &[MemoryId]| {
        store.feedback(viewer, receipt.id, memories).await.unwrap()
    };
    let mut both = vec![last.clone(), other];
    both.sort_by_key(|f| f.memory_id);
    assert_eq!(found(&viewer, &receipts[0], &[two, one]).await, both);
    assert_eq!(found(&viewer, &receipts[0], &[one]).await, [last]);
    assert_eq!(found(&viewer, &receipts[1], &[one, two]).await, [elsewhere]);
    assert_eq!(found(&viewer, &receipts[0], &[]).await, []);
    let stranger = viewer.with_user(Some(user("ben")));
    assert_eq!(found(&stranger, &receipts[0], &[one, two]).await, []);
}

/// Long before what other checks write, since receipts of all tenants are looked at.
pub async fn receipts_expire(store: Arc<dyn MemoryStore>) {
    const AGO: i64 = 400 * 86_400;
    let (one, two) = (tenant("expiry one"), tenant("expiry two"));
    let at = |scope, seconds: i64| Receipt { at: time(seconds - AGO), ..receipt(&scope) };
    let old: Vec<Receipt> = (0..700).map(|n| at(private(&one, "anna"), n % 60)).collect();
    let young = at(private(&one, "anna"), 60);
    let of_other = [at(shared(&two), 1), at(shared(&two), 61)];
    let memory = MemoryId::fact(&one, &user("anna"), "tea");
    let of_old = feedback(&old[0], memory, FeedbackVerdict::Helpful, 59 - AGO);
    let of_young = feedback(&young, memory, FeedbackVerdict::Used, 60 - AGO);
    for receipt in old.iter().chain([&young]).chain(&of_other) {
        store.put_receipt(receipt).await.unwrap();
    }
    store.put_feedback(&[of_old, of_young.clone()]).await.unwrap();

    assert_eq!(store.expire_receipts(time(-AGO)).await.unwrap(), 0);
    assert_eq!(store.expire_receipts(time(60 - AGO)).await.unwrap(), 700 + 1 + 1);
    assert_eq!(store.expire_receipts(time(60 - AGO)).await.unwrap(), 0);
    let anna = Viewer::of_tenant(one).with_user(Some(user("anna")));
    for receipt in [&old[0], &old[699]] {
        assert_eq!(store.receipt(&anna, receipt.id).await.unwrap(), None);
    }
    assert_eq!(store.receipt(&anna, young.id).await.unwrap().as_ref(), Some(&young));
    assert_eq!(store.feedback(&anna, old[0].id, &[memory]).await.unwrap(), []);
    assert_eq!(store.feedback(&anna, young.id, &[memory]).await.unwrap(), [of_young]);
    let other = Viewer::of_tenant(two);
    assert_eq!(store.receipt(&other, of_other[0].id).await.unwrap(), None);
    assert_eq!(store.receipt(&other, of_other[1].id).await.unwrap().as_ref(), Some(&of_other[1]));
}
