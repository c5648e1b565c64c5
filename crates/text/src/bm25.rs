//! BM25 as sparse vectors (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
//! Beyond", 2009). A document's vector holds the term-frequency half of the formula, a query's the number
//! one for each distinct term; the engine multiplies both with the inverse document frequency it keeps.

use std::collections::BTreeMap;

use crate::tokens;

/// How fast repeats of a term stop counting.
const K1: f32 = 1.2;
/// How much a long document is discounted.
const B: f32 = 0.75;
/// Tokens in an average document. A constant, since a vector is written once while an average would move.
pub const AVERAGE_LENGTH: f32 = 60.0;

/// Term ids, sorted and distinct, with the weight of each.
pub type Weights = (Vec<u32>, Vec<f32>);

/// The vector of a text to be found.
pub fn encode_document(text: &str) -> Weights {
    encode_document_with_average(text, AVERAGE_LENGTH)
}

pub fn encode_document_with_average(text: &str, average_length: f32) -> Weights {
    let tokens = tokens(text);
    let length = tokens.len() as f32;
    let mut counts: BTreeMap<u32, f32> = BTreeMap::new();
    for token in &tokens {
        *counts.entry(term_id(token)).or_default() += 1.0;
    }
    let norm = K1 * (1.0 - B + B * length / average_length);
    counts.into_iter().map(|(id, tf)| (id, tf * (K1 + 1.0) / (tf + norm))).unzip()
}

/// The vector of a text to search with.
pub fn encode_query(text: &str) -> Weights {
    let ids: std::collections::BTreeSet<u32> = tokens(text).iter().map(|token| term_id(token)).collect();
    ids.into_iter().map(|id| (id, 1.0)).unzip()
}

/// Murmur3, 32 bits, seed 0: stable across platforms and releases, since it is stored.
pub fn term_id(token: &str) -> u32 {
    // Reading from a byte slice cannot fail.
    murmur3::murmur3_32(&mut token.as_bytes(), 0).unwrap_or_default()
}

#[cfg(test)]
mod tests;
