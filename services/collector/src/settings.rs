use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CollectorSettings {
    /// Events written to the store at a time.
    pub batch: usize,
    /// Longest wait for a batch to fill, in milliseconds.
    pub linger_ms: u64,
    /// Batches on their way to the store at a time. A store that syncs seldom needs many.
    pub batches_in_flight: usize,
    /// Time between two notes in the store that a task is under way, in milliseconds.
    pub touch_ms: u64,
    /// How long after the root of a trace its spans are waited for before the run is judged, in milliseconds.
    pub span_grace_ms: u64,
    /// How long a write of consistency INDEXED waits when the caller names no deadline, in milliseconds.
    pub indexed_timeout_ms: u64,
}

impl Default for CollectorSettings {
    fn default() -> Self {
        Self {
            batch: 50,
            linger_ms: 50,
            batches_in_flight: 20,
            touch_ms: 60_000,
            span_grace_ms: 10_000,
            indexed_timeout_ms: 10_000,
        }
    }
}
