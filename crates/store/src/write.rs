//! Writing records: in batches, replaced by id or kept as they are.

use std::collections::BTreeMap;

use hindsight_ports::{Encoded, StoreError};
use hindsight_types::Memory;
use prost::Message;
use qdrant_client::qdrant::PointStruct;
use uuid::Uuid;

use crate::{
    collection::Collection,
    field, point,
    scoped::{Overwrite, ScopedBackend},
    settle,
    stored::Stored,
    versions,
};

/// Most points in one message.
pub(crate) const POINTS: usize = 128;
/// A message is closed when it weighs more than this, so that it stays below a server's limit.
const BYTES: usize = 8 * 1024 * 1024;
/// Writes points of one collection in messages of bounded size.
pub(crate) async fn in_batches(
    backend: &ScopedBackend,
    collection: Collection,
    points: Vec<PointStruct>,
    overwrite: Overwrite<'_>,
) -> Result<(), StoreError> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for point in points {
        let weight = point.encoded_len();
        if batch.len() == POINTS || (!batch.is_empty() && bytes + weight > BYTES) {
            backend.upsert(collection, std::mem::take(&mut batch), overwrite).await?;
            bytes = 0;
        }
        bytes += weight;
        batch.push(point);
    }
    if batch.is_empty() { Ok(()) } else { backend.upsert(collection, batch, overwrite).await }
}

/// Writes records that have no vectors.
pub(crate) async fn records<T: Stored>(
    backend: &ScopedBackend,
    collection: Collection,
    records: &[T],
    overwrite: Overwrite<'_>,
) -> Result<(), StoreError> {
    in_batches(backend, collection, records.iter().map(point::of).collect(), overwrite).await
}

/// Writes memories of any kinds.
pub(crate) async fn memories(
    backend: &ScopedBackend,
    memories: &[Encoded<Memory>],
) -> Result<(), StoreError> {
    let mut by_collection: BTreeMap<Collection, Vec<&Encoded<Memory>>> = BTreeMap::new();
    for memory in memories {
        check(&memory.value)?;
        point::check_encoding(&memory.encoding)?;
        by_collection.entry(memory.value.collection()).or_default().push(memory);
    }
    for (collection, memories) in by_collection {
        if collection.is_counted() {
            settle::memories(backend, collection, memories).await?;
        } else if collection == Collection::Facts {
            versions::facts(backend, memories).await?;
        } else {
            let dense = backend.dense();
            let points = memories.into_iter().map(|m| encoded(m, dense.as_deref())).collect();
            in_batches(backend, collection, points, Overwrite::Any).await?;
        }
    }
    Ok(())
}

fn check(memory: &Memory) -> Result<(), StoreError> {
    match memory {
        Memory::Fact(fact) if fact.scope.user().is_none() => {
            Err(StoreError::Rejected(format!("fact {}: scope: must be of one user", fact.id)))
        }
        _ => Ok(()),
    }
}

pub(crate) fn encoded(memory: &Encoded<Memory>, dense: Option<&str>) -> PointStruct {
    let mut point = point::of(&memory.value);
    stamp(&mut point);
    PointStruct { vectors: point::vectors(&memory.encoding, dense), ..point }
}

/// Tells this write of a record from one that says something else.
pub(crate) fn stamp(point: &mut PointStruct) {
    if let Some(record) = point::text(&point.payload, field::RECORD) {
        let stamp = Uuid::new_v5(&Uuid::NAMESPACE_OID, record.as_bytes()).as_u64_pair().0;
        point.payload.insert(field::STAMP.to_owned(), stamp.cast_signed().into());
    }
}
