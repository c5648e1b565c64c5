use async_trait::async_trait;
use hindsight_ports::{Encoding, History, Page, PageRequest, Revised, StoreError};
use hindsight_types::{Memory, MemoryChange, MemoryId, MemoryKind, VersionId, Viewer};

use super::Announced;

#[async_trait]
impl History for Announced<dyn History> {
    async fn revise(
        &self,
        former: &Memory,
        next: &Memory,
        encoding: Option<&Encoding>,
    ) -> Result<Revised, StoreError> {
        self.write(vec![MemoryChange::of(former)], self.inner.revise(former, next, encoding)).await
    }

    async fn history(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        self.inner.history(viewer, kind, memory, page).await
    }

    async fn version(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        version: VersionId,
    ) -> Result<Option<Memory>, StoreError> {
        self.inner.version(viewer, kind, memory, version).await
    }

    async fn made_by(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        request_id: &str,
    ) -> Result<Option<Memory>, StoreError> {
        self.inner.made_by(viewer, kind, memory, request_id).await
    }
}
