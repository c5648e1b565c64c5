//! The thread that owns a collection: the only one that writes, flushes, closes and reopens its shard.

use std::{
    collections::VecDeque,
    fs::{self, File},
    ops::ControlFlow,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    CreateFieldIndexCollection, CreateVectorNameRequest, DeletePoints, DeleteVectorNameRequest,
    SetPayloadPoints, UpdatePointVectors, UpsertPoints,
};
use qdrant_edge::EdgeShard;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{effect::Effect, open::Opening};
use crate::{
    convert::{index::index_to_engine, schema::Schema},
    engine::{Engine, flush},
    files::{Description, DirLock, sync_dir},
    journal::{Journal, unavailable},
};

/// Without work for this long, the owner flushes what the journal holds.
const TICK: Duration = Duration::from_secs(2);
/// Between two attempts to open a shard that failed.
const REOPEN_EVERY: Duration = Duration::from_secs(1);
/// How long closing waits for an optimisation; what it leaves behind is safe, as after a crash.
const OPTIMIZE_GRACE: Duration = Duration::from_secs(10);
/// The journal at which the engine is flushed: bounds how long the next start takes.
const FLUSH_AT: u64 = 32 * 1024 * 1024;
/// The journal at which writes are turned away, while an optimisation keeps the engine from being flushed.
const JOURNAL_LIMIT: u64 = 1024 * 1024 * 1024;
/// What may be written before the shard is opened anew, which is how the engine's own log is shortened: when there is
/// nothing to do about as much as the shard holds, since opening it takes time in proportion to that (reads wait
/// meanwhile), and at last in any case.
const RENEW_FROM: u64 = 32 * 1024 * 1024;
const RENEW_AT: u64 = 256 * 1024 * 1024;
const RENEW_AT_LAST: u64 = 1024 * 1024 * 1024;
/// About what a point takes on disk.
const POINT_BYTES: u64 = 2 * 1024;
/// One part in this many of a collection, written anew, makes indexing worthwhile.
const OPTIMIZE_SHARE: u64 = 10;
/// A group of writes shares one sync of the journal; these bound how long its first one waits.
const GROUP_WRITES: usize = 256;
const GROUP_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug)]
pub(crate) enum Write {
    Upsert(UpsertPoints),
    UpdateVectors(UpdatePointVectors),
    SetPayload(SetPayloadPoints),
    Delete(DeletePoints),
    CreateIndex(CreateFieldIndexCollection),
    CreateVectorName(CreateVectorNameRequest),
    DeleteVectorName(DeleteVectorNameRequest),
}

impl Write {
    fn changes_vector_names(&self) -> bool {
        matches!(self, Self::CreateVectorName(_) | Self::DeleteVectorName(_))
    }
}

pub(crate) type Reply = oneshot::Sender<Result<(), StoreError>>;

#[derive(Debug)]
pub(crate) enum Command {
    Write {
        write: Box<Write>,
        reply: Reply,
        slot: OwnedSemaphorePermit,
    },
    Optimized(Result<bool, StoreError>),
    Vacuum(Reply),
    /// The shard that is to take the place of this one.
    Copied(Box<Result<EdgeShard, StoreError>>),
    Close,
}

/// What is done on a thread of its own. The journal keeps what is written meanwhile.
#[derive(Debug)]
pub(crate) enum Busy {
    Optimizing,
    /// For those who wait for it.
    Vacuuming(Vec<Reply>),
}

