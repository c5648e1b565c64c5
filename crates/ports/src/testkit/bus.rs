//! What every bus must do. Each case takes a fresh, empty bus with `max_depth` of [`MAX_DEPTH`] per queue.

use std::{collections::HashSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use hindsight_types::{TenantId, Timestamp};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::{Bus, BusError, Consumer, DeadLetter, Delivery, Envelope, Queue, QueueStats};

/// Depth the suite expects of the queues it is given.
pub const MAX_DEPTH: u64 = 5_000;

/// Nothing here takes this long; it only bounds a failing test.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to watch that something does not happen.
const QUIET: Duration = Duration::from_millis(150);

#[allow(clippy::expect_used)]
pub fn envelope(n: u128) -> Envelope {
    Envelope {
        id: Uuid::from_u128(n),
        schema: "hindsight.event.v1.EventRecorded".into(),
        tenant: TenantId::new("acme").expect("valid"),
        occurred_at: Timestamp::UNIX_EPOCH,
        trace_context: [("traceparent".to_owned(), format!("00-{n:032x}-0000000000000001-01"))].into(),
        payload: n.to_be_bytes().to_vec(),
    }
}

fn envelopes(range: std::ops::Range<u128>) -> Vec<Envelope> {
    range.map(envelope).collect()
}

#[allow(clippy::expect_used)]
pub async fn next(consumer: &mut Box<dyn Consumer>) -> Delivery {
    timeout(PATIENCE, consumer.next()).await.expect("a delivery in time").expect("a delivery")
}

#[allow(clippy::expect_used)]
async fn subscribe(bus: &Arc<dyn Bus>, queue: Queue, prefetch: usize) -> Box<dyn Consumer> {
    bus.subscribe(queue, prefetch).await.expect("subscribes")
}

#[allow(clippy::expect_used)]
async fn publish(bus: &Arc<dyn Bus>, queue: Queue, messages: Vec<Envelope>) {
    bus.publish(queue, messages).await.expect("publishes");
}

#[allow(clippy::expect_used)]
async fn stats(bus: &Arc<dyn Bus>, queue: Queue) -> QueueStats {
    bus.stats(queue).await.expect("stats")
}

#[allow(clippy::expect_used)]
async fn ack(delivery: Delivery) {
    delivery.settle.ack().await.expect("acknowledges");
}

pub async fn delivers_in_order_and_forgets_what_is_acknowledged(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Ingest, envelopes(0..50)).await;
    let mut consumer = subscribe(&bus, Queue::Ingest, 10).await;
    for n in 0..50 {
        let delivery = next(&mut consumer).await;
        assert_eq!((delivery.envelope.id.as_u128(), delivery.attempt), (n, 1));
        ack(delivery).await;
    }
    assert!(timeout(QUIET, consumer.next()).await.is_err(), "the queue is empty");
    assert_eq!(stats(&bus, Queue::Ingest).await, QueueStats::default());
}

pub async fn keeps_every_field(bus: Arc<dyn Bus>) {
    let mut sent = envelope(7);
    sent.payload = (0..=255).collect();
    sent.trace_context.insert("tracestate".into(), "供应商=1".into());
    publish(&bus, Queue::Ingest, vec![sent.clone()]).await;
    let mut consumer = subscribe(&bus, Queue::Ingest, 1).await;
    assert_eq!(next(&mut consumer).await.envelope, sent);
}

pub async fn gives_back_what_was_dropped(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Ingest, envelopes(0..2)).await;
    let mut consumer = subscribe(&bus, Queue::Ingest, 2).await;
    drop(next(&mut consumer).await);
    let mut seen = Vec::new();
    for _ in 0..2 {
        let delivery = next(&mut consumer).await;
        seen.push((delivery.envelope.id.as_u128(), delivery.attempt));
        ack(delivery).await;
    }
    seen.sort_unstable();
    assert_eq!(seen, [(0, 2), (1, 1)]);
}

pub async fn what_a_consumer_never_took_is_not_an_attempt(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Ingest, envelopes(0..5)).await;
    let mut consumer = subscribe(&bus, Queue::Ingest, 5).await;
    ack(next(&mut consumer).await).await;
    drop(consumer);
    let mut other = subscribe(&bus, Queue::Ingest, 5).await;
    for _ in 0..4 {
        let delivery = next(&mut other).await;
        assert_eq!(delivery.attempt, 1);
        ack(delivery).await;
    }
}

