use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When something may be said.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Reminders of one stream, of all triggers together. 0: it never speaks.
    pub reminders: u32,
    /// After a trigger spoke about a tool, it is silent about this tool for so long. The start of a task and a
    /// question of the user do not wait.
    pub cool_down: Duration,
    /// Runs of the last 30 days that must have seen a failure before a call is warned of it.
    pub min_times: u32,
    /// How like the call a failed one must be, 0 to 1.
    pub alike: f32,
    /// How often, at least, a suggestion must have held, 0 to 1: `(1 + supported) / (2 + supported + refuted)`.
    pub reliability: f32,
    /// Similarity that the best of a kind must reach before it is said without being asked, 0 to 1.
    pub floor: f32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            reminders: 10,
            cool_down: Duration::from_secs(10),
            min_times: 3,
            alike: 0.5,
            reliability: 0.34,
            floor: 0.3,
        }
    }
}
