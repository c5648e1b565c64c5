//! What a caller of `RecallService` gets: answers, silence, degraded answers, refusals.

use std::{sync::Arc, time::Duration};

use crate::common::{World, ask, experience, fact};
use hindsight_ports::{
    EmbedError, Embedder, EmbedderId, Purpose, StoreError,
    testkit::faulty_store::{Calls, Fault, StoreCall, When},
};
use hindsight_proto::recall::v1::{BlockFormat, ExplainRecallRequest, RecallRequest};
use tonic::Code;
use tonic_types::StatusExt as _;

const TASK: &str = "the api container restarts in a loop";

fn unavailable() -> Fault {
    Fault::Refuse(StoreError::Unavailable("connection to /var/secret/place lost".to_owned()))
}

fn explain(receipt_id: &str, user: &str) -> ExplainRecallRequest {
    let (receipt_id, user) = (receipt_id.to_owned(), user.to_owned());
    ExplainRecallRequest { receipt_id, user, expect: String::new() }
}

#[tokio::test]
async fn an_experience_comes_as_a_path_with_a_receipt() {
    let world = World::new().await;
    world.remember(vec![experience("t-1", TASK), experience("t-2", "磁盘写满，清理日志")]).await;
    let answer = world.recall(ask("api container keeps restarting")).await.unwrap();
    assert_eq!(answer.items.len(), 1, "{answer:?}");
    assert!(answer.block.contains("Path to follow") && answer.block.contains("`set_memory_limit`"));
    assert!(answer.block.contains(&answer.receipt_id) && answer.tokens > 0 && !answer.degraded);
    let of = |arm: &str| answer.arms.iter().filter(|a| a.arm == arm).count();
    assert_eq!((of("dense"), of("bm25"), of("period")), (3, 3, 0));
    assert!(answer.arms.iter().all(|arm| arm.dropped.is_empty()), "{:?}", answer.arms);

    let told = world.recalls("acme").explain_recall(explain(&answer.receipt_id, "")).await.unwrap();
    let receipt = told.into_inner().receipt.unwrap();
    assert_eq!(receipt.injected.len(), 1);
    assert_eq!(receipt.injected[0].why, answer.items[0].why);
    assert!(receipt.injected[0].factors.unwrap().total > 0.0);
    let (asked, funnel) = (receipt.asked.unwrap(), receipt.funnel.unwrap());
    assert_eq!((asked.limit, asked.token_budget, asked.kinds.len()), (3, 1_500, 3));
    assert!(funnel.distinct >= funnel.shortlisted && funnel.shortlisted >= 1, "{funnel:?}");

    let chinese = world.recall(ask("磁盘满了怎么办")).await.unwrap();
    assert!(chinese.block.contains("可遵循的路径") && chinese.items.len() == 1, "{chinese:?}");
}

#[tokio::test]
async fn nothing_relevant_is_said_not_invented() {
    let world = World::new().await;
    let empty = world.recall(ask("how long does sourdough bake")).await.unwrap();
    assert!(empty.items.is_empty() && empty.block.is_empty() && !empty.degraded);
    world.remember(vec![experience("t-1", TASK), experience("t-2", "磁盘写满，清理日志")]).await;
    for query in ["how long does sourdough bake", "明天的天气怎么样", "?!"] {
        let answer = world.recall(ask(query)).await.unwrap();
        assert!(answer.items.is_empty() && answer.block.is_empty(), "{query}: {answer:?}");
        assert!(!answer.empty_reason.is_empty() && !answer.degraded);
        assert!(!answer.receipt_id.is_empty());
    }
}

#[tokio::test]
async fn facts_stay_with_their_user_and_tenant() {
    let world = World::new().await;
    let shelf = "the spare key is under the blue flower pot";
    world
        .remember(vec![
            fact("acme", "ann", "key", shelf),
            fact("acme", "bob", "key", "the spare key is with the neighbour"),
            fact("other", "ann", "key", "the spare key is in the car"),
        ])
        .await;
    let query = "where is the spare key";
    let anns = world.recall(RecallRequest { user: "ann".to_owned(), ..ask(query) }).await.unwrap();
    assert_eq!(anns.items.len(), 1);
    assert!(anns.block.contains("blue flower pot"), "{}", anns.block);
    let nobodys = world.recall(ask(query)).await.unwrap();
    assert!(nobodys.items.is_empty());

    // A receipt made for a user is that user's.
    let mut client = world.recalls("acme");
    assert!(client.explain_recall(explain(&anns.receipt_id, "ann")).await.is_ok());
    for (tenant, user) in [("acme", "bob"), ("acme", ""), ("other", "ann")] {
        let refused =
            world.recalls(tenant).explain_recall(explain(&anns.receipt_id, user)).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
    }
}

#[tokio::test]
async fn the_block_is_written_as_asked_for() {
    let world = World::new().await;
    world.remember(vec![experience("t-1", TASK)]).await;
    let chinese = world.recall(RecallRequest { language: "zh".to_owned(), ..ask(TASK) }).await.unwrap();
    assert!(chinese.block.contains("可遵循的路径") && chinese.block.contains(TASK), "{}", chinese.block);
    let json = RecallRequest { format: BlockFormat::Json as i32, ..ask(TASK) };
    let json = world.recall(json).await.unwrap();
    assert!(json.block.starts_with('{') && json.block.trim_end().ends_with('}'), "{}", json.block);
    assert!(json.block.contains(TASK) && json.block.contains(&json.receipt_id));
}

