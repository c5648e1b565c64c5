use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use hindsight_ports::{EmbedderId, StoreError, StoredVectors};

use crate::{
    collection::DENSE,
    vectors::{Named, State},
};

/// How old the known state may become while it changes.
const FRESH: Duration = Duration::from_secs(1);

/// Whether the collections are there, and what this process knows of their vectors. Until then nothing may be
/// read or written: a missing collection would look like a record that can never be stored.
#[derive(Debug)]
pub(crate) struct Prepared {
    done: AtomicBool,
    trouble: Mutex<Option<StoreError>>,
    view: RwLock<View>,
}

#[derive(Debug)]
struct View {
    dense: Option<Arc<str>>,
    known: Option<Known>,
}

#[derive(Debug, Clone)]
struct Known {
    configured: EmbedderId,
    state: State,
    /// The generation that is older than this process or its own doing.
    seen: i64,
    read_at: Instant,
}

impl Prepared {
    pub(crate) fn new() -> Self {
        let view = View { dense: Some(Arc::from(DENSE)), known: None };
        Self { done: AtomicBool::new(false), trouble: Mutex::default(), view: RwLock::new(view) }
    }

    /// The name of the vectors that this process's embedder makes. `None`: the store has none of them.
    pub(crate) fn dense(&self) -> Option<Arc<str>> {
        self.read(|view| view.dense.clone())
    }

    pub(crate) fn shown(&self) -> Option<StoredVectors> {
        self.read(|view| view.known.as_ref().map(|known| known.state.shown(&known.configured)))
    }

    /// `None`: not prepared yet.
    pub(crate) fn seen(&self) -> Option<i64> {
        self.read(|view| view.known.as_ref().map(|known| known.seen))
    }

    /// Whether the state should be read again before the next request: something about it is about to change, and
    /// it was not read lately. Says so to one of those who ask at once.
    pub(crate) fn is_stale(&self) -> bool {
        let settled = |known: &Known| {
            known.state.building.is_none() && known.state.serving.embedder == known.configured
        };
        let stale = |known: &Known| !settled(known) && known.read_at.elapsed() > FRESH;
        if !self.read(|view| view.known.as_ref().is_some_and(stale)) {
            return false;
        }
        self.write(|view| match &mut view.known {
            Some(known) if stale(known) => {
                known.read_at = Instant::now();
                true
            }
            _ => false,
        })
    }

    /// Notes what was read. A generation is one's own when this process brought it about or began with it.
    pub(crate) fn learn(&self, state: &State, own: bool) {
        self.write(|view| {
            if let Some(known) = &mut view.known {
                if known.state.revision > state.revision {
                    return;
                }
                known.state = state.clone();
                known.read_at = Instant::now();
                if own {
                    known.seen = state.generation;
                }
                let name = state.usable(&known.configured).map(|Named { name, .. }| Arc::from(name.as_str()));
                view.dense = name;
            }
        });
    }

    /// Success stays.
    pub(crate) fn note(&self, configured: &EmbedderId, outcome: &Result<State, StoreError>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = outcome.as_ref().err().cloned();
        let Ok(state) = outcome else { return };
        self.write(|view| {
            view.known = Some(Known {
                configured: configured.clone(),
                state: state.clone(),
                seen: state.generation,
                read_at: Instant::now(),
            });
        });
        self.learn(state, true);
        self.done.store(true, Ordering::Release);
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.done.load(Ordering::Acquire) {
            return Ok(());
        }
        match &*self.trouble.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(trouble) => Err(StoreError::Unavailable(format!("not prepared yet: {trouble}"))),
            None => Err(StoreError::Unavailable("not prepared yet".to_owned())),
        }
    }

    fn read<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut View) -> T) -> T {
        write(&mut self.view.write().unwrap_or_else(PoisonError::into_inner))
    }
}
