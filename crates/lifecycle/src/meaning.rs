//! When two texts say the same. Nearness proposes, this decides: what is left when case, width, punctuation, articles
//! and politeness are taken away must be the same words in the same order, so that `from A to B` is not `from B to
//! A`, and a number, a name or a `not` always counts.

use std::collections::BTreeSet;

use hindsight_text::{similarity, token_set};
use hindsight_types::{Environment, Lesson};
use unicode_normalization::UnicodeNormalization as _;

/// Longer texts are told apart by what stands up to here and by their length.
const READ_CHARS: usize = 4_000;
/// From this share of common tokens two situations can be the same one.
const SAME_SITUATION: f32 = 0.8;

/// Words that say nothing. Small on purpose: a word that is wrongly here makes two statements one.
const SILENT: [&str; 20] = [
    "a",
    "an",
    "the",
    "please",
    "kindly",
    "really",
    "actually",
    "basically",
    "ok",
    "okay",
    "well",
    "hi",
    "hello",
    "simply",
    "呢",
    "啊",
    "吧",
    "呀",
    "哦",
    "嗯",
];
/// The same thing said in two ways.
const SAME: [(&str, &str); 20] = [
    ("can't", "cannot"),
    ("won't", "will not"),
    ("don't", "do not"),
    ("doesn't", "does not"),
    ("didn't", "did not"),
    ("isn't", "is not"),
    ("aren't", "are not"),
    ("wasn't", "was not"),
    ("i'm", "i am"),
    ("it's", "it is"),
    ("i've", "i have"),
    ("reboot", "restart"),
    ("重新启动", "重启"),
    ("remove", "delete"),
    ("erase", "delete"),
    ("移除", "删除"),
    ("repair", "fix"),
    ("mum", "mother"),
    ("mom", "mother"),
    ("妈妈", "母亲"),
];
/// Words that turn a situation round.
const POLARITY: [&str; 22] = [
    "not", "no", "never", "cannot", "without", "before", "after", "more", "less", "above", "below", "不",
    "没", "无", "非", "未", "别", "勿", "前", "后", "高", "低",
];

/// What a text says; equal texts say the same.
pub(crate) fn key(text: &str) -> String {
    words(text).join(" ")
}

/// The words that carry meaning, in order. Characters of scripts without blanks stand together.
fn words(text: &str) -> Vec<String> {
    let mut normal: String = text.nfkc().flat_map(char::to_lowercase).take(READ_CHARS).collect();
    if text.chars().nth(READ_CHARS).is_some() {
        normal.push_str(&format!(" {}", text.len()));
    }
    let normal = normal.replace('’', "'");
    let mut out = Vec::new();
    for word in normal.split(|c: char| c.is_whitespace() || c.is_control() || is_pause(c)) {
        // A full stop or a colon inside of a word is part of it.
        let word = word.trim_matches(['.', ':', '"', '\'', '“', '”', '`']);
        let mut said = word.to_owned();
        for (from, to) in SAME {
            let cjk = !from.is_ascii();
            if cjk && said.contains(from) {
                said = said.replace(from, to);
            } else if said == from {
                said = to.to_owned();
            }
        }
        for particle in SILENT.iter().filter(|s| !s.is_ascii()) {
            if let Some(rest) = said.strip_suffix(particle) {
                said = rest.to_owned();
            }
        }
        if !said.is_empty() && !SILENT.contains(&said.as_str()) {
            out.extend(said.split(' ').map(str::to_owned));
        }
    }
    // A question is not a statement, whatever its words.
    out.extend(text.trim_end().ends_with(['?', '？']).then(|| "?".to_owned()));
    out
}

/// Marks that only part what is said.
fn is_pause(c: char) -> bool {
    matches!(
        c,
        ',' | ';'
            | '!'
            | '?'
            | '('
            | ')'
            | '，'
            | '。'
            | '；'
            | '！'
            | '？'
            | '、'
            | '：'
            | '（'
            | '）'
            | '「'
            | '」'
            | '《'
            | '》'
    )
}

/// Where a lesson applies, for comparing: read once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Situation {
    tokens: BTreeSet<String>,
    /// Tokens with digits, and words that turn the sense round: these must be the same.
    hard: BTreeSet<String>,
}

impl Situation {
    pub(crate) fn of(text: &str) -> Self {
        let tokens = token_set(text);
        let digits = tokens.iter().filter(|t| t.contains(char::is_numeric)).cloned();
        let said = words(text);
        let turned = POLARITY.iter().filter(|p| match p.is_ascii() {
            true => said.iter().any(|word| word == *p || (**p == "not" && word.ends_with("n't"))),
            false => said.iter().any(|word| word.contains(*p)),
        });
        let hard = digits.chain(turned.map(|p| (*p).to_owned())).collect();
        Self { tokens, hard }
    }

    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.hard == other.hard
            && (self.tokens == other.tokens || similarity(&self.tokens, &other.tokens) >= SAME_SITUATION)
    }
}

/// What a lesson advises to do.
pub(crate) fn advised(lesson: &Lesson) -> String {
    match lesson.basis.chosen.trim() {
        "" => key(&lesson.advice),
        chosen => key(chosen),
    }
}

/// Tags of a place, as they are compared.
pub(crate) fn tags(place: &Environment) -> BTreeSet<String> {
    place.tags.iter().map(|tag| tag.trim().to_lowercase()).filter(|tag| !tag.is_empty()).collect()
}

#[cfg(test)]
mod tests;
