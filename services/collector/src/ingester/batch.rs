use std::{sync::atomic::Ordering, time::Duration};

use futures::future::join_all;
use hindsight_ports::{BusError, Delivery, EmbedError, Queue, StoreError};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{Event, Fact};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Shared, facts, forgotten::Arrives};
use crate::message::{self, Carried};

/// Attempts within one delivery; the deliveries are given back before their lease ends.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// When deliveries that were given back come again.
const COME_AGAIN: Duration = Duration::from_secs(5);

/// Deliveries that are written together.
pub(super) struct Batch {
    events: Vec<Held<Event>>,
    facts: Vec<Held<Fact>>,
}

/// What one delivery carries. Counted as held until it goes.
struct Held<T> {
    value: T,
    delivery: Delivery,
}

/// Why a write failed.
pub(super) enum Failure {
    /// The same write may succeed later.
    Transient(String),
    /// It never will.
    Final(String),
}

impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Self {
        match e {
            StoreError::Unavailable(_) => Self::Transient(e.to_string()),
            StoreError::Corrupt(_) | StoreError::Rejected(_) => Self::Final(e.to_string()),
        }
    }
}

impl From<EmbedError> for Failure {
    fn from(e: EmbedError) -> Self {
        match e {
            EmbedError::Unavailable(_) | EmbedError::Misconfigured(_) => Self::Transient(e.to_string()),
            EmbedError::Rejected(_) => Self::Final(e.to_string()),
        }
    }
}

impl From<BusError> for Failure {
    fn from(e: BusError) -> Self {
        match e {
            BusError::Rejected(_) => Self::Final(e.to_string()),
            _ => Self::Transient(e.to_string()),
        }
    }
}

impl Batch {
    /// Sorts deliveries by what they carry; what cannot be read goes to the dead letters.
    pub(super) async fn read(deliveries: Vec<Delivery>, shared: &Shared) -> Self {
        let mut batch = Self { events: Vec::new(), facts: Vec::new() };
        for delivery in deliveries {
            match message::read(&delivery.envelope) {
                Ok(Carried::Event(value)) => batch.events.push(Held { value, delivery }),
                Ok(Carried::Fact(value)) => batch.facts.push(Held { value, delivery }),
                Err(reason) => settle(shared, &delivery, End::DeadLetter(&reason)).await,
            }
        }
        batch
    }

    /// Without what was forgotten since it was recorded, which is done with.
    async fn known(mut self, shared: &Shared) -> Self {
        self.events = remembered(shared, self.events).await;
        self.facts = remembered(shared, self.facts).await;
        self
    }

    /// Writes, asks for evaluations, settles. Requests to judge wait for the batches before, so that the
    /// steps of a task are there when it is judged.
    pub(super) async fn carry(
        self,
        shared: std::sync::Arc<Shared>,
        before: Option<oneshot::Receiver<()>>,
        written: oneshot::Sender<()>,
        stop: CancellationToken,
    ) {
        let s: &Shared = &shared;
        let batch = self.known(s).await;
        let (events_written, ()) = tokio::join!(batch.write_events(s, &stop), batch.write_facts(s, &stop));
        if let Some(before) = before {
            // An error says that the batch before is gone, written or not: its deliveries come again.
            let _ = before.await;
        }
        let _ = written.send(());
        let ask = || async {
            let now = s.clock.now();
            let written = || events_written.iter().map(|h| (&h.value, &h.delivery.envelope.trace_context));
            let completed = written().filter_map(|(e, context)| message::evaluation_of(e, context, now));
            let mut asked: Vec<_> = completed.collect();
            asked.extend(s.ended.asked(written(), s.span_grace, now));
            Ok(s.bus.publish(Queue::Evaluate, asked).await?)
        };
        match patiently(s, &stop, ask).await {
            Ok(()) => settle_all(s, &events_written, End::Ack).await,
            Err(Failure::Transient(reason) | Failure::Final(reason)) => {
                settle_all(s, &events_written, End::Retry(&reason)).await;
            }
        }
    }

    /// The events that are durable; the others are settled.
    async fn write_events(&self, shared: &Shared, stop: &CancellationToken) -> Vec<&Held<Event>> {
        if self.events.is_empty() {
            return Vec::new();
        }
        let events: Vec<Event> = self.events.iter().map(|h| h.value.clone()).collect();
        let marks = shared.marked.due(&events, shared.clock.now(), shared.touch_every);
        let write = || async {
            let (appended, marked) =
                tokio::join!(shared.store.append_events(&events), marks.write(&*shared.store));
            appended.and(marked)?;
            shared.settle_forgotten(&events.iter().collect::<Vec<_>>()).await?;
            Ok(shared.follow(events.iter().map(|e| &e.scope)).await?)
        };
        match patiently(shared, stop, write).await {
            Ok(()) => {
                shared.marked.note(&marks);
                self.events.iter().collect()
            }
            Err(Failure::Transient(reason)) => {
                settle_all(shared, &self.events.iter().collect::<Vec<_>>(), End::Retry(&reason)).await;
                Vec::new()
            }
            // One of them is refused: each on its own.
            Err(Failure::Final(_)) => {
                let mut written = Vec::new();
                for (held, event) in self.events.iter().zip(&events) {
                    let write = || async {
                        shared.store.append_events(std::slice::from_ref(event)).await?;
                        shared.settle_forgotten(&[event]).await?;
                        Ok(shared.follow([&event.scope]).await?)
                    };
                    match patiently(shared, stop, write).await {
                        Ok(()) => written.push(held),
                        Err(failure) => settle(shared, &held.delivery, failure.end()).await,
                    }
                }
                written
            }
        }
    }

