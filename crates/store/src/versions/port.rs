use async_trait::async_trait;
use hindsight_ports::{Encoding, History, MemoryStore, Page, PageRequest, Revised, StoreError};
use hindsight_types::{Memory, MemoryId, MemoryKind, VersionId, Viewer};

use crate::{Store, versions};

#[async_trait]
impl History for Store {
    async fn revise(
        &self,
        former: &Memory,
        next: &Memory,
        encoding: Option<&Encoding>,
    ) -> Result<Revised, StoreError> {
        self.with_vectors(move || versions::revise(self.backend(), former, next, encoding)).await
    }

    async fn history(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        page: &PageRequest,
    ) -> Result<Page<Memory>, StoreError> {
        let present = self.get(viewer, kind, memory).await?;
        versions::history(self.backend(), viewer, present.as_ref(), memory, page).await
    }

    async fn version(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        version: VersionId,
    ) -> Result<Option<Memory>, StoreError> {
        match self.get(viewer, kind, memory).await? {
            Some(present) if present.version() == Some(version) => Ok(Some(present)),
            _ => versions::version(self.backend(), viewer, kind, memory, version).await,
        }
    }

    async fn made_by(
        &self,
        viewer: &Viewer,
        kind: MemoryKind,
        memory: MemoryId,
        request_id: &str,
    ) -> Result<Option<Memory>, StoreError> {
        match self.get(viewer, kind, memory).await? {
            Some(present) if present.revision().is_some_and(|r| r.request_id == request_id) => {
                Ok(Some(present))
            }
            _ => versions::made_by(self.backend(), viewer, kind, memory, request_id).await,
        }
    }
}
