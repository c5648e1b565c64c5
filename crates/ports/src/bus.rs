use std::{collections::BTreeMap, fmt, time::Duration};

use async_trait::async_trait;
use hindsight_types::{TenantId, Timestamp};
use uuid::Uuid;

/// The work queues. Each message is delivered at least once, to one consumer of its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Queue {
    /// Events on their way to the raw tier.
    Ingest,
    /// Completed tasks waiting to be judged; the message names the trace, it does not carry it.
    Evaluate,
    /// Pieces of upkeep; the message names memories, it carries none.
    Compact,
}

impl Queue {
    pub const ALL: [Self; 3] = [Self::Ingest, Self::Evaluate, Self::Compact];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "hindsight.ingest",
            Self::Evaluate => "hindsight.evaluate",
            Self::Compact => "hindsight.compact",
        }
    }
}

/// Name of the fan-out that [`Bus::broadcast`] goes through.
pub const BROADCAST: &str = "hindsight.invalidate";

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A message with what the bus needs to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Identity for deduplication downstream; AMQP `message_id`.
    pub id: Uuid,
    /// Full name of the payload's protobuf message; AMQP `type`.
    pub schema: String,
    pub tenant: TenantId,
    pub occurred_at: Timestamp,
    /// W3C `traceparent`, `tracestate`.
    pub trace_context: BTreeMap<String, String>,
    pub payload: Vec<u8>,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum BusError {
    /// Worth another try: the broker is away, the disk is full.
    #[error("bus unavailable: {0}")]
    Unavailable(String),
    /// The queue is at its limit; slow down.
    #[error("queue {queue} is full ({depth} messages)")]
    Full { queue: Queue, depth: u64 },
    /// This message will never be accepted.
    #[error("message refused: {0}")]
    Rejected(String),
    /// The delivery was settled before, or its lease ran out and it went to another consumer.
    #[error("delivery no longer held: {0}")]
    NotHeld(String),
    #[error("bus closed")]
    Closed,
}

/// Reasons that a message's error history keeps, newest last.
pub const MAX_HISTORY: usize = 20;
/// Bytes of one reason that are kept.
pub const MAX_REASON: usize = 2_000;

/// Adds a reason to an error history, within [`MAX_HISTORY`] and [`MAX_REASON`].
pub fn add_reason(history: &mut Vec<String>, reason: &str) {
    history.push(reason[..reason.floor_char_boundary(MAX_REASON)].to_owned());
    let excess = history.len().saturating_sub(MAX_HISTORY);
    history.drain(..excess);
}

/// How a delivery ends. Exactly one of these is called; a delivery that is dropped instead comes again.
#[async_trait]
pub trait Settle: Send + Sync {
    /// Done, and its effect is durable.
    async fn ack(&self) -> Result<(), BusError>;
    /// Failed for now: comes again after at least `delay` with its attempt count raised. A broker may round
    /// the delay up to the next of a few fixed steps.
    async fn retry(&self, reason: &str, delay: Duration) -> Result<(), BusError>;
    /// Will never succeed: set aside with its reason, for people to see.
    async fn dead_letter(&self, reason: &str) -> Result<(), BusError>;
}

