use hindsight_rank::Settings as RankSettings;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallSettings {
    /// Time for a recall when the caller names no deadline, in milliseconds.
    pub deadline_ms: u64,
    /// Candidates per kind and arm.
    pub candidates: usize,
    /// How candidates become an answer.
    pub rank: RankSettings,
}

impl Default for RecallSettings {
    fn default() -> Self {
        Self { deadline_ms: 2_000, candidates: 50, rank: RankSettings::default() }
    }
}
