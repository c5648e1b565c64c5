//! How near a candidate is to the query, as an absolute measure.
//!
//! A BM25 sum has no scale of its own: it grows with the query. So it only orders the candidates of a kind,
//! and their height is given by coverage: the share of the query's words, weighted by their rarity, that
//! the memory holds. A cosine has a scale, but each embedder has its own: it is calibrated. The two are then
//! summed; an arm that did not run leaves its share to the other.

use std::collections::{BTreeMap, BTreeSet};

use hindsight_ports::Hit;
use hindsight_text::token_set;

use crate::{DenseRange, Settings};

/// Documents without any of the words, assumed beside the candidates: the candidates were chosen for the
/// words they hold, so among them alone every word would look common.
const BACKGROUND: f32 = 20.0;

/// Share of the BM25 sum in the word arm; coverage has the rest.
const BM25_SHARE: f32 = 0.5;

/// What the query's words are worth.
pub(crate) struct Query {
    /// Token and weight.
    weights: BTreeMap<String, f32>,
    total: f32,
}

impl Query {
    fn new(text: &str, documents: &[BTreeSet<String>]) -> Self {
        let n = documents.len() as f32 + BACKGROUND;
        let weight = |token: &String| {
            // A word that no candidate holds weighs like the rarest that one does.
            let df = documents.iter().filter(|d| d.contains(token)).count().max(1) as f32;
            (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
        };
        let weights: BTreeMap<String, f32> =
            token_set(text).into_iter().map(|t| (t.clone(), weight(&t))).collect();
        let total = weights.values().sum();
        Self { weights, total }
    }

    fn coverage(&self, document: &BTreeSet<String>) -> f32 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let held: f32 = self.weights.iter().filter(|(t, _)| document.contains(*t)).map(|(_, w)| w).sum();
        held / self.total
    }
}

/// Similarity of each hit, in order, 0 to 1.
pub(crate) fn similarities(query: &str, hits: &[Hit], dense: DenseRange, settings: &Settings) -> Vec<f32> {
    let documents: Vec<BTreeSet<String>> = hits.iter().map(|h| token_set(&h.memory.indexed_text())).collect();
    let query = Query::new(query, &documents);
    let coverage: Vec<f32> = documents.iter().map(|d| query.coverage(d)).collect();
    let peaks = peaks(hits, &coverage);
    let peak_of = |hit: &Hit| peaks.get(hit.memory.kind().as_str()).copied().unwrap_or_default();
    let share = settings.sparse_weight.clamp(0.0, 1.0);
    hits.iter()
        .zip(&coverage)
        .map(|(hit, coverage)| {
            let words = hit.sparse.map(|s| words(s, *coverage, peak_of(hit)));
            let meaning = hit.dense.map(|d| dense.calibrate(d));
            match (words, meaning) {
                (Some(w), Some(m)) => share * w + (1.0 - share) * m,
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => 0.0,
            }
            .clamp(0.0, 1.0)
        })
        .collect()
}

/// Highest BM25 sum of a kind, with the coverage of the candidate that reached it.
#[derive(Clone, Copy, Default)]
struct Peak {
    score: f32,
    coverage: f32,
}

fn peaks(hits: &[Hit], coverage: &[f32]) -> BTreeMap<&'static str, Peak> {
    let mut peaks: BTreeMap<&'static str, Peak> = BTreeMap::new();
    for (hit, coverage) in hits.iter().zip(coverage) {
        let Some(score) = hit.sparse.filter(|s| s.is_finite()) else { continue };
        let peak = peaks.entry(hit.memory.kind().as_str()).or_default();
        if (score, *coverage) > (peak.score, peak.coverage) {
            *peak = Peak { score, coverage: *coverage };
        }
    }
    peaks
}

/// Half is the candidate's own coverage; half its BM25 sum on a scale where the best of its kind reaches
/// that one's coverage, so that term frequency and length, which coverage ignores, still order.
fn words(score: f32, coverage: f32, peak: Peak) -> f32 {
    let relative = if peak.score > 0.0 { (score / peak.score).clamp(0.0, 1.0) } else { 0.0 };
    BM25_SHARE * relative * peak.coverage + (1.0 - BM25_SHARE) * coverage
}

#[cfg(test)]
mod tests;
