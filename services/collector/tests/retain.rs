//! What a user said: what is kept of it, how, and beside what.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::{sync::Arc, time::Duration};

use hindsight_collector::{Collector, CollectorSettings};
use hindsight_ports::{
    MemoryStore as _, Queue, StoreError, SystemClock,
    testkit::faulty_store::{Calls, Fault, StoreCall, When},
};
use hindsight_proto::{
    collector::v1::{
        Consistency, NotRetainedReason, RetainBatchRequest, RetainRequest, RetainResponse, RetainResult,
    },
    common::v1::{Attachment, FactStatus, FactType},
};
use hindsight_runtime::Role as _;
use hindsight_types::{Fact, Memory, MemoryId, MemoryKind, Period, SessionId, Timestamp, UserId, Viewer};
use support::{Bytes8, House, until, viewer};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Request};

fn said(user: &str, content: &str) -> RetainRequest {
    RetainRequest {
        user: user.to_owned(),
        content: content.to_owned(),
        consistency: Consistency::Indexed as i32,
        ..Default::default()
    }
}

/// The `n`th turn of the session `talk`, a minute after the one before.
fn turn(user: &str, n: i64) -> RetainRequest {
    RetainRequest {
        key: format!("turn {n}"),
        session: "talk".to_owned(),
        speaker: "Ann".to_owned(),
        occurred_at: Some(hindsight_codec::time_to_proto(
            Timestamp::from_second(1_780_000_000 + 60 * n).unwrap(),
        )),
        ..said(user, &format!("this is number {n}"))
    }
}

fn of(user: &str) -> Viewer {
    viewer().with_user(Some(UserId::new(user).unwrap()))
}

async fn kept(house: &House, user: &str, id: &str) -> Fact {
    let id = MemoryId::parse(id).unwrap();
    match house.store.get(&of(user), MemoryKind::Fact, id).await.unwrap() {
        Some(Memory::Fact(f)) => f,
        other => panic!("no fact: {other:?}"),
    }
}

/// Key and surroundings of the turns of `talk`, in order.
async fn talk(house: &House, user: &str) -> Vec<(String, String)> {
    let all = Period { from: Timestamp::UNIX_EPOCH, until: Timestamp::MAX };
    let session = SessionId::new("talk").unwrap();
    let mut facts = house.store.session_facts(&of(user), &session, all, 0).await.unwrap();
    facts.sort_by(|a, b| a.order().cmp(&b.order()));
    facts.into_iter().map(|f| (f.key, f.surroundings)).collect()
}

/// What `talk` must be of turns 0 to `count`.
fn whole(count: i64) -> Vec<(String, String)> {
    let line = |n: i64| format!("Ann: this is number {n}");
    let beside = |n: i64| {
        let near = [n - 2, n - 1, n + 1].into_iter().filter(|i| (0..count).contains(i));
        near.map(line).collect::<Vec<_>>().join("\n")
    };
    (0..count).map(|n| (format!("turn {n}"), beside(n))).collect()
}

async fn retain(house: &House, request: RetainRequest) -> RetainResponse {
    house.client().retain(request).await.unwrap().into_inner()
}

async fn retain_all(house: &House, facts: Vec<RetainRequest>) -> Vec<RetainResult> {
    house.client().retain_batch(RetainBatchRequest { facts }).await.unwrap().into_inner().results
}

