use std::time::Duration;

use hindsight_rank::watch::Policy;
use serde::{Deserialize, Serialize};

/// How streams are served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WatchSettings {
    /// When something may be said.
    pub policy: Policy,
    /// Time for what has to be searched for: at the start, after a failure, when the user asks.
    pub deadline: Duration,
    /// Streams that one key may have open.
    pub streams_per_key: usize,
    /// Events of one stream.
    pub events: u64,
    /// A stream without an event for so long ends.
    pub idle: Duration,
    /// Failures of the last 30 days that calls are compared with, the latest ones, of what one viewer sees.
    pub failures: usize,
    /// Room for them in memory.
    pub failures_bytes: u64,
    /// Failures that changed are read anew after this time at the earliest.
    pub pause: Duration,
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            deadline: Duration::from_secs(1),
            streams_per_key: 256,
            events: 10_000,
            idle: Duration::from_secs(30 * 60),
            failures: 4_000,
            failures_bytes: 64 << 20,
            pause: Duration::from_secs(2),
        }
    }
}