#[tokio::test]
async fn what_it_means_is_read_from_what_was_said_before() {
    let world = World::new().await;
    let kept = "Nadia collects stamps from Peru";
    world
        .remember(vec![fact("acme", "ann", "nadia", kept), fact("acme", "ann", "jonas", "Jonas keeps bees")])
        .await;
    let question = RecallRequest { user: "ann".to_owned(), ..ask("what does she collect?") };
    let recent = vec!["yesterday I met Nadia at the market".to_owned()];
    let answer = world.recall(RecallRequest { recent, ..question }).await.unwrap();
    assert!(answer.block.contains(kept), "{answer:?}");
}

#[tokio::test]
async fn an_outage_gives_a_degraded_answer_unless_strict() {
    let world = World::new().await;
    world.remember(vec![experience("t-1", TASK)]).await;
    world.store.inject(Calls::Only(StoreCall::Search), When::Always, unavailable());
    let answer = world.recall(ask(TASK)).await.unwrap();
    assert!(answer.items.is_empty() && answer.degraded);
    assert!(answer.arms.len() >= 6 && answer.arms.iter().all(|arm| arm.dropped == "store unavailable"));
    assert!(answer.empty_reason.contains("store unavailable") && !answer.empty_reason.contains("secret"));

    let refused = world.recall(RecallRequest { strict: true, ..ask(TASK) }).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.get_details_retry_info().is_some());
    world.store.heal();
    assert_eq!(world.recall(RecallRequest { strict: true, ..ask(TASK) }).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn the_deadline_is_kept_with_what_there_is_by_then() {
    let world = World::new().await;
    world.remember(vec![experience("t-1", TASK)]).await;
    let hour = Duration::from_secs(3600);
    world.store.inject(Calls::Only(StoreCall::Search), When::Always, Fault::Delay(hour));
    let late = world.recall_within(ask(TASK), Duration::from_secs(1)).await.unwrap();
    assert!(late.items.is_empty() && late.degraded && late.empty_reason.contains("deadline"));
    let strict = RecallRequest { strict: true, ..ask(TASK) };
    let refused = world.recall_within(strict, Duration::from_secs(1)).await.unwrap_err();
    assert_eq!(refused.code(), Code::DeadlineExceeded);
}

#[tokio::test]
async fn a_receipt_that_cannot_be_kept_does_not_fail_the_recall() {
    let world = World::new().await;
    world.remember(vec![experience("t-1", TASK)]).await;
    world.store.inject(Calls::Only(StoreCall::PutReceipt), When::Always, unavailable());
    let answer = world.recall(ask(TASK)).await.unwrap();
    assert_eq!(answer.items.len(), 1);
    assert!(answer.degraded);
    let missing = world.recalls("acme").explain_recall(explain(&answer.receipt_id, "")).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
}

struct Broken(EmbedderId);

#[tonic::async_trait]
impl Embedder for Broken {
    fn id(&self) -> &EmbedderId {
        &self.0
    }

    async fn embed(&self, _: &[String], _: Purpose) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(EmbedError::Unavailable("no answer".to_owned()))
    }
}

#[tokio::test]
async fn without_the_embedder_words_alone_are_searched_and_it_is_said() {
    let id = hindsight_embed::HashingEmbedder::default().id().clone();
    let world = World::with_embedder(Arc::new(Broken(id))).await;
    world.remember(vec![experience("t-1", TASK)]).await;
    let answer = world.recall(ask(TASK)).await.unwrap();
    assert_eq!(answer.items.len(), 1);
    assert!(answer.degraded);
    let of = |arm: &str| answer.arms.iter().filter(|a| a.arm == arm).collect::<Vec<_>>();
    assert!(of("bm25").iter().all(|a| a.dropped.is_empty()) && of("bm25").len() == 3);
    assert!(of("dense").iter().all(|a| a.dropped == "embedder unavailable") && of("dense").len() == 3);
}

#[tokio::test]
async fn what_is_wrong_is_named_and_permission_is_asked() {
    let world = World::new().await;
    let refused = world.recall(RecallRequest { limit: 99, ..ask(" ") }).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let fields: Vec<String> =
        refused.get_details_bad_request().unwrap().field_violations.into_iter().map(|v| v.field).collect();
    assert_eq!(fields, ["query", "limit"]);
    let bad = world.recalls("acme").explain_recall(explain("not-an-id", "")).await.unwrap_err();
    assert_eq!(bad.code(), Code::InvalidArgument);
    let denied = world.recalls_without_permission("acme").recall(ask(TASK)).await.unwrap_err();
    assert_eq!(denied.code(), Code::PermissionDenied);
}

#[tokio::test]
async fn a_secret_in_the_question_is_not_stored() {
    let world = World::new().await;
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let answer = world.recall(ask(&format!("the api refuses the token {secret}"))).await.unwrap();
    let told = world.recalls("acme").explain_recall(explain(&answer.receipt_id, "")).await.unwrap();
    let query = told.into_inner().receipt.unwrap().query;
    assert!(query.contains("REDACTED") && !query.contains(secret), "{query}");
}
