//! Looks back over a finished run: labels every step, says what the run was worth, and distils what is
//! worth keeping. Pure, but for the model that can be asked through `ports::Llm`: no I/O, no clock of its own.
//!
//! ```text
//! evaluate(&trajectory, now) -> Evaluation            by the slice judge: labels, reasons, summary
//! LlmJudge::judge(&llm, &tenant, &digest)             labels by a model
//! Verdict::of_both(&run, &digest, slice, &llm)        both, combined
//! conclude(&trajectory, verdict, now) -> Evaluation   what the run was worth, given the labels
//! distil::distil(&trajectory, &evaluation, now)       lessons and failure patterns
//! outcome::infer(&trajectory)                         how it ended, how sure that is, what contradicts it
//! credit::Run::lesson(&lesson) -> Reading             whether the run did what a memory advises
//! signature::error_signature(observation)             the key under which the same failure meets itself
//! ```

mod canon;
mod closing;
pub mod credit;
pub mod distil;
pub mod effect;
pub mod llm;
pub mod outcome;
pub mod signature;
pub mod slice;
#[cfg(test)]
mod testing;
mod token;
pub mod verdict;

use hindsight_types::{
    ActionType, Evaluation, OutcomeStatus, StepEvaluation, StepLabel, Timestamp, Trajectory,
};

pub use verdict::Verdict;

/// Name and version of the slice judge, as recorded in every evaluation.
pub const SLICE_JUDGE: &str = "slice/2";

/// Judges a run with the slice judge. `steps` must carry their status; redaction and digest come before.
pub fn evaluate(t: &Trajectory, now: Timestamp) -> Evaluation {
    conclude(t, Verdict::of_slice(slice::judge(t).steps), now)
}

/// What a run was worth, given the verdict on its steps.
pub fn conclude(t: &Trajectory, verdict: Verdict, now: Timestamp) -> Evaluation {
    let Verdict { judge, steps, judging } = verdict;
    let inferred = outcome::infer(t);
    let outcome = match t.outcome.resolved() {
        OutcomeStatus::Unknown => inferred.settled(),
        known => known,
    };
    Evaluation {
        judge,
        outcome,
        outcome_confidence: if outcome == inferred.status { inferred.confidence } else { 0.0 },
        outcome_evidence: inferred.outcome_evidence(),
        contradictions: inferred.contradictions,
        summary: distil::summary(t, outcome, &steps),
        worth_reference: worth_reference(t, outcome, &steps),
        rejected_lessons: Vec::new(),
        steps,
        evaluated_at: now,
        judging,
    }
}

/// A run is worth showing when it did not fail and something it did was needed for what it reached.
fn worth_reference(t: &Trajectory, outcome: OutcomeStatus, labels: &[StepEvaluation]) -> bool {
    let acted = t.steps.iter().zip(labels).any(|(s, l)| {
        s.action_type == ActionType::ToolCall && l.label == StepLabel::Necessary && l.confidence >= 0.5
    });
    match outcome {
        OutcomeStatus::Success | OutcomeStatus::Partial => acted,
        OutcomeStatus::Failure => false,
        OutcomeStatus::Unknown => acted && !t.outcome.conclusion.trim().is_empty(),
    }
}
