//! Experience rules: what several runs with the same task did alike, as one lesson.
//!
//! Runs are of one group when scope, task type and outcome are the same, when they made the same changes in the same
//! order, and when their goals ask for the same. What all of them needed, in order, with whatever differed
//! between them left open, is the advice; changes that misled several of them are what it rejects. Each run is a
//! line of its own in the ledger of the rule, which begins as a candidate like any other lesson.
//!
//! ```text
//! Outline::of(&experience, &reading)                   what planning needs of a run
//! crowded(&outlines, &settings, now)                   runs of which it has to be known how often they were read
//! plan(&outlines, &lessons, &merged, &settings, now)   groups worth a rule, or a new look at one
//! possible(&experiences, &reading)                     ids that the rule of a group may have
//! condense(&experiences, &lessons, ..)                 the rule itself, with its evidence
//! rebuild(&experiences, rule, ..)                      the same of the runs that are left of one
//! ```

mod call;
mod outline;
mod path;
mod rule;
mod wording;

use std::collections::{BTreeMap, BTreeSet};

use hindsight_types::{Lesson, MemoryId, Scope, Step, Timestamp, TraceId, Work};

use crate::{goal::Goal, plan::Planned};

pub use outline::Outline;
pub use rule::{Condensed, condense, possible, rebuild};

/// Most runs that one rule is made of: the newest.
pub const MOST_RUNS: usize = 30;
/// Most different goals of one bucket that are compared with each other: those asked last.
const MOST_GOALS: usize = 300;
/// From so many sources on a lesson no longer names all of its runs.
const SOURCES_NAMED: usize = 100;

/// How a call is read. Logic about tools lives with the judge; it is passed in.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// What a call is for: the tool, or the program and its verb where the tool runs commands.
    pub purpose: fn(&Step) -> String,
    /// Whether it changes anything.
    pub changes: fn(&Step) -> bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleSettings {
    /// A group is summarised when it was read more often than this in the time that reads are counted for.
    pub reads: u64,
    /// Fewest runs of a rule.
    pub runs: usize,
}

impl Default for RuleSettings {
    fn default() -> Self {
        Self { reads: 5, runs: 3 }
    }
}

/// Runs to be summarised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub scope: Scope,
    /// The lesson they become, or have become already.
    pub rule: MemoryId,
    /// Experiences, by the time they ended.
    pub sources: Vec<MemoryId>,
    pub why: String,
}

impl From<Group> for Planned {
    fn from(group: Group) -> Self {
        Self::new(Work::Condense { sources: group.sources }, group.why)
    }
}

/// Experiences that may be of a group, by what is exactly alike.
pub fn crowded(runs: &[Outline], settings: &RuleSettings, now: Timestamp) -> Vec<MemoryId> {
    let buckets = buckets(runs, now).into_values().filter(|runs| runs.len() >= settings.runs);
    buckets.flat_map(|runs| runs.into_values().map(|run| run.experience)).collect()
}

/// Groups that were read enough and have something to say that their rule does not say yet. `lessons`: those of
/// the tenant that are there. `merged`: lessons that became part of
/// another one, which speaks for them.
pub fn plan(
    runs: &[Outline],
    lessons: &[Lesson],
    merged: &BTreeMap<MemoryId, MemoryId>,
    settings: &RuleSettings,
    now: Timestamp,
) -> Vec<Group> {
    let mut known: BTreeMap<MemoryId, &Lesson> = lessons.iter().map(|l| (l.id, l)).collect();
    for gone in merged.keys().filter(|id| !known.contains_key(id)).copied().collect::<Vec<_>>() {
        if let Some(lesson) = speaker(gone, merged).and_then(|id| known.get(&id).copied()) {
            known.insert(gone, lesson);
        }
    }
    let groups = buckets(runs, now).into_values().flat_map(|runs| alike(runs.into_values().collect()));
    groups.filter_map(|group| worth(group, &known, settings)).collect()
}

type Bucket<'a> = BTreeMap<&'a TraceId, &'a Outline>;

