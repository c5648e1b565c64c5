//! Cuts one line to a number of bytes so that what it names and reports stays.

use std::borrow::Cow;

use super::{
    focus::Focus,
    trouble::{self, Trouble},
};

/// `line` in at most `room` bytes: blanks as one, then without its noise, then the stretch of words that
/// says most.
pub(super) fn line<'a>(line: &'a str, room: usize, focus: &Focus) -> Cow<'a, str> {
    let trimmed = line.trim();
    if trimmed.len() <= room && !trimmed.contains("  ") {
        return Cow::Borrowed(trimmed);
    }
    let all: Vec<&str> = trimmed.split_whitespace().take(WORDS).collect();
    let words = words(&all, room);
    for words in [&all, &words] {
        let whole = joined(trimmed, words);
        if whole.len() <= room && (words.len() < WORDS || trimmed.len() <= room) {
            return Cow::Owned(whole);
        }
    }
    Cow::Owned(stretch(trimmed, &words, room, focus))
}

/// How much of a line is looked at.
const WORDS: usize = 400;

/// Words without noise: repeated blanks, `<none>`, lists of labels. Text without blanks is cut at its
/// punctuation, Chinese at every character.
fn words<'a>(all: &[&'a str], room: usize) -> Vec<&'a str> {
    let longest = (room / 2).clamp(8, 40);
    let mut words = Vec::new();
    for word in all.iter().copied().filter(|w| !is_noise(w)) {
        if is_time(word) {
            words.extend(day(word));
        } else if word.len() <= longest && word.is_ascii() {
            words.push(word);
        } else {
            pieces(word, longest, &mut words);
        }
    }
    words
}

fn pieces<'a>(word: &'a str, longest: usize, words: &mut Vec<&'a str>) {
    let mut from = 0;
    for (i, c) in word.char_indices() {
        let end = i + c.len_utf8();
        if !c.is_ascii()
            || matches!(c, ',' | ';' | '&' | '{' | '}' | '=' | '(' | ')')
            || end - from >= longest
        {
            words.push(&word[from..end]);
            from = end;
            if words.len() > 4 * WORDS {
                return;
            }
        }
    }
    if from < word.len() {
        words.push(&word[from..]);
    }
}

fn is_noise(word: &str) -> bool {
    let labels = word.len() > 40 && word.contains('=') && (word.contains(',') || word.contains(".io/"));
    labels || matches!(word, "<none>" | "<none>," | "│" | "├──" | "└──" | "|")
}

/// How much each byte of a word says.
fn density(word: &str, focus: &Focus) -> usize {
    let count = |f: fn(&u8) -> bool| word.bytes().filter(f).count();
    let digits = count(u8::is_ascii_digit);
    let inner = word.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    let joined = word
        .trim_end_matches(['.', ':', ',', ';'])
        .bytes()
        .any(|b| matches!(b, b'_' | b'/' | b':' | b'.' | b'-' | b'='));
    match word {
        w if is_hash(w) || is_time(w) => 0,
        w if trouble::of(w) == Trouble::Hard => 5,
        w if focus.is_in(w) => 6,
        w if !w.is_ascii() => 3,
        w if w.contains(['"', '\'', '`']) => 5,
        w if day(w).is_some() => 3,
        w if digits * 2 >= w.len() => 1,
        _ if joined || inner || digits > 0 => 4,
        w if w.len() < 4 => 1,
        _ => 2,
    }
}

/// A hash or a UUID, whatever stands before it: `sha256:9f86…`, `containerd://40b3…`.
pub(super) fn is_hash(word: &str) -> bool {
    let id = word.rsplit(['/', ':', '@', '=']).next().unwrap_or(word).trim_end_matches([',', '.', '"']);
    id.len() >= 24
        && id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
        && id.bytes().any(|b| b.is_ascii_digit())
}

fn is_time(word: &str) -> bool {
    word.len() >= 8
        && word
            .bytes()
            .filter(|b| {
                b.is_ascii_digit()
                    || matches!(b, b':' | b'-' | b',' | b'.' | b'T' | b'Z' | b'+' | b'[' | b']')
            })
            .count()
            == word.len()
        && word.contains(':')
}

/// The day of a time with a day.
fn day(time: &str) -> Option<&str> {
    let day = time.trim_start_matches('[').get(..10)?;
    day.bytes()
        .enumerate()
        .all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() })
        .then_some(day)
}

/// The window of whole words, at most `room` bytes with its marks, whose worth is greatest; the first such.
fn stretch(line: &str, words: &[&str], room: usize, focus: &Focus) -> String {
    const MARK: &str = "…";
    let room = room.saturating_sub(2 * MARK.len());
    let worths: Vec<usize> = words.iter().map(|w| density(w, focus) * w.len() + 1).collect();
    let (mut from, mut bytes, mut sum) = (0, 0, 0);
    let mut best = (0, 0..0);
    for to in 0..words.len() {
        bytes += words[to].len() + 1;
        sum += worths[to];
        while bytes > room + 1 && from <= to {
            bytes -= words[from].len() + 1;
            sum -= worths[from];
            from += 1;
        }
        if from <= to && sum > best.0 {
            best = (sum, from..to + 1);
        }
    }
    let range = best.1;
    if range.is_empty() {
        let first = words.first().copied().unwrap_or(line);
        return format!("{}{MARK}", &first[..first.floor_char_boundary(room)]);
    }
    let (start, end) = (range.start > 0, range.end < words.len());
    format!("{}{}{}", if start { MARK } else { "" }, joined(line, &words[range]), if end { MARK } else { "" })
}

/// Words with a blank where the line has one between them.
fn joined(line: &str, words: &[&str]) -> String {
    let base = line.as_ptr() as usize;
    let mut out = String::with_capacity(line.len().min(4_096));
    let mut last = None;
    for word in words {
        let at = word.as_ptr() as usize - base;
        if last.is_some_and(|end| end < at) {
            out.push(' ');
        }
        out.push_str(word);
        last = Some(at + word.len());
    }
    out
}
