use std::collections::BTreeMap;

use hindsight_rank::{Serving, Settings as RankSettings};
use hindsight_types::TenantId;
use serde::{Deserialize, Serialize};

use crate::WatchSettings;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallSettings {
    /// Time for a recall when the caller names no deadline, in milliseconds.
    pub deadline_ms: u64,
    /// Candidates per kind and arm.
    pub candidates: usize,
    /// How candidates become an answer.
    pub rank: RankSettings,
    /// How lessons are served in tenants that do not do as `rank` says.
    pub serving: BTreeMap<TenantId, Serving>,
    /// When the memory speaks up by itself.
    pub watch: WatchSettings,
}

impl Default for RecallSettings {
    fn default() -> Self {
        Self {
            deadline_ms: 2_000,
            candidates: 50,
            rank: RankSettings::default(),
            serving: BTreeMap::new(),
            watch: WatchSettings::default(),
        }
    }
}

impl RecallSettings {
    pub(crate) fn rank(&self, tenant: &TenantId) -> RankSettings {
        let serving = self.serving.get(tenant).copied().unwrap_or(self.rank.serving);
        RankSettings { serving, ..self.rank.clone() }
    }
}
