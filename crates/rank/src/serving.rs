//! Which lessons may be served, and when chance keeps one back so that one can tell whether it helps.

use hindsight_types::{EvidencePolicy, Gate, Lesson, ReceiptId, Stage, WithheldReason};
use serde::{Deserialize, Serialize};

/// Share of the recalls that do without a lesson on trial: halves tell most from fewest runs.
const TRIAL: f64 = 0.5;

/// How lessons are served.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Serving {
    pub gate: Gate,
    /// Share of the recalls that do without a lesson on trial, 0 to 1.
    pub trial: f64,
    /// Share of the recalls that do without a proven lesson, 0 to 1, to see whether it still helps.
    pub hold_out: f64,
}

impl Default for Serving {
    fn default() -> Self {
        EvidencePolicy::default().into()
    }
}

impl From<EvidencePolicy> for Serving {
    fn from(policy: EvidencePolicy) -> Self {
        Self { gate: policy.gate, trial: TRIAL, hold_out: policy.hold_out }
    }
}

impl Serving {
    /// The same, with nothing left to chance.
    #[must_use]
    pub fn certain(self) -> Self {
        Self { trial: 0.0, hold_out: 0.0, ..self }
    }

    /// As what a lesson is served.
    pub(crate) fn stage(self, lesson: &Lesson) -> Stage {
        match (self.gate, lesson.stage) {
            (_, Stage::Retired) => Stage::Retired,
            (Gate::Off, _) => Stage::Active,
            // Nobody has spoken for it.
            (Gate::People, Stage::Canary) => Stage::Candidate,
            (_, stage) => stage,
        }
    }

    /// Why chance keeps a lesson back that would be served. One that is shown beside its run is on trial like any
    /// that is not proven: shown always, its benefit could not be told from that of the run.
    pub(crate) fn keeps_back(self, receipt: ReceiptId, lesson: &Lesson) -> Option<WithheldReason> {
        let (share, reason) = match (self.gate, lesson.stage) {
            (Gate::Evidence, Stage::Candidate | Stage::Canary) => (self.trial, WithheldReason::Control),
            (Gate::Evidence | Gate::People, Stage::Active) => (self.hold_out, WithheldReason::HoldOut),
            _ => return None,
        };
        (receipt.draw(lesson.id) < share).then_some(reason)
    }
}
