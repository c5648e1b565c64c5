//! The bus on a real RabbitMQ that each test starts for itself.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod conformance;
mod faults;
mod tls;

use std::time::Duration;

use hindsight_bus_amqp::{AmqpBus, AmqpOptions, testkit::Broker};
use hindsight_ports::{Bus, testkit::bus::MAX_DEPTH};

const PATIENCE: Duration = Duration::from_secs(60);

fn options(broker: &Broker, prefix: &str) -> AmqpOptions {
    AmqpOptions {
        prefix: format!("{prefix}."),
        max_depth: MAX_DEPTH,
        heartbeat: Duration::from_secs(2),
        ..AmqpOptions::new(broker.url())
    }
}

async fn bus(broker: &Broker, prefix: &str) -> AmqpBus {
    let bus = AmqpBus::start(options(broker, prefix)).unwrap();
    bus.connected(PATIENCE).await.unwrap();
    bus
}

/// Waits until it holds, and says what it waited for when it does not.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

async fn until_ready(bus: &AmqpBus) {
    until("connected again", async || bus.ready().is_ok()).await;
}
