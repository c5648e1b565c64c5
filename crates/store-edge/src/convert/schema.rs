//! `on_disk` is deprecated in the protocol, not gone from it: what it asks for is honoured.
#![allow(deprecated)]

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroUsize,
    thread,
};

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    CollectionConfig, CollectionInfo, CollectionParams, CollectionStatus, CreateCollection,
    CreateFieldIndexCollection, Datatype, Distance, HnswConfigDiff, Modifier, OptimizerStatus,
    OptimizersConfigDiff, PayloadSchemaInfo, SparseVectorParams, VectorParams, VectorsConfig, vectors_config,
};
use qdrant_edge::{
    Distance as EngineDistance, EdgeConfig, EdgeOptimizersConfig, EdgeSparseVectorParams, EdgeVectorParams,
    HnswIndexConfig, Modifier as EngineModifier, ShardInfo, VectorPersisted, WalOptions,
};

use super::{index::index_type, point::check_finite, value::payload_to_engine};
use crate::refuse::{bounded, refuse, rejected, unsupported};

/// Largest vector that Qdrant takes.
const MAX_DIMENSION: u64 = 65_536;
/// The engine's own log is not what makes writes durable here (the journal is): keep its files small.
const WAL_SEGMENT: usize = 8 * 1024 * 1024;

/// The vectors of a collection, for checking what is written and asked before the engine sees it.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    dense: HashMap<String, usize>,
    sparse: HashSet<String>,
}

impl Schema {
    pub(crate) fn check_dense(&self, field: &str, name: &str, data: &[f32]) -> Result<(), StoreError> {
        let Some(size) = self.dense.get(name) else {
            return Err(rejected(field, format_args!("the collection has no dense vector {name:?}")));
        };
        if data.len() != *size {
            return Err(rejected(field, format_args!("{} dimensions, expected {size}", data.len())));
        }
        check_finite(field, data)
    }

    pub(crate) fn check_sparse(&self, field: &str, name: &str) -> Result<(), StoreError> {
        if self.sparse.contains(name) {
            return Ok(());
        }
        Err(rejected(field, format_args!("the collection has no sparse vector {name:?}")))
    }

    pub(crate) fn check_known(&self, field: &str, name: &str) -> Result<(), StoreError> {
        if self.knows(name) {
            return Ok(());
        }
        Err(rejected(field, format_args!("the collection has no vector {name:?}")))
    }

    /// The vectors of the collection that are not among `names`.
    pub(crate) fn others(&self, names: &HashMap<String, VectorPersisted>) -> Vec<String> {
        let known = self.dense.keys().chain(&self.sparse);
        let mut others: Vec<_> = known.filter(|name| !names.contains_key(*name)).cloned().collect();
        others.sort();
        others
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        self.dense.contains_key(name) || self.sparse.contains(name)
    }

    /// Whether there is anything to index in the background.
    pub(crate) fn has_dense(&self) -> bool {
        !self.dense.is_empty()
    }
}

