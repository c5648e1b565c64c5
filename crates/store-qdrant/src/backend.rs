use async_trait::async_trait;
use hindsight_ports::StoreError;
use hindsight_store::{Scrolled, VectorBackend};
use qdrant_client::qdrant::{
    CollectionInfo, CountPoints, CreateCollection, CreateFieldIndexCollection, DeletePoints, FacetCounts,
    FacetHit, GetCollectionInfoRequest, GetPoints, ListCollectionsRequest, QueryPoints, RetrievedPoint,
    ScoredPoint, ScrollPoints, SetPayloadPoints, UpdateMode, UpdateResult, UpdateStatus, UpsertPoints,
    WriteOrdering, WriteOrderingType, collections_client::CollectionsClient, points_client::PointsClient,
};
use tonic::transport::Channel;

use crate::{
    CollectionLayout, QdrantOptions,
    connection::{Call, Connection},
    failure::{Failure, Kind},
    options::rejected,
    version::Version,
};

/// Largest answer that is read. The store asks for pages, which stay far below it.
const MAX_ANSWER: usize = 256 * 1024 * 1024;

/// A Qdrant server, or a cluster of them behind one address.
#[derive(Debug)]
pub struct QdrantBackend {
    connection: Connection,
    layout: CollectionLayout,
}

impl QdrantBackend {
    /// Connects when the first call is made, so the server may be away. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// `Rejected`, naming the option that cannot be used.
    pub fn new(options: QdrantOptions) -> Result<Self, StoreError> {
        Ok(Self { connection: Connection::new(&options)?, layout: options.layout })
    }

