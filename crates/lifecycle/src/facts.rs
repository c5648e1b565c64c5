//! When a fact leaves: at its own end, a while after it was settled, a while after another took its place. Until
//! then it can be looked up with its history.

use hindsight_types::{Fact, FactStatus, MemoryId, Scope, Timestamp, Work};
use jiff::SignedDuration;

use crate::plan::Planned;

/// Most facts in one task.
pub const MOST: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactSettings {
    /// How long a fact stays after it was resolved.
    pub resolved: SignedDuration,
    /// How long a fact stays, out of sight, after it became obsolete.
    pub obsolete: SignedDuration,
}

impl Default for FactSettings {
    fn default() -> Self {
        Self { resolved: SignedDuration::from_hours(30 * 24), obsolete: SignedDuration::from_hours(90 * 24) }
    }
}

/// Facts of one user that are to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    pub scope: Scope,
    pub facts: Vec<MemoryId>,
    pub why: String,
}

impl From<Leaving> for Planned {
    fn from(leaving: Leaving) -> Self {
        Self::new(Work::ExpireFacts { facts: leaving.facts }, leaving.why)
    }
}

/// Why a fact is to be removed; `None`: it stays.
pub fn ended(fact: &Fact, settings: &FactSettings, now: Timestamp) -> Option<&'static str> {
    if fact.expires_at.is_some_and(|end| end <= now) {
        return Some("expired");
    }
    // Facts of long ago do not say when their status changed.
    let changed = fact.revision.as_ref().map_or(fact.retained_at, |revision| revision.at);
    let past = |since: Timestamp, stay: SignedDuration| now.duration_since(since) >= stay;
    match fact.status {
        FactStatus::Resolved if past(fact.resolved_at.unwrap_or(changed), settings.resolved) => {
            Some("resolved")
        }
        FactStatus::Obsolete if past(changed, settings.obsolete) => Some("obsolete"),
        _ => None,
    }
}

/// Facts that have ended, by user and reason.
pub fn plan(facts: &[Fact], settings: &FactSettings, now: Timestamp) -> Vec<Leaving> {
    let mut ended: Vec<(&Fact, &'static str)> =
        facts.iter().filter_map(|f| Some((f, self::ended(f, settings, now)?))).collect();
    ended.sort_by_cached_key(|(f, why)| {
        (f.scope.tenant.to_string(), f.scope.visibility.keyword(), *why, f.id)
    });
    ended.dedup_by_key(|(f, _)| f.id);
    let alike = |a: &(&Fact, &str), b: &(&Fact, &str)| a.0.scope == b.0.scope && a.1 == b.1;
    let tasks = ended.chunk_by(alike).flat_map(|same| same.chunks(MOST));
    let task = |facts: &[(&Fact, &str)]| Leaving {
        scope: facts[0].0.scope.clone(),
        facts: facts.iter().map(|(f, _)| f.id).collect(),
        why: format!("{} facts are {}", facts.len(), facts[0].1),
    };
    tasks.map(task).collect()
}

#[cfg(test)]
mod tests;
