//! How a run ended, when nobody says: read from what its steps show, graded by the trust each source
//! deserves, with a word on how sure that is. And where a claim and what was seen differ, whoever made it.
//!
//! Each finding speaks for or against success with a weight in log odds; the weights of the strongest
//! finding of each source are added to the odds a run starts with. Findings are not independent, so the sum
//! is held within bounds. The weights were chosen on recorded runs whose result is known (`tests/quality`).

mod actions;
mod claim;
mod ending;
mod suite;
mod user;
mod weigh;
mod words;

use hindsight_types::{
    ActionType, EvidenceSource, OutcomeEvidence, OutcomeStatus, Step, StepStatus, Timestamp, Trajectory,
};

use crate::distil::is_chinese;
use crate::effect::{self, Effect};

/// From this confidence on a status that was read from the run is taken for its outcome.
pub const SETTLED: f32 = 0.65;

/// One observation about the result.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    pub source: EvidenceSource,
    pub verdict: OutcomeStatus,
    /// What was observed, in words, with the step: `1 of 3 tests fails (step 7)`.
    pub detail: String,
    /// `None` for what was stated with the run and stands in none of its steps.
    pub step_index: Option<u32>,
    /// How much it says, in log odds; never negative.
    pub weight: f32,
    pub observed_at: Option<Timestamp>,
}

/// How a run ended, as far as can be seen.
#[derive(Debug, Clone, PartialEq)]
pub struct InferredOutcome {
    /// The stated status where there is one, else what the evidence leans to. `Unknown`: nothing speaks.
    pub status: OutcomeStatus,
    /// How sure `status` is, 0 to 1. For a stated status it may fall below 0.5: what was seen speaks against it.
    pub confidence: f32,
    /// Most trusted source first.
    pub evidence: Vec<Finding>,
    /// Where a claim and what was seen differ, in words.
    pub contradictions: Vec<String>,
    /// The status was stated with the run, by itself or by evidence that came with it.
    pub stated: bool,
}

impl InferredOutcome {
    /// The status that may be acted on: the stated one, or one that is sure enough.
    ///
    /// Reasons for doubt alone settle nothing: a run that was hard, and that nobody checked, has not failed.
    pub fn settled(&self) -> OutcomeStatus {
        let speaks = |f: &Finding| {
            f.verdict == self.status && (f.source != EvidenceSource::Judge || f.weight > ending::DOUBT)
        };
        let sure = self.confidence >= SETTLED && self.evidence.iter().any(speaks);
        if self.stated || sure { self.status } else { OutcomeStatus::Unknown }
    }

    /// The findings as evidence that can be kept.
    pub fn outcome_evidence(&self) -> Vec<OutcomeEvidence> {
        let one = |f: &Finding| OutcomeEvidence {
            source: f.source,
            verdict: f.verdict,
            detail: f.detail.clone(),
            observed_at: f.observed_at,
        };
        self.evidence.iter().map(one).collect()
    }
}

/// One step with what it does to the world, told once.
#[derive(Debug, Clone, Copy)]
struct Act<'a> {
    step: &'a Step,
    effect: Effect,
}

impl Act<'_> {
    fn is_call(&self) -> bool {
        self.step.action_type == ActionType::ToolCall
    }

    fn failed(&self) -> bool {
        self.step.status == StepStatus::Error
    }

    /// It came back without an error and changed something.
    fn changed(&self) -> bool {
        self.effect.is_write() && !self.failed()
    }

    /// A finding about this step.
    fn shows(&self, source: EvidenceSource, verdict: OutcomeStatus, weight: f32, detail: String) -> Finding {
        let step = self.step;
        Finding {
            source,
            verdict,
            detail,
            step_index: Some(step.step_index),
            weight,
            observed_at: step.ended_at.or(step.started_at),
        }
    }
}

/// Reads how a run ended. Steps must carry their status.
pub fn infer(t: &Trajectory) -> InferredOutcome {
    let chinese = is_chinese(t);
    let mut evidence = stated(t);
    // What came with the run was seen by whoever ran it; what its steps show of the same kind adds nothing.
    let known: Vec<EvidenceSource> = evidence.iter().map(|f| f.source).collect();
    let acts: Vec<Act<'_>> =
        t.steps.iter().map(|step| Act { step, effect: effect::classify(step) }).collect();
    let said = t.outcome.conclusion.trim();
    let found = suite::find(&acts, chinese)
        .into_iter()
        .chain(actions::find(&acts, chinese))
        .chain(user::find(&acts, chinese))
        .chain(claim::find(&acts, said, chinese))
        .chain(ending::find(&acts, said, chinese));
    evidence.extend(found.filter(|f| !known.contains(&f.source)));
    evidence.sort_by_key(|f| f.source);
    let given = t.outcome.evidence.iter().filter(|e| !judged(e)).min_by_key(|e| e.source);
    let given = given.map_or(OutcomeStatus::Unknown, |e| e.verdict);
    weigh::all(t.outcome.status, given, evidence, chinese)
}

/// Whether a call ran tests or checks of which some failed: the call itself did what it should.
pub(crate) fn fails_a_check(step: &Step) -> bool {
    suite::of_step(step).is_some_and(|suite| suite.failed > 0)
}

/// What an earlier judgement concluded is no evidence for this one.
fn judged(e: &OutcomeEvidence) -> bool {
    e.source == EvidenceSource::Judge
}

/// The evidence that came with the run.
fn stated(t: &Trajectory) -> Vec<Finding> {
    let known = t.outcome.evidence.iter().filter(|e| e.verdict != OutcomeStatus::Unknown && !judged(e));
    known
        .map(|e| Finding {
            source: e.source,
            verdict: e.verdict,
            detail: if e.detail.trim().is_empty() {
                words::source(e.source, false).to_owned()
            } else {
                e.detail.clone()
            },
            step_index: None,
            weight: match e.source {
                EvidenceSource::TestResult => 4.0,
                EvidenceSource::ExitCode => 2.5,
                EvidenceSource::User => 2.5,
                EvidenceSource::AgentClaim | EvidenceSource::Judge => 0.8,
            },
            observed_at: e.observed_at,
        })
        .collect()
}

#[cfg(test)]
mod tests;