    /// Whether the server answers, is recent enough and accepts the key. Asks it every time, once.
    ///
    /// # Errors
    /// `Unavailable`, saying what is wrong and what helps.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let connection = &self.connection;
        connection.check_version(connection.deadline()).await.map_err(|f| f.error)?;
        // The health check is answered to anyone; this needs the key.
        let rpc = |c, request| async move { collections(c).list(request).await };
        let list = connection.call(Call::once("list collections"), ListCollectionsRequest {}, rpc);
        list.await.map(drop).map_err(|f| f.error)
    }

    async fn info(&self, collection: &str) -> Result<Option<CollectionInfo>, StoreError> {
        let request = GetCollectionInfoRequest { collection_name: collection.to_owned() };
        let rpc = |c, request| async move { collections(c).get(request).await };
        match self.connection.call(Call::idempotent("get collection"), request, rpc).await {
            Ok(reply) => Ok(reply.result),
            Err(Failure { kind: Kind::Missing, .. }) => Ok(None),
            Err(failure) => Err(failure.error),
        }
    }

    /// Prepares an upsert that depends on what is there.
    async fn conditional(&self, request: &mut UpsertPoints) -> Result<(), StoreError> {
        if request.update_mode.is_some() {
            let connection = &self.connection;
            let version = connection.version(connection.deadline()).await.map_err(|f| f.error)?;
            if version < Version::UPDATE_MODES {
                let needed = Version::UPDATE_MODES;
                let problem = format!("needs Qdrant {needed}, the server is of version {version}");
                return Err(rejected("upsert.update_mode", &problem));
            }
        }
        // Each replica looks at its own copy: only when all see the writes in one order do they decide alike.
        request.ordering = Some(WriteOrdering { r#type: WriteOrderingType::Strong as i32 });
        Ok(())
    }
}

#[async_trait]
impl VectorBackend for QdrantBackend {
    async fn create_collection(&self, request: CreateCollection) -> Result<(), StoreError> {
        let name = request.collection_name.clone();
        if self.info(&name).await?.is_some() {
            return Ok(());
        }
        let request = self.layout.of_collection(request);
        let rpc = |c, request| async move { collections(c).create(request).await };
        match self.connection.call(Call::setup("create collection"), request, rpc).await {
            Ok(reply) if reply.result => Ok(()),
            Ok(_) => Err(StoreError::Unavailable(format!("create collection {name:?}: not done in time"))),
            // Someone else may have made it meanwhile, or an attempt of ours whose answer was lost.
            Err(failure) if !failure.error.is_transient() && self.info(&name).await?.is_some() => Ok(()),
            Err(failure) => Err(failure.error),
        }
    }

    async fn collection_info(&self, collection: &str) -> Result<Option<CollectionInfo>, StoreError> {
        self.info(collection).await
    }

    async fn create_field_index(&self, request: CreateFieldIndexCollection) -> Result<(), StoreError> {
        let request = self.layout.of_index(CreateFieldIndexCollection { wait: Some(true), ..request });
        let rpc = |c, request| async move { points(c).create_field_index(request).await };
        let reply = self.connection.call(Call::setup("create index"), request, rpc).await;
        applied("create index", reply.map_err(|f| f.error)?.result)
    }

    async fn upsert(&self, request: UpsertPoints) -> Result<(), StoreError> {
        let mut request = UpsertPoints { wait: Some(true), ..request };
        let plain = request.update_mode.is_none_or(|mode| mode == UpdateMode::Upsert as i32);
        let call = if plain && request.update_filter.is_none() {
            Call::idempotent("upsert")
        } else {
            self.conditional(&mut request).await?;
            Call::once("conditional upsert")
        };
        let rpc = |c, request| async move { points(c).upsert(request).await };
        let reply = self.connection.call(call, request, rpc).await;
        applied("upsert", reply.map_err(|f| f.error)?.result)
    }

    async fn set_payload(&self, request: SetPayloadPoints) -> Result<(), StoreError> {
        let request = SetPayloadPoints { wait: Some(true), ..request };
        let rpc = |c, request| async move { points(c).set_payload(request).await };
        let reply = self.connection.call(Call::idempotent("set payload"), request, rpc).await;
        applied("set payload", reply.map_err(|f| f.error)?.result)
    }

    async fn delete(&self, request: DeletePoints) -> Result<(), StoreError> {
        let request = DeletePoints { wait: Some(true), ..request };
        let rpc = |c, request| async move { points(c).delete(request).await };
        let reply = self.connection.call(Call::idempotent("delete"), request, rpc).await;
        applied("delete", reply.map_err(|f| f.error)?.result)
    }

    async fn get(&self, request: GetPoints) -> Result<Vec<RetrievedPoint>, StoreError> {
        let rpc = |c, request| async move { points(c).get(request).await };
        let reply = self.connection.call(Call::idempotent("get"), request, rpc).await;
        reply.map(|r| r.result).map_err(|f| f.error)
    }

    async fn query(&self, request: QueryPoints) -> Result<Vec<ScoredPoint>, StoreError> {
        let request = self.layout.of_query(request);
        let rpc = |c, request| async move { points(c).query(request).await };
        let reply = self.connection.call(Call::idempotent("query"), request, rpc).await;
        reply.map(|r| r.result).map_err(|f| f.error)
    }

    async fn scroll(&self, request: ScrollPoints) -> Result<Scrolled, StoreError> {
        let rpc = |c, request| async move { points(c).scroll(request).await };
        let reply = self.connection.call(Call::idempotent("scroll"), request, rpc).await;
        reply.map(|r| Scrolled { points: r.result, next: r.next_page_offset }).map_err(|f| f.error)
    }

    async fn count(&self, request: CountPoints) -> Result<u64, StoreError> {
        let rpc = |c, request| async move { points(c).count(request).await };
        let reply = self.connection.call(Call::idempotent("count"), request, rpc).await;
        let result = reply.map_err(|f| f.error)?.result;
        result
            .map(|r| r.count)
            .ok_or_else(|| StoreError::Unavailable("count: an answer without one".to_owned()))
    }

    async fn facet(&self, request: FacetCounts) -> Result<Vec<FacetHit>, StoreError> {
        let rpc = |c, request| async move { points(c).facet(request).await };
        let reply = self.connection.call(Call::idempotent("facet"), request, rpc).await;
        reply.map(|r| r.hits).map_err(|f| f.error)
    }
}

fn points(channel: Channel) -> PointsClient<Channel> {
    PointsClient::new(channel).max_decoding_message_size(MAX_ANSWER)
}

fn collections(channel: Channel) -> CollectionsClient<Channel> {
    CollectionsClient::new(channel).max_decoding_message_size(MAX_ANSWER)
}

/// `Acknowledged` and `WaitTimeout` are answered to writes that the server has not applied yet.
fn applied(name: &str, result: Option<UpdateResult>) -> Result<(), StoreError> {
    let status = result.map_or(UpdateStatus::UnknownUpdateStatus, |r| r.status());
    match status {
        UpdateStatus::Completed => Ok(()),
        other => Err(StoreError::Unavailable(format!("{name}: answered {other:?} instead of Completed"))),
    }
}
