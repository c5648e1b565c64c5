use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{AtomicBool, Ordering},
};

use hindsight_ports::StoreError;

use crate::collection::DENSE;

/// Whether the collections are there and the embedder was checked. Until then nothing may be read or
/// written: a missing collection would look like a record that can never be stored.
#[derive(Debug)]
pub(crate) struct Prepared {
    done: AtomicBool,
    trouble: Mutex<Option<StoreError>>,
    dense: RwLock<Option<Arc<str>>>,
}

impl Prepared {
    pub(crate) fn new() -> Self {
        let dense = RwLock::new(Some(Arc::from(DENSE)));
        Self { done: AtomicBool::new(false), trouble: Mutex::default(), dense }
    }

    /// The name of the vectors that this process's embedder makes. `None`: the store has none of them.
    pub(crate) fn dense(&self) -> Option<Arc<str>> {
        self.dense.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Success stays.
    pub(crate) fn note(&self, outcome: &Result<(), StoreError>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = outcome.as_ref().err().cloned();
        if outcome.is_ok() {
            self.done.store(true, Ordering::Release);
        }
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.done.load(Ordering::Acquire) {
            return Ok(());
        }
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(mismatch @ StoreError::EmbedderMismatch { .. }) => Err(mismatch.clone()),
            Some(other) => Err(StoreError::Unavailable(format!("not prepared yet: {other}"))),
            None => Err(StoreError::Unavailable("not prepared yet".to_owned())),
        }
    }
}
