//! What goes wrong between us and a broker.

use std::{collections::HashSet, sync::Arc, time::Duration};

use hindsight_bus_amqp::{AmqpBus, AmqpOptions, testkit::Broker};
use hindsight_ports::{
    Bus, BusError, Envelope, Heard, Listener, Queue,
    testkit::bus::{envelope, next},
};
use lapin::{
    BasicProperties, Connection, ConnectionProperties,
    options::{BasicPublishOptions, ExchangeDeleteOptions, QueueDeleteOptions},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{PATIENCE, options, until, until_ready};

fn id(n: u128) -> Envelope {
    envelope(n)
}

/// Publishes until it is taken, as services do.
async fn publish(bus: &AmqpBus, n: u128) {
    let publishing = async {
        while bus.publish(Queue::Ingest, vec![id(n)]).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, publishing).await.expect("published in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kills_of_the_broker_lose_nothing_that_was_acknowledged() {
    const MESSAGES: u128 = 400;
    let Some(mut broker) = Broker::start(None).unwrap() else { return };
    let patient = AmqpOptions { timeout: Duration::from_secs(3), ..options(&broker, "kill") };
    let bus = AmqpBus::start(patient).unwrap();

    let publisher = tokio::spawn({
        let bus = bus.clone();
        async move {
            for n in 0..MESSAGES {
                publish(&bus, n).await;
            }
        }
    });
    let (seen, mut acknowledged) = tokio::sync::mpsc::unbounded_channel();
    let mut consumer = bus.subscribe(Queue::Ingest, 20).await.unwrap();
    let worker = tokio::spawn(async move {
        while let Ok(delivery) = consumer.next().await {
            // After a kill it comes again.
            if delivery.settle.ack().await.is_ok() {
                seen.send(delivery.envelope.id.as_u128()).unwrap();
            }
        }
    });

    let mut ids = HashSet::new();
    for kill_at in [MESSAGES as usize / 4, MESSAGES as usize / 2] {
        while ids.len() < kill_at {
            ids.insert(timeout(PATIENCE, acknowledged.recv()).await.expect("in time").unwrap());
        }
        tokio::task::block_in_place(|| {
            broker.kill().unwrap();
            broker.run().unwrap();
        });
    }
    publisher.await.unwrap();
    while ids.len() < MESSAGES as usize {
        ids.insert(timeout(PATIENCE, acknowledged.recv()).await.expect("nothing is lost").unwrap());
    }
    worker.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_broker_that_is_away_is_waited_for() {
    let Some(mut broker) = Broker::start(None).unwrap() else { return };
    tokio::task::block_in_place(|| broker.stop()).unwrap();
    let impatient = AmqpOptions { timeout: Duration::from_millis(300), ..options(&broker, "away") };
    let bus = AmqpBus::start(impatient).unwrap();
    let refused = bus.publish(Queue::Ingest, vec![id(1)]).await;
    assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");
    assert!(matches!(bus.ready(), Err(BusError::Unavailable(_))));
    let mut consumer = bus.subscribe(Queue::Ingest, 1).await.unwrap();

    tokio::task::block_in_place(|| broker.run()).unwrap();
    until_ready(&bus).await;
    publish(&bus, 2).await;
    assert_eq!(next(&mut consumer).await.envelope.id.as_u128(), 2);
}

/// A way to the broker that can be cut, and held.
struct Wire {
    port: u16,
    cut: watch::Sender<CancellationToken>,
    held: watch::Sender<bool>,
}

impl Wire {
    async fn to(broker: &Broker) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, target) = (listener.local_addr().unwrap().port(), broker.port());
        let (cut, current) = watch::channel(CancellationToken::new());
        let (held, is_held) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (cut, is_held) = (current.borrow().clone(), is_held.clone());
                tokio::spawn(async move {
                    let Ok(far) = TcpStream::connect(("127.0.0.1", target)).await else { return };
                    let (from_near, to_near) = near.into_split();
                    let (from_far, to_far) = far.into_split();
                    let both = async {
                        tokio::select! {
                            () = relay(from_near, to_far, is_held.clone()) => (),
                            () = relay(from_far, to_near, is_held) => (),
                        }
                    };
                    let _ = cut.run_until_cancelled(both).await;
                });
            }
        });
        Self { port, cut, held }
    }

    /// Drops every connection; new ones are let through.
    fn cut(&self) {
        self.cut.send_replace(CancellationToken::new()).cancel();
    }

    /// Lets nothing through and drops nothing.
    fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    fn options(&self, broker: &Broker, prefix: &str) -> AmqpOptions {
        let url = format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port);
        AmqpOptions { url: url.into(), ..options(broker, prefix) }
    }
}

