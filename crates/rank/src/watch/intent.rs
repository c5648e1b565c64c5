//! What a user's words ask of the memory.

use std::collections::BTreeSet;

use hindsight_text::{is_stop_word, token_set, truncate_chars};

/// Characters of a message that are looked at.
const READ_CHARS: usize = 4_000;
/// New words that make a new intent.
const NEW_WORDS: usize = 3;

/// By which one asks whether something is remembered. White space in them stands for any.
const QUESTIONS: [&str; 34] = [
    "do you remember",
    "don't you remember",
    "do you still remember",
    "do you recall",
    "can you recall",
    "can you remember",
    "could you recall",
    "you remember",
    "remember when",
    "remind me",
    "refresh my memory",
    "have i told you",
    "did i tell you",
    "did i mention",
    "what did i say",
    "what did i tell",
    "what did we",
    "as i told you",
    "have you seen this before",
    "have we seen this before",
    "have we done this before",
    "have we had this before",
    "last time we",
    "last time i",
    "last time you",
    "how did we",
    "what was my",
    "what were my",
    "have you met this",
    "did we already",
    "have we already",
    "what do you know about",
    "do you know my",
    "from memory",
];

const QUESTIONS_IN_CHINESE: [&str; 30] = [
    "记得吗",
    "记得么",
    "还记得",
    "记不记得",
    "记得不记得",
    "你记得",
    "您记得",
    "是否记得",
    "记得我",
    "记得上次",
    "记得之前",
    "有没有印象",
    "还有印象",
    "回忆一下",
    "想得起来",
    "提醒我一下",
    "我说过",
    "我跟你说过",
    "我告诉过你",
    "我之前说",
    "我上次说",
    "我以前说",
    "上次是怎么",
    "上次怎么",
    "之前是怎么",
    "以前是怎么",
    "之前遇到过",
    "以前遇到过",
    "有没有遇到过",
    "有没有见过",
];

/// What is to be kept in mind from now on, or what the user has forgotten, is no question.
const ORDERS: [&str; 12] = [
    "remember to",
    "remember that",
    "please remember",
    "i don't remember",
    "i do not remember",
    "i can't remember",
    "remind me to",
    "remind me in",
    "我不记得",
    "我记不得",
    "你记得要",
    "记得我要",
];

/// Whether a user asks the memory something, in English or Chinese.
pub fn asks(text: &str) -> bool {
    let text = plain(text);
    let mut rest = text.as_str();
    // Each question on its own: one may follow an order.
    while let Some((at, found)) = first(rest) {
        let before = rest[..at].len();
        let order = ORDERS.iter().any(|order| {
            rest.match_indices(order).any(|(from, o)| from <= before && before < from + o.len())
        });
        if !order {
            return true;
        }
        rest = &rest[at + found..];
    }
    false
}

/// The first question, and its length.
fn first(text: &str) -> Option<(usize, usize)> {
    let english = QUESTIONS.iter().flat_map(|q| {
        let begins = |at: usize| text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let ends = |at: usize| text[at..].chars().next().is_none_or(|c| !c.is_alphanumeric());
        text.match_indices(q).filter(move |(at, q)| begins(*at) && ends(at + q.len())).take(1)
    });
    let chinese = QUESTIONS_IN_CHINESE.iter().flat_map(|q| text.match_indices(q).take(1));
    english.chain(chinese).map(|(at, q)| (at, q.len())).min()
}

/// Lower case, white space single, apostrophes straight.
fn plain(text: &str) -> String {
    let read = truncate_chars(text, READ_CHARS).to_lowercase().replace(['’', '‘'], "'");
    read.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a task is about, by its words.
#[derive(Debug, Clone, Default)]
pub(super) struct Topic(BTreeSet<String>);

impl Topic {
    /// Takes in what was said, and says whether it begins something new: enough of its words are, and most of them.
    pub(super) fn turns(&mut self, text: &str) -> bool {
        let mut words = token_set(truncate_chars(text, READ_CHARS));
        words.retain(|w| w.chars().nth(1).is_some() && !is_stop_word(w));
        let new = words.iter().filter(|w| !self.0.contains(*w)).count();
        let turns = new >= NEW_WORDS && new * 2 > words.len();
        if self.0.len() < READ_CHARS {
            self.0.extend(words);
        }
        turns
    }
}
