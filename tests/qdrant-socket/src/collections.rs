use std::sync::PoisonError;

use hindsight_store::VectorBackend;
use qdrant_client::qdrant::{
    CollectionDescription, CollectionInfo, CollectionOperationResponse, CreateCollection,
    GetCollectionInfoRequest, GetCollectionInfoResponse, ListCollectionsRequest, ListCollectionsResponse,
    UpdateCollection, collections_server::Collections, vectors_config, vectors_config_diff,
};
use tonic::{Request, Response, Status};

use crate::{answer::service, service::Service};

service! {
    impl Collections {
        async fn get(
            &self,
            request: Request<GetCollectionInfoRequest>,
        ) -> Result<Response<GetCollectionInfoResponse>, Status> {
            let name = request.into_inner().collection_name;
            let asked = name.clone();
            let info = self.run(name.clone(), |b| async move { b.collection_info(&asked).await }).await?;
            let Some(info) = info else {
                return Err(Status::not_found(format!("Collection `{name}` doesn't exist!")));
            };
            let result = Some(self.as_asked_for(&name, info));
            Ok(Response::new(GetCollectionInfoResponse { result, ..Default::default() }))
        }

        async fn list(
            &self,
            _: Request<ListCollectionsRequest>,
        ) -> Result<Response<ListCollectionsResponse>, Status> {
            let created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
            let collections = created.keys().map(|name| CollectionDescription { name: name.clone() }).collect();
            Ok(Response::new(ListCollectionsResponse { collections, ..Default::default() }))
        }

        async fn create(
            &self,
            request: Request<CreateCollection>,
        ) -> Result<Response<CollectionOperationResponse>, Status> {
            let asked = request.into_inner();
            let name = asked.collection_name.clone();
            if matches!(self.backend.collection_info(&name).await, Ok(Some(_))) {
                return Err(Status::invalid_argument(format!("Collection `{name}` already exists!")));
            }
            let plain = on_one_node(asked.clone());
            self.run(name.clone(), |b| async move { b.create_collection(plain).await }).await?;
            self.created.lock().unwrap_or_else(PoisonError::into_inner).insert(name, asked);
            Ok(Response::new(CollectionOperationResponse { result: true, ..Default::default() }))
        }

        async fn update(
            &self,
            request: Request<UpdateCollection>,
        ) -> Result<Response<CollectionOperationResponse>, Status> {
            let UpdateCollection { collection_name, vectors_config, .. } = request.into_inner();
            let Some(vectors_config_diff::Config::ParamsMap(diff)) = vectors_config.and_then(|v| v.config) else {
                return Err(Status::unimplemented("update: only of named vectors"));
            };
            let mut updated = self.updated.lock().unwrap_or_else(PoisonError::into_inner);
            updated.entry(collection_name).or_default().extend(diff.map);
            Ok(Response::new(CollectionOperationResponse { result: true, ..Default::default() }))
        }
    }
    unanswered {
        delete: DeleteCollection => CollectionOperationResponse,
        update_aliases: ChangeAliases => CollectionOperationResponse,
        list_collection_aliases: ListCollectionAliasesRequest => ListAliasesResponse,
        list_aliases: ListAliasesRequest => ListAliasesResponse,
        collection_cluster_info: CollectionClusterInfoRequest => CollectionClusterInfoResponse,
        collection_exists: CollectionExistsRequest => CollectionExistsResponse,
        update_collection_cluster_setup:
            UpdateCollectionClusterSetupRequest => UpdateCollectionClusterSetupResponse,
        create_shard_key: CreateShardKeyRequest => CreateShardKeyResponse,
        delete_shard_key: DeleteShardKeyRequest => DeleteShardKeyResponse,
        list_shard_keys: ListShardKeysRequest => ListShardKeysResponse,
    }
}

impl Service {
    fn as_asked_for(&self, name: &str, mut info: CollectionInfo) -> CollectionInfo {
        let created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        self.as_updated(name, &mut info);
        let (Some(asked), Some(config)) = (created.get(name), info.config.as_mut()) else { return info };
        config.quantization_config = asked.quantization_config;
        if let Some(params) = config.params.as_mut() {
            params.shard_number = asked.shard_number.unwrap_or(params.shard_number);
            params.replication_factor = asked.replication_factor.or(params.replication_factor);
            params.write_consistency_factor =
                asked.write_consistency_factor.or(params.write_consistency_factor);
            params.sparse_vectors_config = asked.sparse_vectors_config.clone();
        }
        info
    }

    #[allow(deprecated, reason = "what servers before 1.18 report")]
    fn as_updated(&self, name: &str, info: &mut CollectionInfo) {
        let updated = self.updated.lock().unwrap_or_else(PoisonError::into_inner);
        let params = info.config.as_mut().and_then(|config| config.params.as_mut());
        let vectors = params.and_then(|params| params.vectors_config.as_mut()?.config.as_mut());
        let Some(vectors_config::Config::ParamsMap(vectors)) = vectors else { return };
        for (vector, diff) in updated.get(name).into_iter().flatten() {
            if let Some(params) = vectors.map.get_mut(vector) {
                params.on_disk = diff.on_disk.or(params.on_disk);
            }
        }
    }
}

/// Without what the embedded engine has no use for and would refuse.
fn on_one_node(mut request: CreateCollection) -> CreateCollection {
    request.shard_number = None;
    request.replication_factor = None;
    request.write_consistency_factor = None;
    request.quantization_config = None;
    for sparse in request.sparse_vectors_config.iter_mut().flat_map(|config| config.map.values_mut()) {
        sparse.index = None;
    }
    request
}