/// The engine's configuration for this collection.
pub(crate) fn collection_to_engine(request: &CreateCollection) -> Result<(EdgeConfig, Schema), StoreError> {
    let CreateCollection {
        collection_name: _,
        hnsw_config,
        wal_config,
        optimizers_config,
        shard_number,
        on_disk_payload,
        timeout,
        vectors_config,
        replication_factor,
        write_consistency_factor,
        quantization_config,
        sharding_method,
        sparse_vectors_config,
        strict_mode_config,
        metadata,
        payload,
        id_tracker,
    } = request;
    let other_than_one = |count: &Option<u32>| count.is_some_and(|count| count != 1);
    refuse(
        "create_collection",
        &[
            ("wal_config", wal_config.is_some()),
            ("shard_number", other_than_one(shard_number)),
            ("timeout", timeout.is_some()),
            ("replication_factor", other_than_one(replication_factor)),
            ("write_consistency_factor", other_than_one(write_consistency_factor)),
            ("quantization_config", quantization_config.is_some()),
            ("sharding_method", sharding_method.is_some()),
            ("strict_mode_config", strict_mode_config.is_some()),
            ("payload", payload.is_some()),
            ("id_tracker", id_tracker.is_some()),
        ],
    )?;
    payload_to_engine(metadata.clone())?;
    let vectors = dense_vectors(vectors_config.as_ref())?;
    let sparse = sparse_vectors_config
        .iter()
        .flat_map(|config| &config.map)
        .map(|(name, params)| Ok((name.clone(), sparse_vector(name, params)?)))
        .collect::<Result<HashMap<_, _>, StoreError>>()?;
    if let Some(name) = sparse.keys().find(|name| vectors.contains_key(*name)) {
        return Err(rejected(
            "create_collection.sparse_vectors_config",
            format_args!("{name:?} is dense too"),
        ));
    }
    let schema = Schema {
        dense: vectors.iter().map(|(name, params)| (name.clone(), params.size)).collect(),
        sparse: sparse.keys().cloned().collect(),
    };
    let config = EdgeConfig {
        on_disk_payload: on_disk_payload.unwrap_or(true),
        vectors,
        sparse_vectors: sparse,
        hnsw_config: hnsw("create_collection.hnsw_config", hnsw_config.as_ref())?,
        quantization_config: None,
        optimizers: optimizers(optimizers_config.as_ref())?,
        wal_options: Some(WalOptions {
            segment_capacity: WAL_SEGMENT,
            segment_queue_len: 0,
            retain_closed: NonZeroUsize::MIN,
        }),
    };
    Ok((config, schema))
}

fn dense_vectors(config: Option<&VectorsConfig>) -> Result<HashMap<String, EdgeVectorParams>, StoreError> {
    match config.and_then(|config| config.config.as_ref()) {
        None => Ok(HashMap::new()),
        Some(vectors_config::Config::ParamsMap(params)) => {
            params.map.iter().map(|(name, params)| Ok((name.clone(), dense_vector(name, params)?))).collect()
        }
        Some(vectors_config::Config::Params(_)) => Err(rejected(
            "create_collection.vectors_config.params",
            "vectors have names here; use params_map",
        )),
    }
}

fn dense_vector(name: &str, params: &VectorParams) -> Result<EdgeVectorParams, StoreError> {
    let VectorParams {
        size,
        distance,
        hnsw_config,
        quantization_config,
        on_disk,
        datatype,
        multivector_config,
        memory,
    } = params;
    let field = format!("create_collection.vectors_config.{name}");
    let plain = [None, Some(Datatype::Default as i32), Some(Datatype::Float32 as i32)];
    refuse(
        &field,
        &[
            ("quantization_config", quantization_config.is_some()),
            ("datatype", !plain.contains(datatype)),
            ("multivector_config", multivector_config.is_some()),
            ("memory", memory.is_some()),
        ],
    )?;
    if name.is_empty() {
        return Err(rejected(&field, "vectors have names here; the name is empty"));
    }
    let distance = match Distance::try_from(*distance) {
        Ok(Distance::Cosine) => EngineDistance::Cosine,
        Ok(Distance::Euclid) => EngineDistance::Euclid,
        Ok(Distance::Dot) => EngineDistance::Dot,
        Ok(Distance::Manhattan) => EngineDistance::Manhattan,
        Ok(Distance::UnknownDistance) | Err(_) => {
            return Err(rejected(&format!("{field}.distance"), "unknown"));
        }
    };
    let hnsw = hnsw_config.as_ref().map(|diff| hnsw(&format!("{field}.hnsw_config"), Some(diff)));
    Ok(EdgeVectorParams {
        size: bounded(&format!("{field}.size"), *size, MAX_DIMENSION)?,
        distance,
        on_disk: *on_disk,
        multivector_config: None,
        datatype: None,
        quantization_config: None,
        hnsw_config: hnsw.transpose()?,
    })
}

fn sparse_vector(name: &str, params: &SparseVectorParams) -> Result<EdgeSparseVectorParams, StoreError> {
    let SparseVectorParams { index, modifier } = params;
    let field = format!("create_collection.sparse_vectors_config.{name}");
    refuse(&field, &[("index", index.is_some())])?;
    let modifier = match modifier.map(Modifier::try_from) {
        None | Some(Ok(Modifier::None)) => None,
        Some(Ok(Modifier::Idf)) => Some(EngineModifier::Idf),
        Some(Err(_)) => return Err(rejected(&format!("{field}.modifier"), "unknown")),
    };
    Ok(EdgeSparseVectorParams { modifier, ..EdgeSparseVectorParams::default() })
}

