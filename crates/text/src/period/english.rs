use std::sync::LazyLock;

use jiff::civil::Weekday;
use regex::{Captures, Regex};

use super::{
    Form, Stretch,
    calendar::{self, Calendar, Unit},
    number::{number, year},
};

pub(super) const MONTH: &str = "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|\
                     sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const WEEKDAY: &str = "(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)";
pub(super) const YEAR: &str = r"(?P<year>(?:19|20|21)\d\d)";
pub(super) const DAY: &str = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?";
const NUMBER: &str = r"(?P<number>\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\
                       (?:a )?few|(?:a )?couple(?: of)?|several)";
const UNIT: &str = "(?P<unit>hour|day|week|month|quarter|year)";
const WHICH: &str = "(?P<which>last|past|previous|this|current|next|coming)";

pub(super) static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    vec![
        form(r"(?P<year>(?:19|20|21)\d\d)[-/.](?P<number>[01]?\d)[-/.](?P<day>[0-3]?\d)", iso),
        form(&format!(r"(?:the )?{DAY}(?: of)? {MONTH}(?:,? {YEAR})?"), date),
        form(&format!(r"{MONTH}\.? {DAY}(?:,? {YEAR})?"), date),
        form(&format!(r"{MONTH},?(?: of)? {YEAR}"), month),
        form(&format!("(?:in|during|since|until|before|after|by|of|early|late|mid) {MONTH}"), month),
        form(&format!("{WHICH} {MONTH}"), which_month),
        form(&format!("(?:in|during|since|until|before|after|of) {YEAR}"), whole_year),
        form("today", |_, c| c.day(0)),
        form("yesterday(?: (?P<part>morning|afternoon|evening|night))?", |m, c| part(m, c, -1)),
        form("(?:the )?day before yesterday", |_, c| c.day(-2)),
        form("tomorrow(?: (?P<part>morning|afternoon|evening|night))?", |m, c| part(m, c, 1)),
        form("(?:the )?day after tomorrow", |_, c| c.day(2)),
        form("this (?P<part>morning|afternoon|evening)", |m, c| part(m, c, 0)),
        form("tonight", |_, c| c.hours(0, 18, 30)),
        form("last (?P<part>night|evening)", |m, c| part(m, c, -1)),
        form("the other day", |_, c| c.past(7, Unit::Day)),
        form(&format!("{WHICH} {UNIT}"), which_unit),
        form(&format!("{WHICH} weekend"), |m, c| c.weekend(offset(&m["which"]))),
        form("(?:over|on|at) the weekend", |_, c| c.weekend(-1)),
        form(&format!("(?:last|past|previous) {NUMBER} {UNIT}s?"), |m, c| {
            c.past(number(&m["number"])?, unit(m)?)
        }),
        form(&format!("{NUMBER} {UNIT}s? ago"), |m, c| c.ago(number(&m["number"])?, unit(m)?)),
        form(&format!("{WHICH} {WEEKDAY}"), which_weekday),
        form(&format!("(?:on |since )?{WEEKDAY}"), |m, c| c.latest_weekday(weekday(m)?)),
        form(&format!("{WHICH} (?P<season>spring|summer|autumn|fall|winter)"), season),
        form(
            &format!(
                "(?:in |during )?(?:the )?(?P<season>spring|summer|autumn|fall|winter)(?: of)?,? {YEAR}"
            ),
            season,
        ),
        form("(?:in|during) (?:the )?(?P<season>spring|summer|autumn|fall|winter)", season),
        form(
            &format!(
                "(?:{WHICH} )?(?P<feast>christmas|new year's eve|new year's day|new year's|halloween|valentine's day)\
                 (?:(?: of)? {YEAR})?"
            ),
            feast,
        ),
    ]
});

static COUNTS_FROM: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        format!(r"(?i)\b(?:{NUMBER}|the)\s+{UNIT}s?\s+(?:before|after|until|prior\s+to)\s+(?:the\s+)?$");
    match Regex::new(&pattern) {
        Ok(regex) => regex,
        Err(e) => unreachable!("constant pattern: {e}"),
    }
});

/// `two weeks before` a time is neither that time nor all that was before it.
pub(super) fn counts_from(before: &str) -> bool {
    COUNTS_FROM.is_match(before)
}

