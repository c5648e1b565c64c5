use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use hindsight_ports::{BusError, Delivery, Envelope, Queue, Settle, bus::add_reason};
use lapin::{
    Acker, Channel,
    options::{BasicAckOptions, BasicNackOptions},
};

use crate::{
    bus::Shared,
    message::{self, Past},
    session::{Refusal, Session},
    topology::Tier,
};

/// A delivery of ours, and all that ends it.
struct Parts {
    shared: Arc<Shared>,
    session: Arc<Session>,
    /// Open for as long as something of it is held.
    _channel: Channel,
    acker: Acker,
    queue: Queue,
    envelope: Envelope,
    past: Past,
}

/// Dropped unsettled, it gives the message back.
pub(crate) struct Lease {
    parts: Arc<Parts>,
    seen: AtomicBool,
    settled: AtomicBool,
}

impl Lease {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        session: &Arc<Session>,
        channel: &Channel,
        queue: Queue,
        acker: Acker,
        envelope: Envelope,
        past: Past,
    ) -> Self {
        shared.unsettled(queue).fetch_add(1, Ordering::Relaxed);
        let parts = Parts {
            shared: Arc::clone(shared),
            session: Arc::clone(session),
            _channel: channel.clone(),
            acker,
            queue,
            envelope,
            past,
        };
        Self { parts: Arc::new(parts), seen: AtomicBool::new(false), settled: AtomicBool::new(false) }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.parts.is_live()
    }

    fn count_off(&self) {
        self.parts.shared.unsettled(self.parts.queue).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if *self.settled.get_mut() {
            return;
        }
        self.count_off();
        if !self.parts.is_live() {
            return;
        }
        let (parts, seen) = (Arc::clone(&self.parts), *self.seen.get_mut());
        self.parts.shared.runtime.spawn(async move { parts.give_back(seen).await });
    }
}

impl Parts {
    fn is_live(&self) -> bool {
        self.session.is_live() && self.acker.usable()
    }

    fn not_held(&self) -> BusError {
        BusError::NotHeld(format!("message {}: settled before, or its connection was lost", self.envelope.id))
    }

    async fn ack(&self) -> Result<(), BusError> {
        match self.acker.ack(BasicAckOptions::default()).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(self.not_held()),
        }
    }

    /// Publishes the message to another queue and then lets go of it here. Between the two it is on both.
    async fn move_to(&self, name: &str, past: &Past) -> Result<(), BusError> {
        if !self.is_live() {
            return Err(self.not_held());
        }
        let message = message::encode(&self.envelope, past, self.shared.options.clock.now())?;
        match self.shared.publish(&self.session, name, vec![message]).await? {
            Ok(()) => self.ack().await,
            Err(Refusal::Failed(_)) if !self.session.is_live() => Err(self.not_held()),
            Err(Refusal::Failed(e)) => Err(e),
            Err(Refusal::Nacked) => {
                Err(BusError::Unavailable(format!("the broker refuses messages for {name}")))
            }
        }
    }

    /// What happened to it, with this attempt counted.
    fn past_with(&self, reason: Option<&str>) -> Past {
        let mut past = self.past.clone();
        past.attempts = past.attempts.saturating_add(1);
        if let Some(reason) = reason {
            add_reason(&mut past.history, reason);
        }
        past
    }

    async fn retry(&self, reason: Option<&str>, delay: Duration) -> Result<(), BusError> {
        let name = self.shared.names.retry(self.queue, Tier::for_delay(delay));
        self.move_to(&name, &self.past_with(reason)).await
    }

    async fn dead_letter(&self, reason: &str) -> Result<(), BusError> {
        let past = Past { died_at: Some(self.shared.options.clock.now()), ..self.past_with(Some(reason)) };
        self.move_to(&self.shared.names.dead(self.queue), &past).await
    }

    /// A message that somebody had in hand has made an attempt; one that nobody saw has not.
    async fn give_back(&self, seen: bool) {
        if seen && self.retry(None, Duration::ZERO).await.is_ok() {
            return;
        }
        // Fails when the connection is lost, and then the broker takes it back by itself.
        let _ = self.acker.nack(BasicNackOptions { requeue: true, ..Default::default() }).await;
    }
}

enum Ending {
    Ack,
    Retry(String, Duration),
    Dead(String),
}

pub(crate) struct Held(Arc<Lease>);

impl Held {
    pub(crate) fn deliver(lease: Lease) -> Delivery {
        lease.seen.store(true, Ordering::Relaxed);
        let (envelope, attempt) = (lease.parts.envelope.clone(), lease.parts.past.attempts.saturating_add(1));
        Delivery { envelope, attempt, settle: Box::new(Self(Arc::new(lease))) }
    }

    /// Once begun it runs to its end, also when the caller no longer waits.
    async fn end(&self, ending: Ending) -> Result<(), BusError> {
        if self.0.settled.swap(true, Ordering::AcqRel) {
            return Err(self.0.parts.not_held());
        }
        let lease = Arc::clone(&self.0);
        let ended = tokio::spawn(async move {
            let parts = &lease.parts;
            let result = match ending {
                Ending::Ack => parts.ack().await,
                Ending::Retry(reason, delay) => parts.retry(Some(&reason), delay).await,
                Ending::Dead(reason) => parts.dead_letter(&reason).await,
            };
            match result {
                Ok(()) | Err(BusError::NotHeld(_)) => lease.count_off(),
                // It is still held, and may be ended otherwise.
                Err(_) => lease.settled.store(false, Ordering::Release),
            }
            result
        });
        ended.await.map_err(|_| BusError::Closed)?
    }
}

#[async_trait]
impl Settle for Held {
    async fn ack(&self) -> Result<(), BusError> {
        self.end(Ending::Ack).await
    }

    async fn retry(&self, reason: &str, delay: Duration) -> Result<(), BusError> {
        self.end(Ending::Retry(reason.to_owned(), delay)).await
    }

    async fn dead_letter(&self, reason: &str) -> Result<(), BusError> {
        self.end(Ending::Dead(reason.to_owned())).await
    }
}
