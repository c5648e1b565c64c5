use serde::{Deserialize, Serialize};

use crate::{FailurePattern, Lesson, OutcomeEvidence, OutcomeStatus, Scope, Timestamp, TraceId, Trajectory};

/// The verdict on one step. The rule is counterfactual: a step is necessary only if the conclusion
/// could not have been reached without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StepLabel {
    Necessary,
    Redundant,
    Misleading,
    Failed,
}

impl StepLabel {
    pub const ALL: [Self; 4] = [Self::Necessary, Self::Redundant, Self::Misleading, Self::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Necessary => "necessary",
            Self::Redundant => "redundant",
            Self::Misleading => "misleading",
            Self::Failed => "failed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEvaluation {
    pub step_index: u32,
    pub label: StepLabel,
    /// The chain that led to the label, in words a person can check.
    pub rationale: String,
    /// 0 to 1. Below 0.5: the judge could not decide.
    pub confidence: f32,
    /// Indices of earlier steps this one needed.
    pub depends_on: Vec<u32>,
    /// What each judge said, when there were several. Empty: this is the verdict of a lone one.
    pub votes: Vec<Vote>,
}

impl StepEvaluation {
    /// Whether all judges said the same.
    pub fn agreed(&self) -> bool {
        self.votes.iter().all(|v| v.label == self.label)
    }
}

/// What one judge says of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// Judge and version.
    pub judge: String,
    pub label: StepLabel,
    /// 0 to 1.
    pub confidence: f32,
    pub rationale: String,
}

/// How a verdict came about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Judging {
    /// The model that answered, as its endpoint names it; empty without one.
    pub model: String,
    /// Version of the prompt, as in `judge-v1`.
    pub prompt: String,
    /// Independent judgements of the model.
    pub judgements: u32,
    /// Questions the model was asked.
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Millionths of the currency in which prices are set; 0 without prices.
    pub cost_micros: u64,
    /// Share of steps, 0 to 1, on which slice and model agree. `None` unless both judged.
    pub agreement: Option<f32>,
    /// Share of steps, 0 to 1, that all judgements of the model label alike. `None` below two.
    pub consistency: Option<f32>,
    /// Why the verdict does without the model that was asked for; empty when it does not.
    pub fallback: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Judges and versions that made it, as in `slice/1` or `slice/1+llm/judge-v1`.
    pub judge: String,
    /// One per step, in step order.
    pub steps: Vec<StepEvaluation>,
    pub outcome: OutcomeStatus,
    /// How sure it is that `outcome` is right, 0 to 1; 0 when nothing speaks for any outcome.
    pub outcome_confidence: f32,
    /// What the outcome was read from: what was stated, and what the steps show.
    pub outcome_evidence: Vec<OutcomeEvidence>,
    /// Where what was claimed and what was seen differ, in words: the agent says done, the last test failed.
    pub contradictions: Vec<String>,
    pub summary: String,
    /// Whether the run is worth showing to others.
    pub worth_reference: bool,
    /// What was drawn from the run and not kept as a lesson.
    pub rejected_lessons: Vec<RejectedLesson>,
    pub evaluated_at: Timestamp,
    pub judging: Judging,
}

/// Advice that was not kept as a lesson.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedLesson {
    pub text: String,
    /// What it lacks, in words a person can check.
    pub reason: String,
}

impl Evaluation {
    pub fn count(&self, label: StepLabel) -> usize {
        self.steps.iter().filter(|s| s.label == label).count()
    }
}

/// A trajectory with everything that judging made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedTrajectory {
    pub trajectory: Trajectory,
    pub evaluation: Evaluation,
    pub lessons: Vec<Lesson>,
    pub failure_patterns: Vec<FailurePattern>,
}

/// Where the evaluation of a trace stands. Nothing fails silently: each is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EvaluationState {
    /// Steps are still missing.
    Waiting {
        reason: String,
    },
    Judged,
    /// The gate left the run raw.
    Skipped {
        reason: String,
    },
    Failed {
        reason: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    pub trace_id: TraceId,
    pub scope: Scope,
    pub state: EvaluationState,
    /// Deliveries so far, this one included.
    pub attempts: u32,
    pub step_count: u32,
    /// Judges and versions of the verdict; empty while there is none.
    pub judge: String,
    pub updated_at: Timestamp,
}
