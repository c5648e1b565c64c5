use async_trait::async_trait;
use hindsight_ports::{Encoded, Exported, PageRequest, Restored, StoreError, Transfer};
use hindsight_types::{MemoryChange, RecordBody, TenantId};

use super::Announced;

#[async_trait]
impl Transfer for Announced<dyn Transfer> {
    async fn records(&self, tenant: &TenantId, page: &PageRequest) -> Result<Exported, StoreError> {
        self.inner.records(tenant, page).await
    }

    async fn restore_all(&self, records: &[Encoded<RecordBody>]) -> Result<Vec<Restored>, StoreError> {
        let changes = records.iter().filter_map(|record| match &record.value {
            RecordBody::Memory(memory) => Some(MemoryChange::of(memory)),
            _ => None,
        });
        self.write(changes.collect(), self.inner.restore_all(records)).await
    }
}