#[tokio::test(flavor = "multi_thread")]
async fn what_says_nothing_is_not_kept_and_the_answer_says_why() {
    let house = House::new().await.run();
    let thanks = retain(&house, said("ann", "Thank you so much!")).await;
    let why = thanks.not_retained.clone().unwrap();
    assert_eq!(
        (thanks.retained, thanks.memory_id.as_str(), why.reason()),
        (false, "", NotRetainedReason::Thanks)
    );
    assert!(why.message.contains("force"), "{}", why.message);
    let forced = retain(&house, RetainRequest { force: true, ..said("ann", "Thank you so much!") }).await;
    assert!(forced.retained && forced.not_retained.is_none());
    assert_eq!(kept(&house, "ann", &forced.memory_id).await.content, "Thank you so much!");

    let texts = ["你好！", "我对花生过敏", "👍", " ", "嗯嗯"];
    let results = retain_all(&house, texts.map(|t| said("li", t)).to_vec()).await;
    let reasons: Vec<_> = results.iter().map(|r| r.not_retained.as_ref().map(|n| n.reason())).collect();
    let (greeting, no_words) = (NotRetainedReason::Greeting, NotRetainedReason::NoWords);
    assert_eq!(reasons, [Some(greeting), None, Some(no_words), None, Some(NotRetainedReason::Filler)],);
    assert_eq!(results.iter().map(|r| r.retained).collect::<Vec<_>>(), [false, true, false, false, false]);
    assert_eq!(results[3].rejection.as_ref().unwrap().fields, ["content"]);
    assert_eq!(house.store.stats(&of("li")).await.unwrap().facts, 1);
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transcript_is_shown_as_a_summary_and_searched_in_full() {
    let house = House::new().await.run();
    let idle =
        "Ann: Well, it was a day like any other, I would say.\nBob: Oh, tell me more about that day.\n";
    let text = format!("{0}Ann: We decided to move to Lyon on 3 March.\n{0}{0}{0}", idle.repeat(2));
    let answer = retain(&house, said("ann", &text)).await;
    assert!(answer.retained && answer.summarised);
    let fact = kept(&house, "ann", &answer.memory_id).await;
    assert!(fact.content.contains("Ann: We decided to move to Lyon on 3 March."), "{}", fact.content);
    assert!(fact.content.len() < text.len() && fact.original == text);
    assert!(Memory::Fact(fact).indexed_text().contains(&text));
    let short = retain(&house, said("ann", "I moved to Lyon")).await;
    assert!(!short.summarised && kept(&house, "ann", &short.memory_id).await.original.is_empty());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fact_keeps_what_describes_it() {
    let house = House::new().await.run();
    let photo = Attachment {
        uri: "https://example.com/cup.png".to_owned(),
        media_type: "image/png".to_owned(),
        caption: "a cup of the shop 「中山路店」".to_owned(),
    };
    let request = RetainRequest {
        status: FactStatus::Resolved as i32,
        attachments: vec![photo.clone()],
        intent: "return".to_owned(),
        ..said("ann", "I like the green cup")
    };
    let fact = kept(&house, "ann", &retain(&house, request).await.memory_id).await;
    assert_eq!((fact.status, fact.fact_type.as_str()), (hindsight_types::FactStatus::Resolved, "preference"));
    assert_eq!(fact.entities, ["中山路店"]);
    assert!(Memory::Fact(fact).indexed_text().contains("a cup of the shop"));
    let stated = RetainRequest { r#type: FactType::Other as i32, ..said("ann", "I like tea") };
    assert_eq!(
        kept(&house, "ann", &retain(&house, stated).await.memory_id).await.fact_type.as_str(),
        "other"
    );

    let bad = |uri: &str, media_type: &str| Attachment {
        uri: uri.to_owned(),
        media_type: media_type.to_owned(),
        ..photo.clone()
    };
    let attachments =
        vec![photo.clone(), bad("javascript:alert(1)", "image/png"), bad("s3://b/x", "picture")];
    let status = house.client().retain(RetainRequest { attachments, ..said("ann", "x") }).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    for field in ["attachments[1].uri", "attachments[2].media_type"] {
        assert!(status.message().contains(field), "{}", status.message());
    }
    let too_many = RetainRequest { attachments: vec![photo; 17], ..said("ann", "x") };
    let status = house.client().retain(too_many).await.unwrap_err();
    assert!(status.message().contains("at most 16"), "{}", status.message());
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_end_beside_each_other_in_whatever_order_they_come() {
    let house = House::new().await.run();
    retain_all(&house, (0..8).map(|n| turn("in-order", n)).collect()).await;
    assert_eq!(talk(&house, "in-order").await, whole(8));

    for n in [5, 0, 7, 2, 2, 6, 1, 4, 3, 0, 7] {
        retain(&house, turn("shuffled", n)).await;
    }
    assert_eq!(talk(&house, "shuffled").await, whole(8));

    // A turn that moves leaves its neighbours as if it had never stood there.
    retain_all(
        &house,
        vec![turn("moved", 0), RetainRequest { key: "turn 3".to_owned(), ..turn("moved", 1) }],
    )
    .await;
    retain_all(&house, vec![turn("moved", 1), turn("moved", 2), turn("moved", 3)]).await;
    assert_eq!(talk(&house, "moved").await, whole(4));

    // What the caller gives as context stands alone, and in no other session or user.
    let given = RetainRequest { context: "at breakfast".to_owned(), ..turn("given", 1) };
    let id = retain_all(&house, vec![turn("given", 0), given]).await.pop().unwrap().memory_id;
    let fact = kept(&house, "given", &id).await;
    assert_eq!((fact.context.as_str(), fact.surroundings.as_str()), ("at breakfast", ""));
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_one_time_keep_the_order_of_their_arrival() {
    let house = House::new().await.run();
    let at_once = |n: i64| RetainRequest { occurred_at: turn("ann", 0).occurred_at, ..turn("ann", n) };
    retain_all(&house, (0..60).map(at_once).collect()).await;
    assert_eq!(talk(&house, "ann").await, whole(60));
    house.stop().await;
}

/// Ingesters that know nothing of each other work on one session at once.
#[tokio::test(flavor = "multi_thread")]
async fn many_ingesters_bring_a_session_to_one_end() {
    let house = House::new().await;
    let requests: Vec<i64> = (0..90).map(|n| n * 37 % 90).collect();
    for chunk in requests.chunks(30) {
        let durable = |n: &i64| RetainRequest { consistency: 0, ..turn("ann", *n) };
        retain_all(&house, chunk.iter().map(durable).collect()).await;
    }
    // Each write is slow to be seen, so that others come in between.
    house.store.inject(
        Calls::Only(StoreCall::SessionFacts),
        When::Chance(0.5),
        Fault::Delay(Duration::from_millis(20)),
    );
    let lost = || StoreError::Unavailable("the answer got lost".to_owned());
    house.store.inject(Calls::Only(StoreCall::Upsert), When::Chance(0.1), Fault::Lose(lost()));
    let stop = CancellationToken::new();
    let running: Vec<_> = (0..3)
        .map(|_| {
            let settings = CollectorSettings { batch: 4, linger_ms: 1, ..CollectorSettings::default() };
            let (bus, store) = (house.bus.clone(), house.store.clone());
            let collector =
                Collector::new(settings, bus, store, Arc::new(Bytes8::new()), Arc::new(SystemClock));
            let stop = stop.clone();
            tokio::spawn(async move { collector.run(stop).await.unwrap() })
        })
        .collect();
    until("every turn stands beside its neighbours", || async {
        let done = house.bus.stats(Queue::Ingest).await.unwrap();
        let idle = (done.ready, done.delayed, done.unsettled) == (0, 0, 0);
        (idle && talk(&house, "ann").await.len() == 90).then_some(())
    })
    .await;
    assert_eq!(talk(&house, "ann").await, whole(90));
    stop.cancel();
    for running in running {
        running.await.unwrap();
    }
    house.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_too_long_says_that_nothing_is_lost() {
    let house = House::new().await;
    let mut hasty = Request::new(said("ann", "I like tea"));
    hasty.set_timeout(Duration::from_millis(50));
    let status = house.client().retain(hasty).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().contains("durable and will be indexed"), "{}", status.message());
    let house = house.run();
    until("it is indexed", || async {
        (house.store.stats(&of("ann")).await.unwrap().facts == 1).then_some(())
    })
    .await;
    house.stop().await;
}
