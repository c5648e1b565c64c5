//! What every bus must do. Each case takes a fresh, empty bus with `max_depth` of [`MAX_DEPTH`] per queue.

use std::{collections::HashSet, sync::Arc, time::Duration};

use hindsight_types::{TenantId, Timestamp};
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};
use uuid::Uuid;

use crate::{Bus, BusError, Consumer, DeadLetter, Delivery, Envelope, Leadership, Queue, QueueStats};

pub use super::faulty_bus::{BusFaults, FaultyBus};

/// Depth the suite expects of the queues it is given.
pub const MAX_DEPTH: u64 = 5_000;

/// Calls the macro `$run` with every check of the suite, as `suite::check`, so that no bus leaves one out. Where it
/// stands, `bus` and `bus_broadcast` of this module must be in scope.
#[macro_export]
macro_rules! bus_suite {
    ($run:ident) => {
        $run! {
            bus::delivers_in_order_and_forgets_what_is_acknowledged,
            bus::keeps_every_field,
            bus::gives_back_what_was_dropped,
            bus::what_a_consumer_never_took_is_not_an_attempt,
            bus::retries_after_the_delay_with_the_attempt_counted,
            bus::sets_dead_letters_aside_with_their_history,
            bus::shows_replays_and_discards_dead_letters,
            bus::replays_all_dead_letters,
            bus::one_candidate_leads_and_another_takes_over,
            bus::holds_no_more_than_prefetch,
            bus::shares_the_work_between_consumers,
            bus::settles_once,
            bus::waiting_is_cancel_safe,
            bus::queues_do_not_mix,
            bus::refuses_beyond_its_depth_until_it_is_consumed,
            bus_broadcast::tells_every_listener_in_order,
            bus_broadcast::keeps_every_field_of_what_is_told,
            bus_broadcast::what_is_told_is_kept_for_nobody,
            bus_broadcast::what_is_told_reaches_no_queue,
            bus_broadcast::a_listener_that_went_disturbs_nobody,
            bus_broadcast::listening_is_cancel_safe,
            bus_broadcast::a_slow_listener_learns_that_it_missed_something,
        }
    };
}

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

