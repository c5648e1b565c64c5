//! Arms that are late or fail, one at a time: the others answer, and the receipt names the one.

use std::{sync::Arc, time::Duration};

use crate::common::{World, ask, fact};
use hindsight_embed::HashingEmbedder;
use hindsight_ports::{
    EmbedError, Embedder, EmbedderId, Purpose, StoreError,
    testkit::faulty_store::{Calls, Fault, StoreCall, When},
};
use hindsight_proto::recall::v1::{RecallRequest, RecallResponse};
use rstest::rstest;

/// Found by every arm: by its words, its meaning, its name and its day.
const KEPT: &str = "The invoice INV-78901 of the bakery was paid twice";

async fn world(embedder: Option<Arc<dyn Embedder>>) -> World {
    let world = match embedder {
        Some(embedder) => World::with_embedder(embedder).await,
        None => World::new().await,
    };
    let hindsight_types::Memory::Fact(mut kept) = fact("acme", "ann", "invoice", KEPT) else {
        unreachable!()
    };
    kept.entities = vec!["INV-78901".to_owned()];
    world.remember(vec![hindsight_types::Memory::Fact(kept)]).await;
    world
}

fn question() -> RecallRequest {
    RecallRequest { user: "ann".to_owned(), ..ask("what about the invoice INV-78901 yesterday?") }
}

/// What was dropped, and why, each once.
fn dropped(answer: &RecallResponse) -> Vec<(String, String)> {
    let dropped = answer.arms.iter().filter(|arm| !arm.dropped.is_empty());
    let mut dropped: Vec<_> = dropped.map(|arm| (arm.arm.clone(), arm.dropped.clone())).collect();
    dropped.sort();
    dropped.dedup();
    dropped
}

fn only(arm: &str, why: &str) -> Vec<(String, String)> {
    vec![(arm.to_owned(), why.to_owned())]
}

#[tokio::test]
async fn every_arm_proposes_it() {
    let answer = world(None).await.recall(question()).await.unwrap();
    assert!(answer.block.contains(KEPT) && !answer.degraded, "{answer:?}");
    for arm in ["dense", "bm25", "entities", "period"] {
        let of_facts = |a: &&hindsight_proto::common::v1::ArmReport| a.arm == arm && a.candidates > 0;
        assert!(answer.arms.iter().any(|a| of_facts(&a)), "{arm}: {:?}", answer.arms);
    }
}

#[rstest]
#[tokio::test]
async fn one_late_arm_is_dropped_and_the_others_answer(
    #[values("dense", "bm25", "entities", "period")] arm: &'static str,
) {
    let world = world(None).await;
    world.store.inject(Calls::SearchesBy(arm), When::Always, Fault::Delay(Duration::from_secs(3_600)));
    let answer = world.recall_within(question(), Duration::from_secs(5)).await.unwrap();
    assert!(answer.block.contains(KEPT) && answer.degraded, "{answer:?}");
    assert_eq!(dropped(&answer), only(arm, "deadline"));
}

#[rstest]
#[tokio::test]
async fn one_failing_arm_is_dropped_and_the_others_answer(
    #[values("dense", "bm25", "entities", "period")] arm: &'static str,
) {
    let world = world(None).await;
    let away = StoreError::Unavailable("gone".to_owned());
    world.store.inject(Calls::SearchesBy(arm), When::Always, Fault::Refuse(away));
    let answer = world.recall(question()).await.unwrap();
    assert!(answer.block.contains(KEPT) && answer.degraded, "{answer:?}");
    assert_eq!(dropped(&answer), only(arm, "store unavailable"));
    let strict = world.recall(RecallRequest { strict: true, ..question() }).await.unwrap_err();
    assert_eq!(strict.code(), tonic::Code::Unavailable);
}

#[rstest]
#[case::late(Fault::Delay(Duration::from_secs(3_600)), "deadline")]
#[case::failing(Fault::Refuse(StoreError::Unavailable("gone".to_owned())), "store unavailable")]
#[tokio::test]
async fn memories_that_cannot_be_read_are_missing_and_named(#[case] fault: Fault, #[case] why: &str) {
    let world = world(None).await;
    world.store.inject(Calls::Only(StoreCall::Fetch), When::Always, fault);
    let answer = world.recall_within(question(), Duration::from_secs(5)).await.unwrap();
    assert!(answer.items.is_empty() && answer.degraded, "{answer:?}");
    assert_eq!(dropped(&answer), only("fetch", why));
    assert!(answer.empty_reason.contains("fetch") && answer.empty_reason.contains(why));
}

struct Hanging(EmbedderId);

#[tonic::async_trait]
impl Embedder for Hanging {
    fn id(&self) -> &EmbedderId {
        &self.0
    }

    async fn embed(&self, _: &[String], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_embedder_that_hangs_drops_the_meaning_alone() {
    let id = HashingEmbedder::default().id().clone();
    let world = world(Some(Arc::new(Hanging(id)))).await;
    let answer = world.recall_within(question(), Duration::from_secs(3)).await.unwrap();
    assert!(answer.block.contains(KEPT) && answer.degraded, "{answer:?}");
    assert_eq!(dropped(&answer), only("dense", "embedder deadline"));
}
