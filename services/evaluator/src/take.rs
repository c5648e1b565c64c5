//! Takes deliveries from a queue, a few at a time, for as long as the process runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use hindsight_ports::{Bus, BusError, Consumer, Delivery, Queue};
use hindsight_telemetry::span;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// Wait before a lost consumer is opened again.
const REOPEN: Duration = Duration::from_secs(1);

/// Does what deliveries ask for, and settles them.
#[async_trait]
pub(crate) trait Handle: Send + Sync + 'static {
    async fn deliver(&self, delivery: &Delivery);
}

pub(crate) struct Taker<H> {
    pub(crate) queue: Queue,
    pub(crate) at_a_time: usize,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) handler: Arc<H>,
    held: AtomicUsize,
}

impl<H: Handle> Taker<H> {
    pub(crate) fn new(queue: Queue, at_a_time: usize, bus: Arc<dyn Bus>, handler: Arc<H>) -> Self {
        Self { queue, at_a_time: at_a_time.max(1), bus, handler, held: AtomicUsize::new(0) }
    }

    /// Deliveries that are being worked on.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Until `stop`; what is being worked on then is finished.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let opened = tokio::select! {
                opened = self.bus.subscribe(self.queue, self.at_a_time) => opened,
                () = stop.cancelled() => return,
            };
            let end = match opened {
                Ok(consumer) => self.consume(consumer, &stop).await,
                Err(e) => Err(e),
            };
            if let Err(error) = end {
                tracing::warn!(queue = %self.queue, %error, "the queue is away; opening it again");
                tokio::select! {
                    () = tokio::time::sleep(REOPEN) => {}
                    () = stop.cancelled() => return,
                }
            }
        }
    }

    async fn consume(
        &self,
        mut consumer: Box<dyn Consumer>,
        stop: &CancellationToken,
    ) -> Result<(), BusError> {
        let mut tasks = JoinSet::new();
        let end = loop {
            let room = tasks.len() < self.at_a_time;
            tokio::select! {
                biased;
                () = stop.cancelled() => break Ok(()),
                Some(done) = tasks.join_next() => self.finished(done),
                next = consumer.next(), if room => match next {
                    Ok(delivery) => {
                        let handler = self.handler.clone();
                        self.held.fetch_add(1, Ordering::Relaxed);
                        let span = span::process(self.queue, &delivery.envelope, delivery.attempt);
                        tasks.spawn(async move { handler.deliver(&delivery).await }.instrument(span));
                    }
                    Err(e) => break Err(e),
                },
            }
        };
        while let Some(done) = tasks.join_next().await {
            self.finished(done);
        }
        end
    }

    fn finished(&self, done: Result<(), JoinError>) {
        self.held.fetch_sub(1, Ordering::Relaxed);
        if let Err(error) = done {
            // Its delivery was dropped, so it comes again.
            tracing::error!(queue = %self.queue, %error, "work broke off");
        }
    }
}

pub(crate) fn settled(delivery: &Delivery, outcome: Result<(), BusError>) {
    if let Err(error) = outcome {
        tracing::warn!(id = %delivery.envelope.id, %error, "a delivery could not be settled");
    }
}
