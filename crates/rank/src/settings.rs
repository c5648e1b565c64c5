use hindsight_ports::EmbedderId;
use serde::{Deserialize, Serialize};

use crate::Serving;

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
    /// Which lessons are served, and how often chance keeps one back.
    pub serving: Serving,
    /// Factor of a lesson that is not proven yet.
    pub candidate_stage: f32,
    /// Factor of a lesson under test.
    pub canary_stage: f32,
    /// Factor of a fact that is settled.
    pub resolved_fact: f32,
    /// Share of common tokens from which two memories say the same.
    pub near_duplicate: f32,
    /// How much what a memory has in common with those chosen before it takes off its score. 0 to 1.
    pub diversity: f32,
    /// Candidates of a kind that are fetched and looked at closely.
    pub shortlist: usize,
    /// What the signs of a memory weigh in the order of candidates.
    pub weights: Weights,
    /// How high similarity reaches when all words of the question are held and nothing is known of meaning.
    pub words_alone: f32,
    /// How high it reaches by meaning when no word is held. Both together reach higher, as two witnesses do.
    pub meaning_alone: f32,
    /// Share of the reranker in similarity, when there is one. 0 to 1.
    pub rerank_share: f32,
    /// Experiences shown step by step; further ones are shown by their summary.
    pub detailed_experiences: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dense: None,
            floor: 0.2,
            tail_floor: 0.1,
            success_half_life_days: 30.0,
            failure_half_life_days: 180.0,
            fact_half_life_days: 365.0,
            fact_decay_floor: 0.95,
            other_environment: 0.5,
            serving: Serving::default(),
            candidate_stage: 0.5,
            canary_stage: 0.8,
            resolved_fact: 0.5,
            near_duplicate: 0.9,
            diversity: 0.3,
            shortlist: 40,
            weights: Weights::default(),
            words_alone: 0.7,
            meaning_alone: 0.7,
            rerank_share: 0.7,
            detailed_experiences: 3,
        }
    }
}

/// What the signs of a memory weigh in the order of candidates, beside the embedding, whose weight is its
/// scale's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// BM25 sum relative to the highest.
    pub words: f32,
    /// Share of the question's words in what the memory says itself.
    pub own: f32,
    /// Whether it was said by, or names, who is named in the question.
    pub entities: f32,
    /// Whether it is of the time that the question speaks of.
    pub period: f32,
    /// The best of its session.
    pub session: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { words: 1.0, own: 0.2, entities: 0.3, period: 0.3, session: 0.4 }
    }
}

/// What a cosine of one embedder means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DenseScale {
    /// What two unrelated texts reach.
    pub zero: f32,
    /// What the nearest of fifty unrelated texts reaches.
    pub crowd: f32,
    /// What a near paraphrase reaches.
    pub full: f32,
    /// What the cosine weighs in the order, beside [`Weights`].
    pub weight: f32,
}

impl DenseScale {
    /// Chosen on conversations, on lists of Chinese messages, and on both asked about something else
    /// (`tests/quality`): for the two embedders inside the program, for the family whose cosines are squeezed into
    /// 0.71 to 0.93, and for sentence encoders of the usual spread.
    pub fn of(embedder: &EmbedderId) -> Self {
        let model = embedder.model.to_lowercase();
        let (zero, crowd, full, weight) = match () {
            () if model.starts_with("static") => (-0.1, 0.15, 0.45, 0.5),
            () if model.starts_with("hashing") => (0.0, 0.15, 0.45, 0.2),
            () if model.contains("e5") => (0.77, 0.82, 0.92, 0.5),
            _ => (0.1, 0.3, 0.7, 0.5),
        };
        Self { zero, crowd, full, weight }
    }

    /// Of the nearest of `candidates`: 0 where an unrelated one may be, 1 at `full`. The more there are to choose
    /// from, the nearer the best of the unrelated comes, about with the logarithm of their number.
    pub(crate) fn calibrate(self, cosine: f32, candidates: usize) -> f32 {
        const CROWD: f32 = 50.0;
        let share = ((candidates.max(1) as f32).ln() / CROWD.ln()).min(1.0);
        let zero = self.zero + share * (self.crowd - self.zero).max(0.0);
        let width = (self.full - zero).max(f32::EPSILON);
        let value = (cosine - zero) / width;
        if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 }
    }
}
