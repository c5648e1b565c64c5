use std::{fmt, sync::Arc};

use hindsight_ports::{MemoryStore, StoreError};
use hindsight_types::MemoryChange;

use super::{Announcer, Hold};

/// A port of the store whose writes of memories are told to whoever keeps copies, whatever became of them: a write
/// that failed or was given up may still have been done. Everything else passes through.
pub struct Announced<P: ?Sized = dyn MemoryStore> {
    pub(super) inner: Arc<P>,
    announcer: Arc<Announcer>,
}

impl<P: ?Sized> Clone for Announced<P> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), announcer: Arc::clone(&self.announcer) }
    }
}

impl<P: ?Sized> fmt::Debug for Announced<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Announced").field("announcer", &self.announcer).finish_non_exhaustive()
    }
}

impl<P: ?Sized> Announced<P> {
    pub fn new(inner: Arc<P>, announcer: Arc<Announcer>) -> Self {
        Self { inner, announcer }
    }

    pub(super) async fn write<T>(
        &self,
        changes: Vec<MemoryChange>,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let holds = self.announcer.begin(&changes);
        let owed = Owed { announcer: &self.announcer, changes, holds };
        let result = work.await;
        if let Some(number) = owed.pay() {
            self.announcer.told(number).await;
        }
        result
    }
}

/// Changes that are announced also when the write is given up.
struct Owed<'a> {
    announcer: &'a Announcer,
    changes: Vec<MemoryChange>,
    holds: Vec<Hold>,
}

impl Owed<'_> {
    fn pay(mut self) -> Option<u64> {
        self.announce()
    }

    fn announce(&mut self) -> Option<u64> {
        self.holds.clear();
        let changes = std::mem::take(&mut self.changes);
        (!changes.is_empty()).then(|| self.announcer.announce(changes))
    }
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        self.announce();
    }
}
