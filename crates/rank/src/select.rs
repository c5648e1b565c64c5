use std::{cmp::Ordering, collections::BTreeSet};

use hindsight_ports::Hit;
use hindsight_types::{
    Environment, FactStatus, Memory, MemoryId, ReceiptId, ScoreFactors, Stage, Timestamp, TraceId, Withheld,
    WithheldReason,
};

use crate::{
    DenseScale, Settings,
    block::{Block, Item},
    conflict::{Words, contradict, say_the_same},
    factors::{factors, supported_at},
    similarity::{Tokens, similarities},
};

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
    /// Scale of the dense arm.
    pub dense: DenseScale,
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
    /// Every other candidate, best first.
    pub withheld: Vec<Withheld>,
    /// Empty when there are no items.
    pub block: String,
    /// Exact size of `block`.
    pub tokens: usize,
    /// Why there are no items; empty when there are some.
    pub empty_reason: String,
}

struct Candidate {
    memory: Memory,
    factors: ScoreFactors,
    words: Words,
}

impl Candidate {
    fn score(&self) -> f32 {
        self.factors.total()
    }

    fn pair(&self) -> (&Memory, &Words) {
        (&self.memory, &self.words)
    }
}

/// Scores, resolves conflicts, folds what says the same, and cuts to the budgets. The order of `hits` does
/// not matter.
pub fn rank(hits: Vec<Hit>, request: &Request<'_>, settings: &Settings) -> Ranking {
    let candidates = score(hits, request, settings);
    let mut withheld = Vec::new();
    let eligible = sift(candidates, request, settings, &mut withheld);
    let mut selection = Selection::new(request, settings);
    // A lesson that is not proven is only shown beside a run it was learned from.
    let (unproven, proven): (Vec<_>, Vec<_>) =
        eligible.into_iter().partition(|c| lesson_stage(&c.memory) == Some(Stage::Candidate));
    for candidate in proven {
        selection.offer(candidate, &mut withheld);
    }
    for candidate in unproven {
        if selection.holds_source_of(&candidate.memory) {
            selection.offer(candidate, &mut withheld);
        } else {
            withheld.push(withhold(&candidate, WithheldReason::Stage));
        }
    }
    selection.finish(withheld, settings)
}

/// Best first; ties go to the newer, then to the smaller id, so that the order is total.
fn score(mut hits: Vec<Hit>, request: &Request<'_>, settings: &Settings) -> Vec<Candidate> {
    // One candidate per memory, whatever order they came in.
    let arm = |score: Option<f32>| score.unwrap_or(f32::NEG_INFINITY);
    hits.sort_by(|a, b| {
        let scores = |h: &Hit| (arm(h.sparse), arm(h.dense));
        let ((b_sparse, b_dense), (a_sparse, a_dense)) = (scores(b), scores(a));
        (a.memory.id().cmp(&b.memory.id()))
            .then_with(|| b_sparse.total_cmp(&a_sparse))
            .then_with(|| b_dense.total_cmp(&a_dense))
    });
    hits.dedup_by_key(|hit| hit.memory.id());
    let tokens: Vec<Tokens> = hits.iter().map(Tokens::of).collect();
    let similarities = similarities(request.query, &hits, &tokens, request.dense);
    let mut candidates: Vec<Candidate> = hits
        .into_iter()
        .zip(tokens)
        .zip(similarities)
        .map(|((hit, tokens), similarity)| Candidate {
            factors: factors(&hit.memory, similarity, request.environment, request.now, settings),
            words: Words::new(&hit.memory, tokens.own),
            memory: hit.memory,
        })
        .collect();
    candidates.sort_by(best_first);
    candidates
}

fn best_first(a: &Candidate, b: &Candidate) -> Ordering {
    b.score()
        .total_cmp(&a.score())
        .then_with(|| supported_at(&b.memory).cmp(&supported_at(&a.memory)))
        .then_with(|| a.memory.id().cmp(&b.memory.id()))
}

/// Takes out what may not be served at all.
fn sift(
    candidates: Vec<Candidate>,
    request: &Request<'_>,
    settings: &Settings,
    withheld: &mut Vec<Withheld>,
) -> Vec<Candidate> {
    let relevant = relevant_kinds(&candidates, settings);
    let bar = |c: &Candidate| barred(c, request.now).or_else(|| too_far(c, &relevant, settings));
    let bars: Vec<_> = candidates.iter().map(bar).collect();
    // A newer statement replaces an older one even when only the older one is near the query.
    let valid: Vec<&Candidate> = candidates
        .iter()
        .zip(&bars)
        .filter(|(_, bar)| matches!(bar, None | Some(WithheldReason::BelowFloor)))
        .map(|(candidate, _)| candidate)
        .collect();
    let reasons: Vec<_> = candidates
        .iter()
        .zip(bars)
        .map(|(c, bar)| {
            let replaced = || valid.iter().any(|other| replaces(other, c));
            bar.or_else(|| replaced().then_some(WithheldReason::Superseded))
        })
        .collect();
    let mut eligible = Vec::new();
    for (candidate, reason) in candidates.into_iter().zip(reasons) {
        match reason {
            Some(reason) => withheld.push(withhold(&candidate, reason)),
            None => eligible.push(candidate),
        }
    }
    eligible
}

/// Kinds whose best candidate is near enough.
fn relevant_kinds(candidates: &[Candidate], settings: &Settings) -> BTreeSet<&'static str> {
    let near = |c: &&Candidate| c.factors.similarity >= settings.floor;
    candidates.iter().filter(near).map(|c| c.memory.kind().as_str()).collect()
}

