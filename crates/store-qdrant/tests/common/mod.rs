#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]
//! Where the suites run: on the embedded engine behind a socket, or, when `QDRANT_URL` is set, on that server
//! (`QDRANT_API_KEY` too, if it needs one), from which they remove what they made.

mod cleanup;

use std::{path::Path, sync::Arc, time::Duration};

use hindsight_ports::{MemoryStore, testkit::samples};
use hindsight_qdrant_socket::{SocketOptions, SocketServer};
use hindsight_store::{Store, StoreOptions, VectorBackend};
use hindsight_store_qdrant::{CollectionLayout, QdrantBackend, QdrantOptions};
use tempfile::TempDir;

use self::cleanup::Cleanup;

/// A server to test on. What was made on it is gone when this is dropped.
pub struct Target {
    pub backend: Arc<dyn VectorBackend>,
    _place: Place,
}

enum Place {
    Socket(SocketServer, TempDir),
    Server(Arc<Cleanup>),
}

/// In memory where the system has such a place: the engine syncs hundreds of files when collections are made.
pub fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// For tests that are not about time.
pub fn patient(url: String) -> QdrantOptions {
    QdrantOptions { url, timeout: Duration::from_secs(60), ..QdrantOptions::default() }
}

pub async fn target(layout: CollectionLayout) -> Target {
    if let Ok(url) = std::env::var("QDRANT_URL") {
        let api_key = std::env::var("QDRANT_API_KEY").ok().map(Into::into);
        let options = QdrantOptions { api_key, layout, ..patient(url) };
        let backend = Arc::new(Cleanup::new(options));
        return Target { backend: backend.clone(), _place: Place::Server(backend) };
    }
    let data = scratch();
    let server = SocketServer::start(SocketOptions::new(data.path())).await.unwrap();
    let backend = QdrantBackend::new(QdrantOptions { layout, ..patient(server.url()) }).unwrap();
    Target { backend: Arc::new(backend), _place: Place::Socket(server, data) }
}

/// A store that is ready for the suite of its port.
pub struct Opened {
    pub store: Arc<dyn MemoryStore>,
    pub target: Target,
}

pub async fn open() -> Opened {
    let target = target(CollectionLayout::default()).await;
    let prefix = format!("test-{}-", uuid::Uuid::new_v4().simple());
    let store = Store::new(target.backend.clone(), StoreOptions { prefix });
    store.prepare(&samples::embedder()).await.unwrap();
    Opened { store: Arc::new(store), target }
}
