//! What each word of the question is worth among the memories of a kind.

use crate::{pool::Entry, query::Term};

/// Memories assumed to be stored when no arm tells how rare a word is. A constant: what is proposed beside a
/// candidate must not change its measure.
const STORED: f32 = 200.0;
/// Rounds of fitting. Sums of one engine agree with each other, so few are enough.
const ROUNDS: usize = 30;
/// Least weight of a word.
const LEAST: f32 = 0.05;
/// Most weight of a word: no inverse document frequency reaches it, a sum that a broken record gives may.
const MOST: f32 = 40.0;
/// Most weight of a word in a memory: BM25 saturates at k1 + 1 = 2.2; what is above is no such weight.
const SATURATED: f32 = 2.2;
/// Coverage is of no more than this many words, the weightiest: a long question says more than any answer
/// repeats.
const COVERED_WORDS: usize = 12;

/// Places of the terms (sorted by id) that a sparse vector holds (sorted by id), with their weights.
pub(crate) fn held(terms: &[Term], indices: &[u32], values: &[f32]) -> Vec<(usize, f32)> {
    let at = |(place, term): (usize, &Term)| {
        let found = indices.binary_search(&term.id).ok()?;
        values.get(found).filter(|w| w.is_finite() && **w > 0.0).map(|w| (place, w.min(SATURATED)))
    };
    terms.iter().enumerate().filter_map(at).collect()
}

/// The weight of each term: inverse document frequency times its weight in the question.
#[derive(Debug)]
pub(crate) struct Rarity {
    weights: Vec<f32>,
    /// Of content words; others have zero.
    content: Vec<f32>,
    /// Of the weightiest content words.
    total: f32,
}

impl Rarity {
    /// The engine knows how rare a word is and does not say; but its BM25 sums do, since the term weights
    /// within them are stored: each sum is one linear equation in the rarities. They are solved by Kaczmarz'
    /// projections ("Angenäherte Auflösung von Systemen linearer Gleichungen", 1937), begun at the rarity among
    /// the candidates, where a word stays that the sums say nothing about. So a candidate that another arm
    /// brought is measured by the rarities that the engine uses.
    pub(crate) fn new<'a>(terms: &[Term], entries: impl Iterator<Item = &'a Entry> + Clone) -> Self {
        let mut frequencies = vec![0.0_f32; terms.len()];
        entries.clone().flat_map(|e| &e.held).for_each(|(place, _)| frequencies[*place] += 1.0);
        let idf = |df: f32| (1.0 + (STORED - df + 0.5).max(0.5) / (df + 0.5)).ln();
        let mut weights: Vec<f32> =
            terms.iter().zip(&frequencies).map(|(t, df)| t.weight * idf(df.max(1.0))).collect();
        for _ in 0..ROUNDS {
            entries.clone().for_each(|entry| project(&mut weights, entry));
        }
        // A word that no candidate holds is as rare as the rarest that one does.
        let rarest = terms.iter().zip(&weights).map(|(t, w)| w / t.weight).fold(LEAST, f32::max);
        for ((weight, term), df) in weights.iter_mut().zip(terms).zip(&frequencies) {
            if *df == 0.0 {
                *weight = term.weight * rarest;
            }
        }
        let content: Vec<f32> =
            terms.iter().zip(&weights).map(|(t, w)| if t.content { *w } else { 0.0 }).collect();
        let mut heaviest = content.clone();
        heaviest.sort_by(|a, b| b.total_cmp(a));
        Self { weights, total: heaviest.iter().take(COVERED_WORDS).sum(), content }
    }

    /// BM25 sum.
    pub(crate) fn sum(&self, entry: &Entry) -> f32 {
        entry.held.iter().map(|(place, weight)| self.weights[*place] * weight).sum()
    }

    /// Share of the question's content words, by rarity, that are at these places.
    pub(crate) fn coverage(&self, places: impl Iterator<Item = usize>) -> f32 {
        let held: f32 = places.map(|place| self.content[place]).sum();
        if self.total > 0.0 { (held / self.total).min(1.0) } else { 0.0 }
    }

    /// Coverage when one more thing is asked for that is worth as much as the rarest word, or all when there is no
    /// word at all.
    pub(crate) fn with_one_more(&self, coverage: f32, there: bool) -> f32 {
        let one = self.content.iter().copied().fold(0.0, f32::max).max(LEAST);
        let held = coverage * self.total + if there { one } else { 0.0 };
        (held / (self.total + one)).min(1.0)
    }

    /// Weight of the weightiest of these terms.
    pub(crate) fn weightiest(&self, places: impl Iterator<Item = usize>) -> f32 {
        places.map(|place| self.weights[place]).fold(0.0, f32::max)
    }
}

/// Moves the weights the shortest way to where they give the sum of this entry.
fn project(weights: &mut [f32], entry: &Entry) {
    let Some(sum) = entry.sum else { return };
    let squares: f32 = entry.held.iter().map(|(_, w)| w * w).sum();
    if squares <= 0.0 {
        return;
    }
    let now: f32 = entry.held.iter().map(|(place, w)| weights[*place] * w).sum();
    let step = (sum - now) / squares;
    for (place, w) in &entry.held {
        weights[*place] = (weights[*place] + step * w).clamp(LEAST, MOST);
    }
}
