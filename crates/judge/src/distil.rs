//! What is worth keeping of a judged run, taken from its own words: a summary, lessons and failure
//! patterns. No model writes anything here.

mod lesson;
mod pattern;
mod phrase;
mod summary;

use hindsight_types::{Evaluation, FailurePattern, Lesson, Timestamp, Trajectory};

pub use summary::summary;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distilled {
    /// All in stage `Candidate`, in the scope of the run.
    pub lessons: Vec<Lesson>,
    pub failure_patterns: Vec<FailurePattern>,
}

/// Lessons and failure patterns of one run. Ids are derived from scope and content, so the same run, or
/// another that teaches the same, gives the same ids.
pub fn distil(t: &Trajectory, evaluation: &Evaluation, now: Timestamp) -> Distilled {
    let episodes = pattern::episodes(t, evaluation);
    Distilled {
        lessons: lesson::lessons(t, evaluation, &episodes, now),
        failure_patterns: pattern::patterns(t, &episodes, now),
    }
}

#[cfg(test)]
mod tests;
