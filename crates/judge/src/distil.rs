//! What is worth keeping of a judged run, taken from its own words: a summary, lessons and failure
//! patterns. What a model may write in their place is in [`model`].

mod lesson;
pub mod model;
mod pattern;
mod phrase;
mod summary;
mod wording;
mod worth;

use hindsight_types::{Evaluation, FailurePattern, Lesson, RejectedLesson, Timestamp, Trajectory};

pub use summary::summary;

/// Whether what is said of a run is said in Chinese: its task is written so.
pub(crate) fn is_chinese(t: &Trajectory) -> bool {
    phrase::is_cjk(&t.task_description)
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Distilled {
    /// All in stage `Candidate`, in the scope of the run.
    pub lessons: Vec<Lesson>,
    pub failure_patterns: Vec<FailurePattern>,
    /// What was drawn from the run and not kept; where nothing was, why. Empty only beside lessons.
    pub rejected: Vec<RejectedLesson>,
}

/// Lessons and failure patterns of one run. Ids are derived from scope and content, so the same run, or
/// another that teaches the same, gives the same ids.
pub fn distil(t: &Trajectory, evaluation: &Evaluation, now: Timestamp) -> Distilled {
    let episodes = pattern::episodes(t, evaluation);
    let (lessons, rejected) = lesson::lessons(t, evaluation, &episodes, now);
    Distilled { lessons, failure_patterns: pattern::patterns(t, &episodes, now), rejected }
}

#[cfg(test)]
mod tests;
