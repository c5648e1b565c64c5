//! From what became of a step, and how it was reached, to its label in words a person can check.

use hindsight_text::truncate_chars;
use hindsight_types::{OutcomeStatus, StepEvaluation, StepLabel};

use crate::signature;
use crate::token::TokenId;

use super::Case;
use super::fate::Fate;
use super::provenance::Why;
use super::reach::Via;
use super::retry;

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
    case: &'a Case<'t>,
    /// Writes that stand, the suspects of a run that failed.
    standing: usize,
    retried: Vec<Option<usize>>,
}

pub(super) fn all(case: &Case<'_>) -> Vec<StepEvaluation> {
    let stands = |at: &usize| case.views[*at].writes().is_some() && case.fates.of[*at] == Fate::Stands;
    let standing = (0..case.views.len()).filter(stands).count();
    let judge = Judge { case, standing, retried: retry::trace(&case.views) };
    (0..case.views.len()).map(|at| judge.evaluation(at)).collect()
}

impl Judge<'_, '_> {
    fn evaluation(&self, at: usize) -> StepEvaluation {
        let verdict = self.step(at);
        let index = |at: usize| self.case.views[at].step.step_index;
        let mut depends_on: Vec<u32> = self.case.provenance.edges[at].iter().map(|e| index(e.on)).collect();
        depends_on.retain(|on| *on < index(at));
        depends_on.sort_unstable();
        StepEvaluation {
            step_index: index(at),
            label: verdict.label,
            rationale: verdict.rationale,
            confidence: verdict.confidence,
            depends_on,
            votes: Vec::new(),
        }
    }

    fn named(&self, at: usize) -> String {
        self.case.views[at].named()
    }

    fn step(&self, at: usize) -> Verdict {
        let view = &self.case.views[at];
        if view.failed() {
            return self.failure(at);
        }
        if self.case.ending.conclusion == Some(at) && !view.effect.is_write() {
            return self.conclusion();
        }
        match (self.fate(at), view.writes()) {
            (Some(verdict), _) => verdict,
            (None, Some(_)) => self.standing_write(at),
            (None, None) => self.by_reach(at),
        }
    }

    fn failure(&self, at: usize) -> Verdict {
        let message = signature::error_message(&self.case.views[at].step.observation);
        let mut why = format!("came back with an error: {}", truncate_chars(&message, 160));
        if let Some(next) = self.retried[at] {
            why.push_str(&format!("; {} went through with other arguments", self.named(next)));
        }
        Verdict::new(StepLabel::Failed, 0.95, why)
    }

