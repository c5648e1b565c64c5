use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use async_trait::async_trait;
use hindsight_ports::{FilesRead, Probes, StoreError};
use hindsight_store::{Scrolled, VectorBackend};
use qdrant_client::qdrant::{
    CollectionInfo, CountPoints, CreateCollection, CreateFieldIndexCollection, CreateVectorNameRequest,
    DeletePoints, DeleteVectorNameRequest, FacetCounts, FacetHit, GetPoints, QueryPoints, RetrievedPoint,
    ScoredPoint, ScrollPoints, SetPayloadPoints, UpdatePointVectors, UpsertPoints,
};
use tokio::sync::{Mutex, Semaphore};

use crate::{
    collection::{Collection, Shared, Write},
    convert::{
        point::{ids_to_engine, record_from_engine, scored_from_engine},
        query::query_to_engine,
        read::{count_to_engine, facet_from_engine, facet_to_engine, scroll_to_engine, scrolled_from_engine},
        select::{payload_selector, vectors_selector},
    },
    files::{Description, DirLock, Places, check_name, find_below},
    journal::unavailable,
    refuse::refuse,
};

#[derive(Debug, Clone)]
pub struct EdgeOptions {
    /// Points written to a collection after which its segments are indexed in the background; a tenth of the
    /// collection, when that is more.
    pub optimize_after: u64,
}

impl Default for EdgeOptions {
    fn default() -> Self {
        Self { optimize_after: 5_000 }
    }
}

/// The embedded vector database of one data directory. Dropping it closes it.
#[derive(Debug)]
pub struct EdgeBackend {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    collections: RwLock<HashMap<String, Arc<Collection>>>,
    /// Collections are created one after the other.
    creating: Mutex<()>,
    closed: AtomicBool,
    shared: RwLock<Option<Shared>>,
}

impl EdgeBackend {
    /// Opens what is in `dir/store`, or begins anew there. Blocks while what the last run did not flush is
    /// read back from the journals.
    ///
    /// # Errors
    /// `Unavailable` when another process has the directory open, or when it cannot be read or written.
    /// `Corrupt` when what is there cannot be understood.
    pub fn open(dir: &Path, options: EdgeOptions) -> Result<Self, StoreError> {
        let root = dir.join("store");
        let lock = Arc::new(DirLock::take(&root)?);
        let shared = Shared {
            lock,
            optimizers: Arc::new(Semaphore::new(1)),
            optimize_after: options.optimize_after.max(1),
        };
        let mut described = Vec::new();
        let failed = |error: std::io::Error| unavailable(&root, &error);
        for entry in fs::read_dir(&root).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !entry.file_type().map_err(failed)?.is_dir() {
                continue;
            }
            let places = Places::new(entry.path());
            match Description::load(&places)? {
                Some(description) => described.push((places, description)),
                None => fs::remove_dir_all(places.root()).map_err(failed)?,
            }
        }
        let collections = open_all(described, &shared)?;
        Ok(Self {
            inner: Arc::new(Inner {
                root,
                collections: RwLock::new(collections),
                creating: Mutex::new(()),
                closed: AtomicBool::new(false),
                shared: RwLock::new(Some(shared)),
            }),
        })
    }

    /// Ends every request that waits, flushes and lets go of the directory. Every later request fails with
    /// `Unavailable`. May be called again.
    pub async fn close(&self) {
        let inner = Arc::clone(&self.inner);
        if let Err(error) = tokio::task::spawn_blocking(move || inner.close()).await {
            tracing::error!(%error, "closing the store failed");
        }
    }
}

/// Side by side: most of the time goes into waiting for the disk.
fn open_all(
    described: Vec<(Places, Description)>,
    shared: &Shared,
) -> Result<HashMap<String, Arc<Collection>>, StoreError> {
    let open = &|(places, description): (Places, Description)| -> Result<_, StoreError> {
        let name = description.created.collection_name.clone();
        Ok((name, Arc::new(Collection::open(places, description, shared.clone())?)))
    };
    thread::scope(|scope| {
        let opening: Vec<_> = described.into_iter().map(|d| scope.spawn(move || open(d))).collect();
        let panicked = |_| Err(StoreError::Unavailable("a collection could not be opened: panic".to_owned()));
        opening.into_iter().map(|o| o.join().unwrap_or_else(panicked)).collect()
    })
}

impl Inner {
    fn collection(&self, name: &str) -> Result<Arc<Collection>, StoreError> {
        self.find(name)?
            .ok_or_else(|| StoreError::Rejected(format!("collection_name: there is no collection {name:?}")))
    }

    fn find(&self, name: &str) -> Result<Option<Arc<Collection>>, StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("the store is closed".to_owned()));
        }
        Ok(self.collections.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
    }

    fn create(&self, request: CreateCollection) -> Result<(), StoreError> {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner).clone();
        let shared = shared.ok_or_else(|| StoreError::Unavailable("the store is closed".to_owned()))?;
        let name = request.collection_name.clone();
        let collection = Collection::create(Places::new(self.root.join(&name)), request, shared)?;
        let mut collections = self.collections.write().unwrap_or_else(PoisonError::into_inner);
        collections.insert(name, Arc::new(collection));
        Ok(())
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.shared.write().unwrap_or_else(PoisonError::into_inner).take();
        let mut collections = self.collections.write().unwrap_or_else(PoisonError::into_inner);
        collections.values().for_each(|c| c.begin_close());
        for collection in collections.values() {
            collection.close();
        }
        collections.clear();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