fn buckets(runs: &[Outline], now: Timestamp) -> BTreeMap<outline::Alike<'_>, Bucket<'_>> {
    let mut buckets: BTreeMap<_, Bucket<'_>> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.counts(now)) {
        buckets.entry(run.bucket()).or_default().insert(&run.trace_id, run);
    }
    buckets
}

/// The lesson that speaks for one that was merged, perhaps through others.
fn speaker(mut id: MemoryId, merged: &BTreeMap<MemoryId, MemoryId>) -> Option<MemoryId> {
    for _ in 0..=merged.len() {
        match merged.get(&id) {
            Some(next) => id = *next,
            None => return Some(id),
        }
    }
    None
}

/// The runs of a bucket by what they were asked for: goals that are alike, or alike to one that is.
fn alike(mut runs: Vec<&Outline>) -> Vec<Vec<&Outline>> {
    runs.sort_by_key(|run| run.age());
    let mut goals: Vec<&Goal> = Vec::new();
    for run in runs.iter().rev() {
        if goals.len() < MOST_GOALS && !goals.contains(&&run.goal) {
            goals.push(&run.goal);
        }
    }
    goals.sort_unstable();
    let mut group_of: Vec<usize> = (0..goals.len()).collect();
    for a in 0..goals.len() {
        for b in a + 1..goals.len() {
            let (of_a, of_b) = (group_of[a], group_of[b]);
            if of_a != of_b && goals[a].is_like(goals[b]) {
                let joined = of_a.min(of_b);
                group_of.iter_mut().filter(|g| **g == of_a || **g == of_b).for_each(|g| *g = joined);
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<&Outline>> = BTreeMap::new();
    for run in runs {
        if let Ok(at) = goals.binary_search(&&run.goal) {
            groups.entry(group_of[at]).or_default().push(run);
        }
    }
    groups.into_values().collect()
}

/// `runs`: oldest first.
fn worth(runs: Vec<&Outline>, known: &BTreeMap<MemoryId, &Lesson>, settings: &RuleSettings) -> Option<Group> {
    let reads = runs.iter().fold(0_u64, |sum, run| sum.saturating_add(run.reads));
    if reads <= settings.reads {
        return None;
    }
    let latest = &runs[runs.len().saturating_sub(MOST_RUNS)..];
    // Of these alone the worker makes it, so it must find the same one.
    let rule = rule_of(latest, known.iter().map(|(id, lesson)| (*id, lesson.created_at)))?;
    if latest.len() < settings.runs.max(2) || !path::is_worth_telling(latest) {
        return None;
    }
    let new = known.get(&rule).map_or(latest.len(), |lesson| unheard(latest, lesson));
    (new > 0).then(|| Group {
        scope: latest[0].scope.clone(),
        rule,
        sources: latest.iter().map(|run| run.experience).collect(),
        why: format!("{} runs did the same and were read {reads} times; {new} of them are new", runs.len()),
    })
}

/// The id of the group's rule: of those that its goals could have, the one that exists longest, else that of the
/// goal that most runs have.
fn rule_of(runs: &[&Outline], existing: impl Iterator<Item = (MemoryId, Timestamp)>) -> Option<MemoryId> {
    let mut counts: BTreeMap<&Goal, (usize, MemoryId)> = BTreeMap::new();
    for run in runs {
        counts.entry(&run.goal).or_insert_with(|| (0, run.rule())).0 += 1;
    }
    let possible: BTreeSet<MemoryId> = counts.values().map(|(_, id)| *id).collect();
    let oldest = existing.filter(|(id, _)| possible.contains(id)).min_by_key(|(id, since)| (*since, *id));
    let most = counts.iter().max_by_key(|(goal, (n, _))| (*n, std::cmp::Reverse(**goal)));
    oldest.map(|(id, _)| id).or(most.map(|(_, (_, id))| *id))
}

/// How many runs the rule has not heard of.
fn unheard(runs: &[&Outline], rule: &Lesson) -> usize {
    let names_all = rule.sources.len() < SOURCES_NAMED;
    let new = |run: &&&Outline| {
        !rule.sources.contains(&run.trace_id) && (names_all || run.ended_at > rule.last_supported_at)
    };
    runs.iter().filter(new).count()
}

#[cfg(test)]
mod tests;
