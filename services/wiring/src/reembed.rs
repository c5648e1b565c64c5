use std::time::{Duration, Instant};

use hindsight_ports::{Clock, Embedder, Reembed};

/// What the start of a process waits for; a larger store is searched while it changes.
const WITHIN: Duration = Duration::from_secs(2);

/// Changes the embedder of a store that belongs to this process alone, if that is quick. The compactor does the
/// rest.
pub(crate) async fn catch_up(vectors: &dyn Reembed, embedder: &dyn Embedder, clock: &dyn Clock) {
    let begun = Instant::now();
    while begun.elapsed() < WITHIN {
        match vectors.reembed(embedder, clock.now()).await {
            Ok(step) if step.more => {}
            Ok(_) => return,
            Err(error) => return tracing::warn!(%error, "vectors cannot be built now; it is tried again"),
        }
    }
}
