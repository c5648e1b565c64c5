//! One `EdgeShard` behind a lock that is only ever written to when the shard is opened, closed or replaced,
//! with the engine's panics turned into errors.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use hindsight_ports::StoreError;
use qdrant_edge::{EdgeShard, OperationError, OperationResult};

#[derive(Debug)]
pub(crate) struct Engine {
    collection: String,
    slot: RwLock<Result<EdgeShard, String>>,
    /// Written to while points are deleted, read while points are listed.
    listing: RwLock<()>,
    suspect: AtomicBool,
}

impl Engine {
    pub(crate) fn new(collection: String, shard: EdgeShard) -> Self {
        Self {
            collection,
            slot: RwLock::new(Ok(shard)),
            listing: RwLock::default(),
            suspect: AtomicBool::new(false),
        }
    }

    /// Runs `work` on the shard. Any thread may read; only the owner thread may write or flush.
    pub(crate) fn run<T>(
        &self,
        work: impl FnOnce(&EdgeShard) -> OperationResult<T>,
    ) -> Result<T, StoreError> {
        let slot = self.read();
        let shard = slot.as_ref().map_err(|reason| self.unavailable(reason))?;
        match contain(|| work(shard)) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(store_error(&self.collection, &error)),
            Err(panic) => {
                self.suspect.store(true, Ordering::Release);
                Err(self.unavailable(&panic))
            }
        }
    }

    /// As `run`, for what lists points page by page. The engine first lists ids and then fetches their points; when
    /// points are deleted in between it takes the page for the last one, and what comes after it is never seen.
    pub(crate) fn list<T>(
        &self,
        work: impl FnOnce(&EdgeShard) -> OperationResult<T>,
    ) -> Result<T, StoreError> {
        let _none_is_deleted = self.listing.read().unwrap_or_else(PoisonError::into_inner);
        self.run(work)
    }

    /// As `run`, for what deletes points: waits for those that are being listed.
    pub(crate) fn delete<T>(
        &self,
        work: impl FnOnce(&EdgeShard) -> OperationResult<T>,
    ) -> Result<T, StoreError> {
        let _none_is_listed = self.listing.write().unwrap_or_else(PoisonError::into_inner);
        self.run(work)
    }

    /// The engine panicked: it must be opened anew.
    pub(crate) fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::Acquire)
    }

    /// Closes the shard, then puts in its place what `open` yields. Waits for readers.
    pub(crate) fn replace(
        &self,
        open: impl FnOnce() -> Result<EdgeShard, StoreError>,
    ) -> Result<(), StoreError> {
        let mut slot = self.slot.write().unwrap_or_else(PoisonError::into_inner);
        let old = std::mem::replace(&mut *slot, Err("being opened again".to_owned()));
        if let Err(panic) = contain(|| drop(old)) {
            tracing::warn!(collection = self.collection, panic, "the engine failed while it was closed");
        }
        match open() {
            Ok(shard) => {
                *slot = Ok(shard);
                self.suspect.store(false, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                *slot = Err(error.to_string());
                Err(error)
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Result<EdgeShard, String>> {
        self.slot.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn unavailable(&self, reason: &str) -> StoreError {
        StoreError::Unavailable(format!("collection {:?}: {reason}", self.collection))
    }
}

/// To be called on the owner thread, and not while the shard is being optimised.
pub(crate) fn flush(shard: &EdgeShard) -> OperationResult<()> {
    shard.flush();
    Ok(())
}

/// Runs `work`; a panic becomes its message.
pub(crate) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| format!("the engine panicked: {}", text(&*panic)))
}

fn text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

pub(crate) fn store_error(collection: &str, error: &OperationError) -> StoreError {
    use OperationError as E;
    let text = format!("collection {collection:?}: {error}");
    match error {
        E::InconsistentStorage { .. } => StoreError::Corrupt(text),
        E::ServiceError { .. } | E::OutOfMemory { .. } | E::Cancelled { .. } | E::Timeout { .. } => {
            StoreError::Unavailable(text)
        }
        E::WrongVectorDimension { .. }
        | E::VectorNameNotExists { .. }
        | E::PointIdError { .. }
        | E::TypeError { .. }
        | E::TypeInferenceError { .. }
        | E::ValidationError { .. }
        | E::WrongSparse
        | E::WrongMulti
        | E::MissingRangeIndexForOrderBy { .. }
        | E::MissingMapIndexForFacet { .. }
        | E::VariableTypeError { .. }
        | E::NonFiniteNumber { .. } => StoreError::Rejected(text),
    }
}
