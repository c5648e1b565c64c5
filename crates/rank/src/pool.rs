//! Candidates of all arms, scored from what the store keeps of them: no text is read before the few that are
//! worth it are known.

mod rarity;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

use hindsight_ports::{Arm, Candidate, CandidateId, Fetched};
use hindsight_types::{MemoryId, MemoryKind};

pub(crate) use rarity::Rarity;

use crate::{DenseScale, Query, Ranking, Request, Settings, fine, select};

/// What the arms of one recall propose, and how near each candidate is.
///
/// Arms propose and this scores: a candidate is measured the same way whichever arm brought it, so that
/// neither the order of arms nor that of candidates changes anything.
#[derive(Debug)]
pub struct Pool {
    pub(crate) query: Query,
    dense: Vec<f32>,
    pub(crate) scale: DenseScale,
    pub(crate) settings: Settings,
    pub(crate) kinds: BTreeMap<MemoryKind, BTreeMap<CandidateId, Entry>>,
    /// What a reranker says.
    pub(crate) reranked: HashMap<MemoryId, f32>,
}

/// One candidate, as its vectors show it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) dense: Vec<f32>,
    /// Cosine with the query, measured.
    cosine: Option<f32>,
    /// Cosine, as the store gave it: for vectors that cannot be compared here.
    told: Option<f32>,
    /// BM25 sum, as the store gave it.
    pub(crate) sum: Option<f32>,
    /// Places of the query's terms that it holds, with their weights in it.
    pub(crate) held: Vec<(usize, f32)>,
    /// Found by a name.
    pub(crate) named: bool,
    /// Found by its time.
    pub(crate) timely: bool,
}

impl Entry {
    pub(crate) fn cosine(&self) -> Option<f32> {
        self.cosine.or(self.told)
    }
}

impl Pool {
    /// `dense`: the embedding of [`Query::embedded`], empty when there is none; `scale`: what a cosine of its
    /// embedder means.
    pub fn new(query: Query, dense: Vec<f32>, scale: DenseScale, settings: Settings) -> Self {
        Self { query, dense, scale, settings, kinds: BTreeMap::new(), reranked: HashMap::new() }
    }

    /// Takes in what an arm brought for a kind. In any order; the same candidate may come again.
    pub fn add(&mut self, kind: MemoryKind, arm: &Arm, candidates: Vec<Candidate>) {
        let entries = self.kinds.entry(kind).or_default();
        for candidate in candidates {
            let score = candidate.score;
            let entry = entries.entry(candidate.id).or_insert_with(|| {
                let sparse = &candidate.encoding.sparse;
                let held = rarity::held(self.query.terms(), &sparse.indices, &sparse.values);
                let cosine = cosine(&self.dense, &candidate.encoding.dense);
                Entry { dense: candidate.encoding.dense, cosine, held, ..Entry::default() }
            });
            let known =
                |old: Option<f32>| old.into_iter().chain(score.is_finite().then_some(score)).reduce(f32::max);
            match arm {
                Arm::Dense(_) => entry.told = known(entry.told),
                Arm::Bm25(_) => entry.sum = known(entry.sum),
                Arm::Entities(_) => entry.named = true,
                Arm::Period(_) => entry.timely = true,
            }
        }
    }

    /// Takes in how near a reranker finds memories of the shortlist, 0 to 1. It counts beside what is measured
    /// here; a memory that it says nothing about stays as it is.
    pub fn rerank(&mut self, scores: impl IntoIterator<Item = (MemoryId, f32)>) {
        let finite = scores.into_iter().filter(|(_, score)| score.is_finite());
        self.reranked.extend(finite.map(|(id, score)| (id, score.clamp(0.0, 1.0))));
    }

    /// Whether the question has an embedding.
    pub(crate) fn has_meaning(&self) -> bool {
        !self.dense.is_empty()
    }

    /// How many candidates there are of a kind.
    pub fn candidates(&self, kind: MemoryKind) -> usize {
        self.kinds.get(&kind).map_or(0, BTreeMap::len)
    }

    /// The few of each kind that are worth fetching, best first within their kind.
    pub fn shortlist(&self) -> Vec<(MemoryKind, CandidateId)> {
        let mut listed = Vec::new();
        for (kind, entries) in &self.kinds {
            let rarity = Rarity::new(self.query.terms(), entries.values());
            let mut scored: Vec<(f32, CandidateId)> = fine::coarse(self, entries, &rarity);
            scored.sort_by(best_first);
            scored.truncate(self.settings.shortlist);
            listed.extend(scored.into_iter().map(|(_, id)| (*kind, id)));
        }
        listed
    }

    /// Scores, resolves conflicts, folds what says the same, and cuts to the budgets. What was fetched may come
    /// in any order; what no arm proposed is left out.
    pub fn rank(self, fetched: Vec<Fetched>, request: &Request<'_>) -> Ranking {
        let candidates = fine::candidates(&self, fetched, request);
        select::decide(candidates, request, &self.settings)
    }
}

fn best_first(a: &(f32, CandidateId), b: &(f32, CandidateId)) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
}

/// Of unit vectors; absent when they cannot be compared.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> Option<f32> {
    let comparable = !a.is_empty() && a.len() == b.len();
    let dot = || a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    comparable.then(dot).filter(|cosine| cosine.is_finite())
}

#[cfg(test)]
mod tests;
