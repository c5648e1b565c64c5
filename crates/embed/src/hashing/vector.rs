use hindsight_text::{Kind, Token, tokenize, truncate_chars};

use crate::features::Features;

pub(super) const DIMENSION: usize = 384;

/// Only this much of a text is read. Beyond it a vector of this size tells nothing apart.
const MAX_CHARS: usize = 8_000;

/// What two neighbouring words weigh, of the lesser of them.
const NEIGHBOURS: f32 = 0.4;

/// What a word's fragments weigh together, of the word. Equal, so that a slip of the pen costs half.
const FRAGMENTS: f32 = 1.0;

/// The unit vector of a text, by feature hashing. A text without any feature, an empty one for instance, is
/// its own single feature: equal texts stay equal.
pub(super) fn vector(text: &str) -> Vec<f32> {
    let text = truncate_chars(text, MAX_CHARS);
    let tokens = tokenize(text);
    let mut features = Features::default();
    for token in &tokens {
        add_token(&mut features, token);
    }
    let words: Vec<&Token> = tokens.iter().filter(|token| !is_pair(token)).collect();
    for pair in words.windows(2) {
        add_neighbours(&mut features, pair[0], pair[1]);
    }
    if features.is_empty() {
        features.add(&["text", text.trim()], 1.0);
    }
    features.project(DIMENSION)
}

fn is_pair(token: &Token) -> bool {
    matches!(token.kind, Kind::Pair | Kind::Bigram)
}

fn add_token(features: &mut Features, token: &Token) {
    let weight = rarity(token);
    features.add(&["word", &token.text], weight);
    if matches!(token.kind, Kind::Word | Kind::Part) {
        features.fragments(&token.text, FRAGMENTS * weight);
    }
}

fn add_neighbours(features: &mut Features, a: &Token, b: &Token) {
    features.add(&["next", &a.text, &b.text], NEIGHBOURS * rarity(a).min(rarity(b)));
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