#[async_trait]
impl VectorBackend for EdgeBackend {
    async fn create_collection(&self, request: CreateCollection) -> Result<(), StoreError> {
        check_name(&request.collection_name)?;
        let _turn = self.inner.creating.lock().await;
        if self.inner.find(&request.collection_name)?.is_some() {
            return Ok(());
        }
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || inner.create(request))
            .await
            .map_err(|error| StoreError::Unavailable(format!("creating a collection failed: {error}")))?
    }

    async fn collection_info(&self, collection: &str) -> Result<Option<CollectionInfo>, StoreError> {
        let Some(collection) = self.inner.find(collection)? else { return Ok(None) };
        tokio::task::spawn_blocking(move || collection.info())
            .await
            .map_err(|error| StoreError::Unavailable(format!("reading a collection failed: {error}")))?
            .map(Some)
    }

    async fn create_field_index(&self, request: CreateFieldIndexCollection) -> Result<(), StoreError> {
        self.inner.collection(&request.collection_name)?.write(Write::CreateIndex(request)).await
    }

    async fn create_vector_name(&self, request: CreateVectorNameRequest) -> Result<(), StoreError> {
        self.inner.collection(&request.collection_name)?.write(Write::CreateVectorName(request)).await
    }

    async fn delete_vector_name(&self, request: DeleteVectorNameRequest) -> Result<(), StoreError> {
        self.inner.collection(&request.collection_name)?.write(Write::DeleteVectorName(request)).await
    }

    async fn upsert(&self, request: UpsertPoints) -> Result<(), StoreError> {
        self.inner.collection(&request.collection_name)?.write(Write::Upsert(request)).await
    }

    async fn update_vectors(&self, request: UpdatePointVectors) -> Result<(), StoreError> {
        self.inner.collection(&request.collection_name)?.write(Write::UpdateVectors(request)).await
    }

    async fn set_payload(&self, request: SetPayloadPoints) -> Result<(), StoreError> {
        self.inner.collection(&request.collection_name)?.write(Write::SetPayload(request)).await
    }

    async fn delete(&self, request: DeletePoints) -> Result<(), StoreError> {
        self.inner.collection(&request.collection_name)?.write(Write::Delete(request)).await
    }

    async fn get(&self, request: GetPoints) -> Result<Vec<RetrievedPoint>, StoreError> {
        let GetPoints {
            collection_name,
            ids,
            with_payload,
            with_vectors,
            // One copy of the data satisfies every level of consistency.
            read_consistency: _,
            shard_key_selector,
            timeout,
        } = request;
        refuse(
            "get",
            &[("shard_key_selector", shard_key_selector.is_some()), ("timeout", timeout.is_some())],
        )?;
        let collection = self.inner.collection(&collection_name)?;
        let ids = ids_to_engine(ids)?;
        let payload = payload_selector(with_payload, false)?;
        let vectors = vectors_selector(with_vectors, &collection.schema())?;
        let records =
            collection.read(move |shard| shard.retrieve(&ids, Some(payload), Some(vectors))).await?;
        Ok(records.into_iter().map(record_from_engine).collect())
    }

    async fn query(&self, request: QueryPoints) -> Result<Vec<ScoredPoint>, StoreError> {
        let collection = self.inner.collection(&request.collection_name)?;
        let query = query_to_engine(request, &collection.schema())?;
        // The engine finds `offset + limit` points and leaves the cutting to its caller.
        let offset = query.offset;
        let points = collection.read(move |shard| shard.query(query)).await?;
        Ok(points.into_iter().skip(offset).map(scored_from_engine).collect())
    }

    async fn scroll(&self, request: ScrollPoints) -> Result<Scrolled, StoreError> {
        let collection = self.inner.collection(&request.collection_name)?;
        let scroll = scroll_to_engine(request, &collection.schema())?;
        collection.list(move |shard| shard.scroll(scroll)).await.map(scrolled_from_engine)
    }

    async fn count(&self, request: CountPoints) -> Result<u64, StoreError> {
        let collection = self.inner.collection(&request.collection_name)?;
        let count = count_to_engine(request)?;
        collection.read(move |shard| shard.count(count)).await.map(|count| count as u64)
    }

    async fn facet(&self, request: FacetCounts) -> Result<Vec<FacetHit>, StoreError> {
        let collection = self.inner.collection(&request.collection_name)?;
        let facet = facet_to_engine(request)?;
        collection.read(move |shard| shard.facet(facet)).await.map(facet_from_engine)
    }

    async fn vacuum(&self, collection: &str) -> Result<bool, StoreError> {
        self.inner.collection(collection)?.vacuum().await.map(|()| true)
    }

    async fn find(&self, probes: &Probes) -> Result<Option<FilesRead>, StoreError> {
        let (root, probes) = (self.inner.root.clone(), probes.clone());
        tokio::task::spawn_blocking(move || find_below(&root, &probes))
            .await
            .map_err(|error| StoreError::Unavailable(format!("reading the files failed: {error}")))?
            .map(Some)
    }
}
