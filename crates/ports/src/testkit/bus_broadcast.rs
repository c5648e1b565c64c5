//! What every bus must do with what is told to all. Each case takes a fresh bus.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use super::bus::envelope;
use crate::{Bus, BusError, Envelope, Heard, Listener, Queue};

/// Nothing here takes this long; it only bounds a failing test.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to watch that something does not happen.
const QUIET: Duration = Duration::from_millis(150);
/// How often a message is told that is not heard.
const TELLINGS: u128 = 50;

#[allow(clippy::expect_used)]
pub async fn hear(listener: &mut Box<dyn Listener>) -> Heard {
    timeout(PATIENCE, listener.next()).await.expect("something in time").expect("is heard")
}

/// Listens, and waits until it is in effect.
#[allow(clippy::expect_used)]
pub async fn joined(bus: &Arc<dyn Bus>) -> Box<dyn Listener> {
    let mut listener = bus.listen().await.expect("listens");
    assert_eq!(hear(&mut listener).await, Heard::Joined);
    listener
}

/// Tells, until it is taken.
#[allow(clippy::expect_used)]
pub async fn tell(bus: &Arc<dyn Bus>, message: Envelope) {
    let telling = async {
        while let Err(e) = bus.broadcast(message.clone()).await {
            assert!(matches!(e, BusError::Unavailable(_)), "{e:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, telling).await.expect("told in time");
}

/// What a listener heard: the numbers of messages, with `None` where some may have been missed.
#[derive(Debug, Default)]
struct Account(Vec<Option<u128>>);

impl Account {
    fn note(&mut self, heard: &Heard) {
        self.0.push(match heard {
            Heard::Message(message) => Some(message.id.as_u128()),
            Heard::Joined | Heard::Lost => None,
        });
    }

    /// Tells messages from number `next` on until one of these is heard: on a busy machine a listener may
    /// think for a while that it hears nothing.
    async fn catch_up(&mut self, bus: &Arc<dyn Bus>, listener: &mut Box<dyn Listener>, next: u128) {
        for n in next..next + TELLINGS {
            tell(bus, envelope(n)).await;
            while let Ok(heard) = timeout(QUIET * 4, hear(listener)).await {
                self.note(&heard);
                if self.0.last() == Some(&Some(n)) {
                    return;
                }
            }
        }
        panic!("what is told is not heard: {self:?}");
    }

    /// Every message but the first follows on another, or the listener was told of a gap.
    fn is_whole(&self) -> bool {
        self.0.windows(2).all(|pair| match pair {
            [Some(before), Some(after)] => *after == before + 1,
            _ => true,
        })
    }

    fn messages(&self) -> impl Iterator<Item = u128> {
        self.0.iter().flatten().copied()
    }
}

pub async fn tells_every_listener_in_order(bus: Arc<dyn Bus>) {
    let mut listeners = [joined(&bus).await, joined(&bus).await];
    for n in 0..50 {
        tell(&bus, envelope(n)).await;
    }
    for (listener, next) in listeners.iter_mut().zip([50, 50 + TELLINGS]) {
        let mut account = Account::default();
        account.catch_up(&bus, listener, next).await;
        let gap = account.0.contains(&None);
        assert!(gap || account.messages().take(50).eq(0..50), "{account:?}");
    }
}

pub async fn keeps_every_field_of_what_is_told(bus: Arc<dyn Bus>) {
    let mut listener = joined(&bus).await;
    let mut sent = envelope(7);
    sent.payload = "记忆已更改".as_bytes().to_vec();
    tell(&bus, sent.clone()).await;
    let heard = loop {
        match hear(&mut listener).await {
            Heard::Message(message) => break message,
            Heard::Joined => tell(&bus, sent.clone()).await,
            Heard::Lost => (),
        }
    };
    assert_eq!(heard, sent);
}

pub async fn what_is_told_is_kept_for_nobody(bus: Arc<dyn Bus>) {
    tell(&bus, envelope(1)).await;
    let mut listener = joined(&bus).await;
    let mut account = Account::default();
    account.catch_up(&bus, &mut listener, 2).await;
    assert!(account.messages().all(|n| n > 1), "{account:?}");
}

#[allow(clippy::expect_used)]
pub async fn what_is_told_reaches_no_queue(bus: Arc<dyn Bus>) {
    tell(&bus, envelope(1)).await;
    bus.publish(Queue::Ingest, vec![envelope(2)]).await.expect("publishes");
    let mut consumer = bus.subscribe(Queue::Ingest, 5).await.expect("subscribes");
    let delivery = timeout(PATIENCE, consumer.next()).await.expect("in time").expect("is delivered");
    assert_eq!(delivery.envelope.id.as_u128(), 2);
    assert!(timeout(QUIET, consumer.next()).await.is_err(), "nothing else is there");
}

pub async fn a_listener_that_went_disturbs_nobody(bus: Arc<dyn Bus>) {
    let gone = joined(&bus).await;
    let mut stays = joined(&bus).await;
    drop(gone);
    let mut account = Account::default();
    account.catch_up(&bus, &mut stays, 0).await;
    assert!(account.is_whole(), "{account:?}");
}

pub async fn listening_is_cancel_safe(bus: Arc<dyn Bus>) {
    const MESSAGES: u128 = 200;
    let mut listener = joined(&bus).await;
    let telling = tokio::spawn({
        let bus = Arc::clone(&bus);
        async move {
            for n in 0..MESSAGES {
                tell(&bus, envelope(n)).await;
            }
        }
    });
    let mut account = Account::default();
    while !telling.is_finished() {
        // Drops a `next` that may just have been answered.
        tokio::select! {
            biased;
            () = tokio::task::yield_now() => (),
            Ok(heard) = listener.next() => account.note(&heard),
        }
    }
    account.catch_up(&bus, &mut listener, MESSAGES).await;
    assert!(account.is_whole(), "{account:?}");
}

pub async fn a_slow_listener_learns_that_it_missed_something(bus: Arc<dyn Bus>) {
    const MESSAGES: u128 = 3_000;
    let mut slow = joined(&bus).await;
    for n in 0..MESSAGES {
        tell(&bus, envelope(n)).await;
    }
    let mut account = Account::default();
    account.catch_up(&bus, &mut slow, MESSAGES).await;
    assert!(account.is_whole(), "{account:?}");
    let all = account.messages().take(MESSAGES as usize).eq(0..MESSAGES);
    assert!(all || account.0.contains(&None), "it learns of what it missed: {account:?}");
}
