use std::time::Duration;

use hindsight_ingest::GateSettings;
use hindsight_types::JudgeChoice;
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
    pub judge: JudgeSettings,
}

impl Default for EvaluatorSettings {
    fn default() -> Self {
        Self { concurrency: 4, attempts: 20, gate: GateSettings::default(), judge: JudgeSettings::default() }
    }
}

/// Who judges, and what happens when the model does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JudgeSettings {
    pub judge: JudgeChoice,
    /// Independent judgements of the model, 1 to 9.
    pub judgements: u32,
    /// When the model has no verdict for good, the slice's counts, and the evaluation says so; else the
    /// evaluation fails.
    pub fall_back: bool,
    /// Looks at a run for which the model is away, before that counts as for good.
    pub model_attempts: u32,
    /// Longest time the model has for one run, all questions together.
    pub model_deadline: Duration,
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self {
            judge: JudgeChoice::default(),
            judgements: 1,
            fall_back: true,
            model_attempts: 8,
            model_deadline: Duration::from_secs(300),
        }
    }
}
