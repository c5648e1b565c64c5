use jiff::{
    Span, ToSpan, ZonedDateTime,
    civil::{Date, DateTime, Weekday},
};

use super::Stretch;

/// A unit in which people count time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// Stretches of time as seen from one moment.
pub(super) struct Calendar {
    pub(super) now: DateTime,
    pub(super) today: Date,
}

impl Calendar {
    pub(super) fn new(now: &ZonedDateTime) -> Self {
        Self { now: now.datetime(), today: now.date() }
    }

    /// Before anything that is remembered.
    pub(super) fn beginning(&self) -> DateTime {
        jiff::civil::date(1900, 1, 1).at(0, 0, 0, 0)
    }

    /// A day, `offset` days from today.
    pub(super) fn day(&self, offset: i32) -> Option<Stretch> {
        let day = self.today.checked_add(offset.days()).ok()?;
        days(day, 1)
    }

    /// Hours of a day: the second may be 24 and more, for the next morning.
    pub(super) fn hours(&self, offset: i32, from: i8, until: i8) -> Option<Stretch> {
        let (midnight, _) = self.day(offset)?;
        let at = |hour: i8| midnight.checked_add(i64::from(hour).hours()).ok();
        Some((at(from)?, at(until)?))
    }

    /// The whole unit of the calendar, `offset` units from the one we are in.
    pub(super) fn unit(&self, unit: Unit, offset: i32) -> Option<Stretch> {
        let today = self.today;
        let (first, step): (Date, Span) = match unit {
            Unit::Hour => return None,
            Unit::Day => (today, 1.day()),
            Unit::Week => (monday(today)?, 1.week()),
            Unit::Month => (today.first_of_month(), 1.month()),
            Unit::Quarter => {
                let month = (today.month() - 1) / 3 * 3 + 1;
                (Date::new(today.year(), month, 1).ok()?, 3.months())
            }
            Unit::Year => (today.first_of_year(), 1.year()),
        };
        let from = first.checked_add(step.checked_mul(i64::from(offset)).ok()?).ok()?;
        Some((midnight(from), midnight(from.checked_add(step).ok()?)))
    }

    /// From `count` units ago until now.
    pub(super) fn past(&self, count: i32, unit: Unit) -> Option<Stretch> {
        let from = self.now.checked_sub(span(count, unit)?).ok()?;
        let from = if unit == Unit::Hour { from } else { midnight(from.date()) };
        Some((from, self.now))
    }

    /// The time about `count` units ago: as wide as the unit is, since nobody counts more finely than he says.
    pub(super) fn ago(&self, count: i32, unit: Unit) -> Option<Stretch> {
        let then = self.now.checked_sub(span(count, unit)?).ok()?;
        let around = |days: i32| {
            let from = then.date().checked_sub(days.days()).ok()?;
            Some((midnight(from), midnight(then.date().checked_add((days + 1).days()).ok()?)))
        };
        match unit {
            Unit::Hour => Some((then.checked_sub(1.hour()).ok()?, then.checked_add(1.hour()).ok()?)),
            Unit::Day => around(i32::from(count > 7)),
            Unit::Week => around(3),
            Unit::Month => around(15),
            Unit::Quarter => around(45),
            Unit::Year => year(then.year()),
        }
    }

    /// A day of the week, in the week that is `offset` weeks from ours.
    pub(super) fn weekday_of(&self, weekday: Weekday, offset: i32) -> Option<Stretch> {
        let (first, _) = self.unit(Unit::Week, offset)?;
        let days = i32::from(weekday.to_monday_zero_offset());
        self::days(first.date().checked_add(days.days()).ok()?, 1)
    }

    /// The latest such day, today included.
    pub(super) fn latest_weekday(&self, weekday: Weekday) -> Option<Stretch> {
        let back = i32::from(self.today.weekday().since(weekday));
        self.day(-back)
    }

    /// Saturday and Sunday of the week that is `offset` weeks from ours.
    pub(super) fn weekend(&self, offset: i32) -> Option<Stretch> {
        let (saturday, _) = self.weekday_of(Weekday::Saturday, offset)?;
        days(saturday.date(), 2)
    }

    /// A month; without a year the latest that has begun.
    pub(super) fn month(&self, month: i8, year: Option<i16>) -> Option<Stretch> {
        let this = self.today.year();
        let year = year.unwrap_or(if month > self.today.month() { this.checked_sub(1)? } else { this });
        let first = Date::new(year, month, 1).ok()?;
        Some((midnight(first), midnight(first.checked_add(1.month()).ok()?)))
    }

    /// `length` days from a date on; without a year the latest that has begun.
    pub(super) fn date(&self, month: i8, day: i8, length: i32, year: Option<i16>) -> Option<Stretch> {
        let this = self.today.year();
        let found = |year| Date::new(year, month, day).ok();
        let date = match year {
            Some(year) => found(year)?,
            None => found(this).filter(|date| *date <= self.today).or_else(|| found(this.checked_sub(1)?))?,
        };
        days(date, length)
    }

    /// Spring 0, summer 1, autumn 2, winter 3 of the north: March, June, September and December begin one.
    pub(super) fn season(&self, season: i8, year: Option<i16>) -> Option<Stretch> {
        let begin = |year: i16| Date::new(year, season * 3 + 3, 1).ok();
        let this = self.today.year();
        let first = match year {
            Some(year) => begin(year)?,
            None => begin(this).filter(|date| *date <= self.today).or_else(|| begin(this.checked_sub(1)?))?,
        };
        Some((midnight(first), midnight(first.checked_add(3.months()).ok()?)))
    }

    /// The year that is `offset` years from ours.
    pub(super) fn year_from_now(&self, offset: i16) -> Option<i16> {
        self.today.year().checked_add(offset)
    }
}

pub(super) fn year(year: i16) -> Option<Stretch> {
    let first = Date::new(year, 1, 1).ok()?;
    Some((midnight(first), midnight(first.checked_add(1.year()).ok()?)))
}

fn days(first: Date, length: i32) -> Option<Stretch> {
    Some((midnight(first), midnight(first.checked_add(length.days()).ok()?)))
}

fn midnight(date: Date) -> DateTime {
    date.at(0, 0, 0, 0)
}

fn monday(date: Date) -> Option<Date> {
    date.checked_sub(i32::from(date.weekday().to_monday_zero_offset()).days()).ok()
}

fn span(count: i32, unit: Unit) -> Option<Span> {
    let count = i64::from(count);
    let span = Span::new();
    match unit {
        Unit::Hour => span.try_hours(count).ok(),
        Unit::Day => span.try_days(count).ok(),
        Unit::Week => span.try_weeks(count).ok(),
        Unit::Month => span.try_months(count).ok(),
        Unit::Quarter => span.try_months(count * 3).ok(),
        Unit::Year => span.try_years(count).ok(),
    }
}
