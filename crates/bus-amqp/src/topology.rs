//! What exists on the broker: a topic exchange to which everything is bound under its own name, and for each
//! work queue its retry queues and its dead letters, all of them quorum queues; and a fan-out exchange, to
//! which every listener binds a queue of its own that ends with it.

use std::time::Duration;

use hindsight_ports::{Queue, bus::BROADCAST};
use lapin::{
    Channel, Connection, ErrorKind, ExchangeKind,
    options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions},
    types::{AMQPValue, FieldTable, LongLongInt, ShortString},
};
use uuid::Uuid;

/// Deliveries of one message that may end with its holder's death before it is set aside.
const DELIVERIES: LongLongInt = 50;
/// For queues from which messages are taken only to look at them.
const UNLIMITED_DELIVERIES: LongLongInt = 1_000_000_000;
const PRECONDITION_FAILED: u16 = 406;
/// Messages that wait for a listener, and how long they do; see `listener` for why these are enough.
pub(crate) const LISTENER_LENGTH: u64 = 4096;
pub(crate) const LISTENER_TTL: Duration = Duration::from_secs(5);

/// The delays a retry can have. A retry queue holds messages of one delay only, so that none waits behind a
/// longer one; a delay in between is rounded up, a longer one comes at the last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tier {
    name: &'static str,
    delay: Duration,
}

pub(crate) const TIERS: [Tier; 5] = [
    Tier { name: "100ms", delay: Duration::from_millis(100) },
    Tier { name: "1s", delay: Duration::from_secs(1) },
    Tier { name: "5s", delay: Duration::from_secs(5) },
    Tier { name: "30s", delay: Duration::from_secs(30) },
    Tier { name: "5min", delay: Duration::from_secs(300) },
];