#[allow(clippy::expect_used)]
pub async fn retries_after_the_delay_with_the_attempt_counted(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Evaluate, vec![envelope(1)]).await;
    let mut consumer = subscribe(&bus, Queue::Evaluate, 1).await;
    let delay = Duration::from_millis(300);
    let first = next(&mut consumer).await;
    let asked = Instant::now();
    first.settle.retry("steps are missing", delay).await.expect("retries");
    drop(first);
    let second = next(&mut consumer).await;
    // Both clocks tick in milliseconds at best.
    assert!(asked.elapsed() >= delay - Duration::from_millis(5), "came back early");
    assert_eq!(second.attempt, 2);
    second.settle.retry("still missing", Duration::ZERO).await.expect("retries");
    drop(second);
    let third = next(&mut consumer).await;
    assert_eq!(third.attempt, 3);
    ack(third).await;
    assert_eq!(stats(&bus, Queue::Evaluate).await, QueueStats::default());
}

#[allow(clippy::expect_used)]
pub async fn sets_dead_letters_aside_and_replays_them(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Evaluate, envelopes(1..3)).await;
    let mut consumer = subscribe(&bus, Queue::Evaluate, 1).await;
    let poison = next(&mut consumer).await;
    poison.settle.retry("first failure", Duration::ZERO).await.expect("retries");
    drop(poison);
    let poison = next(&mut consumer).await;
    poison.settle.dead_letter("field `trace_id` is missing").await.expect("dies");
    drop(poison);
    ack(next(&mut consumer).await).await;

    let letters = bus.dead_letters(Queue::Evaluate, 10).await.expect("letters");
    let [letter] = letters.as_slice() else { panic!("one dead letter, not {letters:?}") };
    assert_eq!((letter.envelope.clone(), letter.attempts), (envelope(1), 2));
    assert_eq!(letter.reason, "field `trace_id` is missing");
    assert_eq!(letter.history, ["first failure", "field `trace_id` is missing"]);
    assert_eq!(stats(&bus, Queue::Evaluate).await.dead, 1);

    assert!(!bus.replay(Queue::Evaluate, Uuid::from_u128(99)).await.expect("answers"));
    assert!(bus.replay(Queue::Evaluate, Uuid::from_u128(1)).await.expect("replays"));
    let delivery = next(&mut consumer).await;
    assert_eq!((delivery.envelope.id.as_u128(), delivery.attempt), (1, 1));
    ack(delivery).await;
    assert_eq!(stats(&bus, Queue::Evaluate).await, QueueStats::default());
}

pub async fn holds_no_more_than_prefetch(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Ingest, envelopes(0..5)).await;
    let mut consumer = subscribe(&bus, Queue::Ingest, 2).await;
    let (first, second) = (next(&mut consumer).await, next(&mut consumer).await);
    assert!(timeout(QUIET, consumer.next()).await.is_err(), "a third is not handed out");
    assert_eq!(stats(&bus, Queue::Ingest).await.unsettled, 2);
    ack(first).await;
    assert_eq!(next(&mut consumer).await.envelope.id.as_u128(), 2);
    ack(second).await;
}

#[allow(clippy::expect_used)]
pub async fn shares_the_work_between_consumers(bus: Arc<dyn Bus>) {
    const EACH: u128 = 100;
    let publishers = (0..4u128).map(|p| {
        let bus = Arc::clone(&bus);
        tokio::spawn(async move {
            for n in 0..EACH {
                publish(&bus, Queue::Ingest, vec![envelope(p * EACH + n)]).await;
            }
        })
    });
    let (seen, mut deliveries) = tokio::sync::mpsc::unbounded_channel();
    let mut workers = Vec::new();
    for _ in 0..3 {
        let mut consumer = subscribe(&bus, Queue::Ingest, 7).await;
        let seen = seen.clone();
        workers.push(tokio::spawn(async move {
            while let Ok(delivery) = consumer.next().await {
                let id = delivery.envelope.id;
                ack(delivery).await;
                let _ = seen.send(id);
            }
        }));
    }
    for publisher in publishers {
        publisher.await.expect("publishes");
    }
    let mut ids = HashSet::new();
    while ids.len() < 4 * EACH as usize {
        let id = timeout(PATIENCE, deliveries.recv()).await.expect("in time").expect("open");
        assert!(ids.insert(id), "{id} came twice");
    }
    workers.iter().for_each(tokio::task::JoinHandle::abort);
}

