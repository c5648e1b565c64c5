//! The few that are chosen, one after the other, and the block they make.

use std::collections::BTreeMap;

use hindsight_types::{Memory, MemoryId, TraceId, Withheld, WithheldReason};

use super::{Candidate, Ranked, Ranking, Request, withhold};
use crate::{
    Settings,
    block::{Block, Item},
    conflict::say_the_same,
    pool::cosine,
};

/// Chooses by maximal marginal relevance (Carbonell and Goldstein, "The Use of MMR", 1998): the next one is
/// that whose score is highest after what it has in common with those chosen is taken off.
pub(super) struct Selection<'a> {
    request: &'a Request<'a>,
    settings: &'a Settings,
    replaced: &'a BTreeMap<MemoryId, Vec<Memory>>,
    chosen: Vec<(Candidate, String)>,
    block: Block,
    withheld: Vec<Withheld>,
}

/// A candidate with how much it has in common with the first so many of those chosen.
struct Waiting {
    candidate: Candidate,
    alike: f32,
    /// The chosen one that says the same.
    same: Option<MemoryId>,
    compared: usize,
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        request: &'a Request<'a>,
        settings: &'a Settings,
        replaced: &'a BTreeMap<MemoryId, Vec<Memory>>,
        withheld: Vec<Withheld>,
    ) -> Self {
        Self { request, settings, replaced, chosen: Vec::new(), block: Block::new(request), withheld }
    }

    /// Takes the best of these, given best first.
    pub(super) fn take(&mut self, candidates: Vec<Candidate>) {
        let waiting = |candidate| Waiting { candidate, alike: 0.0, same: None, compared: 0 };
        let mut waiting: Vec<Waiting> = candidates.into_iter().map(waiting).collect();
        while let Some(next) = self.next(&mut waiting) {
            self.offer(next);
        }
    }

    /// A lesson that is not proven is only shown beside a run it was learned from.
    pub(super) fn take_beside_its_run(&mut self, candidates: Vec<Candidate>) {
        let (beside, alone): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|c| self.holds_source_of(&c.memory));
        self.take(beside);
        self.withheld.extend(alone.iter().map(|c| withhold(c, WithheldReason::Stage, None)));
    }

    /// Scores only sink by what was chosen, so those behind a candidate that already beats them wait unseen.
    fn next(&self, waiting: &mut Vec<Waiting>) -> Option<Waiting> {
        let mut best: Option<(usize, f32)> = None;
        let full = self.chosen.len() >= self.request.limit;
        for (at, w) in waiting.iter_mut().enumerate() {
            if best.is_some_and(|(_, value)| full || w.candidate.score() <= value) {
                break;
            }
            self.compare(w);
            let share = self.settings.diversity.clamp(0.0, 1.0);
            let value = w.candidate.score() * (1.0 - share * w.alike);
            if best.is_none_or(|(_, most)| value > most) {
                best = Some((at, value));
            }
        }
        best.map(|(at, _)| waiting.remove(at))
    }

    fn compare(&self, w: &mut Waiting) {
        let candidate = &w.candidate;
        for (chosen, _) in &self.chosen[w.compared..] {
            w.alike = w.alike.max(alike(chosen, candidate));
            if w.same.is_none() && say_the_same(chosen.pair(), candidate.pair(), self.settings.near_duplicate)
            {
                w.same = Some(chosen.memory.id());
            }
        }
        w.compared = self.chosen.len();
    }

    fn offer(&mut self, next: Waiting) {
        let Waiting { candidate, same, .. } = next;
        if same.is_some() {
            self.withheld.push(withhold(&candidate, WithheldReason::NearDuplicate, same));
        } else if self.chosen.len() >= self.request.limit {
            self.withheld.push(withhold(&candidate, WithheldReason::Budget, None));
        } else if let Some(why) = self.write(&candidate) {
            self.chosen.push((candidate, why));
        } else {
            self.withheld.push(withhold(&candidate, WithheldReason::TokenBudget, None));
        }
    }

    fn write(&mut self, candidate: &Candidate) -> Option<String> {
        let replaced: Vec<&Memory> =
            self.replaced.get(&candidate.memory.id()).into_iter().flatten().collect();
        let item = Item::new(&candidate.memory, &candidate.factors, &replaced, self.request);
        let detailed = self.traces().count() < self.settings.detailed_experiences;
        self.block.push(&item, detailed).then(|| item.why())
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

    pub(super) fn finish(self) -> Ranking {
        let mut withheld = self.withheld;
        withheld.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.memory_id.cmp(&b.memory_id)));
        let too_long = withheld.iter().filter(|w| w.reason == WithheldReason::TokenBudget).count();
        let (block, tokens) = self.block.finish(too_long);
        let replaced = |id: MemoryId| -> Vec<MemoryId> {
            self.replaced.get(&id).into_iter().flatten().map(Memory::id).collect()
        };
        let items: Vec<Ranked> = self
            .chosen
            .into_iter()
            .map(|(c, why)| Ranked {
                supersedes: replaced(c.memory.id()),
                memory: c.memory,
                factors: c.factors,
                why,
            })
            .collect();
        let empty_reason =
            if items.is_empty() { empty_reason(&withheld, self.settings) } else { String::new() };
        Ranking { items, withheld, block, tokens, empty_reason }
    }
}

/// 0 to 1: in words and, where that is known, in meaning too. Neighbours in a talk are near in meaning by what
/// stands around them both, and say different things.
fn alike(a: &Candidate, b: &Candidate) -> f32 {
    let words = a.words.alike(&b.words);
    words * cosine(&a.dense, &b.dense).map_or(1.0, |cosine| cosine.clamp(0.0, 1.0))
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
    let near = |w: &&Withheld| !matches!(w.reason, WithheldReason::BelowFloor);
    let what = if withheld.iter().any(|w| near(&w)) { "nothing to give" } else { "nothing relevant" };
    format!("{what}: {} candidates, {}", withheld.len(), parts.join(", "))
}
