//! Lessons that chance keeps back, and what a tenant may choose instead.

use std::collections::BTreeMap;

use hindsight_ports::MemoryStore as _;
use hindsight_proto::recall::v1::{ExpectedFate, ExplainRecallRequest};
use hindsight_rank::Serving;
use hindsight_recall::RecallSettings;
use hindsight_types::{Gate, ReceiptId, Stage, Viewer, WithheldReason};

use crate::common::{World, ask, lesson, tenant};

const TASK: &str = "the api container restarts in a loop";

#[tokio::test]
async fn a_receipt_says_what_chance_kept_back_and_why() {
    let world = World::with_settings(RecallSettings::default()).await;
    let tried = lesson("loop", TASK, Stage::Canary);
    world.remember(vec![tried.clone()]).await;
    // Each is kept back with a chance of one half: a hundred times in a row none or all are.
    let (mut given, mut held) = (None, None);
    for _ in 0..100 {
        let answer = world.recall(ask(TASK)).await.unwrap();
        let receipt = ReceiptId::parse(&answer.receipt_id).unwrap();
        let kept_back = receipt.draw(tried.id()) < 0.5;
        assert_eq!(answer.items.is_empty(), kept_back, "{answer:?}");
        *(if kept_back { &mut held } else { &mut given }) = Some(answer);
        if given.is_some() && held.is_some() {
            break;
        }
    }
    let (given, held) = (given.unwrap(), held.unwrap());
    assert!(given.block.contains("on trial"), "{}", given.block);
    assert!(held.empty_reason.contains("by chance"), "{}", held.empty_reason);
    let viewer = Viewer::of_tenant(tenant("acme"));
    let stored =
        world.store.receipt(&viewer, ReceiptId::parse(&held.receipt_id).unwrap()).await.unwrap().unwrap();
    let why: Vec<_> = stored.withheld.iter().map(|w| (w.memory_id, w.reason)).collect();
    assert_eq!(why, [(tried.id(), WithheldReason::Control)]);
    assert_eq!(stored.funnel.unwrap().withheld, [(WithheldReason::Control, 1)]);

    let request = ExplainRecallRequest {
        receipt_id: held.receipt_id.clone(),
        expect: tried.id().to_string(),
        ..Default::default()
    };
    let told = world.recalls("acme").explain_recall(request).await.unwrap().into_inner().expected.unwrap();
    assert_eq!(told.fate(), ExpectedFate::Withheld);
    assert!(told.reason.contains("chance kept it back") && told.remedy.contains("ask again"), "{told:?}");
    assert!(told.factors.is_some(), "its factors are told all the same");
}

#[tokio::test]
async fn a_tenant_decides_for_itself_what_a_lesson_needs() {
    let of = |gate| Serving { gate, ..Serving::default() };
    let serving = BTreeMap::from([(tenant("acme"), of(Gate::Off))]);
    let world = World::with_settings(RecallSettings { serving, ..RecallSettings::default() }).await;
    world.remember(vec![lesson("loop", TASK, Stage::Candidate)]).await;
    for _ in 0..5 {
        assert_eq!(world.recall(ask(TASK)).await.unwrap().items.len(), 1, "nothing is left to chance");
    }
    let world = World::with_settings(RecallSettings::default()).await;
    world.remember(vec![lesson("loop", TASK, Stage::Candidate)]).await;
    assert_eq!(world.recall(ask(TASK)).await.unwrap().items.len(), 0, "nobody has spoken for it");
}