pub async fn settles_once(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Ingest, vec![envelope(1)]).await;
    let mut consumer = subscribe(&bus, Queue::Ingest, 1).await;
    let delivery = next(&mut consumer).await;
    assert!(delivery.settle.ack().await.is_ok());
    assert!(matches!(delivery.settle.ack().await, Err(BusError::NotHeld(_))));
    assert!(matches!(delivery.settle.retry("late", Duration::ZERO).await, Err(BusError::NotHeld(_))));
    assert_eq!(stats(&bus, Queue::Ingest).await, QueueStats::default());
}

pub async fn waiting_is_cancel_safe(bus: Arc<dyn Bus>) {
    let mut consumer = subscribe(&bus, Queue::Ingest, 4).await;
    for n in 0..40 {
        let waiting = async {
            publish(&bus, Queue::Ingest, vec![envelope(n)]).await;
            tokio::task::yield_now().await;
        };
        // Drops a `next` that may just have been answered.
        tokio::select! {
            biased;
            () = waiting => (),
            delivery = consumer.next() => drop(delivery),
        }
    }
    let mut ids = HashSet::new();
    while ids.len() < 40 {
        let delivery = next(&mut consumer).await;
        ids.insert(delivery.envelope.id);
        ack(delivery).await;
    }
}

pub async fn queues_do_not_mix(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Ingest, vec![envelope(1)]).await;
    let mut other = subscribe(&bus, Queue::Evaluate, 1).await;
    assert!(timeout(QUIET, other.next()).await.is_err());
}

pub async fn refuses_beyond_its_depth(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Ingest, envelopes(0..u128::from(MAX_DEPTH))).await;
    let refused = bus.publish(Queue::Ingest, vec![envelope(u128::MAX)]).await;
    assert!(matches!(refused, Err(BusError::Full { queue: Queue::Ingest, .. })), "{refused:?}");
    publish(&bus, Queue::Evaluate, vec![envelope(1)]).await;
    let mut consumer = subscribe(&bus, Queue::Ingest, 1).await;
    ack(next(&mut consumer).await).await;
    publish(&bus, Queue::Ingest, vec![envelope(u128::MAX)]).await;
}

/// A bus on which things go wrong: every `n`th publish fails, or every message is published twice.
#[derive(Clone)]
pub struct FaultyBus {
    inner: Arc<dyn Bus>,
    faults: BusFaults,
    published: Arc<std::sync::atomic::AtomicU64>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct BusFaults {
    /// Every nth publish is refused as `Unavailable`; 0: none.
    pub fail_every: u64,
    /// Of the publishes that fail, half were in fact taken: the confirm was lost.
    pub lose_confirms: bool,
    /// Every message is on the bus twice.
    pub duplicate: bool,
}

impl FaultyBus {
    pub fn new(inner: Arc<dyn Bus>, faults: BusFaults) -> Self {
        Self { inner, faults, published: Arc::default() }
    }
}

impl std::fmt::Debug for FaultyBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultyBus").field("faults", &self.faults).finish_non_exhaustive()
    }
}

#[async_trait]
impl Bus for FaultyBus {
    async fn publish(&self, queue: Queue, mut messages: Vec<Envelope>) -> Result<(), BusError> {
        let n = 1 + self.published.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if self.faults.duplicate {
            messages.extend(messages.clone());
        }
        if self.faults.fail_every > 0 && n.is_multiple_of(self.faults.fail_every) {
            if self.faults.lose_confirms && (n / self.faults.fail_every).is_multiple_of(2) {
                self.inner.publish(queue, messages).await?;
            }
            return Err(BusError::Unavailable("injected".into()));
        }
        self.inner.publish(queue, messages).await
    }

    async fn subscribe(&self, queue: Queue, prefetch: usize) -> Result<Box<dyn Consumer>, BusError> {
        self.inner.subscribe(queue, prefetch).await
    }

    async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        self.inner.stats(queue).await
    }

    async fn dead_letters(&self, queue: Queue, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.inner.dead_letters(queue, limit).await
    }

    async fn replay(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.inner.replay(queue, id).await
    }
}
