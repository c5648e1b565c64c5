//! What a task asks for, without what differs from one run to the next.

use std::collections::BTreeSet;

use hindsight_text::{Kind, is_invisible, names, similarity, tokenize, truncate_chars};

/// Longer goals are read up to here.
const READ_CHARS: usize = 2_000;
/// Names that are looked for in a goal.
const MOST_NAMES: usize = 64;
const LONGEST_NAME: usize = 256;
/// What stands where a name stood.
const GAP: &str = "…";
/// From this share of common words two goals ask for the same.
const SAME_GOAL: f32 = 0.6;

/// The words of a goal: no names, no numbers, but the codes that say which error it is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Goal {
    words: BTreeSet<String>,
    codes: BTreeSet<String>,
}

impl Goal {
    pub(crate) fn of(text: &str) -> Self {
        let mut goal = Self::default();
        for token in tokenize(&generalised(text)) {
            match token.kind {
                Kind::Word | Kind::Han | Kind::Bigram => drop(goal.words.insert(token.text)),
                Kind::Number if is_code(&token.text) => drop(goal.codes.insert(token.text)),
                _ => {}
            }
        }
        goal
    }

    /// Whether both ask for the same thing, perhaps in other words and of something else.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self == other || (self.codes == other.codes && similarity(&self.words, &other.words) >= SAME_GOAL)
    }

    /// The same for equal goals, and different for different ones.
    pub(crate) fn key(&self) -> String {
        let all: Vec<&str> = self.words.iter().chain(&self.codes).map(String::as_str).collect();
        all.join("\u{1f}")
    }
}

/// A goal with a gap where each name stood, on one line.
pub(crate) fn generalised(text: &str) -> String {
    let visible: String = truncate_chars(text, READ_CHARS).chars().filter(|c| !is_invisible(*c)).collect();
    let mut found = names(&visible, MOST_NAMES, LONGEST_NAME);
    // A name may hold another one.
    found.sort_by_key(|name| std::cmp::Reverse(name.len()));
    let mut text = visible;
    for name in found {
        text = text.replace(&name, GAP);
    }
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.dedup_by(|a, b| *a == GAP && *b == GAP);
    words.join(" ")
}

/// An HTTP status that tells of a failure.
fn is_code(number: &str) -> bool {
    number.parse::<u16>().is_ok_and(|n| (400..600).contains(&n))
}

#[cfg(test)]
mod tests;