/// Indexing takes half of the cores at most, so that it never starves the requests it runs beside.
fn hnsw(field: &str, diff: Option<&HnswConfigDiff>) -> Result<HnswIndexConfig, StoreError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let base =
        HnswIndexConfig { max_indexing_threads: (cores / 2).clamp(1, 8), ..HnswIndexConfig::default() };
    let Some(diff) = diff else { return Ok(base) };
    let HnswConfigDiff {
        m,
        ef_construct,
        full_scan_threshold,
        max_indexing_threads,
        on_disk,
        payload_m,
        inline_storage,
        memory,
    } = diff;
    refuse(
        field,
        &[
            ("max_indexing_threads", max_indexing_threads.is_some()),
            ("inline_storage", inline_storage.is_some()),
            ("memory", memory.is_some()),
        ],
    )?;
    let size = |name: &str, value: &Option<u64>, default: usize| {
        value.map_or(Ok(default), |value| bounded(&format!("{field}.{name}"), value, 1_000_000))
    };
    Ok(HnswIndexConfig {
        // None at all: no graph is built, and a search looks at every vector.
        m: if *m == Some(0) { 0 } else { size("m", m, base.m)? },
        ef_construct: size("ef_construct", ef_construct, base.ef_construct)?,
        full_scan_threshold: size("full_scan_threshold", full_scan_threshold, base.full_scan_threshold)?,
        on_disk: *on_disk,
        payload_m: payload_m
            .map(|value| bounded(&format!("{field}.payload_m"), value, 1_000_000))
            .transpose()?,
        ..base
    })
}

fn optimizers(diff: Option<&OptimizersConfigDiff>) -> Result<EdgeOptimizersConfig, StoreError> {
    let Some(diff) = diff else { return Ok(EdgeOptimizersConfig::default()) };
    let &OptimizersConfigDiff { indexing_threshold, .. } = diff;
    let rest = OptimizersConfigDiff { indexing_threshold: None, ..*diff };
    if rest != OptimizersConfigDiff::default() {
        return Err(unsupported("create_collection.optimizers_config (other than indexing_threshold)"));
    }
    let indexing_threshold = indexing_threshold
        .map(|kilobytes| {
            bounded("create_collection.optimizers_config.indexing_threshold", kilobytes, 1 << 32)
        })
        .transpose()?;
    Ok(EdgeOptimizersConfig { indexing_threshold, ..EdgeOptimizersConfig::default() })
}

pub(crate) fn collection_info(
    request: &CreateCollection,
    indexes: &[CreateFieldIndexCollection],
    info: &ShardInfo,
) -> CollectionInfo {
    let payload_schema = indexes
        .iter()
        .map(|index| {
            let path = index.field_name.parse().ok();
            let indexed = path.and_then(|path| info.payload_schema.get(&path));
            let schema = PayloadSchemaInfo {
                data_type: index_type(index) as i32,
                params: index.field_index_params.clone(),
                points: Some(indexed.map_or(0, |indexed| indexed.points as u64)),
            };
            (index.field_name.clone(), schema)
        })
        .collect();
    CollectionInfo {
        status: CollectionStatus::Green as i32,
        optimizer_status: Some(OptimizerStatus { ok: true, error: String::new() }),
        segments_count: info.segments_count as u64,
        config: Some(CollectionConfig {
            params: Some(CollectionParams {
                shard_number: 1,
                on_disk_payload: request.on_disk_payload.unwrap_or(true),
                vectors_config: request.vectors_config.clone(),
                replication_factor: Some(1),
                write_consistency_factor: Some(1),
                sparse_vectors_config: request.sparse_vectors_config.clone(),
                ..CollectionParams::default()
            }),
            hnsw_config: request.hnsw_config,
            optimizer_config: request.optimizers_config,
            metadata: request.metadata.clone(),
            ..CollectionConfig::default()
        }),
        payload_schema,
        points_count: Some(info.points_count as u64),
        indexed_vectors_count: Some(info.indexed_vectors_count as u64),
        ..CollectionInfo::default()
    }
}
