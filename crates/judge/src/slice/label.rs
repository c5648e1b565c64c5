//! From what became of a step, and how it was reached, to its label in words a person can check.

use hindsight_types::{OutcomeStatus, StepEvaluation, StepLabel};

use crate::signature;
use crate::token::Tokens;

use super::ending::Ending;
use super::fate::{Fate, Fates};
use super::provenance::{Edge, Provenance, Why};
use super::reach::{Reach, Via};
use super::view::View;

struct Verdict {
    label: StepLabel,
    confidence: f32,
    rationale: String,
}

impl Verdict {
    fn new(label: StepLabel, confidence: f32, rationale: impl Into<String>) -> Self {
        Self { label, confidence, rationale: rationale.into() }
    }
}

struct Judge<'a, 't> {
    views: &'a [View<'t>],
    edges: &'a [Vec<Edge>],
    fates: &'a Fates,
    ending: &'a Ending,
    reach: &'a Reach,
    tokens: &'a Tokens,
    /// Writes that stand, the suspects of a run that failed.
    standing: usize,
}

pub(super) fn all(
    views: &[View<'_>],
    provenance: &Provenance,
    fates: &Fates,
    ending: &Ending,
    reach: &Reach,
    tokens: &Tokens,
) -> Vec<StepEvaluation> {
    let standing =
        views.iter().zip(&fates.of).filter(|(v, f)| v.writes().is_some() && **f == Fate::Stands).count();
    let judge = Judge { views, edges: &provenance.edges, fates, ending, reach, tokens, standing };
    (0..views.len())
        .map(|at| {
            let verdict = judge.step(at);
            let step_index = views[at].step.step_index;
            let mut depends_on: Vec<u32> = provenance.edges[at]
                .iter()
                .map(|e| views[e.on].step.step_index)
                .filter(|i| *i < step_index)
                .collect();
            depends_on.sort_unstable();
            StepEvaluation {
                step_index,
                label: verdict.label,
                rationale: verdict.rationale,
                confidence: verdict.confidence,
                depends_on,
            }
        })
        .collect()
}

impl Judge<'_, '_> {
    fn step(&self, at: usize) -> Verdict {
        let view = &self.views[at];
        if view.failed() {
            let message = signature::error_message(&view.step.observation);
            let message = signature::head(&message, 160);
            return Verdict::new(StepLabel::Failed, 0.95, format!("came back with an error: {message}"));
        }
        if self.ending.conclusion == Some(at) && !view.effect.is_write() {
            return self.conclusion();
        }
        match (self.fate(at), view.writes()) {
            (Some(verdict), _) => verdict,
            (None, Some(_)) => self.standing_write(at),
            (None, None) => self.by_reach(at),
        }
    }

    fn fate(&self, at: usize) -> Option<Verdict> {
        let named = |other: usize| self.views[other].named();
        let (label, confidence, rationale) = match self.fates.of[at] {
            Fate::Stands => return None,
            Fate::Repeats(first) => {
                (StepLabel::Redundant, 0.9, format!("repeats {}; nothing had changed since", named(first)))
            }
            Fate::NoChange => (StepLabel::Redundant, 0.85, "its result says that nothing changed".to_owned()),
            Fate::SameState(seen) => (
                StepLabel::Redundant,
                0.85,
                format!("the state it returned was already there at {}", named(seen)),
            ),
            Fate::Undone(by) => match self.reach.via[at] {
                Some(via) => (
                    StepLabel::Necessary,
                    0.55,
                    format!("removed again by {}, but first {}", named(by), self.chain(via)),
                ),
                None => (StepLabel::Misleading, 0.85, format!("taken back by {}", named(by))),
            },
            Fate::Replaced(by) => {
                (StepLabel::Redundant, 0.7, format!("{} put the same thing into another state", named(by)))
            }
            Fate::AsksAgain { before, stale_since } => return self.asks_again(at, before, stale_since),
            Fate::Refused(by) => (StepLabel::Failed, 0.85, format!("{} found no act in it", named(by))),
            Fate::Rejected(by) => {
                (StepLabel::Misleading, 0.75, format!("{} says that it was wrong", named(by)))
            }
            Fate::NoEffect(seen) => {
                let who = if seen == at { "its own result".to_owned() } else { named(seen) };
                (StepLabel::Redundant, 0.75, format!("{who} still shows the trouble it was meant to end"))
            }
        };
        Some(Verdict::new(label, confidence, rationale))
    }

    /// A read that was asked again is needed only when something it alone gave was used. Going on with a line
    /// that has already brought nothing is what leads a failed run astray.
    fn asks_again(&self, at: usize, before: usize, stale_since: Option<usize>) -> Option<Verdict> {
        if self.reach.via[at].is_some_and(|via| via != Via::Nearest) {
            return None;
        }
        let before = self.views[before].named();
        Some(match stale_since {
            Some(since) if self.ending.went_wrong => {
                let since = self.views[since].named();
                let why = format!(
                    "goes on with what had brought nothing new since {since}, and the run went wrong"
                );
                Verdict::new(StepLabel::Misleading, 0.65, why)
            }
            _ => Verdict::new(
                StepLabel::Redundant,
                0.7,
                format!("asks again what {before} had asked, and brought nearly nothing new"),
            ),
        })
    }

    fn conclusion(&self) -> Verdict {
        match self.ending.status {
            OutcomeStatus::Failure if self.ending.unfinished.is_none() => {
                Verdict::new(StepLabel::Misleading, 0.7, "the run concluded with it, and failed")
            }
            OutcomeStatus::Failure => {
                Verdict::new(StepLabel::Misleading, 0.5, "the run ended with it, unfinished, and failed")
            }
            OutcomeStatus::Success => {
                Verdict::new(StepLabel::Necessary, 0.9, "it concludes the run, which succeeded")
            }
            OutcomeStatus::Unknown if self.ending.admitted => Verdict::new(
                StepLabel::Misleading,
                0.5,
                "the run ended with it, and by its own words without a result",
            ),
            _ => Verdict::new(StepLabel::Necessary, 0.6, "it concludes the run"),
        }
    }

    fn standing_write(&self, at: usize) -> Verdict {
        let undoes = self.fates.undoes.get(&at).map(|u| format!("it takes back {}", self.views[*u].named()));
        let what =
            undoes.or_else(|| self.basis(at)).unwrap_or_else(|| "its change stands at the end".to_owned());
        match (self.ending.status, &self.ending.unfinished) {
            (OutcomeStatus::Success, _) => {
                Verdict::new(StepLabel::Necessary, 0.85, format!("{what}, and the run succeeded"))
            }
            (OutcomeStatus::Failure, None) => {
                let confidence = if self.standing > 1 { 0.5 } else { 0.7 };
                let suspects = match self.standing {
                    1 => "no other change does".to_owned(),
                    2 => "one other does too".to_owned(),
                    n => format!("{} others do too", n - 1),
                };
                Verdict::new(
                    StepLabel::Misleading,
                    confidence,
                    format!("{what}, and the run failed; {suspects}"),
                )
            }
            (OutcomeStatus::Failure, Some(reason)) => Verdict::new(
                StepLabel::Necessary,
                0.55,
                format!("{what}; the failure has another reason: {reason}"),
            ),
            _ => Verdict::new(StepLabel::Necessary, 0.6, what),
        }
    }

    /// What a standing write acted on, and where that came from.
    fn basis(&self, at: usize) -> Option<String> {
        self.edges[at].iter().find_map(|e| {
            let from = self.views[e.on].named();
            match e.why {
                Why::Token(t) | Why::Made(t) => Some(format!(
                    "it acts on \"{}\" from {from}; its change stands at the end",
                    self.tokens.text(t)
                )),
                Why::Trouble => {
                    Some(format!("it acts on the trouble seen at {from}; its change stands at the end"))
                }
                Why::Answers => None,
            }
        })
    }

    fn by_reach(&self, at: usize) -> Verdict {
        let view = &self.views[at];
        if view.is_user() && at == 0 {
            return Verdict::new(StepLabel::Necessary, 0.9, "it states the task");
        }
        let sure = if self.ending.status == OutcomeStatus::Success { 0.8 } else { 0.6 };
        // Something new was looked at: that it ruled something out leaves no token.
        let unused = if view.is_tool() { 0.45 } else { 0.6 };
        match self.reach.via[at] {
            Some(via) => Verdict::new(StepLabel::Necessary, sure, self.chain(via)),
            None => Verdict::new(
                StepLabel::Redundant,
                unused,
                "no later step and no part of the conclusion used it",
            ),
        }
    }

    /// One link of the chain: who needed the step, and for what.
    fn chain(&self, via: Via) -> String {
        match via {
            Via::Concludes => "it concludes the run".to_owned(),
            Via::Stands => "its change stands at the end".to_owned(),
            Via::Result(token) => {
                format!("its result gave \"{}\", which the conclusion states", self.tokens.text(token))
            }
            Via::Checks(write) => format!("it checked what {} had changed", self.views[write].named()),
            Via::Nearest => "it is what the run concluded from".to_owned(),
            Via::Step { by, why } => {
                let user = self.views[by].named();
                match why {
                    Why::Token(token) => format!("it gave \"{}\", used by {user}", self.tokens.text(token)),
                    Why::Made(token) => format!("it made \"{}\", used by {user}", self.tokens.text(token)),
                    Why::Trouble => format!("it showed the trouble that {user} acted on"),
                    Why::Answers => format!("it led to {user}"),
                }
            }
        }
    }
}