async fn relay(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut held: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(n @ 1..) = from.read(&mut buffer).await {
        if held.wait_for(|held| !held).await.is_err() || to.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}

/// These leave the broker as it is, so they share one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trouble_on_a_running_broker() {
    let Some(broker) = Broker::start(None).unwrap() else { return };
    a_delivery_of_a_lost_connection_is_not_held(&broker).await;
    a_leader_that_is_cut_off_is_replaced(&broker).await;
    a_message_without_a_queue_is_not_acknowledged(&broker).await;
    wrong_credentials_are_told_and_a_rotated_password_is_taken_up(&broker).await;
    a_short_delay_does_not_wait_behind_a_long_one(&broker).await;
    a_message_that_is_not_ours_is_a_dead_letter(&broker).await;
    a_queue_with_other_settings_is_used_as_it_is(&broker).await;
    a_listener_that_is_cut_off_is_told_and_joins_again(&broker).await;
    a_listener_hears_within_a_second_that_its_wire_is_dead(&broker).await;
    a_listener_has_what_it_needs_declared_anew(&broker).await;
    a_listener_leaves_no_queue_behind(&broker).await;
}

async fn a_delivery_of_a_lost_connection_is_not_held(broker: &Broker) {
    let wire = Wire::to(broker).await;
    let bus = AmqpBus::start(wire.options(broker, "held")).unwrap();
    publish(&bus, 1).await;
    let mut consumer = bus.subscribe(Queue::Ingest, 1).await.unwrap();
    let held = next(&mut consumer).await;
    wire.cut();
    let again = next(&mut consumer).await;
    assert_eq!((again.envelope.id, again.attempt), (held.envelope.id, 1));
    let late = [held.settle.ack().await, held.settle.retry("late", Duration::ZERO).await];
    assert!(late.iter().all(|r| matches!(r, Err(BusError::NotHeld(_)))), "{late:?}");
    again.settle.ack().await.unwrap();
}

async fn a_leader_that_is_cut_off_is_replaced(broker: &Broker) {
    let wire = Wire::to(broker).await;
    let cut_off = AmqpBus::start(wire.options(broker, "lead")).unwrap();
    let other = crate::bus(broker, "lead").await;
    let mut first = cut_off.lead("compactor").await.unwrap();
    timeout(PATIENCE, first.acquired()).await.unwrap().unwrap();
    let mut second = other.lead("compactor").await.unwrap();
    assert!(timeout(Duration::from_millis(300), second.acquired()).await.is_err());
    wire.cut();
    timeout(PATIENCE, first.lost()).await.expect("hears of its loss");
    timeout(PATIENCE, second.acquired()).await.expect("takes over").unwrap();
    assert!(timeout(Duration::from_millis(300), first.acquired()).await.is_err());
}

async fn raw(broker: &Broker) -> lapin::Channel {
    let connection = Connection::connect(&broker.url(), ConnectionProperties::default()).await.unwrap();
    connection.create_channel().await.unwrap()
}

async fn a_message_without_a_queue_is_not_acknowledged(broker: &Broker) {
    let bus = crate::bus(broker, "gone").await;
    let name = "gone.hindsight.ingest".into();
    raw(broker).await.queue_delete(name, QueueDeleteOptions::default()).await.unwrap();
    let refused = bus.publish(Queue::Ingest, vec![id(1)]).await;
    assert!(matches!(refused, Err(BusError::Unavailable(_))), "{refused:?}");
    publish(&bus, 2).await;
    let mut consumer = bus.subscribe(Queue::Ingest, 1).await.unwrap();
    assert_eq!(next(&mut consumer).await.envelope.id.as_u128(), 2);
}

async fn wrong_credentials_are_told_and_a_rotated_password_is_taken_up(broker: &Broker) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    std::fs::write(&file, "wrong\n").unwrap();
    let with_file = AmqpOptions { password_file: Some(file.clone()), ..options(broker, "login") };
    let bus = AmqpBus::start(with_file).unwrap();
    let refused = async || matches!(bus.ready(), Err(BusError::Unavailable(e)) if e.contains("ACCESS"));
    until("the broker's refusal shows", refused).await;
    std::fs::write(&file, "guest\n").unwrap();
    until_ready(&bus).await;
}

async fn a_short_delay_does_not_wait_behind_a_long_one(broker: &Broker) {
    let bus = crate::bus(broker, "delay").await;
    bus.publish(Queue::Evaluate, (1..4).map(id).collect()).await.unwrap();
    let mut consumer = bus.subscribe(Queue::Evaluate, 3).await.unwrap();
    for delay in [60_000, 900, 50] {
        let delivery = next(&mut consumer).await;
        delivery.settle.retry("later", Duration::from_millis(delay)).await.unwrap();
    }
    for expected in [3, 2] {
        let delivery = next(&mut consumer).await;
        assert_eq!((delivery.envelope.id.as_u128(), delivery.attempt), (expected, 2));
        delivery.settle.ack().await.unwrap();
    }
    assert_eq!(bus.stats(Queue::Evaluate).await.unwrap().delayed, 1);
}

