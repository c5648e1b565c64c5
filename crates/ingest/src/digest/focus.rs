//! What was asked for: words of the task and of the call, so that the rows and lines about it stay.

use std::collections::BTreeSet;

use regex::bytes::{Regex, RegexBuilder};

/// Words that are looked for at most.
const WORDS: usize = 48;
/// Text of a question that is read.
const READ: usize = 4_000;

/// Matches text about something. The default matches nothing.
#[derive(Debug, Default, Clone)]
pub struct Focus(Option<Regex>);

impl Focus {
    /// The names in `texts`: words of at least four letters that hold a digit or one of `-_./`, since those
    /// say which thing is meant, and words of Chinese.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = BTreeSet::new();
        for text in texts {
            let text = &text[..text.floor_char_boundary(READ)];
            let separate = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'));
            let names = text
                .split(separate)
                .map(|w| w.trim_matches(['.', '-', '/', '_']))
                .filter(|w| {
                    (4..=80).contains(&w.len())
                        && w.bytes().any(|b| b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.' | b'/'))
                })
                .filter(|w| w.bytes().any(|b| b.is_ascii_alphabetic()));
            words.extend(names.map(str::to_ascii_lowercase));
        }
        let pattern: Vec<String> = words.iter().take(WORDS).map(|w| regex::escape(w)).collect();
        if pattern.is_empty() {
            return Self(None);
        }
        let regex = RegexBuilder::new(&pattern.join("|")).unicode(false).case_insensitive(true).build();
        Self(regex.ok())
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|r| r.is_match(&text.as_bytes()[..text.len().min(2_000)]))
    }
}
