use hindsight_api::Permission;
use hindsight_ports::MemoryStore as _;
use hindsight_proto::{
    common::v1::{FeedbackVerdict, OutcomeStatus},
    recall::v1::{ReminderFeedback, SilenceReason, WatchEnd, WatchStart, watch_request::Event},
};
use hindsight_types::Viewer;

use super::stream::{NPM, Talk, npm, reason, rejection, reminder};
use crate::common::{World, tenant};

fn helpful(reminder_id: &str) -> Event {
    let (reminder_id, note) = (reminder_id.to_owned(), "对".to_owned());
    Event::Feedback(ReminderFeedback { reminder_id, verdict: FeedbackVerdict::Helpful.into(), note })
}

#[tokio::test]
async fn feedback_on_the_stream_becomes_evidence_with_the_outcome() {
    let world = World::new().await;
    world.remember(vec![npm(None, 3)]).await;
    let (mut talk, _) = Talk::of(&world, "", "").await;
    let said = reminder(talk.before("bash", NPM).await);
    assert_eq!(reason(talk.tell(helpful(&said.reminder_id)).await), SilenceReason::NotAsked);
    let viewer = Viewer::of_tenant(tenant("acme"));
    let lines = async || world.store.evidence(&viewer, npm(None, 3).id()).await.unwrap();
    let [line] = &lines().await[..] else { panic!("one line") };
    assert_eq!(line.trace_id.as_str(), "run-1");
    assert_eq!(line.verdict, hindsight_types::Verdict::Supported);
    let end = Event::End(WatchEnd { outcome: OutcomeStatus::Success.into() });
    assert_eq!(reason(talk.tell(end).await), SilenceReason::NotAsked);
    let [line] = &lines().await[..] else { panic!("still one line") };
    assert_eq!(line.outcome, hindsight_types::OutcomeStatus::Success);
}

#[tokio::test]
async fn feedback_that_cannot_be_kept_is_refused_and_the_stream_goes_on() {
    let world = World::new().await;
    world.remember(vec![npm(None, 3)]).await;
    let (mut talk, _) = Talk::of(&world, "", "").await;
    let unknown = rejection(talk.tell(helpful("0190a5e4-0000-7000-8000-000000000000")).await);
    assert_eq!(unknown.reason, "UNKNOWN_REMINDER");
    let nonsense = Event::Feedback(ReminderFeedback { reminder_id: "x".to_owned(), ..Default::default() });
    let nonsense = rejection(talk.tell(nonsense).await);
    assert_eq!(nonsense.fields, ["feedback.reminder_id", "feedback.verdict"]);
    reminder(talk.before("bash", NPM).await);

    let mut reader = Talk::open(world.recalls_with("acme", Permission::Read)).await.unwrap();
    reader.tell(Event::Start(WatchStart::default())).await;
    let said = reminder(reader.before("bash", NPM).await);
    let refused = rejection(reader.tell(helpful(&said.reminder_id)).await);
    assert_eq!(refused.reason, "PERMISSION_MISSING");
}
