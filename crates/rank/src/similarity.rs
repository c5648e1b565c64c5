//! How near a candidate is to the query, as an absolute measure.
//!
//! Order and height are told apart. A BM25 sum orders best but has no scale of its own: it grows with the
//! query. So the candidates of a kind are ordered by their BM25 sum relative to the highest one, with a
//! share for the query's words in the memory itself (not only in its context) and for the cosine. How high
//! that order may reach is given by its first candidate, in two absolute measures: coverage, which is the
//! share of the query's words, weighted by rarity, that the candidate holds; and the cosine on the scale of
//! its embedder. Of the irrelevant, even the first stays low. An arm that did not run leaves its share to
//! the other. Reciprocal rank fusion is not used: it has no height, and with a weak dense arm it measures
//! below BM25 alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use hindsight_ports::Hit;
use hindsight_text::{token_set, truncate_chars};
use hindsight_types::Memory;

use crate::DenseScale;

/// Documents without any of the words, assumed beside the candidates: the candidates were chosen for the
/// words they hold, so among them alone every word would look common.
const BACKGROUND: f32 = 100.0;
/// In the order of words: share of the coverage by the memory itself; the BM25 sum has the rest.
const OWN_SHARE: f32 = 0.2;
/// In the height: share of coverage; the cosine has the rest.
const COVERAGE_SHARE: f32 = 0.6;

/// Coverage is of no more than this many words, the weightiest: a long question says more than any answer
/// repeats.
const COVERED_WORDS: usize = 12;

/// Characters of a text that are looked at.
const READ_CHARS: usize = 4_000;

/// Words that ask, or only lend the question its form. No memory need hold them to answer it, so they do
/// not count in coverage; the search itself uses them.
static ASKING: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    token_set(
        "many much often ever kind sort likely please tell know 啥 多少 几 谁 哪里 哪儿 何时 何处 为何 为啥 如何 \
         怎样 怎么样 怎么办 什么时候 来着 来 最 更 以下 可能 大概 到底 究竟 点 告诉 知道",
    )
});

/// The distinct tokens of a candidate.
pub(crate) struct Tokens {
    /// Of what it says, and who said it.
    pub(crate) own: BTreeSet<String>,
    /// Of what it is found by: what it says, with its context.
    indexed: BTreeSet<String>,
}

impl Tokens {
    pub(crate) fn of(hit: &Hit) -> Self {
        let (text, indexed_text) = (hit.memory.text(), hit.memory.indexed_text());
        let mut own = read(&text);
        // Lessons and steps are found by what they say: reading that twice would give the same.
        let indexed = if indexed_text == text { own.clone() } else { read(&indexed_text) };
        // Who said it is part of what was said: questions name people.
        if let Memory::Fact(fact) = &hit.memory {
            own.extend(read(&fact.speaker));
        }
        Self { own, indexed }
    }
}

/// The distinct tokens of the first characters of a text: a recall has hundreds of candidates and little
/// time, and what a memory is about stands at its beginning.
pub(crate) fn read(text: &str) -> BTreeSet<String> {
    token_set(truncate_chars(text, READ_CHARS))
}

/// What the query's words are worth, each by its rarity among the candidates (the inverse document
/// frequency of BM25).
struct Query {
    weights: BTreeMap<String, f32>,
    total: f32,
}

impl Query {
    fn new(text: &str, documents: &[Tokens]) -> Self {
        let n = documents.len() as f32 + BACKGROUND;
        let weight = |token: &String| {
            // A word that no candidate holds weighs like the rarest that one does.
            let df = documents.iter().filter(|d| d.indexed.contains(token)).count().max(1) as f32;
            (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
        };
        let weights: BTreeMap<String, f32> =
            words(text).into_iter().map(|t| (t.clone(), weight(&t))).collect();
        let mut heaviest: Vec<f32> = weights.values().copied().collect();
        heaviest.sort_by(|a, b| b.total_cmp(a));
        let total = heaviest.iter().take(COVERED_WORDS).sum();
        Self { weights, total }
    }

    fn coverage(&self, document: &BTreeSet<String>) -> f32 {
        if self.total <= 0.0 {
            return 0.0;
        }
        let held: f32 = self.weights.iter().filter(|(t, _)| document.contains(*t)).map(|(_, w)| w).sum();
        (held / self.total).min(1.0)
    }
}

/// The words of a query that an answer should hold: all of them, when it has no others.
fn words(query: &str) -> BTreeSet<String> {
    let all = token_set(query);
    let content: BTreeSet<String> = all.difference(&ASKING).cloned().collect();
    if content.is_empty() { all } else { content }
}

/// Similarity of each hit, in order, 0 to 1.
pub(crate) fn similarities(query: &str, hits: &[Hit], tokens: &[Tokens], dense: DenseScale) -> Vec<f32> {
    let query = Query::new(query, tokens);
    let highest = highest_sums(hits);
    let marks: Vec<Mark> = hits
        .iter()
        .zip(tokens)
        .map(|(hit, tokens)| {
            let highest = highest.get(hit.memory.kind().as_str()).copied().unwrap_or_default();
            Mark::new(hit, tokens, &query, highest, dense)
        })
        .collect();
    let mut firsts: BTreeMap<&str, Mark> = BTreeMap::new();
    for (hit, mark) in hits.iter().zip(&marks) {
        let first = firsts.entry(hit.memory.kind().as_str()).or_default();
        if (mark.order, mark.height) > (first.order, first.height) {
            *first = *mark;
        }
    }
    let first = |hit: &Hit| firsts.get(hit.memory.kind().as_str()).copied().unwrap_or_default();
    hits.iter().zip(&marks).map(|(hit, mark)| mark.below(first(hit))).collect()
}

fn highest_sums(hits: &[Hit]) -> BTreeMap<&'static str, f32> {
    let mut highest: BTreeMap<&'static str, f32> = BTreeMap::new();
    for hit in hits {
        let best = highest.entry(hit.memory.kind().as_str()).or_default();
        *best = best.max(hit.sparse.filter(|s| s.is_finite()).unwrap_or_default());
    }
    highest
}

/// One candidate: its place, and how near it is in itself.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    order: f32,
    height: f32,
}

impl Mark {
    fn new(hit: &Hit, tokens: &Tokens, query: &Query, highest: f32, dense: DenseScale) -> Self {
        let words = hit.sparse.map(|sum| {
            let relative = if highest > 0.0 { (sum / highest).clamp(0.0, 1.0) } else { 0.0 };
            let order = (1.0 - OWN_SHARE) * relative + OWN_SHARE * query.coverage(&tokens.own);
            Self { order, height: query.coverage(&tokens.indexed) }
        });
        let meaning = hit.dense.map(|cosine| {
            let near = dense.calibrate(cosine);
            Self { order: near, height: near.min(1.0) }
        });
        match (words, meaning) {
            (Some(words), Some(meaning)) => Self {
                order: mix(words.order, meaning.order, 1.0 - dense.weight.clamp(0.0, 1.0)),
                height: mix(words.height, meaning.height, COVERAGE_SHARE),
            },
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Self::default(),
        }
    }

    /// Similarity when `first` leads the order.
    fn below(self, first: Self) -> f32 {
        let place = if first.order > 0.0 { (self.order / first.order).clamp(0.0, 1.0) } else { 0.0 };
        (place * first.height).clamp(0.0, 1.0)
    }
}

fn mix(a: f32, b: f32, share_of_a: f32) -> f32 {
    share_of_a * a + (1.0 - share_of_a) * b
}

#[cfg(test)]
mod tests;
