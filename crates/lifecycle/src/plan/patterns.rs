//! How often failure patterns were seen lately, counted anew from the runs that are stored.

use std::collections::BTreeMap;

use hindsight_ports::{StoreError, Upkeep};
use hindsight_types::{FailurePattern, Frequency, MemoryId, TenantId, Timestamp, TraceId, Work};
use jiff::SignedDuration;

use super::Planned;

/// Most patterns in one task.
const PATTERNS: usize = 50;
const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);
const MONTH: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A failure pattern with the ends of its runs, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub pattern: MemoryId,
    pub counted: Option<Frequency>,
    pub ends: Vec<Timestamp>,
}

/// How many of these runs are of late.
pub fn frequency(ends: &[Timestamp], now: Timestamp) -> Frequency {
    let since = |span| {
        let late = ends.iter().filter(|end| now.duration_since(**end) < span && **end <= now).count();
        u32::try_from(late).unwrap_or(u32::MAX)
    };
    Frequency { counted_at: now, week: since(WEEK), month: since(MONTH) }
}

/// What should be noted; `None`: what is noted is still so.
pub fn counted(seen: &Seen, now: Timestamp) -> Option<Frequency> {
    let next = frequency(&seen.ends, now);
    let same = seen.counted.is_some_and(|c| (c.week, c.month) == (next.week, next.month));
    (!same).then_some(next)
}

/// Patterns whose frequency is no longer what is noted.
pub fn plan(patterns: &[Seen], now: Timestamp) -> Vec<Planned> {
    let mut changed: Vec<MemoryId> =
        patterns.iter().filter(|seen| counted(seen, now).is_some()).map(|seen| seen.pattern).collect();
    changed.sort_unstable();
    changed.dedup();
    let task = |some: &[MemoryId]| {
        let why = format!("{} failure patterns were seen more or less often than is noted", some.len());
        Planned::new(Work::Recount { patterns: some.to_vec() }, why)
    };
    changed.chunks(PATTERNS).map(task).collect()
}

/// What has to be known of these patterns.
pub async fn rows(
    upkeep: &dyn Upkeep,
    tenant: &TenantId,
    patterns: &[FailurePattern],
    now: Timestamp,
) -> Result<Vec<Seen>, StoreError> {
    let mut rows = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        // Of what was not seen for a month nothing has to be asked.
        let late = now.duration_since(pattern.last_seen) < MONTH;
        let ends: BTreeMap<TraceId, Timestamp> =
            if late { upkeep.ends(tenant, &pattern.sources).await? } else { BTreeMap::new() };
        let (pattern, counted) = (pattern.id, pattern.frequency);
        rows.push(Seen { pattern, counted, ends: ends.into_values().collect() });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
