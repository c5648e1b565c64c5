//! The slice judge: labels every step of a run without a model.
//!
//! It builds the graph of which step used what which earlier step found, and walks it back from the
//! conclusion and from the writes that stand at the end. What is reached was necessary. Program slicing
//! (Weiser, 1981) over an agent's run.

mod blame;
mod claim;
mod ending;
mod fate;
mod hypothesis;
mod ineffective;
mod label;
mod poll;
mod provenance;
mod reach;
mod retry;
mod rut;
mod team;
mod view;
mod words;

use hindsight_types::{OutcomeStatus, StepEvaluation, Trajectory};

use crate::token::{TokenId, Tokens};

pub use blame::{Blame, blame};

/// The labels of a run, with the work it took.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// One per step, in step order.
    pub steps: Vec<StepEvaluation>,
    /// Words looked at and links followed; near linear in the size of the run.
    pub work: u64,
}

/// Labels every step, once, in step order.
pub fn judge(t: &Trajectory) -> Slice {
    let case = Case::of(t);
    Slice { steps: label::all(&case), work: case.provenance.work + case.reach.work }
}

/// All that the run shows about its steps; the labels are read off it.
struct Case<'t> {
    task: &'t str,
    views: Vec<view::View<'t>>,
    tokens: Tokens,
    provenance: provenance::Provenance,
    ending: ending::Ending,
    fates: fate::Fates,
    reach: reach::Reach,
    /// Tokens of the stated result.
    said: Vec<TokenId>,
}

impl<'t> Case<'t> {
    fn of(t: &'t Trajectory) -> Self {
        let mut tokens = Tokens::default();
        let views = view::View::all(t, &mut tokens);
        let said = tokens.of_prose(&t.outcome.conclusion);
        let provenance = provenance::Provenance::build(&t.task_description, &views, &tokens);
        let ending = ending::Ending::of(t, &views);
        let solved = ending.status == OutcomeStatus::Success;
        let fates = fate::trace(&views, &provenance, &tokens, solved);
        let reach = reach::Reach::walk(&views, &provenance, &fates, &ending, &said, &tokens);
        let task = t.task_description.as_str();
        Self { task, views, tokens, provenance, ending, fates, reach, said }
    }
}

#[cfg(test)]
mod tests;
