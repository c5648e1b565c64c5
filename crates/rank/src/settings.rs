use hindsight_ports::EmbedderId;
use serde::{Deserialize, Serialize};

/// How scores are made and what a block may hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Share of the word arm in the similarity; the dense arm has the rest.
    pub sparse_weight: f32,
    /// What a cosine of the configured embedder means. Absent: by the embedder's name.
    pub dense: Option<DenseRange>,
    /// Similarity below which a memory is irrelevant, 0 to 1.
    pub floor: f32,
    /// Days after which a success counts half.
    pub success_half_life_days: f32,
    /// Days after which a failure counts half: a lesson from failure outlives its time.
    pub failure_half_life_days: f32,
    /// Days after which the part of a fact that fades counts half.
    pub fact_half_life_days: f32,
    /// What remains of a fact however old it is: a preference does not wear out, it is replaced.
    pub fact_decay_floor: f32,
    /// Factor of experience from another environment.
    pub other_environment: f32,
    /// Factor of a lesson that is not proven yet.
    pub candidate_stage: f32,
    /// Factor of a lesson under test.
    pub canary_stage: f32,
    /// Factor of a fact that is settled.
    pub resolved_fact: f32,
    /// Share of common tokens from which two memories say the same.
    pub near_duplicate: f32,
    /// Experiences shown step by step; further ones are shown by their summary.
    pub detailed_experiences: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sparse_weight: 0.75,
            dense: None,
            floor: 0.2,
            success_half_life_days: 30.0,
            failure_half_life_days: 180.0,
            fact_half_life_days: 180.0,
            fact_decay_floor: 0.9,
            other_environment: 0.5,
            candidate_stage: 0.5,
            canary_stage: 0.8,
            resolved_fact: 0.5,
            near_duplicate: 0.9,
            detailed_experiences: 3,
        }
    }
}

/// The cosines between which relevance lies: `zero` is what unrelated texts reach, `full` a near paraphrase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DenseRange {
    pub zero: f32,
    pub full: f32,
}

impl DenseRange {
    /// Measured for the families that are known; a middle range for the others.
    pub fn of(embedder: &EmbedderId) -> Self {
        let model = embedder.model.to_lowercase();
        let (zero, full) = match () {
            () if model.starts_with("hashing") => (0.10, 0.60),
            // Squeezed into 0.71 to 0.93.
            () if model.contains("e5") => (0.80, 0.92),
            _ => (0.20, 0.70),
        };
        Self { zero, full }
    }

    /// 0 to 1, linear in between.
    pub(crate) fn calibrate(self, cosine: f32) -> f32 {
        let width = (self.full - self.zero).max(f32::EPSILON);
        let value = (cosine - self.zero) / width;
        if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 }
    }
}
