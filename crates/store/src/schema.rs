//! What must exist before the first write: collections, their indexes, and the record of who makes the vectors.

use futures::future::try_join_all;
use hindsight_ports::{EmbedderId, StoreError};

use crate::{
    VectorBackend,
    collection::Collection,
    scoped::ScopedBackend,
    vectors::{Meta, Named, State},
};

/// Longest prefix of collection names, in bytes.
const PREFIX_BYTES: usize = 64;

/// Creates what is missing, and says whose vectors the store has: those of `embedder` if it is new.
pub(crate) async fn prepare(scoped: &ScopedBackend, embedder: &EmbedderId) -> Result<State, StoreError> {
    let (backend, prefix) = scoped.raw();
    check_prefix(prefix)?;
    let meta = Meta::of(scoped);
    meta.create().await?;
    let state = meta.claim(embedder).await?;
    let every = Collection::ALL.into_iter();
    try_join_all(every.map(|collection| create(backend, prefix, collection, &state.serving))).await?;
    Ok(state)
}

/// Creates what is missing of a collection; at once, since an adapter shares one sync among writes that wait.
async fn create(
    backend: &dyn VectorBackend,
    prefix: &str,
    collection: Collection,
    dense: &Named,
) -> Result<(), StoreError> {
    let name = format!("{prefix}{}", collection.name());
    backend.create_collection(collection.create_request(&name, dense)).await?;
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
