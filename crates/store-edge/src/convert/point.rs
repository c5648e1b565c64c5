use std::collections::HashMap;

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    DenseVector, MultiDenseVector, NamedVectors, NamedVectorsOutput, OrderValue, PointId, PointStruct,
    RetrievedPoint, ScoredPoint, SparseVector, Vector, VectorOutput, Vectors, VectorsOutput, order_value,
    point_id::PointIdOptions, vector, vector_output, vectors, vectors_output,
};
use qdrant_edge::{
    OrderValue as EngineOrderValue, PointId as EngineId, PointStructPersisted, Record,
    ScoredPoint as EngineScored, SparseVector as EngineSparse, VectorInternal, VectorPersisted,
    VectorStructInternal, VectorStructPersisted,
};
use uuid::Uuid;

use super::{
    schema::Schema,
    value::{payload_from_engine, payload_to_engine},
};
use crate::refuse::{refuse, rejected, unsupported};

pub(crate) fn id_to_engine(id: PointId) -> Result<EngineId, StoreError> {
    match id.point_id_options {
        Some(PointIdOptions::Num(number)) => Ok(EngineId::NumId(number)),
        Some(PointIdOptions::Uuid(text)) => Uuid::parse_str(&text)
            .map(EngineId::Uuid)
            .map_err(|_| rejected("id.uuid", format_args!("{text:?} is not a UUID"))),
        None => Err(rejected("id", "missing")),
    }
}

pub(crate) fn ids_to_engine(ids: Vec<PointId>) -> Result<Vec<EngineId>, StoreError> {
    ids.into_iter().map(id_to_engine).collect()
}

pub(crate) fn id_from_engine(id: EngineId) -> PointId {
    let options = match id {
        EngineId::NumId(number) => PointIdOptions::Num(number),
        EngineId::Uuid(uuid) => PointIdOptions::Uuid(uuid.to_string()),
    };
    PointId { point_id_options: Some(options) }
}

/// Checks the point against the collection's schema, so that what the journal holds can always be applied.
pub(crate) fn point_to_engine(
    point: PointStruct,
    schema: &Schema,
) -> Result<PointStructPersisted, StoreError> {
    let PointStruct { id, payload, vectors } = point;
    let id = id_to_engine(id.ok_or_else(|| rejected("points.id", "missing"))?)?;
    let vectors = match vectors.and_then(|vectors| vectors.vectors_options) {
        None => HashMap::new(),
        Some(vectors::VectorsOptions::Vectors(NamedVectors { vectors })) => vectors,
        Some(vectors::VectorsOptions::Vector(_)) => {
            return Err(rejected("points.vectors.vector", "vectors have names here; use the named form"));
        }
    };
    let vectors = vectors
        .into_iter()
        .map(|(name, vector)| {
            let vector = named_vector_to_engine(&name, vector, schema)?;
            Ok((name, vector))
        })
        .collect::<Result<HashMap<_, _>, StoreError>>()?;
    Ok(PointStructPersisted {
        id,
        vector: VectorStructPersisted::Named(vectors),
        payload: Some(payload_to_engine(payload)?),
    })
}

fn named_vector_to_engine(
    name: &str,
    vector: Vector,
    schema: &Schema,
) -> Result<VectorPersisted, StoreError> {
    let field = format!("points.vectors.{name}");
    match vector_kind(&field, vector)? {
        vector::Vector::Dense(DenseVector { data }) => {
            schema.check_dense(&field, name, &data)?;
            Ok(VectorPersisted::Dense(data))
        }
        vector::Vector::Sparse(sparse) => {
            schema.check_sparse(&field, name)?;
            Ok(VectorPersisted::Sparse(sparse_to_engine(&field, sparse)?))
        }
        vector::Vector::MultiDense(_) => Err(unsupported(&format!("{field}.multi_dense"))),
        vector::Vector::Document(_) => Err(unsupported(&format!("{field}.document"))),
        vector::Vector::Image(_) => Err(unsupported(&format!("{field}.image"))),
        vector::Vector::Object(_) => Err(unsupported(&format!("{field}.object"))),
    }
}

/// Clients before 1.16 fill the flat fields instead of the oneof; the protocol still allows it.
#[allow(deprecated)]
fn vector_kind(field: &str, vector: Vector) -> Result<vector::Vector, StoreError> {
    let Vector { data, indices, vectors_count, vector } = vector;
    refuse(field, &[("vectors_count", vectors_count.is_some())])?;
    Ok(match (vector, indices) {
        (Some(vector), _) => vector,
        (None, Some(indices)) => vector::Vector::Sparse(SparseVector { values: data, indices: indices.data }),
        (None, None) => vector::Vector::Dense(DenseVector { data }),
    })
}

