//! Has the store change its embedder when another one is configured, and gives vectors to what was written without.

use std::{convert::Infallible, sync::Arc, time::Duration};

use hindsight_ports::{Clock, Embedder, Reembed};
use hindsight_runtime::Trouble;

/// Waits after a failure, the last one again and again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

pub(crate) struct Reembedder {
    pub(crate) vectors: Arc<dyn Reembed>,
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Between two looks when there is nothing to do: each reads through everything.
    pub(crate) every: Duration,
    /// Why the last step failed.
    pub(crate) trouble: Trouble,
}

impl Reembedder {
    /// Step by step, for as long as this process leads.
    pub(crate) async fn run(&self) -> Infallible {
        let mut pause = FIRST_PAUSE.min(self.every);
        loop {
            match self.vectors.reembed(&*self.embedder, self.clock.now()).await {
                Ok(step) => {
                    self.trouble.report(None);
                    pause = FIRST_PAUSE.min(self.every);
                    if !step.more {
                        tokio::time::sleep(self.every).await;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, again_in = ?pause, "vectors cannot be built");
                    self.trouble.report(Some(format!("vectors cannot be built: {error}")));
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}
