//! Text as a reader, or a program that normalises it, would take it.

use std::{collections::HashMap, ops::Range, sync::LazyLock};

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_security::skeleton;

/// Characters that a marker is made of, letters first: of those that look alike (`l`, `|`) the first counts.
const PLAIN: &str = "abcdefghijklmnopqrstuvwxyz-_</[]:";

/// What looks like one of `PLAIN`, by its skeleton (Unicode UTS 39).
static LIKE: LazyLock<HashMap<String, char>> = LazyLock::new(|| {
    let mut like = HashMap::new();
    for plain in PLAIN.chars() {
        like.entry(looks(plain)).or_insert(plain);
    }
    like
});

/// A line in lower case, in compatibility form (NFKC), letters and marks that look like ASCII as ASCII, without
/// combining marks; for each character, where it comes from.
pub(super) struct Folded {
    pub(super) chars: Vec<char>,
    origins: Vec<Range<usize>>,
}

impl Folded {
    pub(super) fn of(line: &str) -> Self {
        let mut folded =
            Self { chars: Vec::with_capacity(line.len()), origins: Vec::with_capacity(line.len()) };
        for (at, c) in line.char_indices() {
            let origin = at..at + c.len_utf8();
            if is_plain(c) {
                folded.push(c.to_ascii_lowercase(), origin);
                continue;
            }
            for part in std::iter::once(c).nfkc().filter(|part| !is_combining_mark(*part)) {
                folded.push(ascii_like(part), origin.clone());
            }
        }
        folded
    }

    fn push(&mut self, c: char, origin: Range<usize>) {
        self.chars.push(c);
        self.origins.push(origin);
    }

    /// Bytes of the line from which the characters from `from` to `to` were made.
    pub(super) fn origin(&self, from: usize, to: usize) -> Range<usize> {
        match (self.origins.get(from), self.origins.get(to.saturating_sub(1))) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => 0..0,
        }
    }
}

/// The first character of what `c` folds to.
pub(super) fn first(c: char) -> char {
    if is_plain(c) { c } else { std::iter::once(c).nfkc().next().map_or(c, ascii_like) }
}

/// ASCII, and ideographs, which look like nothing else.
fn is_plain(c: char) -> bool {
    c.is_ascii() || matches!(c, '\u{3400}'..='\u{9FFF}')
}

fn ascii_like(c: char) -> char {
    let lower = c.to_lowercase().next().unwrap_or(c);
    if lower.is_ascii() { lower } else { LIKE.get(&looks(lower)).copied().unwrap_or(lower) }
}

fn looks(c: char) -> String {
    skeleton(c.encode_utf8(&mut [0; 4])).collect()
}
