//! Records as points and back: ids, payload, the record itself.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use hindsight_codec::{Record, record_from_proto, record_to_proto};
use hindsight_ports::{Encoding, SparseVector, StoreError};
use hindsight_types::{TenantId, Viewer};
use prost::Message;
use qdrant_client::qdrant::{
    self, NamedVectors, PointId, PointStruct, RetrievedPoint, Value, Vectors, VectorsOutput,
    point_id::PointIdOptions, value::Kind, vectors::VectorsOptions, vectors_output,
};
use uuid::Uuid;

use crate::{collection::BM25, field, fields::Fields, stored::Stored};

/// The point of a record: two tenants that use the same key do not meet.
pub(crate) fn id(tenant: &TenantId, key: Uuid) -> Uuid {
    Uuid::new_v5(&key, tenant.as_str().as_bytes())
}

pub(crate) fn to_point_id(id: Uuid) -> PointId {
    PointId { point_id_options: Some(PointIdOptions::Uuid(id.to_string())) }
}

pub(crate) fn from_point_id(id: Option<PointId>) -> Result<Uuid, StoreError> {
    match id.and_then(|id| id.point_id_options) {
        Some(PointIdOptions::Uuid(s)) => {
            Uuid::parse_str(&s).map_err(|e| StoreError::Corrupt(format!("point id `{s}`: {e}")))
        }
        other => Err(StoreError::Corrupt(format!("point id {other:?} is not a UUID"))),
    }
}

/// A point without vectors.
pub(crate) fn of<T: Stored>(record: &T) -> PointStruct {
    let scope = record.scope();
    let bytes = record_to_proto(&Record(record.to_body())).encode_to_vec();
    let mut fields = Fields::default();
    fields.text(field::TENANT, scope.tenant.as_str());
    fields.text(field::VISIBILITY, &scope.visibility.keyword());
    record.fields(&mut fields);
    fields.text(field::RECORD, &STANDARD.encode(bytes));
    PointStruct {
        id: Some(to_point_id(id(&scope.tenant, record.key()))),
        payload: fields.into_payload(),
        vectors: None,
    }
}

/// Refuses what an engine would store and never find. The dense dimension it checks itself.
pub(crate) fn check_encoding(encoding: &Encoding) -> Result<(), StoreError> {
    check_dense(&encoding.dense)?;
    check_sparse(&encoding.sparse)
}

pub(crate) fn check_dense(vector: &[f32]) -> Result<(), StoreError> {
    if vector.iter().all(|v| v.is_finite()) { Ok(()) } else { unusable(NOT_A_NUMBER.to_owned()) }
}

pub(crate) fn check_sparse(SparseVector { indices, values }: &SparseVector) -> Result<(), StoreError> {
    if indices.len() != values.len() {
        unusable(format!("sparse: {} indices but {} values", indices.len(), values.len()))
    } else if !indices.is_sorted_by(|a, b| a < b) {
        unusable("sparse: indices must ascend without repeats".to_owned())
    } else if !values.iter().all(|v| v.is_finite()) {
        unusable(NOT_A_NUMBER.to_owned())
    } else {
        Ok(())
    }
}

const NOT_A_NUMBER: &str = "holds a value that is not a number; check the embedder";

fn unusable(problem: String) -> Result<(), StoreError> {
    Err(StoreError::Rejected(format!("encoding: {problem}")))
}

/// The named vectors of an encoding, the dense one under the name `dense`
/// ([`ScopedBackend::dense`](crate::scoped::ScopedBackend::dense)); an empty one is left out.
pub(crate) fn vectors(encoding: &Encoding, dense: Option<&str>) -> Option<Vectors> {
    let mut named = HashMap::new();
    if let Some(dense) = dense.filter(|_| !encoding.dense.is_empty()) {
        named.insert(dense.to_owned(), qdrant::DenseVector { data: encoding.dense.clone() }.into());
    }
    let SparseVector { indices, values } = encoding.sparse.clone();
    if !indices.is_empty() {
        named.insert(BM25.to_owned(), qdrant::SparseVector { indices, values }.into());
    }
    let named = NamedVectors { vectors: named };
    Some(Vectors { vectors_options: Some(VectorsOptions::Vectors(named)) })
}

