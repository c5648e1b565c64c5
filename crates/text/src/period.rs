//! The time that a question speaks of: `last week`, `in May 2023`, `上个月`, `去年五月三号`.
//!
//! Parsers of dates that exist read a whole text as one date, most of them in English alone; here a time is
//! found within a sentence, in English and Chinese, as a stretch, and seen from a memory: a day or month without
//! a year is the latest one that has begun.

mod calendar;
mod chinese;
mod english;
mod number;
mod range;

use std::ops::Range;

use jiff::{Timestamp, ZonedDateTime, civil::DateTime};
use regex::{Captures, Regex};
use unicode_normalization::UnicodeNormalization;

use crate::truncate_chars;
use calendar::Calendar;

/// Longer texts are read up to here.
const READ_CHARS: usize = 4_000;

/// A time that a text speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    pub from: Timestamp,
    /// Not in it any more.
    pub until: Timestamp,
    /// How it is put.
    pub words: String,
}

/// A stretch of the calendar: from the first moment on, up to and without the second.
type Stretch = (DateTime, DateTime);

/// One way to put a time, and what it means.
type Form = (Regex, fn(&Captures<'_>, &Calendar) -> Option<Stretch>);

/// The time that the text speaks of, seen from `now` and in its time zone: of several the shortest stretch, of
/// equal ones the first.
pub fn period(text: &str, now: &ZonedDateTime) -> Option<Mention> {
    let text: String = truncate_chars(text, READ_CHARS).nfkc().collect();
    let calendar = Calendar::new(now);
    let seen = chinese::without_counts(&text);
    let mut all: Vec<(Range<usize>, Stretch)> = mentions(&seen, &calendar);
    all.extend(range::all(&seen, &calendar));
    let counts_from = |words: &Range<usize>| {
        let said = without_preposition(&text[words.clone()]);
        english::counts_from(&text[..words.end - said.len()])
    };
    // Nor what is a part of such a time: `May 2023` in `two days after 3 May 2023`.
    let not_meant: Vec<Range<usize>> =
        all.iter().map(|(words, _)| words).filter(|words| counts_from(words)).cloned().collect();
    let is_meant = |words: &Range<usize>| {
        let apart = |other: &Range<usize>| words.end <= other.start || other.end <= words.start;
        !not_meant.contains(words) && not_meant.iter().all(|other| apart(other) || other.len() < words.len())
    };
    let mut found: Vec<(usize, &str, Stretch)> = all
        .into_iter()
        .filter(|(words, _)| is_meant(words))
        .map(|(words, stretch)| (words.start, &text[words], stretch))
        .collect();
    // `last May` within `3 May last year`: what is said at greater length is meant.
    found.sort_by_key(|(at, words, _)| (std::cmp::Reverse(length(words)), *at));
    let mut apart: Vec<(usize, &str, Stretch)> = Vec::new();
    for (at, words, stretch) in found {
        if apart.iter().all(|(other, said, _)| at + words.len() <= *other || other + said.len() <= at) {
            apart.push((at, words, stretch));
        }
    }
    let shortest = |(at, _, (from, until)): &(usize, &str, Stretch)| (until.duration_since(*from), *at);
    let (at, words, stretch) = apart.into_iter().min_by_key(shortest)?;
    let end = at + words.len();
    let before = &text[..end - without_preposition(words).len()];
    let (from, until) = bounded(before, &text[end..], stretch, &calendar);
    let instant =
        |time: DateTime| time.to_zoned_datetime(now.time_zone().clone()).ok().map(|z| z.timestamp());
    let (from, until) = (instant(from)?, instant(until)?);
    (from < until).then(|| Mention { from, until, words: words.to_owned() })
}

fn mentions(text: &str, calendar: &Calendar) -> Vec<(Range<usize>, Stretch)> {
    let forms = english::FORMS.iter().chain(chinese::FORMS.iter());
    let of_form = |(pattern, meaning): &Form| -> Vec<(Range<usize>, Stretch)> {
        let read = |caps: Captures<'_>| Some((caps.get(0)?.range(), meaning(&caps, calendar)?));
        pattern.captures_iter(text).filter_map(read).collect()
    };
    forms.flat_map(of_form).collect()
}

/// How much is said; a Chinese character says as much as three letters.
fn length(words: &str) -> usize {
    let letters = without_preposition(words).chars().filter(|c| !c.is_whitespace());
    letters.map(|c| if crate::is_cjk(c) { 3 } else { 1 }).sum()
}

fn without_preposition(words: &str) -> &str {
    const PREPOSITIONS: [&str; 9] = ["in", "on", "during", "since", "until", "before", "after", "by", "of"];
    match words.split_once(char::is_whitespace) {
        Some((first, rest)) if PREPOSITIONS.iter().any(|p| first.eq_ignore_ascii_case(p)) => rest,
        _ => words,
    }
}

/// `since last week`, `before May`, `上周以来`, `五月之前`.
fn bounded(before: &str, after: &str, (from, until): Stretch, calendar: &Calendar) -> Stretch {
    let before = before.trim_end().to_lowercase();
    let last = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let said_after = |words: &[&str]| words.iter().any(|w| after.starts_with(w));
    if last == "since"
        || last.ends_with('自')
        || last.ends_with("自从")
        || said_after(&["以来", "至今", "到现在"])
    {
        (from, until.max(calendar.now))
    } else if last == "after" || said_after(&["以后", "之后"]) {
        (until, until.max(calendar.now))
    } else if matches!(last, "before" | "until") || said_after(&["以前", "之前"]) {
        (calendar.beginning(), from)
    } else {
        (from, until)
    }
}

#[cfg(test)]
mod tests;