impl Tier {
    pub(crate) fn for_delay(delay: Duration) -> Self {
        TIERS.into_iter().find(|t| t.delay >= delay).unwrap_or(TIERS[TIERS.len() - 1])
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Names {
    prefix: String,
}

impl Names {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    pub(crate) fn exchange(&self) -> String {
        format!("{}hindsight", self.prefix)
    }

    /// The fan-out exchange.
    pub(crate) fn broadcast(&self) -> String {
        format!("{}{BROADCAST}", self.prefix)
    }

    pub(crate) fn listener(&self, id: Uuid) -> String {
        format!("{}.{id}", self.broadcast())
    }

    pub(crate) fn work(&self, queue: Queue) -> String {
        format!("{}{}", self.prefix, queue.name())
    }

    pub(crate) fn retry(&self, queue: Queue, tier: Tier) -> String {
        format!("{}.retry.{}", self.work(queue), tier.name)
    }

    pub(crate) fn dead(&self, queue: Queue) -> String {
        format!("{}.dead", self.work(queue))
    }

    pub(crate) fn lock(&self, queue: Queue) -> String {
        format!("{}.lock", self.dead(queue))
    }

    pub(crate) fn leader(&self, name: &str) -> String {
        format!("{}hindsight.lead.{name}", self.prefix)
    }
}

/// Declares everything. Repeating it changes nothing.
pub(crate) async fn declare(connection: &Connection, names: &Names, max_depth: u64) -> lapin::Result<()> {
    let exchange = names.exchange();
    let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
    let mut channel = connection.create_channel().await?;
    for (name, kind) in [(exchange.clone(), ExchangeKind::Topic), (names.broadcast(), ExchangeKind::Fanout)] {
        channel.exchange_declare(name.as_str().into(), kind, durable, FieldTable::default()).await?;
    }
    for queue in Queue::ALL {
        let (work, dead) = (names.work(queue), names.dead(queue));
        let mut queues = vec![
            (work.clone(), work_arguments(&exchange, &dead, max_depth)),
            (dead, quorum(UNLIMITED_DELIVERIES)),
        ];
        queues.extend(
            TIERS.map(|tier| (names.retry(queue, tier), retry_arguments(&exchange, &work, tier.delay))),
        );
        for (name, arguments) in queues {
            channel = ensure(connection, channel, &name, arguments).await?;
            let (queue, key): (ShortString, ShortString) = (name.as_str().into(), name.as_str().into());
            let exchange = exchange.as_str().into();
            channel
                .queue_bind(queue, exchange, key, QueueBindOptions::default(), FieldTable::default())
                .await?;
        }
    }
    Ok(())
}

/// Declares the queue of a listener and binds it. Nobody else can use it, and it ends with its consumer.
pub(crate) async fn declare_listener(channel: &Channel, names: &Names, queue: &str) -> lapin::Result<()> {
    let own = QueueDeclareOptions { exclusive: true, auto_delete: true, ..Default::default() };
    channel.queue_declare(queue.into(), own, listener_arguments()).await?;
    let (exchange, options) = (names.broadcast(), QueueBindOptions::default());
    channel
        .queue_bind(queue.into(), exchange.as_str().into(), "".into(), options, FieldTable::default())
        .await
}

/// Declares a queue. One that exists with other arguments (an operator chose them, or a setting changed)
/// is used as it is: its arguments cannot change, and refusing to work would be worse.
async fn ensure(
    connection: &Connection,
    channel: Channel,
    name: &str,
    arguments: FieldTable,
) -> lapin::Result<Channel> {
    let Err(e) = channel.queue_declare(name.into(), QueueDeclareOptions::durable(), arguments).await else {
        return Ok(channel);
    };
    if !is_amqp(&e, PRECONDITION_FAILED) {
        return Err(e);
    }
    tracing::warn!(queue = name, error = %e, "the queue exists with other settings and keeps them");
    let channel = connection.create_channel().await?;
    let passive = QueueDeclareOptions { passive: true, ..Default::default() };
    channel.queue_declare(name.into(), passive, FieldTable::default()).await?;
    Ok(channel)
}

/// Whether the broker answered with this reply code.
pub(crate) fn is_amqp(e: &lapin::Error, code: u16) -> bool {
    matches!(e.kind(), ErrorKind::ProtocolError(e) if e.get_id() == code)
}

fn table(entries: impl IntoIterator<Item = (&'static str, AMQPValue)>) -> FieldTable {
    let mut table = FieldTable::default();
    for (key, value) in entries {
        table.insert(key.into(), value);
    }
    table
}

fn text(s: &str) -> AMQPValue {
    AMQPValue::LongString(s.into())
}

fn number(n: u64) -> AMQPValue {
    AMQPValue::LongLongInt(LongLongInt::try_from(n).unwrap_or(LongLongInt::MAX))
}

fn quorum(deliveries: LongLongInt) -> FieldTable {
    table([("x-queue-type", text("quorum")), ("x-delivery-limit", AMQPValue::LongLongInt(deliveries))])
}

/// Dead-lettering within the broker is at least once, which needs `reject-publish` on the source.
fn dead_lettering(to: &mut FieldTable, exchange: &str, key: &str) {
    for (name, value) in [
        ("x-overflow", "reject-publish"),
        ("x-dead-letter-exchange", exchange),
        ("x-dead-letter-routing-key", key),
        ("x-dead-letter-strategy", "at-least-once"),
    ] {
        to.insert(name.into(), text(value));
    }
}

fn work_arguments(exchange: &str, dead: &str, max_depth: u64) -> FieldTable {
    let mut arguments = quorum(DELIVERIES);
    dead_lettering(&mut arguments, exchange, dead);
    arguments.insert("x-max-length".into(), number(max_depth));
    arguments
}

fn retry_arguments(exchange: &str, work: &str, delay: Duration) -> FieldTable {
    let mut arguments = quorum(UNLIMITED_DELIVERIES);
    dead_lettering(&mut arguments, exchange, work);
    arguments.insert("x-message-ttl".into(), number(delay.as_millis() as u64));
    arguments
}

/// A listener that does not keep up loses the oldest messages; it finds out by itself.
fn listener_arguments() -> FieldTable {
    table([
        ("x-queue-type", text("classic")),
        ("x-max-length", number(LISTENER_LENGTH)),
        ("x-overflow", text("drop-head")),
        ("x-message-ttl", number(LISTENER_TTL.as_millis() as u64)),
    ])
}

/// One candidate at a time is served; the token in the queue tells it so. A second token replaces the first.
pub(crate) fn leader_arguments() -> FieldTable {
    let mut arguments = quorum(UNLIMITED_DELIVERIES);
    arguments.insert("x-single-active-consumer".into(), AMQPValue::Boolean(true));
    arguments.insert("x-max-length".into(), number(1));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_round_up_to_a_tier() {
        let tier = |ms| Tier::for_delay(Duration::from_millis(ms)).name;
        assert_eq!(
            [0, 100, 101, 1_000, 4_000, 30_001].map(tier),
            ["100ms", "100ms", "1s", "1s", "5s", "5min"]
        );
        assert_eq!(tier(86_400_000), "5min");
    }

    #[test]
    fn names_carry_the_prefix() {
        let names = Names::new("test.");
        assert_eq!(names.retry(Queue::Evaluate, TIERS[1]), "test.hindsight.evaluate.retry.1s");
        assert_eq!(names.dead(Queue::Ingest), "test.hindsight.ingest.dead");
    }
}
