//! A message that is settled is in no file after a vacuum; one that is not is still delivered.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_ports::{Bus, Envelope, Probes, Queue, Vacuum, testkit::bus::envelope};
use hindsight_types::Timestamp;

const SECRET: &str = "the launch code is kittiwake-5521";
const KEPT: &str = "prefers the window seat on trains";

fn saying(n: u128, words: &str) -> Envelope {
    Envelope { payload: words.as_bytes().to_vec(), ..envelope(n) }
}

async fn is_on_disk(bus: &LocalBus, words: &str) -> bool {
    let read = bus.find(&Probes::of([words])).await.unwrap().unwrap();
    assert!(read.files > 0);
    !read.found.is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_settled_is_gone_from_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let bus = LocalBus::open(&dir.path().join("queue.db"), LocalBusOptions::default()).unwrap();
    bus.publish(Queue::Ingest, vec![saying(1, SECRET), saying(2, KEPT)]).await.unwrap();
    let mut consumer = bus.subscribe(Queue::Ingest, 1).await.unwrap();
    let delivery = consumer.next().await.unwrap();
    assert_eq!(delivery.envelope.payload, SECRET.as_bytes());
    delivery.settle.dead_letter("refused").await.unwrap();
    assert!(bus.discard(Queue::Ingest, delivery.envelope.id).await.unwrap());
    // Makes room for the next.
    drop(delivery);
    assert!(is_on_disk(&bus, SECRET).await, "else this shows nothing");

    bus.vacuum(&[], Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH).await.unwrap();
    assert!(!is_on_disk(&bus, SECRET).await);
    assert!(is_on_disk(&bus, KEPT).await);
    let delivery = consumer.next().await.unwrap();
    assert_eq!(delivery.envelope.payload, KEPT.as_bytes(), "what is not settled is delivered");
    delivery.settle.ack().await.unwrap();
}
