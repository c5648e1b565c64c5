//! What a cluster does while RabbitMQ or Qdrant is away for long or slow. Takes minutes, so only with
//! `HINDSIGHT_SLOW_TESTS=1`.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use hindsight_cluster::{Asking, Cluster, Fault, Ledger, Load, Role, Shape};

const SOME: usize = 12;
const AWAY: Duration = Duration::from_secs(30);

/// `None`, said loudly, where slow tests are not wanted or RabbitMQ is not installed.
fn wanted() -> Option<Shape> {
    if std::env::var_os("HINDSIGHT_SLOW_TESTS").is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: slow; set HINDSIGHT_SLOW_TESTS=1 to run it");
        return None;
    }
    Some(Shape::of_each(1))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_away_for_long_refuses_and_comes_back() {
    let Some(shape) = wanted() else { return };
    let Some(mut cluster) = Cluster::start(&shape).await else { return };
    let mut ledger = Ledger::default();
    let load = Load::begin("no-broker", cluster.clients(Role::Collector));
    let asking = Asking::begin(cluster.clients(Role::Recall));
    load.more(SOME).await;
    let waiting = ledger.waiting(&mut cluster, &load).await;
    cluster.stop_broker();
    let before = load.acknowledged();
    tokio::time::sleep(AWAY).await;
    let during = load.acknowledged() - before;
    cluster.run_broker();
    let asked = asking.end().await;
    assert!(asked.answered > 0 && asked.failed == 0, "recall needs no broker: {asked:?}");
    let fault = Fault { name: "broker away for 30 s", waiting, during, over: Instant::now() };
    ledger.settle(&mut cluster, load, fault).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_away_for_long_leaves_recall_degraded_and_the_queue_absorbs() {
    let Some(shape) = wanted() else { return };
    let Some(mut cluster) = Cluster::start(&shape).await else { return };
    let mut ledger = Ledger::default();
    let load = Load::begin("no-store", cluster.clients(Role::Collector));
    load.more(SOME).await;
    let waiting = ledger.waiting(&mut cluster, &load).await;
    cluster.store.kill().await;
    let before = load.acknowledged();
    let asking = Asking::begin(cluster.clients(Role::Recall));
    tokio::time::sleep(AWAY).await;
    let during = load.acknowledged() - before;
    assert!(during > 0, "the queue did not absorb");
    let asked = asking.end().await;
    assert!(asked.answered > 0 && asked.degraded == asked.answered, "{asked:?}");
    assert_eq!((asked.failed, asked.without_receipt), (0, 0), "{asked:?}");
    assert_eq!(load.failed(), 0, "submissions failed although the broker was there");
    cluster.store.start();
    let fault = Fault { name: "store away for 30 s", waiting, during, over: Instant::now() };
    ledger.settle(&mut cluster, load, fault).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_store_slows_judging_and_nothing_else() {
    let Some(shape) = wanted() else { return };
    let Some(mut cluster) = Cluster::start(&shape).await else { return };
    let mut ledger = Ledger::default();
    cluster.restart_store("300ms").await;
    let load = Load::begin("slow-store", cluster.clients(Role::Collector));
    let asking = Asking::begin(cluster.clients(Role::Recall));
    load.more(4 * SOME).await;
    let asked = asking.end().await;
    assert_eq!((load.failed(), asked.failed), (0, 0), "{asked:?}");
    let waiting = ledger.waiting(&mut cluster, &load).await;
    let during = load.acknowledged();
    cluster.restart_store("0s").await;
    let fault = Fault { name: "store answers after 300 ms", waiting, during, over: Instant::now() };
    ledger.settle(&mut cluster, load, fault).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_that_start_before_broker_and_store_wait_for_them() {
    let Some(shape) = wanted() else { return };
    let Some(mut cluster) = Cluster::launch(&shape).await else { return };
    cluster.kill_broker();
    for node in &mut cluster.nodes {
        node.process.kill().await;
        node.process.start();
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    for node in &mut cluster.nodes {
        assert!(node.process.ended().is_none(), "it ended:\n{}", node.process.log());
    }
    cluster.store.start();
    cluster.run_broker();
    let over = Instant::now();
    cluster.ready().await;
    let load = Load::begin("late", cluster.clients(Role::Collector));
    load.more(SOME).await;
    let fault = Fault { name: "broker and store absent at the start", waiting: 0, during: 0, over };
    Ledger::default().settle(&mut cluster, load, fault).await;
}
