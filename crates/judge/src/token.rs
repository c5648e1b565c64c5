//! Salient tokens: the words by which one step can be seen to use what another one found.

use std::collections::{HashMap, HashSet};

use crate::effect;

/// Most tokens taken from the arguments or the words of one step.
const PER_STEP: usize = 256;
/// Longest token, in characters.
const LONGEST: usize = 80;
/// Longest run of Chinese, Japanese or Korean characters that counts as a name.
const CJK_LONGEST: usize = 8;

pub(crate) type TokenId = u32;

/// Every token that some step uses. Observations are looked up in it and never stored, so memory is
/// bounded by what steps use and not by what they saw.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    ids: HashMap<String, TokenId>,
    texts: Vec<String>,
}

impl Tokens {
    pub(crate) fn text(&self, id: TokenId) -> &str {
        self.texts.get(id as usize).map_or("", String::as_str)
    }

    fn intern(&mut self, text: &str) -> TokenId {
        let key = text.to_lowercase();
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let id = self.texts.len() as TokenId;
        self.texts.push(text.to_owned());
        self.ids.insert(key, id);
        id
    }

    /// Tokens of call arguments: identifiers, numbers, paths, names, and every short value. The verbs of a
    /// command line are no values.
    pub(crate) fn of_arguments(&mut self, text: &str, command_line: bool) -> Vec<TokenId> {
        let verb = |w: &Word<'_>| command_line && effect::is_verb(&w.text.to_lowercase());
        self.collect(text, |w| w.is_salient() || w.is_name() || (w.is_value() && !verb(w)))
    }

    /// Tokens of running text: identifiers, numbers, paths, and names that do not merely begin a sentence.
    pub(crate) fn of_prose(&mut self, text: &str) -> Vec<TokenId> {
        let short = text.len() < 80;
        self.collect(text, |w| w.is_salient() || (w.is_name() && (short || !w.opens_sentence)))
    }

    /// Distinct tokens, those that hardly come up by chance first.
    fn collect(&mut self, text: &str, keep: impl FnMut(&Word<'_>) -> bool) -> Vec<TokenId> {
        let mut seen = HashSet::new();
        let (mut salient, mut others) = (Vec::new(), Vec::new());
        for word in Words::new(text).filter(keep) {
            for text in [Some(word.text), last_part(word.text)].into_iter().flatten() {
                let id = self.intern(text);
                if seen.insert(id) {
                    if word.is_salient() { salient.push(id) } else { others.push(id) }
                }
            }
            if seen.len() >= PER_STEP {
                break;
            }
        }
        salient.append(&mut others);
        salient
    }

    /// Calls `found` for every known token in `text`, and returns how many words were looked at.
    pub(crate) fn scan(&self, text: &str, mut found: impl FnMut(TokenId)) -> u64 {
        let mut looked = 0;
        for word in Words::new(text) {
            looked += 1;
            if word.cjk {
                looked += self.scan_cjk(word.text, &mut found);
            } else {
                for text in [Some(word.text), last_part(word.text)].into_iter().flatten() {
                    if let Some(id) = self.ids.get(&text.to_lowercase()) {
                        found(*id);
                    }
                }
            }
        }
        looked
    }

    /// Chinese is written without spaces: every substring up to the longest name is looked up.
    fn scan_cjk(&self, run: &str, found: &mut impl FnMut(TokenId)) -> u64 {
        let starts: Vec<usize> = run.char_indices().map(|(i, _)| i).chain([run.len()]).collect();
        let mut looked = 0;
        for (n, from) in starts.iter().enumerate() {
            for to in starts.iter().skip(n + 2).take(CJK_LONGEST - 1) {
                looked += 1;
                if let Some(id) = self.ids.get(&run[*from..*to]) {
                    found(*id);
                }
            }
        }
        looked
    }
}

/// The name in `kind/name`, as in `deploy/web`. Paths have none.
fn last_part(text: &str) -> Option<&str> {
    let (kind, name) = text.split_once('/')?;
    (!kind.is_empty() && name.len() >= 3 && !name.contains('/')).then_some(name)
}

#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    cjk: bool,
    quoted: bool,
    opens_sentence: bool,
}

