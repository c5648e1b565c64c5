//! The few that are chosen, one after the other, and the block they make.

use std::cmp::Ordering;

use hindsight_types::{Gate, Memory, MemoryId, OutcomeStatus, Stage, TraceId, Withheld, WithheldReason};

use super::{
    Candidate, Ranked, Ranking, Request, best_first,
    sift::{Replaced, age_order, lesson_stage},
    withhold,
};
use crate::{
    Settings,
    block::{Block, Item},
    conflict::{contradict, say_the_same},
    pool::cosine,
};

/// Chooses by maximal marginal relevance (Carbonell and Goldstein, "The Use of MMR", 1998): the next one is
/// that whose score is highest after what it has in common with those chosen is taken off.
pub(super) struct Selection<'a> {
    request: &'a Request<'a>,
    settings: &'a Settings,
    replaced: Replaced,
    chosen: Vec<(Candidate, String)>,
    /// Lessons that would be among those chosen if chance had not kept them back.
    kept_back: Vec<Candidate>,
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
    /// Of those kept back.
    compared_back: usize,
}

impl From<Candidate> for Waiting {
    fn from(candidate: Candidate) -> Self {
        Self { candidate, alike: 0.0, same: None, compared: 0, compared_back: 0 }
    }
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        request: &'a Request<'a>,
        settings: &'a Settings,
        replaced: Replaced,
        withheld: Vec<Withheld>,
    ) -> Self {
        let (chosen, kept_back) = (Vec::new(), Vec::new());
        Self { request, settings, replaced, chosen, kept_back, block: Block::new(request), withheld }
    }

    /// Takes the best of these, given best first.
    pub(super) fn take(&mut self, candidates: Vec<Candidate>) {
        let mut waiting: Vec<Waiting> = candidates.into_iter().map(Waiting::from).collect();
        while let Some(next) = self.next(&mut waiting) {
            if let Some(back) = self.offer(next) {
                let before = |w: &Waiting| best_first(&w.candidate, &back) == Ordering::Less;
                waiting.insert(waiting.partition_point(before), back.into());
            }
        }
    }

    /// A lesson that is not proven is only shown beside a run it was learned from; where people decide, not at all.
    pub(super) fn take_beside_its_run(&mut self, candidates: Vec<Candidate>) {
        let tried = self.settings.serving.gate != Gate::People;
        let (beside, alone): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|c| tried && self.holds_source_of(&c.memory));
        self.take(beside);
        self.withheld.extend(alone.iter().map(|c| withhold(c, WithheldReason::Stage, None)));
    }

    /// Scores only sink by what was chosen, so those behind a candidate that already beats them wait unseen. One
    /// failed attempt warns; a second one takes no place from what shows a way.
    fn next(&self, waiting: &mut Vec<Waiting>) -> Option<Waiting> {
        let mut best: Option<(usize, f32)> = None;
        let full = self.chosen.len() >= self.request.limit;
        let warned = self.chosen.iter().any(|(c, _)| is_failed_attempt(&c.memory));
        let last = warned && waiting.iter().any(|w| !is_failed_attempt(&w.candidate.memory));
        for (at, w) in waiting.iter_mut().enumerate() {
            if last && is_failed_attempt(&w.candidate.memory) {
                continue;
            }
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
        // A recall that does without a lesson must not be told the same by its twin.
        for back in &self.kept_back[w.compared_back..] {
            let (back, mine) = (back.pair(), candidate.pair());
            if w.same.is_none()
                && say_the_same(back, mine, self.settings.near_duplicate)
                && !contradict(back, mine)
            {
                w.same = Some(back.0.id());
            }
        }
        (w.compared, w.compared_back) = (self.chosen.len(), self.kept_back.len());
    }

    /// Decides on a candidate. What chance keeps back frees its place, and may give back what it replaces.
    fn offer(&mut self, next: Waiting) -> Option<Candidate> {
        let Waiting { candidate, same, .. } = next;
        if same.is_some() {
            self.withheld.push(withhold(&candidate, WithheldReason::NearDuplicate, same));
        } else if self.chosen.len() >= self.request.limit {
            self.withheld.push(withhold(&candidate, WithheldReason::Budget, None));
        } else {
            match self.write(&candidate) {
                Ok(why) => self.chosen.push((candidate, why)),
                Err(reason) => {
                    self.withheld.push(withhold(&candidate, reason, None));
                    return reason.is_chance().then(|| self.keep_back(candidate)).flatten();
                }
            }
        }
        None
    }

    /// Why it is here, in words, or why not.
    fn write(&mut self, candidate: &Candidate) -> Result<String, WithheldReason> {
        let replaced = self.replaced.get(&candidate.memory.id()).into_iter().flatten();
        let replaced: Vec<&Memory> = replaced.map(|c| &c.memory).collect();
        let item = Item::new(&candidate.memory, &candidate.factors, &replaced, self.request);
        let chance = match &candidate.memory {
            Memory::Lesson(lesson) => self.settings.serving.keeps_back(self.request.receipt, lesson),
            _ => None,
        };
        // Only what would really be served is drawn for.
        if let Some(chance) = chance.filter(|_| self.block.fits(&item)) {
            return Err(chance);
        }
        let detailed = self.traces().count() < self.settings.detailed_experiences;
        if self.block.push(&item, detailed) { Ok(item.why()) } else { Err(WithheldReason::TokenBudget) }
    }

    /// Without this lesson things are as they were before it: of those that it replaces, the newest proven one
    /// holds.
    fn keep_back(&mut self, candidate: Candidate) -> Option<Candidate> {
        let mut older = self.replaced.remove(&candidate.memory.id()).unwrap_or_default();
        self.kept_back.push(candidate);
        older.sort_by_key(age_order);
        let proven = |c: &Candidate| lesson_stage(&c.memory, self.settings) != Some(Stage::Candidate);
        older.truncate(older.iter().rposition(proven)? + 1);
        let holds = older.pop()?;
        let id = holds.memory.id();
        self.withheld.retain(|w| w.memory_id != id);
        for w in self.withheld.iter_mut().filter(|w| older.iter().any(|c| c.memory.id() == w.memory_id)) {
            w.instead = Some(id);
        }
        self.replaced.insert(id, older);
        Some(holds)
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
            self.replaced.get(&id).into_iter().flatten().map(|c| c.memory.id()).collect()
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

fn is_failed_attempt(memory: &Memory) -> bool {
    matches!(memory, Memory::Experience(m) if m.evaluation.outcome == OutcomeStatus::Failure)
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
        (WithheldReason::Control, "on trial and kept back by chance".to_owned()),
        (WithheldReason::HoldOut, "kept back by chance, to see whether they still help".to_owned()),
        (WithheldReason::SaidBefore, "said on this stream already".to_owned()),
        (WithheldReason::NearDuplicate, "saying the same as one that was kept back".to_owned()),
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
