//! The bus of a single process: the semantics of a broker (durable publish, leases, delayed retries with an
//! attempt count, dead letters with their history) on one SQLite file.
//!
//! One thread owns the database. It takes whatever requests have gathered, runs them in one transaction,
//! commits (`journal_mode=WAL`, `synchronous=FULL`: the commit is on the disk) and only then answers. So a
//! publish that returned `Ok` survives a kill at any point, and many publishers share one sync.
//!
//! What is settled leaves its bytes in the file until `Vacuum::vacuum` writes it anew.

mod consumer;
mod database;
mod dead;
mod leadership;
mod listener;
mod owner;
mod schema;
mod vacuum;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use hindsight_ports::{
    Bus, BusError, Clock, Consumer, DeadLetter, Envelope, Leadership, Listener, Queue, QueueStats,
    SystemClock, bus::check_leadership_name,
};
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::{
    consumer::LocalConsumer,
    database::Database,
    leadership::Seats,
    listener::{HEARD, LocalListener},
    owner::{Owner, Request},
    vacuum::QueueFile,
};

#[derive(Clone)]
pub struct LocalBusOptions {
    /// Most messages of a queue that are not dead; beyond it `publish` answers `Full`.
    pub max_depth: u64,
    /// How long a delivery may stay unsettled before it goes to another consumer.
    pub lease: Duration,
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for LocalBusOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalBusOptions")
            .field("max_depth", &self.max_depth)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}

impl Default for LocalBusOptions {
    fn default() -> Self {
        Self { max_depth: 200_000, lease: Duration::from_secs(600), clock: Arc::new(SystemClock) }
    }
}

/// Cheap to clone; the last clone to go (with the last consumer) closes the file.
#[derive(Debug, Clone)]
pub struct LocalBus {
    path: PathBuf,
    file: Arc<QueueFile>,
    owner: Arc<Owner>,
    seats: Seats,
    told: broadcast::Sender<Envelope>,
}

impl LocalBus {
    /// Opens or creates the file. Deliveries that a former process left unsettled are ready again.
    /// Only one process may hold the file.
    pub fn open(path: &Path, options: LocalBusOptions) -> Result<Self, BusError> {
        let database = Database::open(path, &options)?;
        Ok(Self {
            path: path.to_owned(),
            file: Arc::clone(&database.file),
            owner: Arc::new(Owner::start(database)?),
            seats: Seats::default(),
            told: broadcast::Sender::new(HEARD),
        })
    }
}

#[async_trait]
impl Bus for LocalBus {
    async fn publish(&self, queue: Queue, messages: Vec<Envelope>) -> Result<(), BusError> {
        if messages.is_empty() {
            return Ok(());
        }
        self.owner.ask(|reply| Request::Publish { queue, messages, reply }).await
    }

    async fn subscribe(&self, queue: Queue, prefetch: usize) -> Result<Box<dyn Consumer>, BusError> {
        if prefetch == 0 {
            return Err(BusError::Rejected("prefetch must be at least 1".into()));
        }
        Ok(Box::new(LocalConsumer::start(self.owner.clone(), queue, prefetch)))
    }

    async fn stats(&self, queue: Queue) -> Result<QueueStats, BusError> {
        self.owner.ask(|reply| Request::Stats { queue, reply }).await
    }

    async fn dead_letters(&self, queue: Queue, limit: usize) -> Result<Vec<DeadLetter>, BusError> {
        self.owner.ask(|reply| Request::DeadLetters { queue, id: None, limit, reply }).await
    }

    async fn dead_letter(&self, queue: Queue, id: Uuid) -> Result<Option<DeadLetter>, BusError> {
        let letters =
            self.owner.ask(|reply| Request::DeadLetters { queue, id: Some(id), limit: 1, reply }).await?;
        Ok(letters.into_iter().next())
    }

    async fn replay(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        let replayed = self.owner.ask(|reply| Request::Replay { queue, id: Some(id), reply }).await?;
        Ok(replayed > 0)
    }

    async fn replay_all(&self, queue: Queue) -> Result<u64, BusError> {
        self.owner.ask(|reply| Request::Replay { queue, id: None, reply }).await
    }

    async fn discard(&self, queue: Queue, id: Uuid) -> Result<bool, BusError> {
        Ok(self.owner.ask(|reply| Request::Discard { queue, id, reply }).await? > 0)
    }

    /// Within this process: no other can have the file.
    async fn broadcast(&self, message: Envelope) -> Result<(), BusError> {
        // An error says that nobody listens.
        let _ = self.told.send(message);
        Ok(())
    }

    async fn listen(&self) -> Result<Box<dyn Listener>, BusError> {
        Ok(Box::new(LocalListener::new(self.told.subscribe())))
    }

    async fn lead(&self, name: &str) -> Result<Box<dyn Leadership>, BusError> {
        check_leadership_name(name)?;
        Ok(Box::new(self.seats.candidate(name)))
    }

    fn ready(&self) -> Result<(), BusError> {
        Ok(())
    }
}