impl Word<'_> {
    /// Identifier, path, number: text that hardly comes up twice by chance.
    fn is_salient(&self) -> bool {
        if self.cjk {
            return self.quoted && (2..=CJK_LONGEST).contains(&self.text.chars().count());
        }
        let n = self.text.chars().count();
        let digits = self.text.chars().filter(char::is_ascii_digit).count();
        let letters = self.text.chars().filter(|c| c.is_alphabetic()).count();
        let joined = self.text.contains(['_', '-', '.', '/', ':', '@']);
        let inner_capital = self.text.chars().skip(1).any(char::is_uppercase);
        match (digits, letters) {
            (0, 0) => false,
            (_, 0) => digits >= 3,
            (0, _) => n >= 3 && (inner_capital || (joined && n >= 5)),
            _ => n >= 3,
        }
    }

    fn is_name(&self) -> bool {
        !self.cjk
            && self.text.chars().count() >= 3
            && self.text.chars().next().is_some_and(char::is_uppercase)
            && !COMMON.contains(&self.text.to_lowercase().as_str())
    }

    fn is_value(&self) -> bool {
        let n = self.text.chars().count();
        if self.cjk {
            return (2..=CJK_LONGEST).contains(&n);
        }
        n >= 4
            && self.text.chars().all(char::is_alphanumeric)
            && !COMMON.contains(&self.text.to_lowercase().as_str())
    }
}

/// Words that say nothing about where something came from.
const COMMON: &[&str] = &[
    "the",
    "and",
    "for",
    "with",
    "from",
    "that",
    "this",
    "what",
    "which",
    "when",
    "where",
    "who",
    "how",
    "why",
    "was",
    "were",
    "are",
    "has",
    "have",
    "had",
    "not",
    "but",
    "you",
    "your",
    "our",
    "his",
    "her",
    "its",
    "they",
    "their",
    "true",
    "false",
    "null",
    "none",
    "error",
    "info",
    "status",
    "name",
    "type",
    "json",
    "text",
    "data",
    "result",
    "results",
    "query",
    "list",
    "query_list",
    "all",
    "user",
    "command",
    "value",
    "please",
    "thank",
    "thanks",
    "yes",
    "would",
    "could",
    "here",
    "there",
    "based",
    "however",
    "since",
    "both",
    "after",
    "before",
    "also",
    "answer",
    "question",
    "first",
    "second",
    "into",
    "about",
    "than",
    "then",
    "one",
    "two",
    "did",
    "does",
    "will",
];

/// Words of a text, in one pass: runs of letters, digits and joining signs; Chinese apart.
struct Words<'a> {
    text: &'a str,
    at: usize,
    opens_sentence: bool,
    quoted: bool,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0, opens_sentence: true, quoted: false }
    }
}

fn is_cjk(c: char) -> bool {
    matches!(c as u32, 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff)
}

fn joins(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':' | '@' | '+')
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        loop {
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            if !first.is_alphanumeric() && first != '/' {
                self.opens_sentence |= matches!(first, '.' | '!' | '?' | '\n' | '。' | '！' | '？');
                self.quoted = matches!(first, '"' | '\'' | '“' | '「' | '《' | '`');
                self.at += first.len_utf8();
                continue;
            }
            let cjk = is_cjk(first);
            let end = rest
                .char_indices()
                .find(
                    |(_, c)| {
                        if cjk { !is_cjk(*c) } else { is_cjk(*c) || !(c.is_alphanumeric() || joins(*c)) }
                    },
                )
                .map_or(rest.len(), |(i, _)| i);
            self.at += end;
            let whole = &rest[..end];
            let text = if cjk { whole } else { whole.trim_end_matches(joins) };
            let word = Word { text, cjk, quoted: self.quoted, opens_sentence: self.opens_sentence };
            self.opens_sentence = whole.ends_with(['.', '!', '?']);
            self.quoted = false;
            if !text.is_empty() && (cjk || text.len() <= LONGEST * 4) {
                return Some(word);
            }
        }
    }
}

#[cfg(test)]
mod tests;
