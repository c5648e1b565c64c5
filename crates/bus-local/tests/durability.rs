//! What only a bus on a file can promise.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::{path::Path, sync::Arc, time::Duration};

use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_ports::{
    Bus, BusError, Clock, Queue,
    testkit::bus::{envelope, next},
};
use hindsight_types::Timestamp;

fn open(path: &Path) -> LocalBus {
    LocalBus::open(path, LocalBusOptions::default()).unwrap()
}

#[tokio::test]
async fn survives_a_restart_with_leases_void_and_attempts_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bus.sqlite");
    let bus = open(&path);
    bus.publish(Queue::Ingest, (0..10).map(envelope).collect()).await.unwrap();
    let mut consumer = bus.subscribe(Queue::Ingest, 3).await.unwrap();
    next(&mut consumer).await.settle.ack().await.unwrap();
    let held = next(&mut consumer).await;
    let id = held.envelope.id;
    // As a kill would leave it: the lease is neither settled nor given back.
    std::mem::forget(held);
    drop(consumer);
    std::fs::copy(&path, dir.path().join("copy.sqlite")).unwrap();
    std::fs::copy(dir.path().join("bus.sqlite-wal"), dir.path().join("copy.sqlite-wal")).unwrap();

    let again = open(&dir.path().join("copy.sqlite"));
    let mut consumer = again.subscribe(Queue::Ingest, 10).await.unwrap();
    let first = next(&mut consumer).await;
    assert_eq!((first.envelope.id, first.attempt), (id, 2));
    first.settle.ack().await.unwrap();
    for _ in 0..8 {
        next(&mut consumer).await.settle.ack().await.unwrap();
    }
    assert_eq!(again.stats(Queue::Ingest).await.unwrap().ready, 0);
}

#[tokio::test]
async fn a_second_process_is_told_who_holds_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bus.sqlite");
    let _first = open(&path);
    let refused = LocalBus::open(&path, LocalBusOptions::default()).unwrap_err();
    assert!(matches!(&refused, BusError::Unavailable(why) if why.contains("another process")), "{refused}");
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bus.sqlite");
    drop(open(&path));
    let c = rusqlite::Connection::open(&path).unwrap();
    c.pragma_update(None, "user_version", 99).unwrap();
    drop(c);
    assert!(matches!(LocalBus::open(&path, LocalBusOptions::default()), Err(BusError::Rejected(_))));
}

#[derive(Debug)]
struct Hand(std::sync::atomic::AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(std::sync::atomic::Ordering::Relaxed)).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_runs_out_goes_to_another_and_can_no_longer_be_settled() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(Hand(1_000_000.into()));
    let options = LocalBusOptions {
        lease: Duration::from_secs(60),
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ..Default::default()
    };
    let bus = LocalBus::open(&dir.path().join("bus.sqlite"), options).unwrap();
    bus.publish(Queue::Evaluate, vec![envelope(1)]).await.unwrap();
    let mut slow = bus.subscribe(Queue::Evaluate, 1).await.unwrap();
    let late = next(&mut slow).await;
    clock.0.fetch_add(61_000, std::sync::atomic::Ordering::Relaxed);
    let mut other = bus.subscribe(Queue::Evaluate, 1).await.unwrap();
    let taken = next(&mut other).await;
    assert_eq!(taken.attempt, 2);
    assert!(matches!(late.settle.ack().await, Err(BusError::NotHeld(_))));
    taken.settle.ack().await.unwrap();
}