/// One message in the hands of one consumer.
pub struct Delivery {
    pub envelope: Envelope,
    /// 1 the first time.
    pub attempt: u32,
    pub settle: Box<dyn Settle>,
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("id", &self.envelope.id)
            .field("schema", &self.envelope.schema)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// A consumer of one queue. At most `prefetch` of its deliveries are unsettled at a time.
#[async_trait]
pub trait Consumer: Send {
    /// Waits for the next delivery. Cancel-safe: dropping the future loses nothing.
    async fn next(&mut self) -> Result<Delivery, BusError>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueStats {
    /// Ready now.
    pub ready: u64,
    /// Waiting for their delay to pass.
    pub delayed: u64,
    /// Delivered and not yet settled; where a broker does not tell, as far as this process knows.
    pub unsettled: u64,
    pub dead: u64,
    /// Age of the oldest message that is ready; where a broker does not tell, an estimate from above.
    pub oldest: Option<Duration>,
    /// Time since the oldest dead letter died.
    pub oldest_dead: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    pub envelope: Envelope,
    pub queue: Queue,
    pub attempts: u32,
    /// Why it was set aside; the last entry of `history`.
    pub reason: String,
    /// The reasons of all attempts, oldest first.
    pub history: Vec<String>,
    pub died_at: Timestamp,
}

/// A candidate for the leadership of a name. At most one candidate leads; another may learn of it before
/// the former leader does, by no more than the time a lost connection takes to be noticed. So what a
/// leader does must be idempotent. Dropping it steps down.
#[async_trait]
pub trait Leadership: Send {
    /// Waits until this candidate leads; at once while it does. Waits through outages. Cancel-safe.
    async fn acquired(&mut self) -> Result<(), BusError>;
    /// Waits until this candidate leads no more; at once while it does not. Cancel-safe. After it,
    /// `acquired` stands again.
    async fn lost(&mut self);
}

/// What a listener learns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// From here on everything is heard. What was said before may have been missed: what is kept by hearsay
    /// must be dropped. The first thing that a listener hears.
    Joined,
    Message(Envelope),
    /// Nothing is heard until the next `Joined`: what is kept by hearsay must not be used.
    Lost,
}

/// Hears what is broadcast by any process, its own included.
#[async_trait]
pub trait Listener: Send {
    /// Waits for the next. Cancel-safe: dropping the future loses nothing. `Closed` when the bus ended.
    async fn next(&mut self) -> Result<Heard, BusError>;
}

#[async_trait]
pub trait Bus: Send + Sync + 'static {
    /// Returns `Ok` only when every message is durable. On an error none, some or all may be: publish
    /// again, consumers deduplicate by `Envelope::id`. A queue near its limit may take somewhat more than
    /// the limit before it answers `Full`, and then refuse until some of it is consumed.
    async fn publish(&self, queue: Queue, messages: Vec<Envelope>) -> Result<(), BusError>;

    async fn subscribe(&self, queue: Queue, prefetch: usize) -> Result<Box<dyn Consumer>, BusError>;

    async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError>;

    /// Newest first.
    async fn dead_letters(&self, queue: Queue, limit: usize) -> Result<Vec<DeadLetter>, BusError>;

    async fn dead_letter(&self, queue: Queue, id: Uuid) -> Result<Option<DeadLetter>, BusError>;

    /// Puts a dead letter back at the end of its queue with its attempts at zero. `false`: no such letter.
    async fn replay(&self, queue: Queue, id: Uuid) -> Result<bool, BusError>;

    /// Replays every letter that is dead now, and says how many. On an error some may be replayed.
    async fn replay_all(&self, queue: Queue) -> Result<u64, BusError>;

    /// Deletes a dead letter for good. `false`: no such letter.
    async fn discard(&self, queue: Queue, id: Uuid) -> Result<bool, BusError>;

    /// Tells every listener of every process, in the order of one publisher. `Ok`: whoever listens hears it
    /// within a second, or learns within a second that it may have missed something. On an error it may be
    /// heard or not. Kept for nobody who listens later. Never waits long: an outage is an error at once.
    async fn broadcast(&self, message: Envelope) -> Result<(), BusError>;

    /// Listens to what is broadcast from now on, through outages.
    async fn listen(&self) -> Result<Box<dyn Listener>, BusError>;

    /// Stands for the leadership of `name`: 1 to 64 of `a-z`, `0-9`, `-`.
    async fn lead(&self, name: &str) -> Result<Box<dyn Leadership>, BusError>;

    /// Whether work can be done now; else why not.
    fn ready(&self) -> Result<(), BusError>;
}

/// Whether a name can be led; see [`Bus::lead`].
pub fn check_leadership_name(name: &str) -> Result<(), BusError> {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(());
    }
    Err(BusError::Rejected(format!("leadership name {name:?}: must be 1 to 64 of a-z, 0-9 and -")))
}
