//! Why a memory is here: the words of the question that it holds, and how near it is.

use std::collections::BTreeSet;

use hindsight_text::{Kind, tokenize};
use hindsight_types::{Memory, ScoreFactors};

use super::{Language, quote};
use crate::read::{own, read};

/// Words named.
const SHARED_WORDS: usize = 6;
const WORD: usize = 64;

pub(crate) fn why(memory: &Memory, factors: &ScoreFactors, query: &str, language: Language) -> String {
    let mut reasons = Vec::new();
    let mut shared = shared_words(query, &own(memory));
    if !shared.is_empty() {
        reasons.push(language.shares(&shared));
    } else {
        shared = shared_words(query, &read(&memory.indexed_text()));
        if !shared.is_empty() {
            reasons.push(language.stands_beside(&shared));
        }
    }
    if factors.parts.period > 0.5 {
        reasons.push(language.pick("is of the time asked about", "属于所问的时间").to_owned());
    }
    if shared.is_empty() && factors.parts.session > 0.5 {
        reasons.push(language.pick("its session speaks of it", "同一会话谈到所问").to_owned());
    }
    if reasons.is_empty() {
        reasons.push(language.pick("close in meaning", "含义相近").to_owned());
    }
    reasons.push(language.similarity(factors.similarity));
    reasons.join(language.pick("; ", "；"))
}

/// The words of the query that the memory holds, as the query writes them.
fn shared_words(query: &str, memory: &BTreeSet<String>) -> Vec<String> {
    let mut words = Vec::new();
    for chunk in query.split_whitespace() {
        let tokens = tokenize(chunk);
        let unspaced = |kind| matches!(kind, Kind::Han | Kind::Bigram);
        let (han, spaced): (Vec<_>, Vec<_>) = tokens.into_iter().partition(|t| unspaced(t.kind));
        let trimmed = chunk.trim_matches(|c: char| !c.is_alphanumeric());
        if han.is_empty() && spaced.iter().any(|t| memory.contains(&t.text)) {
            words.push(quote(trimmed, WORD));
        }
        let han = han.into_iter().filter(|t| t.kind == Kind::Han && memory.contains(&t.text));
        words.extend(han.map(|t| quote(&t.text, WORD)));
    }
    let mut seen = BTreeSet::new();
    words.retain(|w| !w.is_empty() && seen.insert(w.to_lowercase()));
    words.truncate(SHARED_WORDS);
    words
}
