use std::{sync::Arc, time::Instant};

use hindsight_bus_amqp::{AmqpBus, AmqpOptions, testkit::Broker};
use hindsight_bus_local::{LocalBus, LocalBusOptions};
use hindsight_ports::{
    Bus,
    testkit::bus::{BusFaults, FaultyBus},
};

use crate::common::{World, until};

fn local() -> (tempfile::TempDir, Arc<dyn Bus>) {
    let dir = tempfile::tempdir().unwrap();
    let bus = LocalBus::open(&dir.path().join("bus.db"), LocalBusOptions::default()).unwrap();
    (dir, Arc::new(bus))
}

/// `buses`: of the writer, then of the replicas.
async fn a_change_is_seen_by_every_replica(buses: [Arc<dyn Bus>; 3]) {
    let world = World::new().await;
    let [writer, first, second] = buses;
    let writer = world.writer(writer);
    let replicas = [world.replica(first), world.replica(second)];
    writer.write("tea 0").await;
    for n in 0..5 {
        for replica in &replicas {
            replica.warm().await;
            assert!(replica.knows(&format!("tea {n}")).await);
        }
        let next = format!("tea {}", n + 1);
        writer.write(&next).await;
        let written = Instant::now();
        for replica in &replicas {
            until("the change is seen", async || replica.knows(&next).await).await;
        }
        eprintln!("seen by both after {:?}", written.elapsed());
        assert!(!replicas[1].recall("other").await.contains("tea"), "it is of one user");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_seen_by_every_replica_of_a_process() {
    let (_dir, bus) = local();
    a_change_is_seen_by_every_replica([bus.clone(), bus.clone(), bus]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_seen_by_every_replica_of_a_cluster() {
    let Some(broker) = Broker::start(None).unwrap() else { return };
    let connect = || -> Arc<dyn Bus> { Arc::new(AmqpBus::start(AmqpOptions::new(broker.url())).unwrap()) };
    a_change_is_seen_by_every_replica([connect(), connect(), connect()]).await;
}

/// Broadcasts fail, come twice and get lost on their way to the listener, who learns so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_seen_over_a_bus_on_which_things_go_wrong() {
    let (_dir, bus) = local();
    let faults = BusFaults { mute_every: 2, gap_every: 3, duplicate: true, ..BusFaults::default() };
    let faulty: Arc<dyn Bus> = Arc::new(FaultyBus::new(bus, faults));
    a_change_is_seen_by_every_replica([faulty.clone(), faulty.clone(), faulty]).await;
}

/// Who waits until a fact is stored may see that before the writer does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_store_shows_recall_shows_where_it_was_written() {
    let (_dir, bus) = local();
    let world = World::new().await;
    let writer = Arc::new(world.writer(bus.clone()));
    let replica = world.replica(bus);
    writer.announcer.also_tell(replica.role.on_write());
    writer.write("tea 0").await;
    for n in 1..20 {
        replica.warm().await;
        let drink = format!("tea {n}");
        let writing = tokio::spawn({
            let (writer, drink) = (writer.clone(), drink.clone());
            async move { writer.write(&drink).await }
        });
        while !world.stores(&drink).await {}
        assert!(replica.knows(&drink).await);
        writing.await.unwrap();
    }
}

/// Also when nothing can be broadcast.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_here_is_seen_here_at_once() {
    let (_dir, bus) = local();
    let world = World::new().await;
    let mute = FaultyBus::new(bus.clone(), BusFaults { mute_every: 1, ..BusFaults::default() });
    let writer = world.writer(Arc::new(mute));
    let replica = world.replica(bus);
    writer.announcer.also_tell(replica.role.on_write());
    for n in 0..20 {
        let drink = format!("tea {n}");
        writer.write(&drink).await;
        assert!(replica.knows(&drink).await);
        replica.warm().await;
        assert!(replica.knows(&drink).await);
    }
}
