use std::collections::BTreeMap;

use hindsight_text::{Kind, tokenize, truncate_chars};

use super::table::Table;
use crate::{features::Features, unit::unit};

/// Places for what the words mean, and for which words they are.
pub(super) const MEANING: usize = 192;
pub(super) const WORDS: usize = 192;
pub(super) const DIMENSION: usize = MEANING + WORDS;

/// Share of the words themselves in a cosine, when the table knows them all; what they mean has the rest.
const WORDS_SHARE: f32 = 0.3;
/// What a word's fragments weigh together, of the word. Equal, so that a slip of the pen costs half.
const FRAGMENTS: f32 = 1.0;
/// Only this much of a text is read. Beyond it a vector of this size tells nothing apart.
const MAX_CHARS: usize = 8_000;

/// The unit vector of a text. Its first half is the sum of its words' rows, each with the word's rarity
/// (Arora et al., "A Simple but Tough-to-Beat Baseline for Sentence Embeddings", 2017); its second half
/// hashes the words, so that names, codes and words without a row meet, too, and it weighs the more the more
/// of those there are. A word that comes n times counts √n. A text without any token is its own single
/// feature: equal texts stay equal.
pub(super) fn vector(table: &Table<'_>, text: &str) -> Vec<f32> {
    let text = truncate_chars(text, MAX_CHARS);
    let mut counts: BTreeMap<String, (Kind, u32)> = BTreeMap::new();
    for token in tokenize(text) {
        counts.entry(token.text).or_insert((token.kind, 0)).1 += 1;
    }
    let mut sum = Sum::default();
    for (word, (kind, count)) in &counts {
        sum.add(table, word, *kind, (*count as f32).sqrt());
    }
    if counts.is_empty() {
        sum.features.add(&["text", text.trim()], 1.0);
    }
    sum.join()
}

struct Sum {
    meaning: Vec<f32>,
    features: Features,
    /// Squared weights of the words whose meaning is known, and of all.
    known: f32,
    all: f32,
}

impl Default for Sum {
    fn default() -> Self {
        Self { meaning: vec![0.0; MEANING], features: Features::default(), known: 0.0, all: 0.0 }
    }
}

impl Sum {
    fn add(&mut self, table: &Table<'_>, word: &str, kind: Kind, times: f32) {
        let row = if has_meaning(kind) { table.row(word) } else { None };
        let weight = times * row.map_or_else(|| unknown(kind), |row| row.weight);
        self.features.add(&["word", word], weight);
        if matches!(kind, Kind::Word | Kind::Part) {
            self.features.fragments(word, FRAGMENTS * weight);
        }
        let known = match row {
            Some(row) => {
                row.add_to(&mut self.meaning, times);
                true
            }
            None => kind == Kind::Han && self.add_characters(table, word, times),
        };
        if kind != Kind::Pair {
            self.all += weight * weight;
            self.known += if known { weight * weight } else { 0.0 };
        }
    }

    /// A Chinese word without a row means what its characters mean on average. False: they have none either.
    fn add_characters(&mut self, table: &Table<'_>, word: &str, times: f32) -> bool {
        let mut buffer = [0; 4];
        let rows: Vec<_> = word.chars().filter_map(|c| table.row(c.encode_utf8(&mut buffer))).collect();
        for row in &rows {
            row.add_to(&mut self.meaning, times / rows.len() as f32);
        }
        !rows.is_empty()
    }

    fn join(self) -> Vec<f32> {
        let words = self.features.project(WORDS);
        let (meaning, share) = match unit(self.meaning) {
            Some(meaning) => (meaning, (1.0 - WORDS_SHARE) * self.known / self.all.max(f32::MIN_POSITIVE)),
            None => (vec![0.0; MEANING], 0.0),
        };
        let (mine, theirs) = (share.sqrt(), (1.0 - share).sqrt());
        meaning.into_iter().map(|x| x * mine).chain(words.into_iter().map(|x| x * theirs)).collect()
    }
}

fn has_meaning(kind: Kind) -> bool {
    matches!(kind, Kind::Word | Kind::Part | Kind::Han)
}

/// How much a token without a row tells: codes most; pairs of characters, which only blur the cuts between
/// Chinese words, least.
fn unknown(kind: Kind) -> f32 {
    match kind {
        Kind::Code => 1.3,
        Kind::Word | Kind::Part | Kind::Han => 1.0,
        Kind::Number | Kind::Bigram => 0.8,
        Kind::Pair => 0.3,
    }
}

#[cfg(test)]
mod tests;