/// Waits until the queue is empty in every respect: a broker settles in its own time.
async fn drained(bus: &Arc<dyn Bus>, queue: Queue) {
    let until = Instant::now() + PATIENCE;
    loop {
        let now = stats(bus, queue).await;
        if now == QueueStats::default() {
            return;
        }
        assert!(Instant::now() < until, "{queue} does not become empty: {now:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
    drained(&bus, Queue::Ingest).await;
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
    drained(&bus, Queue::Evaluate).await;
}

#[allow(clippy::expect_used)]
async fn letters(bus: &Arc<dyn Bus>) -> Vec<DeadLetter> {
    bus.dead_letters(Queue::Evaluate, 10).await.expect("letters")
}

/// Lets each of the messages 1 to `n` die, the later ones later.
#[allow(clippy::expect_used)]
async fn let_die(bus: &Arc<dyn Bus>, n: u128) -> Box<dyn Consumer> {
    publish(bus, Queue::Evaluate, envelopes(1..n + 1)).await;
    let mut consumer = subscribe(bus, Queue::Evaluate, 1).await;
    for _ in 0..n {
        let poison = next(&mut consumer).await;
        poison.settle.dead_letter("毒").await.expect("dies");
    }
    consumer
}

#[allow(clippy::expect_used)]
pub async fn sets_dead_letters_aside_with_their_history(bus: Arc<dyn Bus>) {
    publish(&bus, Queue::Evaluate, vec![envelope(1)]).await;
    let mut consumer = subscribe(&bus, Queue::Evaluate, 1).await;
    let poison = next(&mut consumer).await;
    poison.settle.retry("first failure", Duration::ZERO).await.expect("retries");
    drop(poison);
    let poison = next(&mut consumer).await;
    poison.settle.dead_letter("field `trace_id` is missing").await.expect("dies");
    drop(poison);

    let letters = letters(&bus).await;
    let [letter] = letters.as_slice() else { panic!("one dead letter, not {letters:?}") };
    assert_eq!((letter.envelope.clone(), letter.attempts), (envelope(1), 2));
    assert_eq!(letter.reason, "field `trace_id` is missing");
    assert_eq!(letter.history, ["first failure", "field `trace_id` is missing"]);
    let stats = stats(&bus, Queue::Evaluate).await;
    assert_eq!((stats.ready, stats.dead), (0, 1));
    assert!(stats.oldest_dead.is_some());
}

#[allow(clippy::expect_used)]
pub async fn shows_replays_and_discards_dead_letters(bus: Arc<dyn Bus>) {
    let mut consumer = let_die(&bus, 3).await;
    let ids = |letters: Vec<DeadLetter>| letters.iter().map(|l| l.envelope.id.as_u128()).collect::<Vec<_>>();
    assert_eq!(ids(letters(&bus).await), [3, 2, 1], "newest first");
    assert_eq!(ids(bus.dead_letters(Queue::Evaluate, 2).await.expect("letters")), [3, 2]);

    let [known, unknown] = [2, 99].map(Uuid::from_u128);
    let shown = bus.dead_letter(Queue::Evaluate, known).await.expect("answers").expect("is there");
    assert_eq!((shown.envelope, shown.reason), (envelope(2), "毒".to_owned()));
    assert!(bus.dead_letter(Queue::Evaluate, unknown).await.expect("answers").is_none());
    assert!(bus.dead_letter(Queue::Ingest, known).await.expect("answers").is_none());

    assert!(!bus.replay(Queue::Evaluate, unknown).await.expect("answers"));
    assert!(bus.replay(Queue::Evaluate, known).await.expect("replays"));
    let delivery = next(&mut consumer).await;
    assert_eq!((delivery.envelope.id, delivery.attempt), (known, 1));
    ack(delivery).await;

    assert!(!bus.discard(Queue::Evaluate, known).await.expect("answers"), "it is not dead now");
    assert!(bus.discard(Queue::Evaluate, Uuid::from_u128(1)).await.expect("discards"));
    assert_eq!(ids(letters(&bus).await), [3]);
    assert!(bus.discard(Queue::Evaluate, Uuid::from_u128(3)).await.expect("discards"));
    drained(&bus, Queue::Evaluate).await;
}

#[allow(clippy::expect_used)]
pub async fn replays_all_dead_letters(bus: Arc<dyn Bus>) {
    let mut consumer = let_die(&bus, 5).await;
    assert_eq!(bus.replay_all(Queue::Evaluate).await.expect("replays"), 5);
    let mut seen = Vec::new();
    for _ in 0..5 {
        let delivery = next(&mut consumer).await;
        assert_eq!(delivery.attempt, 1);
        seen.push(delivery.envelope.id.as_u128());
        ack(delivery).await;
    }
    seen.sort_unstable();
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    assert_eq!(bus.replay_all(Queue::Evaluate).await.expect("replays"), 0);
    drained(&bus, Queue::Evaluate).await;
}

#[allow(clippy::expect_used)]
async fn acquired(candidate: &mut Box<dyn Leadership>) {
    timeout(PATIENCE, candidate.acquired()).await.expect("leads in time").expect("leads");
}

#[allow(clippy::expect_used)]
pub async fn one_candidate_leads_and_another_takes_over(bus: Arc<dyn Bus>) {
    let mut first = bus.lead("compactor").await.expect("stands");
    assert!(timeout(QUIET, first.lost()).await.is_ok(), "it does not lead yet");
    acquired(&mut first).await;
    acquired(&mut first).await;
    let mut second = bus.lead("compactor").await.expect("stands");
    let mut other = bus.lead("other").await.expect("stands");
    acquired(&mut other).await;
    assert!(timeout(QUIET, second.acquired()).await.is_err(), "there is one leader");
    assert!(timeout(QUIET, first.lost()).await.is_err(), "it still leads");
    drop(first);
    acquired(&mut second).await;
    assert!(matches!(bus.lead("No Such").await, Err(BusError::Rejected(_))));
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
    drained(&bus, Queue::Ingest).await;
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

/// How far beyond its limit a queue may go before it refuses.
const SLACK: u128 = 500;

#[allow(clippy::expect_used)]
pub async fn refuses_beyond_its_depth_until_it_is_consumed(bus: Arc<dyn Bus>) {
    let max = u128::from(MAX_DEPTH);
    publish(&bus, Queue::Ingest, envelopes(0..max)).await;
    let mut beyond = max;
    let refused = loop {
        match bus.publish(Queue::Ingest, vec![envelope(beyond)]).await {
            Ok(()) => beyond += 1,
            Err(e) => break e,
        }
        assert!(beyond < max + SLACK, "takes {beyond} messages");
    };
    assert!(
        matches!(refused, BusError::Full { queue: Queue::Ingest, depth } if depth >= MAX_DEPTH),
        "{refused:?}"
    );
    publish(&bus, Queue::Evaluate, vec![envelope(1)]).await;

    let mut consumer = subscribe(&bus, Queue::Ingest, 500).await;
    let mut acks = JoinSet::new();
    for _ in 0..beyond / 2 {
        acks.spawn(ack(next(&mut consumer).await));
    }
    acks.join_all().await;
    let until = Instant::now() + PATIENCE;
    while let Err(e) = bus.publish(Queue::Ingest, vec![envelope(u128::MAX)]).await {
        assert!(matches!(e, BusError::Full { .. }) && Instant::now() < until, "{e:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
