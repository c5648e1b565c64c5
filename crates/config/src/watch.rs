//! `[watch]`: when the memory speaks up by itself, and what a stream may take.

use std::time::Duration;

use serde::Serialize;

use crate::{
    model::duration,
    section::{Findings, Section},
};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Debug, Clone, Serialize)]
pub struct Watch {
    /// Reminders of one stream. 0: it never speaks.
    pub reminders: usize,
    /// After a warning about a tool, so long nothing of the kind about this tool.
    #[serde(serialize_with = "duration")]
    pub cool_down: Duration,
    /// Runs of the last 30 days that must have seen a failure before a call is warned of it.
    pub min_times: usize,
    /// How like the call a failed one must be.
    pub alike: f64,
    /// How often a suggestion must have held: `(1 + supported) / (2 + supported + refuted)`.
    pub reliability: f64,
    /// Similarity that the best of a kind must reach before it is said without being asked.
    pub floor: f64,
    /// Time for what has to be searched for: at the start, after a failure, when the user asks.
    #[serde(serialize_with = "duration")]
    pub deadline: Duration,
    /// Streams that one key may have open.
    pub streams_per_key: usize,
    /// Events of one stream.
    pub events: usize,
    /// A stream without an event for so long ends.
    #[serde(serialize_with = "duration")]
    pub idle: Duration,
    /// Failures of the last 30 days that calls are compared with, the latest ones, of what one viewer sees.
    pub failures: usize,
    /// Room for them in memory.
    pub failures_mib: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            reminders: 10,
            cool_down: Duration::from_secs(10),
            min_times: 3,
            alike: 0.5,
            reliability: 0.34,
            floor: 0.3,
            deadline: SECOND,
            streams_per_key: 256,
            events: 10_000,
            idle: HOUR / 2,
            failures: 4_000,
            failures_mib: 64,
        }
    }
}

pub(crate) fn watch(mut s: Section<'_>, f: &mut Findings) -> Watch {
    let d = Watch::default();
    let watch = Watch {
        reminders: s.number("reminders", 0..=1_000, f).unwrap_or(d.reminders),
        cool_down: s.duration("cool_down", Duration::ZERO..=24 * HOUR, f).unwrap_or(d.cool_down),
        min_times: s.number("min_times", 1..=100, f).unwrap_or(d.min_times),
        alike: s.fraction("alike", f).unwrap_or(d.alike),
        reliability: s.fraction("reliability", f).unwrap_or(d.reliability),
        floor: s.fraction("floor", f).unwrap_or(d.floor),
        deadline: s.duration("deadline", SECOND / 100..=60 * SECOND, f).unwrap_or(d.deadline),
        streams_per_key: s.number("streams_per_key", 1..=100_000, f).unwrap_or(d.streams_per_key),
        events: s.number("events", 1..=1_000_000, f).unwrap_or(d.events),
        idle: s.duration("idle", SECOND..=24 * HOUR, f).unwrap_or(d.idle),
        failures: s.number("failures", 1..=100_000, f).unwrap_or(d.failures),
        failures_mib: s.number("failures_mib", 1..=65_536, f).unwrap_or(d.failures_mib),
    };
    s.finish(f);
    watch
}
