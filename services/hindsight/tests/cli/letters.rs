//! `hindsight dlq`, and a process of some roles.

use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_ports::{Bus as _, Envelope, Queue};
use hindsight_types::{TenantId, Timestamp};

use crate::support::{Home, until};

/// Puts messages that nobody can read on the queue of a data directory that nobody serves.
async fn break_something(home: &Home, count: u8) {
    std::fs::create_dir_all(home.data()).unwrap();
    let bus = LocalBus::open(&home.data().join("bus.db"), LocalBusOptions::default()).unwrap();
    let message = |n: u8| Envelope {
        id: format!("00000000-0000-0000-0000-0000000000{n:02}").parse().unwrap(),
        schema: "hindsight.event.v1.EventRecorded".to_owned(),
        tenant: TenantId::new("default").unwrap(),
        occurred_at: Timestamp::UNIX_EPOCH,
        trace_context: Default::default(),
        payload: vec![255],
    };
    bus.publish(Queue::Ingest, (1..=count).map(message).collect()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_cannot_be_handled_are_listed_replayed_and_discarded() {
    let home = Home::new();
    assert!(home.run(&["dlq", "list"]).stdout().contains("no message was set aside"));
    break_something(&home, 2).await;
    let server = home.serve(&[]);
    let list = || home.json(&["dlq", "list"])["letters"].as_array().unwrap().clone();
    until("both are set aside", || list().len() == 2);
    let letters = list();
    assert_eq!(letters[0]["queue"], "WORK_QUEUE_INGEST");
    assert!(letters[0]["reason"].as_str().unwrap().contains("cannot be decoded"), "{letters:?}");

    let id = letters[0]["id"].as_str().unwrap();
    let shown = home.json(&["dlq", "show", id]);
    assert_eq!(shown["letter"]["history"].as_array().unwrap().len(), 1);
    assert!(shown["unreadable"].as_str().unwrap().contains("decoded"), "{shown}");
    assert!(home.run(&["dlq", "show", id]).stdout().contains(id));

    assert_eq!(home.json(&["dlq", "replay", "--all"])["replayed"], 2);
    until("they die again", || list().len() == 2);
    assert_eq!(home.json(&["dlq", "discard", id])["discarded"], 1);
    assert_eq!(list().len(), 1);
    assert_eq!(home.run(&["dlq", "show", id]).code(), 66);
    assert_eq!(home.run(&["dlq", "replay"]).code(), 64, "nothing is replayed unnamed");
    assert_eq!(home.run(&["dlq", "show", "x"]).code(), 65);
    drop(server);
}

#[test]
fn some_roles_are_served_without_the_others() {
    let home = Home::new();
    let server = home.serve(&["--roles", "recall,compactor"]);
    assert_eq!(home.json(&["stats"])["events"], 0);
    assert_eq!(home.json(&["dlq", "list"])["letters"].as_array().unwrap().len(), 0);
    let refused = home.run(&["retain", "--user", "mei", "发票抬头"]);
    assert_ne!(refused.code(), 0, "nobody collects here");
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(home.run(&["serve", "--roles", "judge"]).code(), 64);
}