    fn fate(&self, at: usize) -> Option<Verdict> {
        let named = |other: usize| self.named(other);
        let (label, confidence, rationale) = match self.case.fates.of[at] {
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
            Fate::Undone(by) => match self.case.reach.via[at] {
                Some(via) => (
                    StepLabel::Necessary,
                    0.55,
                    format!("removed again by {}, but first {}", named(by), self.chain(at, via)),
                ),
                None => (StepLabel::Misleading, 0.85, format!("taken back by {}", named(by))),
            },
            Fate::Replaced(by) => {
                (StepLabel::Redundant, 0.7, format!("{} put the same thing into another state", named(by)))
            }
            Fate::AsksAgain { before, stale_since } => return self.asks_again(at, before, stale_since),
            Fate::Waits(last) => {
                return self.unless_used(at, format!("waits, as {} does once more", named(last)));
            }
            Fate::GivenUp(by) => {
                let why = format!("looked into something that {} says was not the cause", named(by));
                return self.unless_used(at, why);
            }
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

    /// Whether something that the step alone gave was used, beyond doubt.
    fn used(&self, at: usize) -> bool {
        let by_token = |via: Via| match via {
            Via::Step { why, .. } => matches!(why, Why::Token(_) | Why::Made(_)),
            Via::Result(_) => true,
            _ => false,
        };
        self.case.reach.sure[at] && self.case.reach.via[at].is_some_and(by_token)
    }

    fn unless_used(&self, at: usize, why: String) -> Option<Verdict> {
        (!self.used(at)).then(|| Verdict::new(StepLabel::Redundant, 0.65, why))
    }

    /// A read that was asked again is needed only when something it alone gave was used. Going on with a line
    /// that has already brought nothing is what leads a failed run astray.
    fn asks_again(&self, at: usize, before: usize, stale_since: Option<usize>) -> Option<Verdict> {
        if self.case.reach.via[at].is_some_and(|via| via != Via::Nearest) {
            return None;
        }
        let before = self.named(before);
        Some(match stale_since {
            Some(since) if self.went_wrong() => {
                let since = self.named(since);
                let end = match self.case.ending.status {
                    OutcomeStatus::Failure => ", and the run went wrong",
                    _ => ", and no result is known to have come of it",
                };
                let why = format!("goes on with what had brought nothing new since {since}{end}");
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
        match self.case.ending.status {
            OutcomeStatus::Failure if self.case.ending.unfinished.is_none() => {
                Verdict::new(StepLabel::Misleading, 0.7, "the run concluded with it, and failed")
            }
            OutcomeStatus::Failure => {
                Verdict::new(StepLabel::Misleading, 0.5, "the run ended with it, unfinished, and failed")
            }
            OutcomeStatus::Success => {
                Verdict::new(StepLabel::Necessary, 0.9, "it concludes the run, which succeeded")
            }
            OutcomeStatus::Unknown if self.case.ending.admitted => Verdict::new(
                StepLabel::Misleading,
                0.5,
                "the run ended with it, and by its own words without a result",
            ),
            OutcomeStatus::Unknown if self.stalled() => Verdict::new(
                StepLabel::Misleading,
                0.45,
                "the run ended with it after its last looks had brought nothing new",
            ),
            _ => Verdict::new(StepLabel::Necessary, 0.6, "it concludes the run"),
        }
    }

    /// Whether the agent had gone on asking what brought nothing new, and concluded from that.
    fn stalled(&self) -> bool {
        let last = (0..self.case.views.len()).rfind(|at| self.case.views[*at].is_tool());
        last.is_some_and(|at| matches!(self.case.fates.of[at], Fate::AsksAgain { stale_since: Some(_), .. }))
    }

    fn went_wrong(&self) -> bool {
        let unknown = self.case.ending.status == OutcomeStatus::Unknown;
        self.case.ending.went_wrong || (unknown && self.stalled())
    }

    fn standing_write(&self, at: usize) -> Verdict {
        let undoes = self.case.fates.undoes.get(&at).map(|u| format!("it takes back {}", self.named(*u)));
        let what =
            undoes.or_else(|| self.basis(at)).unwrap_or_else(|| "its change stands at the end".to_owned());
        match (self.case.ending.status, &self.case.ending.unfinished) {
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

    /// What a standing write acted on, and where that came from: the strongest link there is.
    fn basis(&self, at: usize) -> Option<String> {
        let named = self.case.provenance.edges[at].iter().filter(|e| e.why.is_evidence());
        let edge = named.max_by(|a, b| a.strength.total_cmp(&b.strength))?;
        let from = self.named(edge.on);
        Some(match edge.why {
            Why::Token(t) => format!(
                "it acts on {} that {from} found; its change stands at the end",
                self.thing(edge.on, t)
            ),
            Why::Made(t) => format!(
                "it acts on {} that {from} made; its change stands at the end",
                self.thing(edge.on, t)
            ),
            _ => format!("it acts on the trouble seen at {from}; its change stands at the end"),
        })
    }

    fn by_reach(&self, at: usize) -> Verdict {
        let view = &self.case.views[at];
        if view.is_user() && at == 0 {
            return Verdict::new(StepLabel::Necessary, 0.9, "it states the task");
        }
        let sure = if self.case.ending.status == OutcomeStatus::Success { 0.8 } else { 0.6 };
        match self.case.reach.via[at] {
            Some(via) if self.case.reach.sure[at] => {
                Verdict::new(StepLabel::Necessary, sure, self.chain(at, via))
            }
            Some(via) => {
                let why = format!("{}, though that may be chance", self.chain(at, via));
                Verdict::new(StepLabel::Necessary, 0.45, why)
            }
            None => self.unreached(at),
        }
    }

    fn unreached(&self, at: usize) -> Verdict {
        let view = &self.case.views[at];
        if let Some(next) = self.retried[at].filter(|_| retry::is_empty(&view.step.observation)) {
            let why = format!("brought nothing; {} asked with other arguments", self.named(next));
            return Verdict::new(StepLabel::Redundant, 0.6, why);
        }
        // Something new was looked at: that it ruled something out leaves no token.
        let unused = if view.is_tool() { 0.45 } else { 0.6 };
        Verdict::new(StepLabel::Redundant, unused, "no later step and no part of the conclusion used it")
    }

    /// One link of the chain: who needed the step, and for what.
    fn chain(&self, at: usize, via: Via) -> String {
        match via {
            Via::Concludes => "it concludes the run".to_owned(),
            Via::Stands => "its change stands at the end".to_owned(),
            Via::Result(token) => format!("it found {}, which the conclusion states", self.thing(at, token)),
            Via::Checks(write) => format!("it checked what {} had changed", self.named(write)),
            Via::Nearest => "it is what the run concluded from".to_owned(),
            Via::Step { by, why } => {
                let user = self.named(by);
                match why {
                    Why::Token(token) if self.case.views[at].is_words() => {
                        format!("it stated {}, which {user} used", self.thing(at, token))
                    }
                    Why::Token(token) => format!("it found {}, which {user} used", self.thing(at, token)),
                    Why::Made(token) => format!("it made {}, which {user} used", self.thing(at, token)),
                    Why::Trouble => format!("it showed the trouble that {user} acted on"),
                    Why::Answers => format!("it led to {user}"),
                    Why::TakesOver => format!("it handed over to {user}"),
                }
            }
        }
    }

    /// A token under the name that the result gave it: `order_id "W123"`.
    fn thing(&self, found_at: usize, token: TokenId) -> String {
        let text = self.case.tokens.text(token);
        match key_of(&self.case.views[found_at].step.observation, text) {
            Some(key) => format!("{key} \"{text}\""),
            None => format!("\"{text}\""),
        }
    }
}

/// The key of a JSON field whose value holds the text, where it first comes up.
fn key_of<'r>(result: &'r str, text: &str) -> Option<&'r str> {
    /// Longest distance between a key and its value, and longest key.
    const NEAR: usize = 60;
    let at = result.find(text)?;
    let from = (at.saturating_sub(NEAR)..=at).find(|i| result.is_char_boundary(*i))?;
    let before = result[from..at].trim_end_matches(['"', ' ', '[', '\n']).strip_suffix(':')?;
    let key = before.trim_end().strip_suffix('"')?;
    let key = key.rsplit_once('"')?.1;
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '));
    plain.then_some(key)
}
