use std::{fmt, str::FromStr};

use chrono::{DateTime, NaiveDateTime};
use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use hindsight_types::Timestamp;

/// When something is due: a cron expression of five fields, in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule(Cron);

impl Schedule {
    /// The latest time it was due, `now` included. `None`: never.
    pub fn latest(&self, now: Timestamp) -> Option<Timestamp> {
        back(self.0.find_previous_occurrence(&civil(now)?, true).ok()?)
    }

    /// When it is due next, after `now`. `None`: never again.
    pub fn next(&self, now: Timestamp) -> Option<Timestamp> {
        back(self.0.find_next_occurrence(&civil(now)?, false).ok()?)
    }
}

fn civil(time: Timestamp) -> Option<NaiveDateTime> {
    DateTime::from_timestamp(time.as_second(), 0).map(|t| t.naive_utc())
}

fn back(time: NaiveDateTime) -> Option<Timestamp> {
    Timestamp::from_second(time.and_utc().timestamp()).ok()
}

impl FromStr for Schedule {
    type Err = String;

    /// Minute, hour, day of the month, month, day of the week; or a name as in `@daily`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(text).map_err(|e| {
            format!("`{text}` is not a schedule: {e}; give minute, hour, day, month and weekday, as in \"30 3 * * *\"")
        })?;
        let schedule = Self(cron);
        if schedule.next(Timestamp::UNIX_EPOCH).is_none() {
            return Err(format!("`{text}` is never due; give a day that there is"));
        }
        Ok(schedule)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn the_latest_and_the_next_time_are_told_in_utc() {
        let daily: Schedule = "30 3 * * *".parse().unwrap();
        assert_eq!(daily.latest(at("2026-03-05T03:29:59Z")), Some(at("2026-03-04T03:30:00Z")));
        assert_eq!(daily.latest(at("2026-03-05T03:30:00Z")), Some(at("2026-03-05T03:30:00Z")));
        assert_eq!(daily.latest(at("2026-03-05T03:30:00.5Z")), Some(at("2026-03-05T03:30:00Z")));
        assert_eq!(daily.next(at("2026-03-05T03:30:00Z")), Some(at("2026-03-06T03:30:00Z")));
        let weekly: Schedule = "@weekly".parse().unwrap();
        assert_eq!(weekly.latest(at("2026-03-05T00:00:00Z")), Some(at("2026-03-01T00:00:00Z")));
        let last_day: Schedule = "0 0 L * *".parse().unwrap();
        assert_eq!(last_day.next(at("2026-02-05T00:00:00Z")), Some(at("2026-02-28T00:00:00Z")));
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_an_example() {
        for text in ["", "daily", "* * * *", "0 0 3 * * *", "61 * * * *", "0 0 30 2 *"] {
            let error = text.parse::<Schedule>().unwrap_err();
            assert!(error.contains("give "), "{text}: {error}");
        }
    }

    #[test]
    fn it_is_shown_as_it_was_written() {
        let shown = "*/15 2-4 * * 1".parse::<Schedule>().unwrap().to_string();
        assert_eq!(shown.parse::<Schedule>().unwrap().to_string(), shown);
    }
}