fn form(pattern: &str, meaning: fn(&Captures<'_>, &Calendar) -> Option<Stretch>) -> Form {
    match Regex::new(&format!(r"(?i)\b(?:{})\b", pattern.replace(' ', r"\s+"))) {
        Ok(regex) => (regex, meaning),
        Err(e) => unreachable!("constant pattern: {e}"),
    }
}

fn iso(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let month = caps["number"].parse().ok()?;
    calendar.date(month, caps["day"].parse().ok()?, 1, year(&caps["year"]))
}

fn named_year(caps: &Captures<'_>) -> Option<i16> {
    caps.name("year").and_then(|y| year(y.as_str()))
}

fn date(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    calendar.date(month_of(caps)?, caps["day"].parse().ok()?, 1, named_year(caps))
}

fn month(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    calendar.month(month_of(caps)?, named_year(caps))
}

/// `last May`: the latest that is over; `next May`: the first that has not begun.
fn which_month(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let month = month_of(caps)?;
    let here = calendar.today.month();
    let year = match offset(&caps["which"]) {
        -1 => calendar.year_from_now(if month < here { 0 } else { -1 }),
        1 => calendar.year_from_now(if month > here { 0 } else { 1 }),
        _ => calendar.year_from_now(0),
    };
    calendar.month(month, Some(year?))
}

fn whole_year(caps: &Captures<'_>, _: &Calendar) -> Option<Stretch> {
    calendar::year(named_year(caps)?)
}

fn part(caps: &Captures<'_>, calendar: &Calendar, day: i32) -> Option<Stretch> {
    match caps.name("part").map(|p| p.as_str().to_lowercase()).as_deref() {
        Some("morning") => calendar.hours(day, 4, 12),
        Some("afternoon") => calendar.hours(day, 12, 18),
        Some("evening" | "night") => calendar.hours(day, 17, 30),
        _ => calendar.day(day),
    }
}

fn offset(which: &str) -> i32 {
    match which.to_lowercase().as_str() {
        "last" | "past" | "previous" => -1,
        "next" | "coming" => 1,
        _ => 0,
    }
}

fn unit(caps: &Captures<'_>) -> Option<Unit> {
    match caps["unit"].to_lowercase().as_str() {
        "hour" => Some(Unit::Hour),
        "day" => Some(Unit::Day),
        "week" => Some(Unit::Week),
        "month" => Some(Unit::Month),
        "quarter" => Some(Unit::Quarter),
        "year" => Some(Unit::Year),
        _ => None,
    }
}

/// `the past week` goes up to now, `last week` is the one before ours.
fn which_unit(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let (which, unit) = (caps["which"].to_lowercase(), unit(caps)?);
    match (which.as_str(), unit) {
        ("past", _) | ("last", Unit::Hour) => calendar.past(1, unit),
        _ => calendar.unit(unit, offset(&which)),
    }
}

fn weekday(caps: &Captures<'_>) -> Option<Weekday> {
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let at = days.iter().position(|day| caps["weekday"].eq_ignore_ascii_case(day))?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

/// `last Friday` is the latest that is over, `next Friday` the first to come.
fn which_weekday(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let day = weekday(caps)?;
    let today = calendar.today.weekday();
    let ahead = |days: i8| if days == 0 { 7 } else { i32::from(days) };
    match offset(&caps["which"]) {
        -1 => calendar.day(-ahead(today.since(day))),
        1 => calendar.day(ahead(today.until(day))),
        _ => calendar.weekday_of(day, 0),
    }
}

fn season(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let season = match caps["season"].to_lowercase().as_str() {
        "spring" => 0,
        "summer" => 1,
        "winter" => 3,
        _ => 2,
    };
    let which = caps.name("which").map(|w| offset(w.as_str()));
    let year = match which {
        Some(-1) => {
            let (_, over) = calendar.season(season, None)?;
            let latest = over <= calendar.now;
            let (from, _) = calendar.season(season, None)?;
            Some(if latest { from.year() } else { from.year().checked_sub(1)? })
        }
        Some(offset) => calendar.year_from_now(i16::try_from(offset).ok()?),
        None => named_year(caps),
    };
    calendar.season(season, year)
}

fn feast(caps: &Captures<'_>, calendar: &Calendar) -> Option<Stretch> {
    let (month, day, length) = match caps["feast"].to_lowercase().as_str() {
        "christmas" => (12, 24, 3),
        "new year's eve" => (12, 31, 1),
        "halloween" => (10, 31, 1),
        "valentine's day" => (2, 14, 1),
        _ => (1, 1, 1),
    };
    let next = caps.name("which").is_some_and(|w| offset(w.as_str()) == 1);
    let latest = calendar.date(month, day, length, named_year(caps))?;
    if next { calendar.date(month, day, length, Some(latest.0.year().checked_add(1)?)) } else { Some(latest) }
}

fn month_of(caps: &Captures<'_>) -> Option<i8> {
    pub(super) const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let name = caps["month"].to_lowercase();
    let at = MONTHS.iter().position(|month| name.starts_with(month))?;
    i8::try_from(at + 1).ok()
}