/// Sorted by index, as the engine's dot product expects.
pub(crate) fn sparse_to_engine(field: &str, sparse: SparseVector) -> Result<EngineSparse, StoreError> {
    let SparseVector { values, indices } = sparse;
    if indices.len() != values.len() {
        return Err(rejected(field, format_args!("{} indices but {} values", indices.len(), values.len())));
    }
    check_finite(field, &values)?;
    let mut entries: Vec<(u32, f32)> = indices.into_iter().zip(values).collect();
    entries.sort_unstable_by_key(|(index, _)| *index);
    let (indices, values) = entries.into_iter().unzip();
    EngineSparse::new(indices, values).map_err(|error| rejected(field, error))
}

pub(crate) fn check_finite(field: &str, values: &[f32]) -> Result<(), StoreError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(rejected(field, format_args!("value {at} is not a finite number"))),
        None => Ok(()),
    }
}

pub(crate) fn record_from_engine(record: Record) -> RetrievedPoint {
    RetrievedPoint {
        id: Some(id_from_engine(record.id)),
        payload: record.payload.map(payload_from_engine).unwrap_or_default(),
        vectors: record.vector.map(vectors_from_engine),
        shard_key: None,
        order_value: record.order_value.map(order_value_from_engine),
    }
}

pub(crate) fn scored_from_engine(point: EngineScored) -> ScoredPoint {
    ScoredPoint {
        id: Some(id_from_engine(point.id)),
        payload: point.payload.map(payload_from_engine).unwrap_or_default(),
        score: point.score,
        version: point.version,
        vectors: point.vector.map(vectors_from_engine),
        shard_key: None,
        order_value: point.order_value.map(order_value_from_engine),
    }
}

/// The whole point as a message that writes it again.
pub(crate) fn record_to_point(record: Record) -> PointStruct {
    let named = match record.vector {
        Some(VectorStructInternal::Named(named)) => named,
        Some(VectorStructInternal::Single(_) | VectorStructInternal::MultiDense(_)) | None => HashMap::new(),
    };
    let vectors = named
        .into_iter()
        .filter_map(|(name, vector)| {
            let vector = match vector {
                VectorInternal::Dense(data) => vector::Vector::Dense(DenseVector { data }),
                VectorInternal::Sparse(sparse) => vector::Vector::Sparse(sparse_from_engine(sparse)),
                VectorInternal::MultiDense(_) => return None,
            };
            Some((name, Vector::from(vector)))
        })
        .collect();
    PointStruct {
        id: Some(id_from_engine(record.id)),
        payload: record.payload.map(payload_from_engine).unwrap_or_default(),
        vectors: Some(Vectors {
            vectors_options: Some(vectors::VectorsOptions::Vectors(NamedVectors { vectors })),
        }),
    }
}

fn sparse_from_engine(sparse: EngineSparse) -> SparseVector {
    SparseVector { values: sparse.values, indices: sparse.indices }
}

fn vectors_from_engine(vectors: VectorStructInternal) -> VectorsOutput {
    let options = match vectors {
        VectorStructInternal::Single(data) => {
            vectors_output::VectorsOptions::Vector(vector_from_engine(VectorInternal::Dense(data)))
        }
        VectorStructInternal::MultiDense(multi) => {
            vectors_output::VectorsOptions::Vector(vector_from_engine(VectorInternal::MultiDense(multi)))
        }
        VectorStructInternal::Named(named) => vectors_output::VectorsOptions::Vectors(NamedVectorsOutput {
            vectors: named.into_iter().map(|(name, vector)| (name, vector_from_engine(vector))).collect(),
        }),
    };
    VectorsOutput { vectors_options: Some(options) }
}

fn vector_from_engine(vector: VectorInternal) -> VectorOutput {
    let vector = match vector {
        VectorInternal::Dense(data) => vector_output::Vector::Dense(DenseVector { data }),
        VectorInternal::Sparse(sparse) => vector_output::Vector::Sparse(sparse_from_engine(sparse)),
        VectorInternal::MultiDense(multi) => vector_output::Vector::MultiDense(MultiDenseVector {
            vectors: multi.multi_vectors().map(|data| DenseVector { data: data.to_vec() }).collect(),
        }),
    };
    VectorOutput { vector: Some(vector), ..VectorOutput::default() }
}

fn order_value_from_engine(value: EngineOrderValue) -> OrderValue {
    let variant = match value {
        EngineOrderValue::Int(integer) => order_value::Variant::Int(integer),
        EngineOrderValue::Float(float) => order_value::Variant::Float(float),
    };
    OrderValue { variant: Some(variant) }
}
