use hindsight_types::{FailurePattern, Memory, SimilarityParts};

use super::{Moment, times};
use crate::{
    Ranked, Request, Settings,
    block::{Block, Item, Language},
    factors::factors,
};

/// A warning, ready to be said.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// The known failure, with what its score is made of; `similarity` is how like the call is.
    pub item: Ranked,
    /// Rendered and fenced.
    pub block: String,
    /// Size of the block.
    pub tokens: usize,
}

impl Warning {
    /// The known failure.
    pub fn pattern(&self) -> Option<&FailurePattern> {
        match &self.item.memory {
            Memory::FailurePattern(pattern) => Some(pattern),
            _ => None,
        }
    }
}

/// A known failure with its score beside a call.
pub(super) fn rank(
    pattern: FailurePattern,
    alike: f32,
    call: &str,
    settings: &Settings,
    moment: &Moment<'_>,
) -> Ranked {
    let language = moment.style.language.unwrap_or_else(|| Language::of(call));
    let why = language.about_to_repeat(times(&pattern, moment.now), alike);
    let memory = Memory::FailurePattern(pattern);
    let parts = SimilarityParts { words: alike, ..SimilarityParts::default() };
    let factors = factors(&memory, alike, parts, moment.environment, moment.now, settings);
    Ranked { memory, factors, why, supersedes: Vec::new() }
}

/// `None`: it does not fit.
pub(super) fn render(item: &Ranked, call: &str, moment: &Moment<'_>) -> Option<Warning> {
    let request = Request {
        query: call,
        environment: moment.environment,
        now: moment.now,
        limit: 1,
        token_budget: moment.token_budget,
        receipt: moment.receipt,
        style: moment.style,
        said: None,
    };
    let mut block = Block::new(&request);
    let shown = Item::because(&item.memory, &item.factors, &[], &request, item.why.clone());
    if !block.push(&shown, false) {
        return None;
    }
    let (block, tokens) = block.finish(0);
    Some(Warning { item: item.clone(), block, tokens })
}
