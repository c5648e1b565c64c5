use std::time::Duration;

use hindsight_proto::recall::v1::{BeforeCall, UserMessage, WatchStart, watch_request::Event};
use hindsight_recall::RecallSettings;
use hindsight_runtime::Role as _;
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic_types::StatusExt as _;

use super::stream::{NPM, Talk, reason, rejection};
use crate::common::World;

async fn world(change: impl FnOnce(&mut hindsight_recall::WatchSettings)) -> World {
    let mut settings = RecallSettings::default();
    change(&mut settings.watch);
    World::with_settings(settings).await
}

fn start() -> Event {
    Event::Start(WatchStart::default())
}

#[tokio::test]
async fn what_is_not_understood_is_refused_and_counts_for_nothing() {
    let world = World::new().await;
    let mut talk = Talk::open(world.recalls("acme")).await.unwrap();
    assert_eq!(rejection(talk.before("bash", NPM).await).reason, "NOT_STARTED");
    let wrong = WatchStart { user: " ".to_owned(), language: "fr".to_owned(), ..WatchStart::default() };
    let wrong = rejection(talk.tell(Event::Start(wrong)).await);
    assert_eq!(wrong.fields, ["start.user", "start.language"], "{wrong:?}");
    talk.tell(start()).await;
    assert_eq!(rejection(talk.tell(start()).await).reason, "STARTED_BEFORE");
    talk.send(None);
    let nothing = talk.next().await.unwrap().unwrap();
    assert_eq!(rejection(nothing.said.unwrap()).fields, ["event"]);
    let long = BeforeCall { tool: "t".repeat(129), arguments: "x".repeat(300_000), ..Default::default() };
    let long = rejection(talk.tell(Event::BeforeCall(long)).await);
    assert_eq!(long.fields, ["before_call.tool", "before_call.arguments"]);
    let mute = rejection(talk.tell(Event::Message(UserMessage::default())).await);
    assert_eq!(mute.fields, ["message.text"]);
    reason(talk.before("bash", NPM).await);
}

#[tokio::test]
async fn answers_come_in_order_for_events_that_do_not_wait() {
    let world = World::new().await;
    let mut talk = Talk::open(world.recalls("acme")).await.unwrap();
    let mut sent = vec![talk.send(Some(start()))];
    for n in 0..50 {
        let event = (n % 3 != 0).then(|| Event::Message(UserMessage { text: format!("{n}") }));
        sent.push(talk.send(event));
    }
    for sequence in sent {
        assert_eq!(talk.next().await.unwrap().unwrap().in_reply_to, sequence);
    }
}

#[tokio::test]
async fn a_key_has_so_many_streams() {
    let world = world(|w| w.streams_per_key = 2).await;
    let first = Talk::open(world.recalls("acme")).await.unwrap();
    let _second = Talk::open(world.recalls("acme")).await.unwrap();
    let refused = Talk::open(world.recalls("acme")).await.err().unwrap();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(refused.get_details_retry_info().is_some() && refused.message().contains("streams_per_key"));
    Talk::open(world.recalls("other")).await.unwrap();
    drop(first);
    let reopened = async {
        while Talk::open(world.recalls("acme")).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reopened).await.unwrap();
}

#[tokio::test]
async fn a_stream_has_so_many_events() {
    let world = world(|w| w.events = 2).await;
    let mut talk = Talk::open(world.recalls("acme")).await.unwrap();
    talk.tell(start()).await;
    reason(talk.before("bash", NPM).await);
    talk.send(Some(start()));
    let end = talk.next().await.unwrap_err();
    assert_eq!(end.code(), Code::OutOfRange, "{end:?}");
}

#[tokio::test]
async fn a_stream_that_is_idle_ends() {
    let world = world(|w| w.idle = Duration::from_millis(20)).await;
    let mut talk = Talk::open(world.recalls("acme")).await.unwrap();
    let end = talk.next().await.unwrap_err();
    assert_eq!(end.code(), Code::DeadlineExceeded, "{end:?}");
    assert!(end.message().contains("watch.idle"));
}

#[tokio::test]
async fn a_server_that_stops_says_so() {
    let world = World::new().await;
    let mut talk = Talk::open(world.recalls("acme")).await.unwrap();
    talk.tell(start()).await;
    let stop = CancellationToken::new();
    stop.cancel();
    world.role.run(stop).await.unwrap();
    let end = talk.next().await.unwrap_err();
    assert_eq!(end.code(), Code::Unavailable, "{end:?}");
    assert!(end.get_details_retry_info().is_some());
}

#[tokio::test]
async fn a_stream_needs_permission() {
    let world = World::new().await;
    let refused = Talk::open(world.recalls_without_permission("acme")).await.err().unwrap();
    assert_eq!(refused.code(), Code::PermissionDenied);
}
