//! Carries what is on `Queue::Ingest` into the store, in batches. A message is acknowledged when its
//! effect is durable and, for the completion of a task, when the request to judge it is durable too.

mod batch;
mod facts;
mod forgotten;
mod open;
mod spans;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use hindsight_forgetting::Forgetter;
use hindsight_ports::{
    Bus, BusError, Clock, Consumer, Delivery, Embedder, MemoryStore, Queue, StoreError, Subjects,
};
use hindsight_runtime::Trouble;
use hindsight_telemetry::{Metric, span};
use hindsight_types::Scope;
use tokio::{
    sync::oneshot,
    task::JoinSet,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::CollectorSettings;

/// Wait before a lost consumer is opened again.
const REOPEN: Duration = Duration::from_secs(1);
/// A batch is closed when its messages weigh more.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

pub(crate) struct Ingester {
    settings: CollectorSettings,
    shared: Arc<Shared>,
}

/// What every batch on its way needs.
struct Shared {
    bus: Arc<dyn Bus>,
    store: Arc<dyn MemoryStore>,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    held: AtomicUsize,
    /// Why the last write failed; `None` while writes succeed.
    trouble: Trouble,
    marked: open::Marked,
    /// Runs told by spans whose root was written.
    ended: spans::Ended,
    /// How long their other spans are waited for.
    span_grace: Duration,
    /// Time between two marks of a task that is under way.
    touch_every: Duration,
    /// Knows what was forgotten.
    forgetter: OnceLock<Forgetter>,
    /// Knows who turned out to be whom.
    subjects: OnceLock<Arc<dyn Subjects>>,
}

impl Shared {
    /// What was just written for ids that are users by now goes to these.
    async fn follow(&self, scopes: impl IntoIterator<Item = &Scope>) -> Result<(), StoreError> {
        let Some(subjects) = self.subjects.get() else { return Ok(()) };
        let scopes: Vec<Scope> = scopes.into_iter().filter(|s| s.user().is_some()).cloned().collect();
        subjects.follow(&scopes, self.clock.now()).await.map(drop)
    }
}

impl Ingester {
    pub(crate) fn new(
        settings: CollectorSettings,
        bus: Arc<dyn Bus>,
        store: Arc<dyn MemoryStore>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let shared = Shared {
            bus,
            store,
            embedder,
            clock,
            held: AtomicUsize::new(0),
            trouble: Trouble::default(),
            marked: open::Marked::default(),
            ended: spans::Ended::default(),
            span_grace: Duration::from_millis(settings.span_grace_ms),
            touch_every: Duration::from_millis(settings.touch_ms),
            forgetter: OnceLock::new(),
            subjects: OnceLock::new(),
        };
        Self { settings, shared: Arc::new(shared) }
    }

    /// The first one given stays.
    pub(crate) fn forgetting(&self, forgetter: Forgetter) {
        self.shared.forgetter.get_or_init(|| forgetter);
    }

    /// The first one given stays.
    pub(crate) fn merging(&self, subjects: Arc<dyn Subjects>) {
        self.shared.subjects.get_or_init(|| subjects);
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.shared.trouble.reason()
    }

    /// Deliveries that are not settled.
    pub(crate) fn held(&self) -> usize {
        self.shared.held.load(Ordering::Relaxed)
    }

    /// Until `stop`; what is held then is written or given back.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        let prefetch = self.settings.batch.max(1) * (self.settings.batches_in_flight.max(1) + 1);
        while !stop.is_cancelled() {
            let opened = tokio::select! {
                opened = self.shared.bus.subscribe(Queue::Ingest, prefetch) => opened,
                () = stop.cancelled() => return,
            };
            let end = match opened {
                Ok(consumer) => Run::new(self, stop.clone()).drive(consumer).await,
                Err(e) => Err(e),
            };
            if let Err(error) = end {
                tracing::warn!(%error, "the ingest queue is away; opening it again");
                tokio::select! {
                    () = tokio::time::sleep(REOPEN) => {}
                    () = stop.cancelled() => return,
                }
            }
        }
    }
}

/// One consumer's life: gathers batches and sends them on their way.
struct Run<'a> {
    settings: &'a CollectorSettings,
    shared: Arc<Shared>,
    stop: CancellationToken,
    gathered: Vec<Delivery>,
    bytes: usize,
    /// When the batch is closed though it is not full.
    closes: Instant,
    on_way: JoinSet<()>,
    /// Done when every batch before has been written.
    before: Option<oneshot::Receiver<()>>,
}

impl<'a> Run<'a> {
    fn new(ingester: &'a Ingester, stop: CancellationToken) -> Self {
        Self {
            settings: &ingester.settings,
            shared: ingester.shared.clone(),
            stop,
            gathered: Vec::new(),
            bytes: 0,
            closes: Instant::now(),
            on_way: JoinSet::new(),
            before: None,
        }
    }

    async fn drive(mut self, mut consumer: Box<dyn Consumer>) -> Result<(), BusError> {
        let stop = self.stop.clone();
        let end = loop {
            let room = self.on_way.len() < self.settings.batches_in_flight.max(1);
            tokio::select! {
                biased;
                () = stop.cancelled() => break Ok(()),
                Some(done) = self.on_way.join_next() => settled(done),
                () = sleep_until(self.closes), if room && !self.gathered.is_empty() => self.send().await,
                next = consumer.next(), if room => match next {
                    Ok(delivery) => self.gather(delivery).await,
                    Err(e) => break Err(e),
                },
            }
        };
        self.send().await;
        while let Some(done) = self.on_way.join_next().await {
            settled(done);
        }
        end
    }

    async fn gather(&mut self, delivery: Delivery) {
        if self.gathered.is_empty() {
            self.closes = Instant::now() + Duration::from_millis(self.settings.linger_ms);
        }
        self.shared.held.fetch_add(1, Ordering::Relaxed);
        self.bytes += delivery.envelope.payload.len();
        self.gathered.push(delivery);
        if self.gathered.len() >= self.settings.batch || self.bytes > BATCH_BYTES {
            self.send().await;
        }
    }

    async fn send(&mut self) {
        self.bytes = 0;
        if self.gathered.is_empty() {
            return;
        }
        Metric::IngestBatch.record(self.gathered.len() as f64, &[]);
        let span = span::process_batch(Queue::Ingest, self.gathered.iter().map(|d| &d.envelope));
        let batch = batch::Batch::read(std::mem::take(&mut self.gathered), &self.shared).await;
        let (written, after) = oneshot::channel();
        let before = self.before.replace(after);
        let (shared, stop) = (self.shared.clone(), self.stop.clone());
        self.on_way.spawn(batch.carry(shared, before, written, stop).instrument(span));
    }
}

fn settled(done: Result<(), tokio::task::JoinError>) {
    if let Err(error) = done {
        // Its deliveries were dropped, so they come again.
        tracing::error!(%error, "a batch broke off");
    }
}
