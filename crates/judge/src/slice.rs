//! The slice judge: labels every step of a run without a model.
//!
//! It builds the graph of which step used what which earlier step found, and walks it back from the
//! conclusion and from the writes that stand at the end. What is reached was necessary. Program slicing
//! (Weiser, 1981) over an agent's run.

mod ending;
mod fate;
mod ineffective;
mod label;
mod provenance;
mod reach;
mod rut;
mod view;
mod words;

use hindsight_types::{OutcomeStatus, StepEvaluation, Trajectory};

use crate::token::Tokens;

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
    let mut tokens = Tokens::default();
    let views = view::View::all(t, &mut tokens);
    let said = tokens.of_prose(&t.outcome.conclusion);
    let provenance = provenance::Provenance::build(&t.task_description, &views, &tokens);
    let ending = ending::Ending::of(t, &views);
    let fates = fate::trace(&views, &provenance, &tokens, ending.status == OutcomeStatus::Success);
    let reach = reach::Reach::walk(&views, &provenance, &fates, &ending, &said, &tokens);
    let steps = label::all(&views, &provenance, &fates, &ending, &reach, &tokens);
    Slice { steps, work: provenance.work + reach.work }
}

#[cfg(test)]
mod tests;