#[derive(Debug)]
pub(crate) struct Owner {
    pub(super) opening: Opening,
    pub(super) engine: Arc<Engine>,
    pub(super) description: Arc<Mutex<Description>>,
    /// What readers take for the vectors of the collection.
    pub(super) shown: Arc<RwLock<Arc<Schema>>>,
    pub(super) journal: Journal,
    pub(super) inbox: Receiver<Command>,
    pub(super) outbox: Sender<Command>,
    pub(super) lock: Arc<DirLock>,
    /// One optimisation at a time in the whole process.
    pub(super) optimizers: Arc<Semaphore>,
    pub(super) optimize_after: u64,
    /// Points written or deleted, as far as it matters to the optimiser, since it last ran.
    pub(super) unoptimized: u64,
    /// Bytes written since the shard was opened.
    pub(super) logged: u64,
    pub(super) busy: Option<Busy>,
    /// Who waits for the next vacuum.
    pub(super) vacuums: Vec<Reply>,
    /// The collection closes.
    pub(super) stop: Arc<AtomicBool>,
    /// Changes of vector names that came while segments are built, which would not have them.
    pub(super) put_off: VecDeque<Command>,
    /// The shard must be opened anew, not before this.
    pub(super) failed: Option<Instant>,
}

impl Owner {
    pub(crate) fn run(mut self) {
        loop {
            match self.inbox.recv_timeout(TICK) {
                Ok(command) => {
                    let mut next = Some(command);
                    while let Some(command) = next {
                        if self.turn(command).is_break() {
                            return;
                        }
                        next = if self.busy.is_some() { None } else { self.put_off.pop_front() };
                    }
                    self.maintain(FLUSH_AT, RENEW_AT_LAST);
                }
                Err(_) => self.maintain(1, self.renew_at()),
            }
        }
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.opening.schema
    }

