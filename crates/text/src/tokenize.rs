use std::borrow::Cow;

use charabia::{Language, Segment};
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use crate::{
    is_stop_word,
    scan::{Run, runs},
    script::is_han,
};

/// Only this much of a text is read, in bytes after normalisation. Far above any text that is one memory.
const MAX_BYTES: usize = 256 * 1024;

/// What a token is, for those who weigh tokens differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A word of a language with spaces, stemmed as English.
    Word,
    /// An identifier, path, address, date or code, whole: `inv-78901`, `/var/log/app.log`, `user_id`.
    Code,
    /// `404`, `1250.50`.
    Number,
    /// A word or number inside a [`Kind::Code`]: `user` and `id` of `user_id`.
    Part,
    /// A segmented Chinese word, or a character standing alone.
    Han,
    /// Two neighbouring characters that no dictionary word covers: names, rare words, other scripts.
    Bigram,
    /// Any other two neighbouring characters. For fuzzy likeness only: as search terms they measure worse
    /// than the words alone, so [`tokens`] leaves them out.
    Pair,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Token {
    pub text: String,
    pub kind: Kind,
}

/// All tokens of a text, in order, without stop words: normalised (NFKC), lower-cased, English words
/// stemmed, codes whole and then in parts, Chinese as segmented words and then pairs of characters.
pub fn tokenize(text: &str) -> Vec<Token> {
    let text = normalise(text);
    let stemmer = Stemmer::create(Algorithm::English);
    let mut tokens = Vec::with_capacity(text.len() / 5);
    for run in runs(&text) {
        match run {
            Run::Unspaced(run) => unspaced(run, &mut tokens),
            Run::Word(run) => word(run, &stemmer, &mut tokens),
        }
    }
    tokens
}

/// The terms a text is found by: [`tokenize`] without [`Kind::Pair`].
pub fn tokens(text: &str) -> Vec<String> {
    tokenize(text).into_iter().filter(|token| token.kind != Kind::Pair).map(|token| token.text).collect()
}

fn normalise(text: &str) -> Cow<'_, str> {
    // Nearly all text is normal already, which is quickly seen.
    if text.len() <= MAX_BYTES && !text.contains('’') && is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().min(MAX_BYTES));
    // A single character can expand to eighteen under NFKC, so the bound is checked on what comes out.
    for c in text.nfkc() {
        if out.len() + c.len_utf8() > MAX_BYTES {
            break;
        }
        out.push(if c == '’' { '\'' } else { c });
    }
    Cow::Owned(out)
}

fn word(run: &str, stemmer: &Stemmer, tokens: &mut Vec<Token>) {
    let lower = run.to_lowercase();
    if is_stop_word(&lower) {
        return;
    }
    // Most words of most texts.
    if lower.bytes().all(|b| b.is_ascii_lowercase()) && !has_humps(run) {
        return tokens.push(Token { text: stem(&lower, stemmer), kind: Kind::Word });
    }
    let has_digit = lower.contains(|c: char| c.is_numeric());
    let has_letter = lower.contains(|c: char| c.is_alphabetic());
    if has_digit && !has_letter && !lower.contains(['-', '/', ':', '_', '@', '\'']) && is_decimal(&lower) {
        return tokens.push(Token { text: lower.replace(',', ""), kind: Kind::Number });
    }
    let parts: Vec<&str> =
        run.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|p| !p.is_empty()).collect();
    let single = parts.len() <= 1 && !run.starts_with('/');
    let humps = humps(&parts);
    if single && !has_digit && humps.is_empty() {
        return tokens.push(Token { text: stem(&lower, stemmer), kind: Kind::Word });
    }
    tokens.push(Token { text: lower, kind: Kind::Code });
    if !single {
        parts.iter().for_each(|part| push_part(part, stemmer, tokens));
    }
    humps.iter().for_each(|hump| push_part(hump, stemmer, tokens));
}

/// At most one point: not a version or an address.
fn is_decimal(number: &str) -> bool {
    number.matches('.').count() <= 1
}

fn push_part(part: &str, stemmer: &Stemmer, tokens: &mut Vec<Token>) {
    let lower = part.to_lowercase();
    if lower.chars().nth(1).is_some() && !is_stop_word(&lower) {
        tokens.push(Token { text: stem(&lower, stemmer), kind: Kind::Part });
    }
}

/// The words of camel-cased parts: `CrashLoopBackOff`, `getUserById`, `HTTPServer`.
fn humps<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let parts = parts.iter().filter(|part| has_humps(part));
    parts.map(|part| split_humps(part)).filter(|humps| humps.len() > 1).flatten().collect()
}

/// Whether a word may have more than one hump: a capital after its first letter.
fn has_humps(word: &str) -> bool {
    word.chars().skip(1).any(char::is_uppercase)
}

fn split_humps(part: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = part.char_indices().collect();
    let mut humps = Vec::new();
    let mut start = 0;
    for i in 1..chars.len() {
        let (at, c) = chars[i];
        let after_lower = chars[i - 1].1.is_lowercase();
        let before_lower = chars.get(i + 1).is_some_and(|next| next.1.is_lowercase());
        if c.is_uppercase() && (after_lower || (before_lower && chars[i - 1].1.is_uppercase())) {
            humps.push(&part[start..at]);
            start = at;
        }
    }
    humps.push(&part[start..]);
    humps
}

fn stem(word: &str, stemmer: &Stemmer) -> String {
    if word.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'') {
        stemmer.stem(word).into_owned()
    } else {
        word.to_owned()
    }
}

fn unspaced(run: &str, tokens: &mut Vec<Token>) {
    // For each character: the word it belongs to (characters outside any dictionary word stand alone).
    let mut owners: Vec<&str> = Vec::new();
    let has_han = run.contains(is_han);
    for word in segment(run, has_han) {
        owners.extend(word.chars().map(|_| word));
        if has_han || is_one_char(run) {
            push(word, Kind::Han, tokens);
        }
    }
    let ends = run.char_indices().map(|(at, c)| at + c.len_utf8()).skip(1);
    let pairs = run.char_indices().zip(ends).map(|((from, _), to)| &run[from..to]);
    for (pair, owner) in pairs.zip(owners.windows(2)) {
        if pair != owner[0] {
            let free = owner.iter().all(|word| is_one_char(word) && !is_stop_word(word));
            push(pair, if free { Kind::Bigram } else { Kind::Pair }, tokens);
        }
    }
}

/// Words of the dictionary, and single characters where it has none.
fn segment(run: &str, has_han: bool) -> Vec<&str> {
    if has_han {
        run.segment_str_with_option(None, Some(&[Language::Cmn])).collect()
    } else {
        run.split("").filter(|c| !c.is_empty()).collect()
    }
}

fn is_one_char(word: &str) -> bool {
    word.chars().nth(1).is_none()
}

fn push(text: &str, kind: Kind, tokens: &mut Vec<Token>) {
    if !is_stop_word(text) {
        tokens.push(Token { text: text.to_owned(), kind });
    }
}

#[cfg(test)]
mod tests;
