use hindsight_proto::{
    common::v1::{ReminderTrigger, WithheldReason},
    recall::v1::{AfterCall, ExplainRecallRequest, SilenceReason, watch_request::Event},
};
use hindsight_types::{FailurePattern, Memory, Receipt, ReceiptId, UserId, Viewer};

use super::stream::{EACCES, NPM, Talk, npm, reason, reminder, silence};
use crate::common::{World, experience, fact, tenant, time};

/// Receipts are stored behind the answers.
async fn receipt(world: &World, id: &str, user: &str) -> Receipt {
    let user = Some(user).filter(|u| !u.is_empty()).map(|u| UserId::new(u).unwrap());
    let viewer = Viewer::of_tenant(tenant("acme")).with_user(user);
    let id = ReceiptId::parse(id).unwrap();
    loop {
        if let Some(receipt) =
            hindsight_ports::MemoryStore::receipt(&*world.store, &viewer, id).await.unwrap()
        {
            return receipt;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_task_begins_with_what_is_known_of_it() {
    let world = World::new().await;
    world.remember(vec![experience("t-1", "the api container restarts in a loop")]).await;
    let (mut talk, said) = Talk::of(&world, "", "api container restarts in a loop").await;
    let said = reminder(said);
    assert_eq!(said.trigger(), ReminderTrigger::TaskStart);
    assert!(said.block.contains("set_memory_limit") && said.items.len() == 1, "{}", said.block);
    assert!(said.failure.is_none() && said.left == 9 && said.tokens > 0);
    let again = silence(talk.say("do you remember the api container that restarts in a loop?").await);
    assert_eq!((again.reason(), &again.receipt_id), (SilenceReason::SaidBefore, &said.reminder_id));
}

#[tokio::test]
async fn a_call_that_is_known_to_fail_is_warned_of_with_all_that_is_known() {
    let world = World::new().await;
    world.remember(vec![npm(None, 3)]).await;
    let (mut talk, _) = Talk::of(&world, "ann", "").await;
    assert_eq!(reason(talk.before("bash", r#"{"command": "ls"}"#).await), SilenceReason::NothingKnown);
    let said = reminder(talk.before("bash", NPM).await);
    assert_eq!(said.trigger(), ReminderTrigger::BeforeCall);
    let failure = said.failure.unwrap();
    assert_eq!((failure.tool.as_str(), failure.times), ("bash", 3));
    assert!(failure.what.contains("EACCES") && failure.why.contains("permission denied"));
    assert!(failure.instead.contains("npm-global") && failure.last_seen.is_some());
    assert!(said.block.contains("npm-global") && said.block.contains(&said.reminder_id), "{}", said.block);

    let again = silence(talk.before("bash", NPM).await);
    assert_eq!(again.reason(), SilenceReason::SaidBefore);
    assert_eq!(again.receipt_id, said.reminder_id, "the reminder that said it");

    let kept = receipt(&world, &said.reminder_id, "ann").await;
    let watched = kept.asked.clone().unwrap().watched.unwrap();
    assert_eq!(watched.trigger, hindsight_types::ReminderTrigger::BeforeCall);
    assert_eq!((watched.tool.as_str(), watched.trace_id.unwrap().as_str()), ("bash", "run-1"));
    assert_eq!(kept.injected[0].memory_id, npm(None, 3).id());
    assert!(kept.query.contains("npm install"), "{}", kept.query);
    let request =
        ExplainRecallRequest { receipt_id: said.reminder_id, user: "ann".to_owned(), ..Default::default() };
    let told = world.recalls("acme").explain_recall(request).await.unwrap().into_inner();
    assert_eq!(told.receipt.unwrap().injected.len(), 1);
}

#[tokio::test]
async fn what_is_withheld_has_a_receipt_and_a_reason() {
    let world = World::new().await;
    world.remember(vec![npm(None, 2)]).await;
    let (mut talk, _) = Talk::of(&world, "ann", "").await;
    let said = silence(talk.before("bash", NPM).await);
    assert_eq!(said.reason(), SilenceReason::BelowThreshold);
    let kept = receipt(&world, &said.receipt_id, "ann").await;
    assert_eq!(kept.withheld[0].reason, hindsight_types::WithheldReason::TooRare);
    let request =
        ExplainRecallRequest { receipt_id: said.receipt_id, user: "ann".to_owned(), ..Default::default() };
    let told = world.recalls("acme").explain_recall(request).await.unwrap().into_inner().receipt.unwrap();
    assert_eq!(told.withheld[0].reason(), WithheldReason::TooRare);
    let again = silence(talk.before("bash", NPM).await);
    assert_eq!((again.reason(), again.receipt_id.as_str()), (SilenceReason::BelowThreshold, ""));
}

#[tokio::test]
async fn a_failure_brings_how_it_was_solved_before() {
    let world = World::new().await;
    world.remember(vec![npm(None, 1), experience("t-1", "the api container restarts in a loop")]).await;
    let (mut talk, _) = Talk::of(&world, "", "").await;
    let fine = AfterCall { tool: "bash".to_owned(), output: "ok".to_owned(), ..AfterCall::default() };
    assert_eq!(reason(talk.tell(Event::AfterCall(fine)).await), SilenceReason::NotAsked);
    // The same failure by its signature, among a hundred lines and with another path.
    let noise = (0..100).map(|n| format!("fetching {n}\n")).collect::<String>();
    let output = format!("{noise}{}", EACCES.replace("/usr/lib", "/opt/lib"));
    let said = reminder(talk.failed("bash", r#"{"command": "npm i -g eslint"}"#, &output).await);
    assert_eq!(said.trigger(), ReminderTrigger::AfterFailure);
    assert!(said.failure.unwrap().instead.contains("npm-global"));
    let kept = receipt(&world, &said.reminder_id, "").await;
    assert!(kept.arms.iter().any(|arm| arm.arm == "signature" && arm.candidates == 1), "{:?}", kept.arms);
    let other = talk.failed("charge_card", "{}", "insufficient funds on account 77").await;
    assert!(matches!(reason(other), SilenceReason::NothingKnown | SilenceReason::BelowThreshold));
}

#[tokio::test]
async fn a_user_who_asks_is_answered_in_both_languages() {
    let world = World::new().await;
    let facts = [("key", "the spare key is under the blue flower pot"), ("tea", "最喜欢的饮料是乌龙茶")];
    world.remember(facts.map(|(key, content)| fact("acme", "ann", key, content)).to_vec()).await;
    let (mut talk, _) = Talk::of(&world, "ann", "").await;
    let said = reminder(talk.say("do you remember where the spare key is?").await);
    assert_eq!(said.trigger(), ReminderTrigger::Asked);
    assert!(said.block.contains("blue flower pot"));
    assert!(reminder(talk.say("你还记得我最喜欢的饮料吗？").await).block.contains("乌龙茶"));
    assert_eq!(reason(talk.say("thanks!").await), SilenceReason::NotAsked);
}

#[tokio::test]
async fn nobody_is_told_of_another_user() {
    let world = World::new().await;
    world
        .remember(vec![npm(Some("bob"), 5), fact("acme", "bob", "key", "the spare key is in the shed")])
        .await;
    let (mut talk, said) = Talk::of(&world, "ann", "find the spare key").await;
    assert_eq!(reason(said), SilenceReason::NothingKnown);
    assert_eq!(reason(talk.before("bash", NPM).await), SilenceReason::NothingKnown);
    assert_eq!(reason(talk.failed("bash", NPM, EACCES).await), SilenceReason::NothingKnown);
    assert_eq!(reason(talk.say("do you remember the spare key?").await), SilenceReason::NothingKnown);
    let (mut bobs, said) = Talk::of(&world, "bob", "find the spare key").await;
    assert!(reminder(said).block.contains("shed"));
    assert!(reminder(bobs.before("bash", NPM).await).block.contains("npm-global"));
}

/// A copy in memory says nothing that the store does not hold.
#[tokio::test]
async fn what_was_changed_is_said_as_it_is() {
    let world = World::new().await;
    world.remember(vec![npm(None, 4)]).await;
    let (mut talk, _) = Talk::of(&world, "ann", "").await;
    let Memory::FailurePattern(pattern) = npm(None, 4) else { panic!() };
    let suggestion = "Worked: install it with pnpm".to_owned();
    let changed = FailurePattern { suggestion, last_seen: time(0), ..pattern };
    world.remember(vec![Memory::FailurePattern(changed)]).await;
    let said = reminder(talk.before("bash", NPM).await);
    assert!(said.failure.unwrap().instead.contains("pnpm") && said.block.contains("pnpm"));
}
