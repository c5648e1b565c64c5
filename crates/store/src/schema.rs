//! What must exist before the first write: collections, their indexes, and the memory of who made the vectors.

use std::collections::HashMap;

use futures::future::try_join_all;
use hindsight_ports::{EmbedderId, StoreError};
use qdrant_client::qdrant::{
    Condition, CreateCollection, Filter, GetPoints, PointStruct, UpsertPoints, Value, VectorParamsMap,
    Vectors, VectorsConfig, WithPayloadSelector, vectors_config,
};
use uuid::Uuid;

use crate::{VectorBackend, collection::Collection, point, scoped::ScopedBackend};

/// The form of what is stored. Raised when older builds could not read it any more.
const SCHEMA: i64 = 1;
/// Longest prefix of collection names, in bytes.
const PREFIX_BYTES: usize = 64;

const META: &str = "meta";
const COLLECTION: &str = "collection";
const MODEL: &str = "model";
const DIMENSION: &str = "dimension";
const VERSION: &str = "schema";

pub(crate) async fn prepare(scoped: &ScopedBackend, embedder: &EmbedderId) -> Result<(), StoreError> {
    let (backend, prefix) = scoped.raw();
    check_prefix(prefix)?;
    let meta = Meta { backend, collection: format!("{prefix}{META}") };
    meta.create().await?;
    let with_vectors = Collection::ALL.into_iter().filter(|c| c.has_vectors());
    try_join_all(with_vectors.map(|collection| meta.claim(collection, embedder))).await?;
    let every = Collection::ALL.into_iter();
    try_join_all(every.map(|collection| create(backend, prefix, collection, embedder.dimension))).await?;
    Ok(())
}

/// Creates what is missing of a collection; at once, since an adapter shares one sync among writes that wait.
async fn create(
    backend: &dyn VectorBackend,
    prefix: &str,
    collection: Collection,
    dimension: usize,
) -> Result<(), StoreError> {
    let name = format!("{prefix}{}", collection.name());
    backend.create_collection(collection.create_request(&name, dimension)).await?;
    let there = backend.collection_info(&name).await?.map(|info| info.payload_schema).unwrap_or_default();
    let missing = collection.index_requests(&name).into_iter();
    let missing = missing.filter(|index| !there.contains_key(&index.field_name));
    try_join_all(missing.map(|index| backend.create_field_index(index))).await?;
    Ok(())
}

/// A prefix becomes part of file names and URLs.
fn check_prefix(prefix: &str) -> Result<(), StoreError> {
    let accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if prefix.len() <= PREFIX_BYTES && prefix.chars().all(accepted) {
        return Ok(());
    }
    Err(StoreError::Rejected(format!(
        "prefix: use at most {PREFIX_BYTES} letters, digits, `_` and `-` of ASCII"
    )))
}

/// One point per collection with vectors: which embedder made them, in which form they are stored.
struct Meta<'a> {
    backend: &'a dyn VectorBackend,
    collection: String,
}

impl Meta<'_> {
    async fn create(&self) -> Result<(), StoreError> {
        let none = vectors_config::Config::ParamsMap(VectorParamsMap::default());
        let request = CreateCollection {
            collection_name: self.collection.clone(),
            vectors_config: Some(VectorsConfig { config: Some(none) }),
            ..Default::default()
        };
        self.backend.create_collection(request).await
    }

    /// Writes `embedder` down for `collection`, unless one stands there, and checks what stands there then:
    /// of two that start at once, one wins.
    async fn claim(&self, collection: Collection, embedder: &EmbedderId) -> Result<(), StoreError> {
        let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, collection.name().as_bytes());
        if self.read(id).await?.is_none() {
            self.write_once(id, collection, embedder).await?;
        }
        let Some(payload) = self.read(id).await? else {
            return Err(StoreError::Corrupt(format!("`{}` does not keep what is written", self.collection)));
        };
        let stored = EmbedderId {
            model: point::text(&payload, MODEL).unwrap_or_default().to_owned(),
            dimension: point::integer(&payload, DIMENSION).and_then(|n| n.try_into().ok()).unwrap_or(0),
        };
        let version = point::integer(&payload, VERSION).unwrap_or(0);
        if version > SCHEMA {
            return Err(StoreError::Rejected(format!(
                "the store is of schema {version}, this build knows {SCHEMA}; run the newer version"
            )));
        }
        if stored != *embedder {
            return Err(StoreError::EmbedderMismatch { stored, configured: embedder.clone() });
        }
        Ok(())
    }

    async fn read(&self, id: Uuid) -> Result<Option<HashMap<String, Value>>, StoreError> {
        let request = GetPoints {
            collection_name: self.collection.clone(),
            ids: vec![point::to_point_id(id)],
            with_payload: Some(WithPayloadSelector::from(true)),
            ..Default::default()
        };
        Ok(self.backend.get(request).await?.pop().map(|p| p.payload))
    }

    async fn write_once(
        &self,
        id: Uuid,
        collection: Collection,
        embedder: &EmbedderId,
    ) -> Result<(), StoreError> {
        let dimension = i64::try_from(embedder.dimension)
            .map_err(|_| StoreError::Rejected(format!("embedder {embedder}: too many dimensions")))?;
        let payload = HashMap::from([
            (COLLECTION.to_owned(), collection.name().into()),
            (MODEL.to_owned(), embedder.model.clone().into()),
            (DIMENSION.to_owned(), dimension.into()),
            (VERSION.to_owned(), SCHEMA.into()),
        ]);
        let point = PointStruct {
            id: Some(point::to_point_id(id)),
            payload,
            vectors: Some(Vectors::from(HashMap::<String, qdrant_client::qdrant::Vector>::new())),
        };
        let request = UpsertPoints {
            collection_name: self.collection.clone(),
            wait: Some(true),
            points: vec![point],
            // Never true for a point that is there.
            update_filter: Some(Filter::must([Condition::matches(VERSION, -1)])),
            ..Default::default()
        };
        self.backend.upsert(request).await
    }
}
