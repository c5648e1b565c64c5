use hindsight_types::{Fact, FactType};

use super::words::PHRASES;

/// Longer turns say something.
const LONGEST: usize = 400;

/// What a turn is that says nothing worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trivial {
    /// Emoji and punctuation alone.
    NoWords,
    /// Sounds and words to go on talking.
    Filler,
    /// Understood, all right, well done.
    Acknowledgement,
    /// A greeting or a farewell.
    Greeting,
    /// Thanks, or the answer to thanks.
    Thanks,
}

impl Trivial {
    /// The reason and the remedy, in words.
    pub fn message(self) -> &'static str {
        match self {
            Self::NoWords => "there are no words in it; send it with `force` to keep it",
            Self::Filler => {
                "it only goes on talking and says nothing to remember; send it with `force` to keep it"
            }
            Self::Acknowledgement => "it only acknowledges what was said; send it with `force` to keep it",
            Self::Greeting => "it is a greeting or a farewell; send it with `force` to keep it",
            Self::Thanks => "it says thanks and nothing else; send it with `force` to keep it",
        }
    }
}

/// Why a turn is not worth keeping; `None`: it is. Whoever names a key, an intent, a type, entities or
/// attachments has said that it is.
///
/// Trivial is only what consists of known phrases from end to end. A yes or a no answers a question and is
/// kept, as is whatever holds a name, a number or any word that is not known here.
pub fn gate(fact: &Fact) -> Option<Trivial> {
    let described = !fact.key.is_empty()
        || !fact.intent.is_empty()
        || fact.fact_type != FactType::Other
        || !fact.entities.is_empty()
        || !fact.attachments.is_empty();
    if described { None } else { trivial(&fact.content) }
}

pub(super) fn trivial(text: &str) -> Option<Trivial> {
    if text.len() > LONGEST {
        return None;
    }
    let mut kind = Trivial::NoWords;
    for run in runs(text)? {
        kind = kind.max(match run {
            Run::Latin(words) => english(&words)?,
            Run::Han(text) => chinese(&text)?,
        });
    }
    Some(kind)
}

enum Run {
    Latin(Vec<String>),
    Han(Vec<char>),
}

/// Runs of words, and of Chinese characters. Punctuation ends a run of characters, not of words. `None`: there
/// is a digit, or a letter of another script.
fn runs(text: &str) -> Option<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let mut in_word = false;
    for c in text.chars().flat_map(char::to_lowercase) {
        let c = if c == '’' { '\'' } else { c };
        match runs.last_mut() {
            Some(Run::Latin(words)) if is_latin(c) => match words.last_mut() {
                Some(word) if in_word => word.push(c),
                _ => words.push(c.to_string()),
            },
            Some(Run::Han(run)) if hindsight_text::is_cjk(c) && c.is_alphabetic() => run.push(c),
            _ if c.is_ascii_lowercase() => runs.push(Run::Latin(vec![c.to_string()])),
            _ if hindsight_text::is_cjk(c) && c.is_alphabetic() => runs.push(Run::Han(vec![c])),
            Some(Run::Han(_)) if !c.is_alphanumeric() => runs.push(Run::Han(Vec::new())),
            _ if c.is_alphanumeric() => return None,
            _ => {}
        }
        in_word = is_latin(c);
    }
    Some(runs)
}

fn is_latin(c: char) -> bool {
    c.is_ascii_lowercase() || c == '\''
}

/// Takes the longest known phrase each time.
fn english(words: &[String]) -> Option<Trivial> {
    const PHRASE_WORDS: usize = 6;
    let mut kind = Trivial::NoWords;
    let mut rest = words;
    while let Some(first) = rest.first() {
        let longest = PHRASE_WORDS.min(rest.len());
        let known = (1..=longest).rev().find_map(|n| Some((n, phrase(&rest[..n].join(" "))?)));
        let (taken, found) = match known {
            Some(known) => known,
            None => (1, sound(first)?),
        };
        kind = kind.max(found);
        rest = &rest[taken..];
    }
    Some(kind)
}

/// `hmmm`, `hahaha`, `okayyy`: a known word drawn out, or laughter.
fn sound(word: &str) -> Option<Trivial> {
    let laughs = word.len() > 3 && word.bytes().all(|b| matches!(b, b'h' | b'a' | b'e'));
    if laughs {
        return Some(Trivial::Filler);
    }
    let mut once: Vec<char> = word.chars().collect();
    once.dedup();
    let drawn_out = once.len() + 2 <= word.len();
    if drawn_out { phrase(&once.into_iter().collect::<String>()) } else { None }
}

fn chinese(run: &[char]) -> Option<Trivial> {
    const PHRASE_CHARS: usize = 8;
    let mut kind = Trivial::NoWords;
    let mut rest = run;
    while !rest.is_empty() {
        let longest = PHRASE_CHARS.min(rest.len());
        let known = |n: usize| Some((n, phrase(&rest[..n].iter().collect::<String>())?));
        let (taken, found) = (1..=longest).rev().find_map(known)?;
        kind = kind.max(found);
        rest = &rest[taken..];
    }
    Some(kind)
}

fn phrase(text: &str) -> Option<Trivial> {
    PHRASES.get(text).copied()
}

#[cfg(test)]
mod tests;
