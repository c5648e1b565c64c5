use std::collections::BTreeMap;

use hindsight_text::{Kind, Token, tokenize, truncate_chars};

pub(super) const DIMENSION: usize = 384;

/// Only this much of a text is read. Beyond it a vector of this size tells nothing apart.
const MAX_CHARS: usize = 8_000;

/// What two neighbouring words weigh, of the lesser of them.
const NEIGHBOURS: f32 = 0.4;

/// What a word's fragments weigh together, of the word. Equal, so that a slip of the pen costs half.
const FRAGMENTS: f32 = 1.0;

/// The unit vector of a text (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning",
/// 2009): every feature adds its weight, with a sign, at the place that its hash names. A text without any
/// feature, an empty one for instance, is its own single feature: equal texts stay equal.
pub(super) fn vector(text: &str) -> Vec<f32> {
    let text = truncate_chars(text, MAX_CHARS);
    let tokens = tokenize(text);
    let mut features = Features::default();
    for token in &tokens {
        features.token(token);
    }
    let words: Vec<&Token> = tokens.iter().filter(|token| !is_pair(token)).collect();
    for pair in words.windows(2) {
        features.neighbours(pair[0], pair[1]);
    }
    if features.squares.is_empty() {
        features.add(&["text", text.trim()], 1.0);
    }
    features.project()
}

fn is_pair(token: &Token) -> bool {
    matches!(token.kind, Kind::Pair | Kind::Bigram)
}

/// Squared weights by feature hash: a feature that comes twice weighs √2, not 2.
#[derive(Default)]
struct Features {
    squares: BTreeMap<u64, f32>,
    key: Vec<u8>,
}

impl Features {
    fn token(&mut self, token: &Token) {
        let weight = rarity(token);
        self.add(&["word", &token.text], weight);
        if matches!(token.kind, Kind::Word | Kind::Part) {
            self.fragments(&token.text, FRAGMENTS * weight);
        }
    }

    fn neighbours(&mut self, a: &Token, b: &Token) {
        self.add(&["next", &a.text, &b.text], NEIGHBOURS * rarity(a).min(rarity(b)));
    }

    /// Three to five characters each, the ends of the word marked; together of length `weight`.
    fn fragments(&mut self, word: &str, weight: f32) {
        let marked: Vec<char> =
            std::iter::once('<').chain(word.chars()).chain(std::iter::once('>')).collect();
        let fragments: Vec<String> = (3..=5).flat_map(|n| marked.windows(n)).map(String::from_iter).collect();
        let each = weight / (fragments.len() as f32).sqrt();
        for fragment in &fragments {
            self.add(&["part", fragment], each);
        }
    }

    fn add(&mut self, feature: &[&str], weight: f32) {
        self.key.clear();
        for field in feature {
            self.key.extend_from_slice(field.as_bytes());
            self.key.push(0);
        }
        *self.squares.entry(hash(&self.key)).or_default() += weight * weight;
    }

    fn project(self) -> Vec<f32> {
        let mut vector = vec![0.0; DIMENSION];
        let mut heaviest = (0.0, 0);
        for (hash, square) in self.squares {
            let place = (hash >> 1) as usize % DIMENSION;
            let weight = square.sqrt();
            vector[place] += if hash & 1 == 0 { weight } else { -weight };
            if weight > heaviest.0 {
                heaviest = (weight, place);
            }
        }
        crate::unit::unit(vector).unwrap_or_else(|| axis(heaviest.1))
    }
}

/// For the freak text whose features cancel out: the axis of its heaviest one.
fn axis(place: usize) -> Vec<f32> {
    let mut vector = vec![0.0; DIMENSION];
    vector[place] = 1.0;
    vector
}

/// Murmur3, lower half of 128 bits, seed 0: stable across platforms and releases, since vectors are stored.
fn hash(key: &[u8]) -> u64 {
    // Reading from a byte slice cannot fail.
    murmur3::murmur3_x64_128(&mut &key[..], 0).unwrap_or_default() as u64
}

/// How much a token tells, for want of a corpus to count in: identifiers most, then numbers and long words.
fn rarity(token: &Token) -> f32 {
    let chars = token.text.chars().count();
    match token.kind {
        Kind::Code => 1.6,
        Kind::Number => 1.2,
        Kind::Word | Kind::Part => (0.4 + 0.12 * chars as f32).min(1.3),
        Kind::Han if chars == 1 => 0.5,
        Kind::Han => 1.0,
        Kind::Bigram => 0.8,
        Kind::Pair => 0.3,
    }
}

#[cfg(test)]
mod tests;
