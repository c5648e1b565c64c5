use std::collections::HashSet;

use async_trait::async_trait;
use hindsight_ports::StoreError;
use hindsight_store::{Scrolled, VectorBackend};
use qdrant_client::qdrant::{
    CollectionInfo, CollectionParams, CountPoints, CreateCollection, CreateFieldIndexCollection,
    CreateVectorNameRequest, DeletePoints, DeleteVectorNameRequest, FacetCounts, FacetHit,
    GetCollectionInfoRequest, GetPoints, ListCollectionsRequest, PointVectors, QueryPoints, RetrievedPoint,
    ScoredPoint, ScrollPoints, SetPayloadPoints, UpdateMode, UpdatePointVectors, UpdateResult, UpdateStatus,
    UpsertPoints, VectorParams, WriteOrdering, WriteOrderingType, collections_client::CollectionsClient,
    point_id::PointIdOptions, points_client::PointsClient, vectors_config,
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
            self.needs(Version::UPDATE_MODES, "upsert.update_mode").await?;
        }
        request.ordering = Some(in_one_order());
        Ok(())
    }

    /// Refuses what a server older than `needed` does not know.
    async fn needs(&self, needed: Version, what: &str) -> Result<(), StoreError> {
        let connection = &self.connection;
        let version = connection.version(connection.deadline()).await.map_err(|f| f.error)?;
        if version >= needed {
            return Ok(());
        }
        let problem = format!("needs Qdrant {needed}, the server is of version {version}");
        Err(rejected(what, &problem))
    }

    async fn has_vector_name(&self, collection: &str, name: &str) -> Result<bool, StoreError> {
        let params =
            self.info(collection).await?.and_then(|info| info.config).and_then(|config| config.params);
        Ok(params.is_some_and(|params| {
            dense_params(&params, name).is_some()
                || params.sparse_vectors_config.is_some_and(|sparse| sparse.map.contains_key(name))
        }))
    }

    /// Has a vector lie where those of new collections lie: making it says nothing of that.
    async fn lay_out_vector(&self, collection: &str, name: &str) -> Result<(), StoreError> {
        let params =
            self.info(collection).await?.and_then(|info| info.config).and_then(|config| config.params);
        let update = params.as_ref().and_then(|params| dense_params(params, name));
        let Some(request) = update.and_then(|dense| self.layout.of_vector(collection, name, dense)) else {
            return Ok(());
        };
        let rpc = |c, request| async move { collections(c).update(request).await };
        match self.connection.call(Call::setup("update collection"), request, rpc).await {
            Ok(reply) if reply.result => Ok(()),
            Ok(_) => {
                Err(StoreError::Unavailable(format!("update collection {collection:?}: not done in time")))
            }
            Err(failure) => Err(failure.error),
        }
    }

    /// Keeps those of `points` that are there. `false`: all are.
    async fn keep_existing(
        &self,
        collection: &str,
        points: &mut Vec<PointVectors>,
    ) -> Result<bool, StoreError> {
        let request = GetPoints {
            collection_name: collection.to_owned(),
            ids: points.iter().filter_map(|point| point.id.clone()).collect(),
            with_payload: Some(false.into()),
            ..GetPoints::default()
        };
        let there = self.get(request).await?.into_iter().filter_map(|point| point.id?.point_id_options);
        let there: HashSet<PointIdOptions> = there.collect();
        let before = points.len();
        points.retain(|point| {
            point.id.as_ref().and_then(|id| id.point_id_options.as_ref()).is_none_or(|id| there.contains(id))
        });
        Ok(points.len() < before)
    }
}

fn dense_params<'a>(params: &'a CollectionParams, name: &str) -> Option<&'a VectorParams> {
    match params.vectors_config.as_ref()?.config.as_ref()? {
        vectors_config::Config::ParamsMap(map) => map.map.get(name),
        vectors_config::Config::Params(_) => None,
    }
}

/// Each replica looks at its own copy: only when all see the writes in one order do they decide alike.
fn in_one_order() -> WriteOrdering {
    WriteOrdering { r#type: WriteOrderingType::Strong as i32 }
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

    async fn create_vector_name(&self, request: CreateVectorNameRequest) -> Result<(), StoreError> {
        let (collection, name) = (request.collection_name.clone(), request.vector_name.clone());
        if !self.has_vector_name(&collection, &name).await? {
            self.needs(Version::VECTOR_NAMES, "create_vector_name").await?;
            let request = CreateVectorNameRequest { wait: Some(true), ..request };
            let rpc = |c, request| async move { points(c).create_vector_name(request).await };
            let reply = self.connection.call(Call::setup("create vector name"), request, rpc).await;
            let done = reply.map_err(|f| f.error).and_then(|r| applied("create vector name", r.result));
            match done {
                // Someone else may have made it meanwhile, or an attempt of ours whose answer was lost.
                Err(error) if error.is_transient() || !self.has_vector_name(&collection, &name).await? => {
                    return Err(error);
                }
                _ => {}
            }
        }
        self.lay_out_vector(&collection, &name).await
    }

    async fn delete_vector_name(&self, request: DeleteVectorNameRequest) -> Result<(), StoreError> {
        let (collection, name) = (request.collection_name.clone(), request.vector_name.clone());
        if !self.has_vector_name(&collection, &name).await? {
            return Ok(());
        }
        self.needs(Version::VECTOR_NAMES, "delete_vector_name").await?;
        let request = DeleteVectorNameRequest { wait: Some(true), ..request };
        let rpc = |c, request| async move { points(c).delete_vector_name(request).await };
        let reply = self.connection.call(Call::setup("delete vector name"), request, rpc).await;
        match reply.map_err(|f| f.error).and_then(|r| applied("delete vector name", r.result)) {
            Err(error) if error.is_transient() || self.has_vector_name(&collection, &name).await? => {
                Err(error)
            }
            _ => Ok(()),
        }
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

    async fn update_vectors(&self, request: UpdatePointVectors) -> Result<(), StoreError> {
        let mut request = UpdatePointVectors { wait: Some(true), ..request };
        let mut call = Call::idempotent("update vectors");
        if request.update_filter.is_some() {
            request.ordering = Some(in_one_order());
            call = Call::once("conditional update of vectors");
        }
        // A server refuses a message with a point that is not there, having done some of the others.
        while !request.points.is_empty() {
            let rpc = |c, request| async move { points(c).update_vectors(request).await };
            let reply = self.connection.call(call, request.clone(), rpc).await;
            let done = reply.map_err(|f| f.error).and_then(|reply| applied("update vectors", reply.result));
            match done {
                Err(StoreError::Rejected(why)) => {
                    if !self.keep_existing(&request.collection_name, &mut request.points).await? {
                        return Err(StoreError::Rejected(why));
                    }
                }
                done => return done,
            }
        }
        Ok(())
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
