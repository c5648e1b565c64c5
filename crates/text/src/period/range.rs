//! From one time to another: `between March and May 2024`, `2023年5月到7月`. What one end leaves out, the other says.

use std::{ops::Range, sync::LazyLock};

use jiff::ToSpan as _;
use regex::{Captures, Regex};

use super::{Stretch, calendar::Calendar, chinese, english, mentions};

/// Two ends `a` and `b`, the English with their years `ya` and `yb`, the Chinese in their parts.
static FORMS: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    let plain =
        |pattern: &str| pattern.replace("?P<month>", "?:").replace("?P<day>", "?:").replace("?P<year>", "?:");
    let (month, day, year) = (plain(english::MONTH), plain(english::DAY), plain(english::YEAR));
    let date = format!(r"(?:the )?(?:{day}(?: of)? {month}|{month}\.? {day}|{month})");
    let ends = |any: bool| {
        let end = |name: &str, alone: bool, needed: &str| {
            let iso = r"(?:19|20|21)\d\d[-/.][01]?\d[-/.][0-3]?\d";
            let alone = if alone { format!("|{iso}|{year}") } else { String::new() };
            format!("(?P<{name}>{date}(?:,? (?P<y{name}>{year})){needed}{alone})")
        };
        let (from, needed) = if any { ("(?:between|from) ", "?") } else { ("", "") };
        let (a, b) = (end("a", any, "?"), end("b", any, needed));
        format!(r"(?i)\b{from}{a}(?: ?[-–—~] ?| (?:and|to|until|till|through) ){b}\b")
            .replace(' ', r"\s+")
            .replace(r"\s+?", r"\s*")
    };
    let (y, m, d) = (
        chinese::YEAR.replace("?P<year>", "?:").replace("?P<from_now>", "?:"),
        plain(chinese::MONTH),
        plain(chinese::DAY),
    );
    let end = |n: &str| format!("(?P<y{n}>{y})?的?(?P<m{n}>{m})?份?(?P<d{n}>{d})?");
    let chinese = format!(r"{}\s*(?:到|至|[-–—~])\s*{}", end("a"), end("b"));
    [ends(true), ends(false), chinese].map(|pattern| match Regex::new(&pattern) {
        Ok(regex) => regex,
        Err(e) => unreachable!("constant pattern: {e}"),
    })
});

/// All of a text and where they stand.
pub(super) fn all(text: &str, calendar: &Calendar) -> Vec<(Range<usize>, Stretch)> {
    let of_form = |form: &Regex| -> Vec<(Range<usize>, Stretch)> {
        let read = |caps: Captures<'_>| {
            let ends = if caps.name("a").is_some() { english(&caps) } else { chinese(&caps) };
            Some((caps.get(0)?.range(), whole(ends?, calendar)?))
        };
        form.captures_iter(text).filter_map(read).collect()
    };
    FORMS.iter().flat_map(of_form).collect()
}

/// The ends in words, and which of them goes by the year of the other or by none.
struct Ends {
    a: String,
    b: String,
    open: (bool, bool),
}

fn english(caps: &Captures<'_>) -> Option<Ends> {
    let get = |name| caps.name(name).map(|m| m.as_str());
    let named = |end: &str| {
        end.starts_with(|c: char| c.is_ascii_digit())
            && end.get(..4).is_some_and(|y| y.parse::<u16>().is_ok())
    };
    let end = |end: &str, own: Option<&str>, other: Option<&str>| match (own, other) {
        (None, Some(year)) if !named(end) => format!("in {end} {year}"),
        _ => format!("in {end}"),
    };
    let (a, b, ya, yb) = (get("a")?, get("b")?, get("ya"), get("yb"));
    let open = (ya.is_none() && !named(a), yb.is_none() && !named(b));
    Some(Ends { a: end(a, ya, yb), b: end(b, yb, ya), open })
}

fn chinese(caps: &Captures<'_>) -> Option<Ends> {
    let get = |name| caps.name(name).map(|m| m.as_str());
    let (ya, ma, da) = (get("ya"), get("ma"), get("da").unwrap_or_default());
    let (yb, mb, db) = (get("yb"), get("mb"), get("db").unwrap_or_default());
    // `5月3日到5日`; a day without a month, or an end without a year and a month, is none.
    let month = if db.is_empty() { mb } else { mb.or(ma) };
    if ma.or(ya).is_none() || month.or(yb).is_none() || (ma.is_none() && !da.is_empty()) {
        return None;
    }
    let end = |year: Option<&str>, month: Option<&str>, day: &str| {
        format!("{}{}{day}", year.unwrap_or_default(), month.unwrap_or_default())
    };
    let open = (ya.is_none(), yb.is_none());
    Some(Ends { a: end(ya.or(yb), ma, da), b: end(yb.or(ya), month, db), open })
}

/// Where the years are open, the stretch may go over the turn of one.
fn whole(Ends { a, b, open }: Ends, calendar: &Calendar) -> Option<Stretch> {
    let longest = |text: &str| {
        mentions(text, calendar).into_iter().max_by_key(|(words, _)| words.len()).map(|(_, stretch)| stretch)
    };
    let ((from, _), (_, until)) = (longest(&a)?, longest(&b)?);
    if from < until {
        return Some((from, until));
    }
    match open {
        (true, _) => Some((from.checked_sub(1.year()).ok()?, until)),
        (_, true) => Some((from, until.checked_add(1.year()).ok()?)),
        _ => None,
    }
    .filter(|(from, until)| from < until)
}