    /// Takes `first` and what waits behind it as one group, and answers when the group is durable.
    fn turn(&mut self, first: Command) -> ControlFlow<()> {
        let start = self.journal.len();
        let mut group = Vec::new();
        let mut closing = false;
        let mut next = Some(first);
        while let Some(command) = next.take() {
            match command {
                Command::Write { ref write, .. } if self.busy.is_some() && write.changes_vector_names() => {
                    self.put_off.push_back(command);
                }
                Command::Write { write, reply, slot } => {
                    let outcome = self.execute(*write);
                    group.push((reply, outcome, slot));
                }
                Command::Optimized(outcome) => self.optimized(outcome),
                Command::Vacuum(reply) => self.vacuums.push(reply),
                Command::Copied(outcome) => self.copied(*outcome),
                Command::Close => {
                    closing = true;
                    break;
                }
            }
            if group.len() < GROUP_WRITES && self.journal.len().saturating_sub(start) < GROUP_BYTES {
                next = self.inbox.try_recv().ok();
            }
        }
        self.settle(group);
        if closing {
            self.close();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn settle(&mut self, group: Vec<(Reply, Result<(), StoreError>, OwnedSemaphorePermit)>) {
        let synced = if group.is_empty() { Ok(()) } else { self.journal.sync() };
        let synced = synced.map_err(|error| {
            self.fail(&error);
            unavailable(&self.opening.places.journal(), &error)
        });
        for (reply, outcome, _slot) in group {
            // A caller that went away does not need the answer.
            let _ = reply.send(outcome.and(synced.clone()));
        }
    }

    fn execute(&mut self, write: Write) -> Result<(), StoreError> {
        self.revive()?;
        if self.journal.len() > JOURNAL_LIMIT {
            return Err(StoreError::Unavailable(format!(
                "collection {:?}: too much written while it is being indexed",
                self.opening.name
            )));
        }
        match write {
            Write::Upsert(request) => self.upsert(request),
            Write::UpdateVectors(request) => self.update_vectors(request),
            Write::SetPayload(request) => self.set_payload(request),
            Write::Delete(request) => self.delete(request),
            Write::CreateIndex(request) => self.create_index(request),
            Write::CreateVectorName(request) => self.create_vector_name(&request),
            Write::DeleteVectorName(request) => self.delete_vector_name(&request),
        }
    }

    /// Journals the effect, then shows it to the engine. On an error it is as if it had not been asked for.
    pub(super) fn apply(&mut self, effect: Effect) -> Result<(), StoreError> {
        let start = self.journal.len();
        if let Err(error) = self.journal.append(&effect.record) {
            self.take_back(start);
            return Err(unavailable(&self.opening.places.journal(), &error));
        }
        let churn = effect.churn;
        let applied = if effect.deletes_points() {
            self.engine.delete(|shard| effect.apply(shard))
        } else {
            self.engine.run(|shard| effect.apply(shard))
        };
        match applied {
            Ok(()) => {
                self.unoptimized += churn;
                self.logged += self.journal.len() - start;
                Ok(())
            }
            Err(error) => {
                self.take_back(start);
                if !matches!(error, StoreError::Rejected(_)) {
                    self.fail(&error);
                }
                Err(error)
            }
        }
    }

    fn take_back(&mut self, start: u64) {
        if let Err(error) = self.journal.rewind(start) {
            self.fail(&error);
        }
    }

    /// The index is in the description before this returns, so that every later start has it too.
    fn create_index(&mut self, request: CreateFieldIndexCollection) -> Result<(), StoreError> {
        let operation = index_to_engine(&request)?;
        self.engine.run(|shard| shard.update(operation))?;
        let request = CreateFieldIndexCollection {
            collection_name: String::new(),
            wait: None,
            ordering: None,
            timeout: None,
            ..request
        };
        let mut description = self.description.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = description.clone();
        if next.add_index(request) {
            next.save(&self.opening.places)?;
            *description = next;
        }
        Ok(())
    }

    fn maintain(&mut self, flush_at: u64, renew_at: u64) {
        if self.revive().is_err() || self.busy.is_some() {
            return;
        }
        if !self.vacuums.is_empty() {
            self.vacuum();
            if self.busy.is_some() {
                return;
            }
        }
        if self.journal.len() >= flush_at {
            self.flush();
        }
        if self.logged >= renew_at {
            self.flush();
            self.reopen(|| Ok(()));
        }
        if self.unoptimized >= self.optimize_after && self.unoptimized >= self.share_worth_optimizing() {
            self.optimize();
        }
    }

    /// Rebuilding costs time in proportion to what is there already; waiting for a share of it keeps the
    /// total within a constant factor of what is written.
    fn share_worth_optimizing(&self) -> u64 {
        self.points() / OPTIMIZE_SHARE
    }

    /// When nothing is to be done.
    fn renew_at(&self) -> u64 {
        if self.logged < RENEW_FROM {
            RENEW_FROM
        } else {
            (self.points() * POINT_BYTES).clamp(RENEW_FROM, RENEW_AT)
        }
    }

    fn points(&self) -> u64 {
        let points = self.engine.run(|shard| Ok(shard.info().points_count));
        points.map_or(0, |points| points as u64)
    }

    /// `true` when all that was written is in the engine's own files.
    pub(super) fn flush(&mut self) -> bool {
        if let Err(error) = self.engine.run(flush) {
            self.fail(&error);
            return false;
        }
        if let Err(error) = self.journal.clear() {
            self.fail(&error);
            return false;
        }
        true
    }

    /// Rebuilds segments on a thread of its own, beside reads and writes. The engine may not be flushed
    /// meanwhile (`EdgeShard::flush` panics when the optimiser holds its lock), so the journal grows.
    fn optimize(&mut self) {
        let Ok(permit) = Arc::clone(&self.optimizers).try_acquire_owned() else { return };
        if !self.flush() {
            return;
        }
        let marker = self.opening.places.optimizing();
        let marked = File::create(&marker).and_then(|_| sync_dir(self.opening.places.root()));
        if let Err(error) = marked {
            tracing::warn!(collection = self.opening.name, %error, "cannot start indexing");
            return;
        }
        let engine = Arc::clone(&self.engine);
        let outbox = self.outbox.clone();
        let lock = Arc::clone(&self.lock);
        let spawned =
            thread::Builder::new().name(format!("optimize-{}", self.opening.name)).spawn(move || {
                let outcome = engine.run(|shard| shard.optimize());
                // The shard before the lock: when nobody else holds them, it is closed here.
                drop(engine);
                drop(permit);
                // The owner may have given up waiting.
                let _ = outbox.send(Command::Optimized(outcome));
                drop(lock);
            });
        match spawned {
            Ok(_) => {
                self.busy = Some(Busy::Optimizing);
                self.unoptimized = 0;
            }
            Err(error) => tracing::warn!(collection = self.opening.name, %error, "cannot start indexing"),
        }
    }

    fn optimized(&mut self, outcome: Result<bool, StoreError>) {
        self.busy = None;
        match outcome {
            Ok(changed) => tracing::debug!(collection = self.opening.name, changed, "indexed"),
            Err(error) => tracing::warn!(collection = self.opening.name, %error, "indexing failed"),
        }
        if !self.engine.is_suspect() && self.flush() {
            let marker = self.opening.places.optimizing();
            if let Err(error) = fs::remove_file(&marker) {
                tracing::warn!(marker = %marker.display(), %error, "cannot be removed");
            }
        }
    }

    pub(super) fn fail(&mut self, error: &dyn std::fmt::Display) {
        tracing::error!(collection = self.opening.name, %error, "the shard failed and will be opened anew");
        self.failed.get_or_insert_with(Instant::now);
    }

    /// Opens the shard anew when it failed, at most once in a while.
    fn revive(&mut self) -> Result<(), StoreError> {
        if self.engine.is_suspect() && self.failed.is_none() {
            self.fail(&"the engine panicked");
        }
        let Some(not_before) = self.failed else { return Ok(()) };
        if Instant::now() >= not_before && self.busy.is_none() {
            self.reopen(|| Ok(()));
        }
        match self.failed {
            None => Ok(()),
            Some(_) => Err(StoreError::Unavailable(format!(
                "collection {:?}: the engine failed and is being opened anew",
                self.opening.name
            ))),
        }
    }

    /// Does `between` while no shard is open.
    pub(super) fn reopen(&mut self, between: impl FnOnce() -> Result<(), StoreError>) {
        let indexes = self.description.lock().unwrap_or_else(PoisonError::into_inner).indexes.clone();
        let mut journal = None;
        let outcome = self.engine.replace(|| {
            between()?;
            let (shard, opened) = self.opening.open(&indexes)?;
            journal = Some(opened);
            Ok(shard)
        });
        match (outcome, journal) {
            (Ok(()), Some(journal)) => {
                self.journal = journal;
                self.logged = 0;
                self.failed = None;
            }
            (Err(error), _) => {
                tracing::error!(collection = self.opening.name, %error, "cannot open the shard");
                self.failed = Some(Instant::now() + REOPEN_EVERY);
            }
            (Ok(()), None) => self.failed = Some(Instant::now()),
        }
    }

    /// Everything acknowledged is durable already; this makes the next start quick.
    fn close(&mut self) {
        self.stop.store(true, Ordering::Release);
        let deadline = Instant::now() + OPTIMIZE_GRACE;
        while self.busy.is_some() {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok(Command::Optimized(outcome)) => self.optimized(outcome),
                // What it made is thrown away when the collection is opened again.
                Ok(Command::Copied(_)) => self.busy = None,
                // Dropping the reply tells the caller.
                Ok(_) => {}
                Err(_) => {
                    tracing::warn!(collection = self.opening.name, "closed while it is being indexed");
                    return;
                }
            }
        }
        // What was written since the last flush stands in the journal; closing the shard flushes once more.
        if self.failed.is_none() && self.journal.len() > 0 {
            self.flush();
        }
        // The engine may outlive this thread in a reader's hand; the shard does not.
        let closed = || Err(StoreError::Unavailable("closed".to_owned()));
        if self.engine.replace(closed).is_ok() {
            tracing::debug!(collection = self.opening.name, "still open");
        }
    }
}
