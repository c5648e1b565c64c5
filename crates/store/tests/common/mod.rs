#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

use std::{path::Path, sync::Arc};

use hindsight_ports::{MemoryStore, testkit::samples};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use tempfile::TempDir;

/// A store over the embedded engine in a directory of its own.
pub struct Opened {
    pub store: Arc<dyn MemoryStore>,
    pub backend: Arc<EdgeBackend>,
    pub dir: TempDir,
}

/// In memory where the system has such a place: the engine syncs hundreds of files when collections are made,
/// and no test here cuts the power.
pub fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

pub async fn open() -> Opened {
    open_in(scratch(), "").await
}

pub async fn open_in(dir: TempDir, prefix: &str) -> Opened {
    let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
    let store = Arc::new(Store::new(backend.clone(), StoreOptions { prefix: prefix.to_owned() }));
    store.prepare(&samples::embedder()).await.unwrap();
    Opened { store, backend, dir }
}
