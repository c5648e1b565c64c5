//! Raw events leave after a while, unless their run is rare and important.
//!
//! - **Rare**: few runs of its kind (its task type; without one, its goal but for numbers and identifiers) are
//!   known, and few recalls brought it in the time that receipts are kept for.
//! - **Important**: it is worth showing, it solved a failure (it failed at a step and succeeded in the end), or a
//!   person said how it went.
//!
//! Whatever is common or can be had again from its evaluation leaves; a run that is still judged or still going on
//! stays. Runs that were not judged leave as well: nothing can be recalled of them.

mod read;

use std::{collections::BTreeMap, time::Duration};

use hindsight_types::{EvaluationState, EvidenceSource, Experience, OutcomeStatus, StepLabel, TraceId, Work};

use super::Planned;

pub use read::rows;

/// Most runs in one task.
const RUNS: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEventSettings {
    /// How long raw events are kept, from when they were recorded.
    pub keep: Duration,
    /// With more runs of its kind than this a run is not rare.
    pub rare_runs: u64,
    /// Brought by more recalls than this in 30 days it is not rare.
    pub rare_reads: u64,
}

impl Default for RawEventSettings {
    fn default() -> Self {
        Self { keep: Duration::from_secs(14 * 24 * 60 * 60), rare_runs: 3, rare_reads: 3 }
    }
}

/// A run that has raw events which are older than they are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct RawRun {
    pub trace: TraceId,
    /// It is under way, or has younger ones, too.
    pub goes_on: bool,
    /// Where its evaluation stands; `None`: nobody asked for one.
    pub evaluation: Option<EvaluationState>,
    /// What is known of it, if it was judged.
    pub judged: Option<Judged>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub importance: Option<Importance>,
    /// Judged runs of its kind, this one included.
    pub alike: u64,
    /// Recalls that brought it lately.
    pub reads: u64,
}

/// What makes a run important, the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    Marked,
    Solved,
    Worth,
}

impl Importance {
    pub fn of(run: &Experience) -> Option<Self> {
        let stated = run.trajectory.outcome.evidence.iter().chain(&run.evaluation.outcome_evidence);
        if stated.into_iter().any(|e| e.source == EvidenceSource::User) {
            Some(Self::Marked)
        } else if run.evaluation.outcome == OutcomeStatus::Success
            && run.evaluation.count(StepLabel::Failed) > 0
        {
            Some(Self::Solved)
        } else {
            run.evaluation.worth_reference.then_some(Self::Worth)
        }
    }
}

/// Why raw events leave, or why they do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    NotJudged,
    Common,
    Unimportant,
}

impl Reason {
    fn words(self) -> &'static str {
        match self {
            Self::NotJudged => "not judged",
            Self::Common => "not rare",
            Self::Unimportant => "not important",
        }
    }
}

/// Why the raw events of a run leave; `None`: they stay.
pub fn leaves(run: &RawRun, settings: &RawEventSettings) -> Option<Reason> {
    if run.goes_on || matches!(run.evaluation, Some(EvaluationState::Waiting { .. })) {
        return None;
    }
    let Some(judged) = &run.judged else { return Some(Reason::NotJudged) };
    if judged.alike > settings.rare_runs || judged.reads > settings.rare_reads {
        return Some(Reason::Common);
    }
    judged.importance.is_none().then_some(Reason::Unimportant)
}

/// Runs whose raw events leave, [`RUNS`] at a time.
pub fn plan(runs: &[RawRun], settings: &RawEventSettings) -> Vec<Planned> {
    let mut leaving: BTreeMap<&TraceId, Reason> = BTreeMap::new();
    for run in runs {
        if let Some(reason) = leaves(run, settings) {
            leaving.insert(&run.trace, reason);
        }
    }
    let leaving: Vec<_> = leaving.into_iter().collect();
    leaving.chunks(RUNS).map(|some| planned(some, settings)).collect()
}

fn planned(runs: &[(&TraceId, Reason)], settings: &RawEventSettings) -> Planned {
    let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
    for (_, reason) in runs {
        *counts.entry(*reason).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(reason, n)| format!("{n} {}", reason.words())).collect();
    let days = settings.keep.as_secs() / (24 * 60 * 60);
    let why = format!("runs with events older than {days} days: {}", counts.join(", "));
    let traces = runs.iter().map(|(trace, _)| (*trace).clone()).collect();
    Planned::new(Work::ExpireEvents { traces }, why)
}

#[cfg(test)]
mod tests;
