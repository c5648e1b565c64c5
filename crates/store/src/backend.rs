use async_trait::async_trait;
use hindsight_ports::{FilesRead, Probes, StoreError};
use qdrant_client::qdrant::{
    CollectionInfo, CountPoints, CreateCollection, CreateFieldIndexCollection, CreateVectorNameRequest,
    DeletePoints, DeleteVectorNameRequest, FacetCounts, FacetHit, GetPoints, PointId, QueryPoints,
    RetrievedPoint, ScoredPoint, ScrollPoints, SetPayloadPoints, UpdatePointVectors, UpsertPoints,
};

/// A page of a scroll.
#[derive(Debug, Clone, Default)]
pub struct Scrolled {
    pub points: Vec<RetrievedPoint>,
    /// `None` at the end. Always `None` when the scroll has an `order_by`, as in Qdrant.
    pub next: Option<PointId>,
}

/// A vector database, addressed in Qdrant's own protobuf messages: what a message means is what Qdrant's
/// documentation says it means. An adapter that does not support a field refuses it (`Rejected`, naming the
/// field); it never ignores one.
///
/// Writes are durable when they return, whatever their `wait` field says.
#[async_trait]
pub trait VectorBackend: Send + Sync + 'static {
    /// Creates the collection, or leaves one of that name as it is.
    async fn create_collection(&self, request: CreateCollection) -> Result<(), StoreError>;

    /// `None`: there is no such collection.
    async fn collection_info(&self, collection: &str) -> Result<Option<CollectionInfo>, StoreError>;

    /// Idempotent.
    async fn create_field_index(&self, request: CreateFieldIndexCollection) -> Result<(), StoreError>;

    /// Gives a collection one more named vector, which no point has yet, or leaves one of that name as it is.
    async fn create_vector_name(&self, request: CreateVectorNameRequest) -> Result<(), StoreError>;

    /// Takes a named vector from a collection and all its points. That it is not there is fine.
    async fn delete_vector_name(&self, request: DeleteVectorNameRequest) -> Result<(), StoreError>;

    /// With `update_filter`, points that exist and do not match it are left as they are.
    async fn upsert(&self, request: UpsertPoints) -> Result<(), StoreError>;

    /// Sets the named vectors of points and leaves their other vectors and their payload. Points that are not
    /// there are passed over; with `update_filter`, so are those that do not match it.
    async fn update_vectors(&self, request: UpdatePointVectors) -> Result<(), StoreError>;

    async fn set_payload(&self, request: SetPayloadPoints) -> Result<(), StoreError>;

    async fn delete(&self, request: DeletePoints) -> Result<(), StoreError>;

    async fn get(&self, request: GetPoints) -> Result<Vec<RetrievedPoint>, StoreError>;

    async fn query(&self, request: QueryPoints) -> Result<Vec<ScoredPoint>, StoreError>;

    async fn scroll(&self, request: ScrollPoints) -> Result<Scrolled, StoreError>;

    async fn count(&self, request: CountPoints) -> Result<u64, StoreError>;

    async fn facet(&self, request: FacetCounts) -> Result<Vec<FacetHit>, StoreError>;

    /// Writes the files of a collection anew from what is in it, so that nothing is left in them of what was deleted
    /// or replaced before the call. `false`: the files are a server's, which does so when its own settings say.
    async fn vacuum(&self, _collection: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Looks for probes in every file. `None`: the files are a server's.
    async fn find(&self, _probes: &Probes) -> Result<Option<FilesRead>, StoreError> {
        Ok(None)
    }
}
