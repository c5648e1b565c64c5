//! When what was said later takes the place of what was said before. The rules were measured on conversations and
//! on lists of messages, English and Chinese.

use std::collections::BTreeSet;

use crate::similarity;

/// From this share of common tokens two statements about the same entities answer the same question.
const SAME_QUESTION: f32 = 0.5;
/// A statement takes another back when it says so and holds this share of its words, of at least so many.
const RETOLD: f32 = 0.9;
const RETOLD_WORDS: usize = 2;
/// Words more than the earlier one that a mere denial may have.
const FEW_MORE: usize = 3;

/// Words by which a statement takes back an earlier one. Those of English stand between spaces.
const CHANGE: [&str; 16] = [
    " no longer ",
    " anymore ",
    " any more ",
    " instead ",
    " moved ",
    " changed ",
    " switched ",
    " stopped ",
    " quit ",
    "不再",
    "改成",
    "改为",
    "改用",
    "换成",
    "搬到",
    "停用",
];

/// Words that deny. Many a statement holds one, so they take back only what is said in nearly the same words.
const DENIAL: [&str; 5] = [" not ", "n't ", " never ", "不", "没"];

/// How a statement stands to others, read from its words once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stance {
    /// It says that something changed.
    pub changes: bool,
    /// It denies something.
    pub denies: bool,
    pub asks: bool,
}

impl Stance {
    pub fn of(content: &str) -> Self {
        let said = format!(" {} ", content.to_lowercase().replace(['.', ',', '!', ';', '’'], " "));
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        Self {
            changes: says(&CHANGE),
            denies: says(&DENIAL),
            asks: content.trim_end().ends_with(['?', '？']),
        }
    }
}

/// What one user said, as far as it takes to compare it with what else they said.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// The same key is the same statement.
    pub key: &'a str,
    /// [`token_set`](crate::token_set) of what it says.
    pub tokens: &'a BTreeSet<String>,
    pub stance: Stance,
    pub intent: &'a str,
    pub entities: &'a [String],
    /// It happened: two of the kind are two, whatever they share.
    pub adds_up: bool,
}

impl Statement<'_> {
    /// True when both answer the same question differently, so that only the later one holds. Symmetric: which
    /// is later is for the caller.
    pub fn contradicts(&self, other: &Self) -> bool {
        let same_key = !self.key.is_empty() && self.key == other.key;
        same_key || self.same_subject(other) || self.takes_back(other) || other.takes_back(self)
    }

    /// Says that what the earlier one says is no longer so.
    pub fn takes_back(&self, earlier: &Self) -> bool {
        let (old, new) = (earlier.tokens, self.tokens);
        let few_more = new.len() <= old.len() + FEW_MORE;
        let takes_back = |stance: Stance| stance.changes || (stance.denies && few_more);
        let held = || old.iter().filter(|token| new.contains(*token)).count();
        old.len() >= RETOLD_WORDS
            && takes_back(self.stance)
            && !takes_back(earlier.stance)
            && !self.stance.asks
            && held() as f32 >= RETOLD * old.len() as f32
    }

    /// The same entities, and the same intent or, of what can hold only once, much of the same words.
    fn same_subject(&self, other: &Self) -> bool {
        let names = |s: &Self| s.entities.iter().map(|e| e.to_lowercase()).collect::<BTreeSet<_>>();
        let same_intent = !self.intent.is_empty() && self.intent.eq_ignore_ascii_case(other.intent);
        let different_intents = !self.intent.is_empty() && !other.intent.is_empty() && !same_intent;
        let alike = || similarity(self.tokens, other.tokens) >= SAME_QUESTION;
        !self.entities.is_empty()
            && names(self) == names(other)
            && !different_intents
            && !self.stance.asks
            && !other.stance.asks
            && (same_intent || (!self.adds_up && !other.adds_up && alike()))
    }
}

#[cfg(test)]
mod tests;
