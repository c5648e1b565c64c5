//! The store over the embedded engine does what upkeep needs.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::scratch;
use hindsight_ports::{
    MemoryStore,
    testkit::{samples, upkeep::Keeper},
};
use hindsight_store::{Store, StoreOptions};
use hindsight_store_edge::{EdgeBackend, EdgeOptions};
use tempfile::TempDir;

struct Opened {
    keeper: Arc<dyn Keeper>,
    _dir: TempDir,
}

async fn open() -> Opened {
    let dir = scratch();
    let backend = Arc::new(EdgeBackend::open(dir.path(), EdgeOptions::default()).unwrap());
    let store = Store::new(backend, StoreOptions::default());
    store.prepare(&samples::embedder()).await.unwrap();
    Opened { keeper: Arc::new(store), _dir: dir }
}

hindsight_ports::upkeep_suite!(open());
