use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use hindsight_ports::{
    Bus, BusError, Consumer, DeadLetter, Delivery, Envelope, Heard, Leadership, Listener, Queue, QueueStats,
    Settle,
};
use opentelemetry::trace::TraceContextExt as _;
use tracing::{Instrument as _, Span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use uuid::Uuid;

use crate::{Label, Metric, context, outcome, recorder, span};

/// How often the queues are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// A bus whose messages carry the trace of who publishes them, and whose traffic is counted and timed.
/// `system` names it, as in `rabbitmq`. While metrics are recorded it also looks at the queues now and
/// then; that ends when the bus is dropped. Needs a Tokio runtime.
pub fn bus(inner: Arc<dyn Bus>, system: &'static str) -> Arc<dyn Bus> {
    if recorder::is_recording() {
        tokio::spawn(watch(Arc::downgrade(&inner)));
    }
    span::set_bus_system(system);
    Arc::new(Observed(inner))
}

struct Observed(Arc<dyn Bus>);

#[async_trait]
impl Bus for Observed {
    async fn publish(&self, queue: Queue, mut messages: Vec<Envelope>) -> Result<(), BusError> {
        if messages.is_empty() {
            return self.0.publish(queue, messages).await;
        }
        let (begun, count, label) = (Instant::now(), messages.len(), (Label::Queue, queue.name()));
        let span = span::publish(queue, count);
        carry(&span, &mut messages);
        let result = self.0.publish(queue, messages).instrument(span.clone()).await;
        Metric::BusPublished.add(count as u64, &[label, (Label::Result, outcome(&result))]);
        Metric::BusPublishBatch.record(count as f64, &[label]);
        Metric::BusPublishDuration.record(begun.elapsed().as_secs_f64(), &[label]);
        if let Err(error) = &result {
            span::failed(&span, word(error));
        }
        result
    }

    async fn subscribe(&self, queue: Queue, prefetch: usize) -> Result<Box<dyn Consumer>, BusError> {
        let inner = self.0.subscribe(queue, prefetch).await?;
        Ok(Box::new(ObservedConsumer { inner, queue: (Label::Queue, queue.name()) }))
    }

    async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        self.0.stats(queue).await
    }

    async fn dead_letters(&self, queue: Queue, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.0.dead_letters(queue, limit).await
    }

    async fn dead_letter(&self, queue: Queue, id: Uuid) -> Result<Option<DeadLetter>, BusError> {
        self.0.dead_letter(queue, id).await
    }

    async fn replay(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.0.replay(queue, id).await
    }

    async fn replay_all(&self, queue: Queue) -> Result<u64, BusError> {
        self.0.replay_all(queue).await
    }

    async fn discard(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        self.0.discard(queue, id).await
    }

    async fn broadcast(&self, message: Envelope) -> Result<(), BusError> {
        let result = self.0.broadcast(message).await;
        Metric::BusBroadcast.add(1, &[(Label::Result, outcome(&result))]);
        result
    }

    async fn listen(&self) -> Result<Box<dyn Listener>, BusError> {
        Ok(Box::new(ObservedListener(self.0.listen().await?)))
    }

    async fn lead(&self, name: &str) -> Result<Box<dyn Leadership>, BusError> {
        self.0.lead(name).await
    }

    fn ready(&self) -> Result<(), BusError> {
        self.0.ready()
    }
}

/// Messages of the publisher's own trace, or of none, continue from this publish. Those of another trace
/// stay in it: a batch may serve many.
fn carry(span: &Span, messages: &mut [Envelope]) {
    if span.is_disabled() {
        return;
    }
    let context = span.context();
    let own = context.span().span_context().clone();
    if !own.is_valid() {
        return;
    }
    let carried = context::carried(&context);
    for message in messages {
        let origin = context::origin(&message.trace_context);
        if !origin.is_valid() || origin.trace_id() == own.trace_id() {
            message.trace_context.clone_from(&carried);
        }
    }
}

/// Without the details.
fn word(error: &BusError) -> &'static str {
    match error {
        BusError::Unavailable(_) => "unavailable",
        BusError::Full { .. } => "full",
        BusError::Rejected(_) => "rejected",
        BusError::NotHeld(_) => "not_held",
        BusError::Closed => "closed",
    }
}

struct ObservedConsumer {
    inner: Box<dyn Consumer>,
    queue: (Label, &'static str),
}

#[async_trait]
impl Consumer for ObservedConsumer {
    async fn next(&mut self) -> Result<Delivery, BusError> {
        let delivery = self.inner.next().await?;
        let attempt = if delivery.attempt > 1 { "again" } else { "first" };
        Metric::BusDelivered.add(1, &[self.queue, (Label::Attempt, attempt)]);
        let settle = Box::new(ObservedSettle { inner: delivery.settle, queue: self.queue });
        Ok(Delivery { settle, ..delivery })
    }
}

struct ObservedListener(Box<dyn Listener>);

#[async_trait]
impl Listener for ObservedListener {
    async fn next(&mut self) -> Result<Heard, BusError> {
        let heard = self.0.next().await?;
        let what = match heard {
            Heard::Joined => "joined",
            Heard::Message(_) => "message",
            Heard::Lost => "lost",
        };
        Metric::BusHeard.add(1, &[(Label::Result, what)]);
        Ok(heard)
    }
}

struct ObservedSettle {
    inner: Box<dyn Settle>,
    queue: (Label, &'static str),
}

impl ObservedSettle {
    fn ended(&self, end: &'static str, result: Result<(), BusError>) -> Result<(), BusError> {
        Metric::BusSettled.add(1, &[self.queue, (Label::End, end), (Label::Result, outcome(&result))]);
        result
    }
}

#[async_trait]
impl Settle for ObservedSettle {
    async fn ack(&self) -> Result<(), BusError> {
        self.ended("ack", self.inner.ack().await)
    }

    async fn retry(&self, reason: &str, delay: Duration) -> Result<(), BusError> {
        self.ended("retry", self.inner.retry(reason, delay).await)
    }

    async fn dead_letter(&self, reason: &str) -> Result<(), BusError> {
        self.ended("dead_letter", self.inner.dead_letter(reason).await)
    }
}

async fn watch(bus: Weak<dyn Bus>) {
    loop {
        for queue in Queue::ALL {
            let Some(bus) = bus.upgrade() else { return };
            match bus.stats(queue).await {
                Ok(stats) => show(queue, &stats),
                Err(error) => tracing::debug!(%queue, %error, "the queue does not tell its depth"),
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn show(queue: Queue, stats: &QueueStats) {
    let label = [(Label::Queue, queue.name())];
    let age = |age: Option<Duration>| age.unwrap_or_default().as_secs_f64();
    Metric::QueueReady.set(stats.ready as f64, &label);
    Metric::QueueDelayed.set(stats.delayed as f64, &label);
    Metric::QueueUnsettled.set(stats.unsettled as f64, &label);
    Metric::QueueOldest.set(age(stats.oldest), &label);
    Metric::DeadLetters.set(stats.dead as f64, &label);
    Metric::DeadLetterOldest.set(age(stats.oldest_dead), &label);
}

#[cfg(test)]
mod tests;
