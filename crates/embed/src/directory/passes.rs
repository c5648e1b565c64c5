//! Forward passes of a model, off the async threads and few at a time.

use std::sync::Arc;

use hindsight_ports::EmbedError;
use tokio::sync::Semaphore;

/// Texts per forward pass. Small, so that a query does not wait long behind a batch of passages.
pub(crate) const BATCH: usize = 8;

/// Forward passes at a time; each one already uses several cores.
const PASSES: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct Passes(Arc<Semaphore>);

impl Default for Passes {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(PASSES)))
    }
}

impl Passes {
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, EmbedError> + Send + 'static,
    ) -> Result<T, EmbedError> {
        let permit =
            Arc::clone(&self.0).acquire_owned().await.map_err(|e| EmbedError::Unavailable(e.to_string()))?;
        blocking(move || {
            // Held by the work, not by the caller, who may give up waiting.
            let _permit = permit;
            work()
        })
        .await
    }
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EmbedError> + Send + 'static,
) -> Result<T, EmbedError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| EmbedError::Unavailable(format!("the model did not finish: {e}")))?
}
