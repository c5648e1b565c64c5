//! From scored candidates to an answer.

mod selection;
mod sift;

use std::cmp::Ordering;

use hindsight_types::{
    Environment, Memory, MemoryId, ReceiptId, ScoreFactors, Stage, Timestamp, Withheld, WithheldReason,
};

use crate::{Settings, block::Style, conflict::Words, factors::supported_at, watch::Said};
use selection::Selection;
use sift::{lesson_stage, sift};

/// What is asked, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub query: &'a str,
    /// Where the agent runs.
    pub environment: &'a Environment,
    pub now: Timestamp,
    /// Most items.
    pub limit: usize,
    /// Most tokens of the block.
    pub token_budget: usize,
    /// Named in the block, so that the agent can name it in the run that follows.
    pub receipt: ReceiptId,
    /// How the block is written.
    pub style: Style,
    /// What was said on the stream that asks, and is not said again.
    pub said: Option<&'a Said>,
}

/// A memory that is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub memory: Memory,
    pub factors: ScoreFactors,
    /// Why it is here, in words.
    pub why: String,
    /// Older candidates that it replaces.
    pub supersedes: Vec<MemoryId>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// In the order of the block.
    pub items: Vec<Ranked>,
    /// Every other candidate that was read, best first.
    pub withheld: Vec<Withheld>,
    /// Empty when there are no items.
    pub block: String,
    /// Exact size of `block`.
    pub tokens: usize,
    /// Why there are no items; empty when there are some.
    pub empty_reason: String,
}

/// A memory with its score.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) memory: Memory,
    pub(crate) factors: ScoreFactors,
    pub(crate) words: Words,
    /// As stored; may be empty.
    pub(crate) dense: Vec<f32>,
}

impl Candidate {
    fn score(&self) -> f32 {
        self.factors.total()
    }

    fn pair(&self) -> (&Memory, &Words) {
        (&self.memory, &self.words)
    }
}

/// Resolves conflicts, folds what says the same, and cuts to the budgets.
pub(crate) fn decide(mut candidates: Vec<Candidate>, request: &Request<'_>, settings: &Settings) -> Ranking {
    candidates.sort_by(best_first);
    let mut withheld = Vec::new();
    let sifted = sift(candidates, request, settings, &mut withheld);
    let unproven = |c: &Candidate| lesson_stage(&c.memory, settings) == Some(Stage::Candidate);
    let (unproven, proven): (Vec<_>, Vec<_>) = sifted.eligible.into_iter().partition(unproven);
    let mut selection = Selection::new(request, settings, sifted.replaced, withheld);
    selection.take(proven);
    selection.take_beside_its_run(unproven);
    selection.finish()
}

/// Best first; ties go to the newer, then to the smaller id, so that the order is total.
fn best_first(a: &Candidate, b: &Candidate) -> Ordering {
    b.score()
        .total_cmp(&a.score())
        .then_with(|| supported_at(&b.memory).cmp(&supported_at(&a.memory)))
        .then_with(|| a.memory.id().cmp(&b.memory.id()))
}

fn withhold(candidate: &Candidate, reason: WithheldReason, instead: Option<MemoryId>) -> Withheld {
    Withheld {
        memory_id: candidate.memory.id(),
        kind: candidate.memory.kind(),
        score: candidate.score(),
        reason,
        instead,
    }
}

#[cfg(test)]
mod tests;
