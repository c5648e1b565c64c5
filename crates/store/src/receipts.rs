//! What is kept beside receipts, and how long all of it is kept.

use hindsight_ports::StoreError;
use hindsight_types::{Feedback, MemoryId, ReceiptId, Timestamp, Viewer};

use crate::{
    collection::Collection,
    fields, point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk},
    stored::feedback_key,
};

/// Most memories that are asked about at once.
const LARGEST: usize = 1_000;
/// Receipts deleted with one message.
const BATCH: usize = 500;

pub(crate) async fn feedback(
    backend: &ScopedBackend,
    viewer: &Viewer,
    receipt: ReceiptId,
    memories: &[MemoryId],
) -> Result<Vec<Feedback>, StoreError> {
    if memories.len() > LARGEST {
        return Err(StoreError::Rejected(format!("memories: more than the {LARGEST} accepted")));
    }
    let Some(filter) = ScopedFilter::readable(viewer, Collection::Receipts) else { return Ok(Vec::new()) };
    if memories.is_empty() {
        return Ok(Vec::new());
    }
    let key = |memory: &MemoryId| point::id(&viewer.tenant, feedback_key(receipt, *memory));
    let filter = filter.and_ids(memories.iter().map(key));
    let walk = Walk::ById(None);
    let found = backend.scroll(Collection::Receipts, filter, walk, memories.len(), Show::Record).await?;
    let mut feedback: Vec<Feedback> = point::decode_all(viewer, &found.points);
    feedback.sort_by_key(|f| f.memory_id);
    Ok(feedback)
}

/// In batches, so that no message grows with what has gathered.
pub(crate) async fn expire(backend: &ScopedBackend, before: Timestamp) -> Result<u64, StoreError> {
    let (mut expired, mut from) = (0, None);
    loop {
        let (ids, next) = backend.old_receipts(fields::micros(before), from, BATCH).await?;
        if !ids.is_empty() {
            backend.delete(Collection::Receipts, &ids).await?;
        }
        expired += ids.len() as u64;
        from = next;
        if from.is_none() {
            return Ok(expired);
        }
    }
}