fn too_far(
    candidate: &Candidate,
    relevant: &BTreeSet<&'static str>,
    settings: &Settings,
) -> Option<WithheldReason> {
    // A floor of zero still asks for something in common.
    let similarity = candidate.factors.similarity;
    let near = similarity >= settings.tail_floor && similarity > 0.0;
    let kind_is_relevant = relevant.contains(candidate.memory.kind().as_str());
    (!near || !kind_is_relevant).then_some(WithheldReason::BelowFloor)
}

/// What may not be served however near it is.
fn barred(candidate: &Candidate, now: Timestamp) -> Option<WithheldReason> {
    if let Memory::Fact(fact) = &candidate.memory {
        if fact.expires_at.is_some_and(|end| end <= now) {
            return Some(WithheldReason::Expired);
        }
        if fact.status == FactStatus::Obsolete {
            return Some(WithheldReason::Superseded);
        }
    }
    (lesson_stage(&candidate.memory) == Some(Stage::Retired)).then_some(WithheldReason::Stage)
}

/// Newer wins; an unproven lesson never replaces a proven one.
fn replaces(newer: &Candidate, older: &Candidate) -> bool {
    let unproven = |c: &Candidate| lesson_stage(&c.memory) == Some(Stage::Candidate);
    let order = |c: &Candidate| (supported_at(&c.memory), c.memory.id());
    order(newer) > order(older)
        && (!unproven(newer) || unproven(older))
        && contradict(newer.pair(), older.pair())
}

fn lesson_stage(memory: &Memory) -> Option<Stage> {
    match memory {
        Memory::Lesson(lesson) => Some(lesson.stage),
        _ => None,
    }
}

fn withhold(candidate: &Candidate, reason: WithheldReason) -> Withheld {
    Withheld {
        memory_id: candidate.memory.id(),
        kind: candidate.memory.kind(),
        score: candidate.score(),
        reason,
        instead: None,
    }
}

/// What has been chosen so far, and the block it makes.
struct Selection<'a> {
    request: &'a Request<'a>,
    settings: &'a Settings,
    chosen: Vec<(Candidate, String)>,
    block: Block<'a>,
}

impl<'a> Selection<'a> {
    fn new(request: &'a Request<'a>, settings: &'a Settings) -> Self {
        Self { request, settings, chosen: Vec::new(), block: Block::new(request) }
    }

    fn holds_source_of(&self, memory: &Memory) -> bool {
        let Memory::Lesson(lesson) = memory else { return false };
        self.traces().any(|trace| lesson.sources.contains(trace))
    }

    fn traces(&self) -> impl Iterator<Item = &TraceId> {
        self.chosen.iter().filter_map(|(c, _)| match &c.memory {
            Memory::Experience(m) => Some(&m.trajectory.trace_id),
            _ => None,
        })
    }

    fn offer(&mut self, candidate: Candidate, withheld: &mut Vec<Withheld>) {
        match self.try_add(&candidate) {
            Ok(why) => self.chosen.push((candidate, why)),
            Err(reason) => withheld.push(withhold(&candidate, reason)),
        }
    }

    fn try_add(&mut self, candidate: &Candidate) -> Result<String, WithheldReason> {
        let threshold = self.settings.near_duplicate;
        if self.chosen.iter().any(|(c, _)| say_the_same(c.pair(), candidate.pair(), threshold)) {
            return Err(WithheldReason::NearDuplicate);
        }
        if self.chosen.len() >= self.request.limit {
            return Err(WithheldReason::Budget);
        }
        let item = Item::new(&candidate.memory, &candidate.factors, self.request);
        let detailed = self.traces().count() < self.settings.detailed_experiences;
        if (detailed && self.block.push(&item.detailed())) || self.block.push(&item.brief()) {
            Ok(item.why())
        } else {
            Err(WithheldReason::TokenBudget)
        }
    }

    fn finish(self, mut withheld: Vec<Withheld>, settings: &Settings) -> Ranking {
        withheld.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.memory_id.cmp(&b.memory_id)));
        let (block, tokens) = self.block.finish();
        let items: Vec<Ranked> = self
            .chosen
            .into_iter()
            .map(|(c, why)| Ranked { memory: c.memory, factors: c.factors, why, supersedes: Vec::new() })
            .collect();
        let empty_reason = if items.is_empty() { empty_reason(&withheld, settings) } else { String::new() };
        Ranking { items, withheld, block, tokens, empty_reason }
    }
}

fn empty_reason(withheld: &[Withheld], settings: &Settings) -> String {
    if withheld.is_empty() {
        return "nothing that the caller may see shares anything with the query".to_owned();
    }
    let count = |reason| withheld.iter().filter(|w| w.reason == reason).count();
    let reasons = [
        (WithheldReason::BelowFloor, format!("below the relevance floor of {:.2}", settings.floor)),
        (WithheldReason::TokenBudget, "too long for the token budget".to_owned()),
        (WithheldReason::Budget, "beyond the limit".to_owned()),
        (WithheldReason::Stage, "not proven enough to be shown".to_owned()),
        (WithheldReason::Superseded, "replaced by newer ones".to_owned()),
        (WithheldReason::Expired, "expired".to_owned()),
    ];
    let parts: Vec<String> = reasons
        .into_iter()
        .filter(|(reason, _)| count(*reason) > 0)
        .map(|(reason, words)| format!("{} {words}", count(reason)))
        .collect();
    format!("nothing relevant: {} candidates, {}", withheld.len(), parts.join(", "))
}

#[cfg(test)]
mod tests;
