use hindsight_ingest::GateSettings;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluatorSettings {
    /// Runs judged at a time.
    pub concurrency: usize,
    /// How often a run is looked at before its missing steps are given up. With the growing delay between
    /// looks, 20 are about an hour.
    pub attempts: u32,
    pub gate: GateSettings,
}

impl Default for EvaluatorSettings {
    fn default() -> Self {
        Self { concurrency: 4, attempts: 20, gate: GateSettings::default() }
    }
}
