//! Reading how a memory was.

use hindsight_ports::{Page, PageRequest, StoreError};
use hindsight_types::{Memory, MemoryId, MemoryKind, MemoryVersion, VersionId, Viewer};
use qdrant_client::qdrant::Condition;

use crate::{
    collection::Collection,
    field, page, point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk},
};

/// A page of the former versions. One that was kept and, after all, not replaced is left out.
pub(crate) async fn history(
    backend: &ScopedBackend,
    viewer: &Viewer,
    present: Option<&Memory>,
    memory: MemoryId,
    request: &PageRequest,
) -> Result<Page<Memory>, StoreError> {
    let standing = present.and_then(Memory::version).map(|v| point::id(&viewer.tenant, v.key(memory)));
    let page = page::page(backend, viewer, Collection::Versions, request, |all| {
        let own = all.and(Condition::matches(field::MEMORY_ID, memory.to_string()));
        match standing {
            Some(id) => own.and_not(Condition::has_id([point::to_point_id(id)])),
            None => own,
        }
    });
    let page: Page<MemoryVersion> = page.await?;
    Ok(Page { items: page.items.into_iter().map(|v| v.0).collect(), next_token: page.next_token })
}

/// A former version by its name.
pub(crate) async fn version(
    backend: &ScopedBackend,
    viewer: &Viewer,
    kind: MemoryKind,
    memory: MemoryId,
    version: VersionId,
) -> Result<Option<Memory>, StoreError> {
    let id = point::id(&viewer.tenant, version.key(memory));
    one(backend, viewer, kind, |all| all.and_ids([id])).await
}

/// A former version by the request that made it.
pub(crate) async fn made_by(
    backend: &ScopedBackend,
    viewer: &Viewer,
    kind: MemoryKind,
    memory: MemoryId,
    request_id: &str,
) -> Result<Option<Memory>, StoreError> {
    one(backend, viewer, kind, |all| {
        all.and(Condition::matches(field::MEMORY_ID, memory.to_string()))
            .and(Condition::matches(field::REQUEST_ID, request_id.to_owned()))
    })
    .await
}

async fn one(
    backend: &ScopedBackend,
    viewer: &Viewer,
    kind: MemoryKind,
    narrow: impl FnOnce(ScopedFilter) -> ScopedFilter,
) -> Result<Option<Memory>, StoreError> {
    let Some(filter) = ScopedFilter::readable(viewer, Collection::Versions) else { return Ok(None) };
    let found =
        backend.scroll(Collection::Versions, narrow(filter), Walk::ById(None), 1, Show::Record).await?;
    let version: Option<MemoryVersion> =
        found.points.first().map(|p| point::decode_for(viewer, p)).transpose()?;
    Ok(version.map(|v| v.0).filter(|memory| memory.kind() == kind))
}
