//! How collections are laid out on the server. `on_disk` is deprecated in the newest protocol, but what replaces
//! it is unknown to servers before 1.18, which would ignore it.
#![allow(deprecated)]

use std::collections::HashMap;

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    BoolIndexParams, CreateCollection, CreateFieldIndexCollection, DatetimeIndexParams, FieldType,
    FloatIndexParams, GeoIndexParams, IntegerIndexParams, KeywordIndexParams, PayloadIndexParams,
    PrefetchQuery, QuantizationConfig, QuantizationSearchParams, QuantizationType, QueryPoints,
    ScalarQuantization, SearchParams, SparseIndexConfig, UpdateCollection, UuidIndexParams, VectorParams,
    VectorParamsDiff, VectorParamsDiffMap, VectorsConfig, VectorsConfigDiff,
    payload_index_params::IndexParams, quantization_config, vectors_config, vectors_config_diff,
};

use crate::options::rejected;

/// Share of the values of a vector that lie within the range that int8 covers; the rest is cut to it.
const QUANTILE: f32 = 0.99;

/// Settings of collections and indexes that say where data lies, and nothing about what it means. They apply to
/// what is created from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionLayout {
    /// Vectors are read from disk instead of being held in memory.
    pub on_disk_vectors: bool,
    /// Payload indexes are too.
    pub on_disk_indexes: bool,
    pub quantization: Quantization,
    /// Of each collection; the server's choice when unset.
    pub shard_number: Option<u32>,
    /// Copies of each shard, 1 when unset.
    pub replication_factor: Option<u32>,
    /// Copies that must have a write before it is acknowledged, 1 when unset.
    pub write_consistency_factor: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quantization {
    #[default]
    None,
    /// A copy of the dense vectors at one byte per dimension, in memory. The best candidates are scored again with
    /// the originals, so that scores are exact.
    Int8,
}

impl Default for CollectionLayout {
    fn default() -> Self {
        Self {
            on_disk_vectors: true,
            on_disk_indexes: false,
            quantization: Quantization::None,
            shard_number: None,
            replication_factor: None,
            write_consistency_factor: None,
        }
    }
}

impl CollectionLayout {
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let counts = [
            ("shard_number", self.shard_number),
            ("replication_factor", self.replication_factor),
            ("write_consistency_factor", self.write_consistency_factor),
        ];
        if let Some((option, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
            return Err(rejected(option, "must be at least 1"));
        }
        let replicas = self.replication_factor.unwrap_or(1);
        if self.write_consistency_factor.unwrap_or(1) > replicas {
            return Err(rejected(
                "write_consistency_factor",
                &format!("is more than replication_factor ({replicas}); no write could succeed"),
            ));
        }
        Ok(())
    }

    pub(crate) fn of_collection(&self, mut request: CreateCollection) -> CreateCollection {
        request.shard_number = request.shard_number.or(self.shard_number);
        request.replication_factor = request.replication_factor.or(self.replication_factor);
        request.write_consistency_factor = request.write_consistency_factor.or(self.write_consistency_factor);
        if self.on_disk_vectors {
            vectors_on_disk(&mut request);
        }
        if self.quantization == Quantization::Int8 && has_dense(request.vectors_config.as_ref()) {
            let int8 = ScalarQuantization {
                r#type: QuantizationType::Int8 as i32,
                quantile: Some(QUANTILE),
                always_ram: Some(true),
                ..ScalarQuantization::default()
            };
            request.quantization_config.get_or_insert(QuantizationConfig {
                quantization: Some(quantization_config::Quantization::Scalar(int8)),
            });
        }
        request
    }

    /// What puts a vector that was added later where this says. `None`: it lies there.
    pub(crate) fn of_vector(
        &self,
        collection: &str,
        name: &str,
        params: &VectorParams,
    ) -> Option<UpdateCollection> {
        if !self.on_disk_vectors || params.on_disk == Some(true) {
            return None;
        }
        let diff = VectorParamsDiff { on_disk: Some(true), ..VectorParamsDiff::default() };
        let map = VectorParamsDiffMap { map: HashMap::from([(name.to_owned(), diff)]) };
        let config = vectors_config_diff::Config::ParamsMap(map);
        Some(UpdateCollection {
            collection_name: collection.to_owned(),
            vectors_config: Some(VectorsConfigDiff { config: Some(config) }),
            ..UpdateCollection::default()
        })
    }

