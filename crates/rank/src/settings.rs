use hindsight_ports::EmbedderId;
use serde::{Deserialize, Serialize};

/// How scores are made and what a block may hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What a cosine of the configured embedder means. Absent: by the embedder's name.
    pub dense: Option<DenseScale>,
    /// Similarity that the best of a kind must reach, or nothing of the kind is relevant. 0 to 1.
    pub floor: f32,
    /// Similarity that those after it must reach. 0 to 1.
    pub tail_floor: f32,
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
            dense: None,
            floor: 0.2,
            tail_floor: 0.08,
            success_half_life_days: 30.0,
            failure_half_life_days: 180.0,
            fact_half_life_days: 365.0,
            fact_decay_floor: 0.95,
            other_environment: 0.5,
            candidate_stage: 0.5,
            canary_stage: 0.8,
            resolved_fact: 0.5,
            near_duplicate: 0.9,
            detailed_experiences: 3,
        }
    }
}

/// What a cosine of one embedder means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DenseScale {
    /// What unrelated texts reach.
    pub zero: f32,
    /// What a near paraphrase reaches.
    pub full: f32,
    /// Share of the dense arm in the order; the words have the rest. 0 to 1.
    pub weight: f32,
}

impl DenseScale {
    /// Measured for the default embedder, whose zero is what two short texts without a common word can reach by
    /// colliding hashes (three standard deviations, 1/√384 each), and for the family whose cosines are squeezed
    /// into 0.71 to 0.93; a middle scale for the others.
    pub fn of(embedder: &EmbedderId) -> Self {
        let model = embedder.model.to_lowercase();
        let (zero, full, weight) = match () {
            () if model.starts_with("hashing") => (0.15, 0.45, 0.1),
            () if model.contains("e5") => (0.78, 0.92, 0.4),
            _ => (0.15, 0.7, 0.4),
        };
        Self { zero, full, weight }
    }

    /// 0 at `zero` and below, 1 at `full`, and on in a line; a cosine cannot be far above.
    pub(crate) fn calibrate(self, cosine: f32) -> f32 {
        let width = (self.full - self.zero).max(f32::EPSILON);
        let value = (cosine.min(1.0) - self.zero) / width;
        if value.is_finite() { value.max(0.0) } else { 0.0 }
    }
}
