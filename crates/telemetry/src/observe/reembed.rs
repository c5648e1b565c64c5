use std::sync::Arc;

use async_trait::async_trait;
use hindsight_ports::{Embedder, Reembed, ReembedStep, StoreError, StoredVectors};
use hindsight_types::Timestamp;

use crate::Metric;

/// A store whose change of embedder is measured.
pub fn reembed(inner: Arc<dyn Reembed>) -> Arc<dyn Reembed> {
    Arc::new(Observed(inner))
}

struct Observed(Arc<dyn Reembed>);

#[async_trait]
impl Reembed for Observed {
    async fn reembed(&self, embedder: &dyn Embedder, now: Timestamp) -> Result<ReembedStep, StoreError> {
        let step = self.0.reembed(embedder, now).await?;
        let building = step.vectors.building.as_ref();
        let (total, done, skipped) = building.map_or((0, 0, 0), |b| (b.total, b.done, b.skipped));
        Metric::ReembedMemories.set(total as f64, &[]);
        Metric::ReembedDone.set(done as f64, &[]);
        Metric::ReembedSkipped.set(skipped as f64, &[]);
        Ok(step)
    }

    async fn vectors(&self) -> Result<StoredVectors, StoreError> {
        self.0.vectors().await
    }

    fn known_vectors(&self) -> Option<StoredVectors> {
        self.0.known_vectors()
    }
}
