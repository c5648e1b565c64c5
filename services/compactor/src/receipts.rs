//! Deletes receipts that are older than they are kept.

use std::sync::Arc;

use hindsight_ports::{Clock, MemoryStore, StoreError};
use hindsight_telemetry::Metric;

use crate::CompactorSettings;

pub(crate) struct Receipts {
    pub(crate) settings: CompactorSettings,
    pub(crate) store: Arc<dyn MemoryStore>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Receipts {
    /// Says how many records that were: receipts, and what was reported of them.
    pub(crate) async fn expire(&self) -> Result<u64, StoreError> {
        let before = self.clock.now() - self.settings.receipts_kept;
        let expired = self.store.expire_receipts(before).await?;
        Metric::ReceiptsExpired.add(expired, &[]);
        if expired > 0 {
            tracing::info!(expired, %before, "old receipts were deleted");
        }
        Ok(expired)
    }
}
