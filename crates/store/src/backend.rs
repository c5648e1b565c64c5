use async_trait::async_trait;
use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    CollectionInfo, CountPoints, CreateCollection, CreateFieldIndexCollection, DeletePoints, FacetCounts,
    FacetHit, GetPoints, PointId, QueryPoints, RetrievedPoint, ScoredPoint, ScrollPoints, SetPayloadPoints,
    UpsertPoints,
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

    /// With `update_filter`, points that exist and do not match it are left as they are.
    async fn upsert(&self, request: UpsertPoints) -> Result<(), StoreError>;

    async fn set_payload(&self, request: SetPayloadPoints) -> Result<(), StoreError>;

    async fn delete(&self, request: DeletePoints) -> Result<(), StoreError>;

    async fn get(&self, request: GetPoints) -> Result<Vec<RetrievedPoint>, StoreError>;

    async fn query(&self, request: QueryPoints) -> Result<Vec<ScoredPoint>, StoreError>;

    async fn scroll(&self, request: ScrollPoints) -> Result<Scrolled, StoreError>;

    async fn count(&self, request: CountPoints) -> Result<u64, StoreError>;

    async fn facet(&self, request: FacetCounts) -> Result<Vec<FacetHit>, StoreError>;
}