    pub(crate) fn of_index(&self, mut request: CreateFieldIndexCollection) -> CreateFieldIndexCollection {
        if self.on_disk_indexes {
            let given = request.field_index_params.take().and_then(|params| params.index_params);
            let params = given.or_else(|| plain_params(request.field_type())).map(index_on_disk);
            request.field_index_params = params.map(|p| PayloadIndexParams { index_params: Some(p) });
        }
        request
    }

    /// Scores are compared with absolute limits, so they must not be those of the quantized copies.
    pub(crate) fn of_query(&self, mut request: QueryPoints) -> QueryPoints {
        if self.quantization != Quantization::None {
            rescore(&mut request.params);
            request.prefetch.iter_mut().for_each(rescore_prefetch);
        }
        request
    }
}

fn has_dense(vectors: Option<&VectorsConfig>) -> bool {
    match vectors.and_then(|v| v.config.as_ref()) {
        None => false,
        Some(vectors_config::Config::Params(_)) => true,
        Some(vectors_config::Config::ParamsMap(map)) => !map.map.is_empty(),
    }
}

fn vectors_on_disk(request: &mut CreateCollection) {
    match request.vectors_config.as_mut().and_then(|v| v.config.as_mut()) {
        None => {}
        Some(vectors_config::Config::Params(params)) => params.on_disk = Some(true),
        Some(vectors_config::Config::ParamsMap(map)) => {
            map.map.values_mut().for_each(|params| params.on_disk = Some(true));
        }
    }
    for sparse in request.sparse_vectors_config.iter_mut().flat_map(|config| config.map.values_mut()) {
        sparse.index.get_or_insert(SparseIndexConfig::default()).on_disk = Some(true);
    }
}

/// What an index without parameters is. A text index is not made of nothing: its request stays as it is.
fn plain_params(kind: FieldType) -> Option<IndexParams> {
    Some(match kind {
        FieldType::Keyword => IndexParams::KeywordIndexParams(KeywordIndexParams::default()),
        FieldType::Integer => IndexParams::IntegerIndexParams(IntegerIndexParams {
            lookup: Some(true),
            range: Some(true),
            ..IntegerIndexParams::default()
        }),
        FieldType::Float => IndexParams::FloatIndexParams(FloatIndexParams::default()),
        FieldType::Geo => IndexParams::GeoIndexParams(GeoIndexParams::default()),
        FieldType::Bool => IndexParams::BoolIndexParams(BoolIndexParams::default()),
        FieldType::Datetime => IndexParams::DatetimeIndexParams(DatetimeIndexParams::default()),
        FieldType::Uuid => IndexParams::UuidIndexParams(UuidIndexParams::default()),
        FieldType::Text => return None,
    })
}

fn index_on_disk(mut params: IndexParams) -> IndexParams {
    let on_disk = match &mut params {
        IndexParams::KeywordIndexParams(p) => &mut p.on_disk,
        IndexParams::IntegerIndexParams(p) => &mut p.on_disk,
        IndexParams::FloatIndexParams(p) => &mut p.on_disk,
        IndexParams::GeoIndexParams(p) => &mut p.on_disk,
        IndexParams::TextIndexParams(p) => &mut p.on_disk,
        IndexParams::BoolIndexParams(p) => &mut p.on_disk,
        IndexParams::DatetimeIndexParams(p) => &mut p.on_disk,
        IndexParams::UuidIndexParams(p) => &mut p.on_disk,
    };
    *on_disk = Some(true);
    params
}

fn rescore(params: &mut Option<SearchParams>) {
    let quantization = &mut params.get_or_insert(SearchParams::default()).quantization;
    quantization.get_or_insert(QuantizationSearchParams::default()).rescore = Some(true);
}

fn rescore_prefetch(prefetch: &mut PrefetchQuery) {
    rescore(&mut prefetch.params);
    prefetch.prefetch.iter_mut().for_each(rescore_prefetch);
}

#[cfg(test)]
mod tests;