async fn a_message_that_is_not_ours_is_a_dead_letter(broker: &Broker) {
    let bus = crate::bus(broker, "foreign").await;
    let to = "foreign.hindsight.ingest".into();
    let channel = raw(broker).await;
    channel
        .basic_publish(
            "".into(),
            to,
            BasicPublishOptions::default(),
            "你好".as_bytes(),
            BasicProperties::default(),
        )
        .await
        .unwrap();
    publish(&bus, 1).await;
    let mut consumer = bus.subscribe(Queue::Ingest, 1).await.unwrap();
    assert_eq!(next(&mut consumer).await.envelope.id.as_u128(), 1, "it does not stop the others");
    until("it is a dead letter", async || bus.stats(Queue::Ingest).await.unwrap().dead == 1).await;
    let letters = bus.dead_letters(Queue::Ingest, 10).await.unwrap();
    assert_eq!(letters[0].envelope.payload, "你好".as_bytes());
    assert!(letters[0].reason.contains("message_id"), "{}", letters[0].reason);
    assert!(bus.discard(Queue::Ingest, letters[0].envelope.id).await.unwrap());
}

async fn a_queue_with_other_settings_is_used_as_it_is(broker: &Broker) {
    let before = crate::bus(broker, "other").await;
    publish(&before, 1).await;
    let changed = AmqpOptions { max_depth: 7, ..options(broker, "other") };
    let bus = Arc::new(AmqpBus::start(changed).unwrap());
    let mut consumer = bus.subscribe(Queue::Ingest, 1).await.unwrap();
    assert_eq!(next(&mut consumer).await.envelope.id.as_u128(), 1);
}

async fn heard(listener: &mut Box<dyn Listener>, what: &Heard) {
    let hearing = async { while listener.next().await.unwrap() != *what {} };
    timeout(PATIENCE, hearing).await.unwrap_or_else(|_| panic!("never heard: {what:?}"));
}

async fn a_listener_that_is_cut_off_is_told_and_joins_again(broker: &Broker) {
    let wire = Wire::to(broker).await;
    let cut_off = AmqpBus::start(wire.options(broker, "cut")).unwrap();
    let other = crate::bus(broker, "cut").await;
    let mut listener = cut_off.listen().await.unwrap();
    heard(&mut listener, &Heard::Joined).await;
    wire.cut();
    heard(&mut listener, &Heard::Lost).await;
    heard(&mut listener, &Heard::Joined).await;
    let mut told = 0;
    until("what is told is heard again", async || {
        told += 1;
        other.broadcast(id(told)).await.unwrap();
        let next = timeout(Duration::from_millis(500), listener.next()).await;
        matches!(next, Ok(Ok(Heard::Message(_))))
    })
    .await;
}

/// Nothing comes through and nothing ends, as behind a firewall that forgot the connection.
async fn a_listener_hears_within_a_second_that_its_wire_is_dead(broker: &Broker) {
    let wire = Wire::to(broker).await;
    let patient = AmqpOptions { heartbeat: Duration::from_secs(600), ..wire.options(broker, "dead") };
    let bus = AmqpBus::start(patient).unwrap();
    let mut listener = bus.listen().await.unwrap();
    heard(&mut listener, &Heard::Joined).await;
    wire.hold(true);
    heard(&mut listener, &Heard::Lost).await;
    assert!(timeout(Duration::from_millis(300), listener.next()).await.is_err(), "it joins nothing");
    wire.hold(false);
    heard(&mut listener, &Heard::Joined).await;
}

/// Somebody deleted the exchange and the queue with it.
async fn a_listener_has_what_it_needs_declared_anew(broker: &Broker) {
    let bus = crate::bus(broker, "anew").await;
    let mut listener = bus.listen().await.unwrap();
    heard(&mut listener, &Heard::Joined).await;
    let exchange = "anew.hindsight.invalidate".into();
    raw(broker).await.exchange_delete(exchange, ExchangeDeleteOptions::default()).await.unwrap();
    let mut told = 0;
    until("what is told is heard again", async || {
        told += 1;
        // The first of them tells that there is no exchange.
        let _ = bus.broadcast(id(told)).await;
        let next = timeout(Duration::from_millis(500), listener.next()).await;
        matches!(next, Ok(Ok(Heard::Message(_))))
    })
    .await;
}

async fn a_listener_leaves_no_queue_behind(broker: &Broker) {
    let bus = crate::bus(broker, "leave").await;
    let mut listener = bus.listen().await.unwrap();
    heard(&mut listener, &Heard::Joined).await;
    // An exchange to which a queue is bound is not deleted.
    let unused = ExchangeDeleteOptions { if_unused: true, ..Default::default() };
    let delete = async || {
        let channel = raw(broker).await;
        channel.exchange_delete("leave.hindsight.invalidate".into(), unused).await.is_ok()
    };
    assert!(!delete().await, "its queue is there");
    drop(listener);
    until("its queue ends with it", delete).await;
}
