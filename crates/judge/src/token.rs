//! Salient tokens: the words by which one step can be seen to use what another one found.

use std::collections::{HashMap, HashSet};

use crate::effect;

mod form;

/// Most tokens taken from the arguments or the words of one step.
const PER_STEP: usize = 256;
/// Longest token, in characters.
const LONGEST: usize = 80;
/// Longest run of Chinese, Japanese or Korean characters that counts as a name.
const CJK_LONGEST: usize = 8;

pub(crate) type TokenId = u32;

/// How hard it is to come by a word without having seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Salience {
    /// Any value of an argument.
    Value,
    /// A name: a capital letter says so.
    Name,
    Number,
    /// Identifier, path, quoted name.
    Identifier,
}

impl Salience {
    /// How much a word of this kind tells about where it came from, 0 to 1, when one step alone showed it.
    pub(crate) fn weight(self) -> f32 {
        match self {
            Self::Value => 0.4,
            Self::Name => 0.6,
            Self::Number => 0.7,
            Self::Identifier => 1.0,
        }
    }
}

/// Every token that some step uses. Observations are looked up in it and never stored, so memory is
/// bounded by what steps use and not by what they saw.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    ids: HashMap<String, TokenId>,
    known: Vec<(String, Salience)>,
}

impl Tokens {
    pub(crate) fn text(&self, id: TokenId) -> &str {
        self.known.get(id as usize).map_or("", |(text, _)| text)
    }

    pub(crate) fn salience(&self, id: TokenId) -> Salience {
        self.known.get(id as usize).map_or(Salience::Value, |(_, salience)| *salience)
    }

    /// Whether it is a number or holds one.
    pub(crate) fn is_figure(&self, id: TokenId) -> bool {
        self.text(id).contains(|c: char| c.is_ascii_digit())
    }

    fn intern(&mut self, word: &Word<'_>, text: &str) -> TokenId {
        let mut key = String::new();
        form::canonical(text, &mut key);
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let id = self.known.len() as TokenId;
        self.known.push((text.to_owned(), word.salience()));
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
            for text in form::parts(word.text) {
                let id = self.intern(&word, text);
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
        let mut key = String::new();
        for word in Words::new(text) {
            if word.cjk {
                looked += self.scan_cjk(word.text, &mut found);
                continue;
            }
            for text in form::parts(word.text) {
                looked += 1;
                form::canonical(text, &mut key);
                if let Some(id) = self.ids.get(&key) {
                    found(*id);
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

    fn salience(&self) -> Salience {
        let figures = self.text.contains(|c: char| c.is_ascii_digit());
        match self.is_salient() {
            true if figures && !self.text.contains(char::is_alphabetic) => Salience::Number,
            true => Salience::Identifier,
            false if self.is_name() => Salience::Name,
            false => Salience::Value,
        }
    }

    fn is_name(&self) -> bool {
        !self.cjk
            && self.text.chars().count() >= 3
            && self.text.chars().next().is_some_and(char::is_uppercase)
            && !is_common(self.text)
    }

    fn is_value(&self) -> bool {
        let n = self.text.chars().count();
        if self.cjk {
            return (2..=CJK_LONGEST).contains(&n);
        }
        n >= 4 && self.text.chars().all(char::is_alphanumeric) && !is_common(self.text)
    }
}

/// Words that say nothing about where something came from.
const COMMON: &str = "the and for with from that this what which when where who how why was were are has have had not but \
    you your our his her its they their true false null none error info status name type json text data \
    result results query list query_list all user command value please thank thanks yes would could here \
    there based however since both after before also answer question first second into about than then \
    one two did does will";

fn is_common(word: &str) -> bool {
    COMMON.split_ascii_whitespace().any(|w| w.eq_ignore_ascii_case(word))
}

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

/// A comma that groups the digits of a number, as in `1,200`.
fn groups(text: &str, at: usize) -> bool {
    let digit = |i: usize| text.as_bytes().get(i).is_some_and(u8::is_ascii_digit);
    text.as_bytes()[at] == b',' && at > 0 && digit(at - 1) && (1..4).all(|k| digit(at + k)) && !digit(at + 4)
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
            let ends = |(i, c): &(usize, char)| {
                if cjk {
                    !is_cjk(*c)
                } else {
                    is_cjk(*c) || !(c.is_alphanumeric() || joins(*c) || groups(rest, *i))
                }
            };
            let end = rest.char_indices().find(ends).map_or(rest.len(), |(i, _)| i);
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