/// Every vector of a point, to be written again.
pub(crate) fn as_stored(vectors: Option<VectorsOutput>) -> Option<Vectors> {
    use qdrant::vector_output::Vector;
    let vectors_output::VectorsOptions::Vectors(stored) = vectors?.vectors_options? else { return None };
    let again = stored.vectors.into_iter().filter_map(|(name, output)| match output.vector? {
        Vector::Dense(dense) => Some((name, dense.into())),
        Vector::Sparse(sparse) => Some((name, sparse.into())),
        Vector::MultiDense(_) => None,
    });
    let named = NamedVectors { vectors: again.collect() };
    Some(Vectors { vectors_options: Some(VectorsOptions::Vectors(named)) })
}

/// The encoding a point was stored with, as far as it is of the vectors named `dense`
/// ([`ScopedBackend::dense`](crate::scoped::ScopedBackend::dense)).
pub(crate) fn encoding(vectors: Option<VectorsOutput>, dense: Option<&str>) -> Encoding {
    use qdrant::vector_output::Vector;
    let mut encoding = Encoding::default();
    let Some(vectors_output::VectorsOptions::Vectors(named)) = vectors.and_then(|v| v.vectors_options) else {
        return encoding;
    };
    for (name, output) in named.vectors {
        match (name.as_str(), output.vector) {
            (name, Some(Vector::Dense(v))) if Some(name) == dense => encoding.dense = v.data,
            (BM25, Some(Vector::Sparse(v))) => {
                encoding.sparse = SparseVector { indices: v.indices, values: v.values };
            }
            _ => {}
        }
    }
    encoding
}

/// The field `record` as it was before base64.
pub(crate) fn record_bytes(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    STANDARD.decode(text)
}

/// The record of a point. What stands in the open beside it must agree with it.
pub(crate) fn decode<T: Stored>(point: &RetrievedPoint) -> Result<T, StoreError> {
    let id = from_point_id(point.id.clone())?;
    let corrupt = |what: String| StoreError::Corrupt(format!("point {id}: {what}"));
    let text = text(&point.payload, field::RECORD)
        .ok_or_else(|| corrupt("the payload has no `record`; delete the point".to_owned()))?;
    let bytes = record_bytes(text).map_err(|e| corrupt(format!("`record` is not base64: {e}")))?;
    let message = hindsight_proto::storage::v1::Record::decode(bytes.as_slice())
        .map_err(|e| corrupt(format!("`record` is not a storage.v1.Record: {e}")))?;
    let Record(body) =
        record_from_proto(message).map_err(|e| corrupt(format!("`record` is invalid: {e}")))?;
    let record = T::from_body(body).ok_or_else(|| corrupt("`record` is of another kind".to_owned()))?;
    let scope = record.scope();
    let in_the_open =
        (self::text(&point.payload, field::TENANT), self::text(&point.payload, field::VISIBILITY));
    let within = (Some(scope.tenant.as_str()), Some(&*scope.visibility.keyword()));
    if in_the_open != within || id != self::id(&scope.tenant, record.key()) {
        return Err(corrupt("the record belongs to another scope than its payload says".to_owned()));
    }
    Ok(record)
}

/// As `decode`, and once more: what is returned is what `viewer` may see.
pub(crate) fn decode_for<T: Stored>(viewer: &Viewer, point: &RetrievedPoint) -> Result<T, StoreError> {
    let record: T = decode(point)?;
    if record.is_visible_to(viewer) {
        Ok(record)
    } else {
        Err(StoreError::Corrupt(format!("the engine returned {:?} outside of the asked scope", point.id)))
    }
}

/// The readable records among `points`. One that cannot be read does not hide the others: it is logged.
pub(crate) fn decode_all<T: Stored>(viewer: &Viewer, points: &[RetrievedPoint]) -> Vec<T> {
    readable(points, |point| decode_for(viewer, point))
}

/// The same for upkeep, whoever may see them.
pub(crate) fn decode_readable<T: Stored>(points: &[RetrievedPoint]) -> Vec<T> {
    readable(points, decode)
}

fn readable<T>(
    points: &[RetrievedPoint],
    decode: impl Fn(&RetrievedPoint) -> Result<T, StoreError>,
) -> Vec<T> {
    let readable = |point| match decode(point) {
        Ok(record) => Some(record),
        Err(error) => {
            tracing::error!(%error, "a stored record was left out of an answer");
            None
        }
    };
    points.iter().filter_map(readable).collect()
}

pub(crate) fn text<'a>(payload: &'a HashMap<String, Value>, field: &str) -> Option<&'a str> {
    match payload.get(field)?.kind.as_ref()? {
        Kind::StringValue(s) => Some(s),
        _ => None,
    }
}

pub(crate) fn integer(payload: &HashMap<String, Value>, field: &str) -> Option<i64> {
    match payload.get(field)?.kind.as_ref()? {
        Kind::IntegerValue(n) => Some(*n),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
