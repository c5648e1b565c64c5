use std::{
    mem,
    sync::{Mutex, PoisonError},
};

use hindsight_ports::StoreError;
use hindsight_store::{Scrolled, VectorBackend};
use hindsight_store_qdrant::{QdrantBackend, QdrantOptions};
use qdrant_client::{
    Qdrant,
    qdrant::{
        CollectionInfo, CountPoints, CreateCollection, CreateFieldIndexCollection, CreateVectorNameRequest,
        DeletePoints, DeleteVectorNameRequest, FacetCounts, FacetHit, GetPoints, QueryPoints, RetrievedPoint,
        ScoredPoint, ScrollPoints, SetPayloadPoints, UpdatePointVectors, UpsertPoints,
    },
};
use secrecy::ExposeSecret;

/// A backend that removes the collections it made when it is dropped.
pub struct Cleanup {
    inner: QdrantBackend,
    options: QdrantOptions,
    made: Mutex<Vec<String>>,
}

impl Cleanup {
    pub fn new(options: QdrantOptions) -> Self {
        let inner = QdrantBackend::new(options.clone()).unwrap();
        Self { inner, options, made: Mutex::default() }
    }

    fn remember(&self, name: &str) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.iter().any(|known| known == name) {
            made.push(name.to_owned());
        }
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        let made = mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner));
        let options = self.options.clone();
        // A runtime cannot be waited on from within another.
        let removing = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let key = options.api_key.as_ref().map(|key| key.expose_secret().to_owned());
                let client = Qdrant::from_url(&options.url)
                    .api_key(key)
                    .timeout(options.timeout)
                    .skip_compatibility_check()
                    .build()
                    .unwrap();
                for name in made {
                    if let Err(error) = client.delete_collection(&name).await {
                        eprintln!("collection {name} is left on {}: {error}", options.url);
                    }
                }
            });
        });
        removing.join().unwrap();
    }
}

#[tonic::async_trait]
impl VectorBackend for Cleanup {
    async fn create_collection(&self, request: CreateCollection) -> Result<(), StoreError> {
        self.remember(&request.collection_name);
        self.inner.create_collection(request).await
    }

    async fn collection_info(&self, collection: &str) -> Result<Option<CollectionInfo>, StoreError> {
        self.inner.collection_info(collection).await
    }

    async fn create_field_index(&self, request: CreateFieldIndexCollection) -> Result<(), StoreError> {
        self.inner.create_field_index(request).await
    }

    async fn create_vector_name(&self, request: CreateVectorNameRequest) -> Result<(), StoreError> {
        self.inner.create_vector_name(request).await
    }

    async fn delete_vector_name(&self, request: DeleteVectorNameRequest) -> Result<(), StoreError> {
        self.inner.delete_vector_name(request).await
    }

    async fn upsert(&self, request: UpsertPoints) -> Result<(), StoreError> {
        self.inner.upsert(request).await
    }

    async fn update_vectors(&self, request: UpdatePointVectors) -> Result<(), StoreError> {
        self.inner.update_vectors(request).await
    }

    async fn set_payload(&self, request: SetPayloadPoints) -> Result<(), StoreError> {
        self.inner.set_payload(request).await
    }

    async fn delete(&self, request: DeletePoints) -> Result<(), StoreError> {
        self.inner.delete(request).await
    }

    async fn get(&self, request: GetPoints) -> Result<Vec<RetrievedPoint>, StoreError> {
        self.inner.get(request).await
    }

    async fn query(&self, request: QueryPoints) -> Result<Vec<ScoredPoint>, StoreError> {
        self.inner.query(request).await
    }

    async fn scroll(&self, request: ScrollPoints) -> Result<Scrolled, StoreError> {
        self.inner.scroll(request).await
    }

    async fn count(&self, request: CountPoints) -> Result<u64, StoreError> {
        self.inner.count(request).await
    }

    async fn facet(&self, request: FacetCounts) -> Result<Vec<FacetHit>, StoreError> {
        self.inner.facet(request).await
    }
}