    async fn write_facts(&self, shared: &Shared, stop: &CancellationToken) {
        if self.facts.is_empty() {
            return;
        }
        let write = |held: &[&Held<Fact>]| {
            let facts: Vec<Fact> = held.iter().map(|h| h.value.clone()).collect();
            async move {
                facts::write(shared, facts.clone()).await?;
                shared.settle_forgotten(&facts.iter().collect::<Vec<_>>()).await?;
                Ok(shared.follow(facts.iter().map(|f| &f.scope)).await?)
            }
        };
        let all: Vec<&Held<Fact>> = self.facts.iter().collect();
        match patiently(shared, stop, || write(&all)).await {
            Ok(()) => settle_all(shared, &all, End::Ack).await,
            Err(Failure::Transient(reason)) => settle_all(shared, &all, End::Retry(&reason)).await,
            Err(Failure::Final(_)) => {
                for held in &all {
                    let end = patiently(shared, stop, || write(std::slice::from_ref(held))).await;
                    match end {
                        Ok(()) => settle(shared, &held.delivery, End::Ack).await,
                        Err(failure) => settle(shared, &held.delivery, failure.end()).await,
                    }
                }
            }
        }
    }
}

/// While it is not known what was forgotten, nothing is written.
async fn remembered<T: Arrives>(shared: &Shared, held: Vec<Held<T>>) -> Vec<Held<T>> {
    let values: Vec<&T> = held.iter().map(|h| &h.value).collect();
    let forgotten = match shared.forgotten(&values).await {
        Ok(forgotten) => forgotten,
        Err(error) => {
            let reason = error.to_string();
            shared.trouble.report(Some(reason.clone()));
            settle_all(shared, &held.iter().collect::<Vec<_>>(), End::Retry(&reason)).await;
            return Vec::new();
        }
    };
    let mut kept = Vec::new();
    let mut dropped = Vec::new();
    for (held, forgotten) in held.into_iter().zip(forgotten) {
        match forgotten {
            Some(forgotten) => dropped.push((held, forgotten)),
            None => kept.push(held),
        }
    }
    // Its bytes are on the queue yet.
    let swept = shared.sweep(dropped.iter().map(|(held, forgotten)| (&held.value, forgotten))).await;
    for (held, _) in &dropped {
        match &swept {
            Ok(()) => {
                Metric::Forgotten.add(1, &[(Label::Kind, T::KIND)]);
                settle(shared, &held.delivery, End::Ack).await;
            }
            Err(failure) => settle(shared, &held.delivery, failure.end()).await,
        }
    }
    kept
}

/// Tries again what fails for now, a few times.
async fn patiently<F: Future<Output = Result<(), Failure>> + Send>(
    shared: &Shared,
    stop: &CancellationToken,
    work: impl Fn() -> F,
) -> Result<(), Failure> {
    let mut pause = FIRST_PAUSE;
    for attempt in 1.. {
        let reason = match work().await {
            Err(Failure::Transient(reason)) => reason,
            end => {
                shared.trouble.report(None);
                return end;
            }
        };
        tracing::warn!(reason, attempt, "cannot write what was recorded; it is kept on the queue");
        shared.trouble.report(Some(reason.clone()));
        if attempt >= ATTEMPTS || stop.is_cancelled() {
            return Err(Failure::Transient(reason));
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum End<'a> {
    Ack,
    Retry(&'a str),
    DeadLetter(&'a str),
}

impl Failure {
    fn end(&self) -> End<'_> {
        match self {
            Self::Transient(reason) => End::Retry(reason),
            Self::Final(reason) => End::DeadLetter(reason),
        }
    }
}

async fn settle_all<T>(shared: &Shared, held: &[&Held<T>], end: End<'_>) {
    join_all(held.iter().map(|h| settle(shared, &h.delivery, end))).await;
}

async fn settle(shared: &Shared, delivery: &Delivery, end: End<'_>) {
    let settled = match end {
        End::Ack => delivery.settle.ack().await,
        End::Retry(reason) => delivery.settle.retry(reason, COME_AGAIN).await,
        End::DeadLetter(reason) => {
            tracing::error!(id = %delivery.envelope.id, reason, "a message was set aside");
            delivery.settle.dead_letter(reason).await
        }
    };
    shared.held.fetch_sub(1, Ordering::Relaxed);
    if let Err(error) = settled {
        // It comes again, and changes nothing the second time.
        tracing::warn!(id = %delivery.envelope.id, %error, "a delivery could not be settled");
    }
}
