use std::{sync::Arc, time::Duration};

use hindsight_bus_amqp::{AmqpBus, AmqpOptions, testkit::Broker};
use tokio::task::block_in_place;

use crate::common::{World, until};

/// While the broker is away nothing is kept, so nothing old is shown; afterwards it is kept anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_broker_that_is_away_makes_nothing_old() {
    let Some(mut broker) = Broker::start(None).unwrap() else { return };
    let connect = |broker: &Broker| Arc::new(AmqpBus::start(AmqpOptions::new(broker.url())).unwrap());
    let world = World::new().await;
    let writer = world.writer(connect(&broker));
    let replica = world.replica(connect(&broker));
    writer.write("tea").await;
    replica.warm().await;

    block_in_place(|| broker.kill()).unwrap();
    until("the loss is known", async || !replica.is_warm().await).await;
    for drink in ["coffee", "水", "juice"] {
        writer.write(drink).await;
        assert!(replica.knows(drink).await, "seen at once, though nothing was heard");
        assert!(!replica.is_warm().await, "nothing is kept");
    }

    block_in_place(|| broker.run()).unwrap();
    until("it is kept again", async || {
        assert!(replica.knows("juice").await, "from before the gap");
        replica.is_warm().await
    })
    .await;
    writer.write("water").await;
    until("changes are heard again", async || replica.knows("water").await).await;
    tokio::time::timeout(Duration::from_secs(60), replica.warm()).await.unwrap();
}
