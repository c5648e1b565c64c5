//! A collection: its shard, the thread that owns it, and the way to it.

mod effect;
mod open;
mod owner;
mod vacuum;
mod vectors;
mod writes;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
};

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{CollectionInfo, CreateCollection};
use qdrant_edge::{EdgeShard, OperationResult};
use tokio::sync::{Semaphore, oneshot};

pub(crate) use self::owner::Write;
use self::{
    open::Opening,
    owner::{Command, Owner},
};
use crate::{
    convert::schema::{Schema, collection_info, collection_to_engine},
    engine::Engine,
    files::{Description, DirLock, Places, sync_dir},
    journal::{Journal, unavailable},
};

/// Writes under way per collection; further ones wait.
const PENDING_WRITES: usize = 512;

/// What the collections of one backend share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) lock: Arc<DirLock>,
    pub(crate) optimizers: Arc<Semaphore>,
    pub(crate) optimize_after: u64,
}

#[derive(Debug)]
pub(crate) struct Collection {
    name: String,
    schema: Arc<RwLock<Arc<Schema>>>,
    engine: Arc<Engine>,
    description: Arc<Mutex<Description>>,
    commands: Sender<Command>,
    pending: Arc<Semaphore>,
    owner: Mutex<Option<JoinHandle<()>>>,
}

impl Collection {
    pub(crate) fn create(
        places: Places,
        created: CreateCollection,
        shared: Shared,
    ) -> Result<Self, StoreError> {
        let opening = opening(&places, &created)?;
        let (shard, journal) = opening.create()?;
        let description = Description { created, indexes: Vec::new() };
        description.save(&places)?;
        if let Some(store) = places.root().parent() {
            sync_dir(store).map_err(|error| unavailable(store, &error))?;
        }
        Self::start(opening, description, shard, journal, shared)
    }

    pub(crate) fn open(places: Places, description: Description, shared: Shared) -> Result<Self, StoreError> {
        let opening = opening(&places, &description.created)?;
        let (shard, journal) = opening.open(&description.indexes)?;
        Self::start(opening, description, shard, journal, shared)
    }

    fn start(
        opening: Opening,
        description: Description,
        shard: EdgeShard,
        journal: Journal,
        shared: Shared,
    ) -> Result<Self, StoreError> {
        let name = opening.name.clone();
        let schema = Arc::new(RwLock::new(Arc::new(opening.schema.clone())));
        // An optimisation that the last run did not come to is found due at once; one with nothing to do is
        // quick.
        let unoptimized = shard.info().points_count as u64;
        let engine = Arc::new(Engine::new(name.clone(), shard));
        let description = Arc::new(Mutex::new(description));
        let (commands, inbox) = mpsc::channel();
        let owner = Owner {
            opening,
            engine: Arc::clone(&engine),
            description: Arc::clone(&description),
            shown: Arc::clone(&schema),
            journal,
            inbox,
            outbox: commands.clone(),
            lock: shared.lock,
            optimizers: shared.optimizers,
            optimize_after: shared.optimize_after,
            unoptimized,
            logged: 0,
            busy: None,
            vacuums: Vec::new(),
            stop: Arc::default(),
            put_off: VecDeque::new(),
            failed: None,
        };
        let thread = thread::Builder::new()
            .name(format!("store-{name}"))
            .spawn(move || owner.run())
            .map_err(|error| StoreError::Unavailable(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            name,
            schema,
            engine,
            description,
            commands,
            pending: Arc::new(Semaphore::new(PENDING_WRITES)),
            owner: Mutex::new(Some(thread)),
        })
    }

    /// The vectors of the collection, as they are now.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn info(&self) -> Result<CollectionInfo, StoreError> {
        let info = self.engine.run(|shard| Ok(shard.info()))?;
        let description = self.description.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(collection_info(&description.created, &description.indexes, &info))
    }

    /// Returns when the write is durable. A caller that stops waiting does not undo it.
    pub(crate) async fn write(&self, write: Write) -> Result<(), StoreError> {
        let closed = || StoreError::Unavailable(format!("collection {:?} is closed", self.name));
        let slot = Arc::clone(&self.pending).acquire_owned().await.map_err(|_| closed())?;
        let (reply, answer) = oneshot::channel();
        let write = Box::new(write);
        self.commands.send(Command::Write { write, reply, slot }).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Writes the files anew, so that nothing is left in them of what was deleted or replaced before.
    pub(crate) async fn vacuum(&self) -> Result<(), StoreError> {
        let closed = || StoreError::Unavailable(format!("collection {:?} is closed", self.name));
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Vacuum(reply)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Runs `work` on the shard on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&EdgeShard) -> OperationResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = Arc::clone(&self.engine);
        tokio::task::spawn_blocking(move || engine.run(work))
            .await
            .map_err(|error| StoreError::Unavailable(format!("collection {:?}: {error}", self.name)))?
    }

    /// As `read`, for what lists points page by page.
    pub(crate) async fn list<T: Send + 'static>(
        &self,
        work: impl FnOnce(&EdgeShard) -> OperationResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = Arc::clone(&self.engine);
        tokio::task::spawn_blocking(move || engine.list(work))
            .await
            .map_err(|error| StoreError::Unavailable(format!("collection {:?}: {error}", self.name)))?
    }

    /// Has the owner thread flush and end, and does not wait for it: the collections of a backend close side
    /// by side.
    pub(crate) fn begin_close(&self) {
        // If the owner is gone already, there is nothing to close.
        let _ = self.commands.send(Command::Close);
    }

    /// Flushes and ends the owner thread. Blocks. May be called again.
    pub(crate) fn close(&self) {
        let owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(owner) = owner {
            self.begin_close();
            if owner.join().is_err() {
                tracing::error!(collection = self.name, "its owner thread panicked");
            }
        }
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        self.close();
    }
}

fn opening(places: &Places, created: &CreateCollection) -> Result<Opening, StoreError> {
    let (config, schema) = collection_to_engine(created)?;
    Ok(Opening { name: created.collection_name.clone(), places: places.clone(), config, schema })
}

#[cfg(test)]
mod tests;
