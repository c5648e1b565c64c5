//! How memories age: per policy whether and when it is applied and its thresholds, for all tenants and for those that
//! have their own.

use std::{collections::BTreeMap, time::Duration};

use hindsight_lifecycle::plan::{ByTenant, Settings, Timing};
use hindsight_types::{Policy, TenantId};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::section::{Findings, Section};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const LONGEST: Duration = Duration::from_secs(3_650 * 24 * 60 * 60);

#[derive(Debug, Clone)]
pub struct Compaction {
    /// Most tasks of one run.
    pub tasks_per_run: usize,
    pub policies: ByTenant,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { tasks_per_run: 1_000, policies: ByTenant::default() }
    }
}

fn key(policy: Policy) -> &'static str {
    match policy {
        Policy::RawEvents => "raw_events",
        Policy::Lessons => "lessons",
        Policy::FailurePatterns => "failure_patterns",
        Policy::Condense => "condense",
        Policy::Merge => "merge",
        Policy::Archive => "archive",
        Policy::Contradictions => "contradictions",
        Policy::Facts => "facts",
    }
}

pub(crate) fn compaction(mut s: Section<'_>, f: &mut Findings) -> Compaction {
    let d = Compaction::default();
    let tasks_per_run = s.number("tasks_per_run", 1..=100_000, f).unwrap_or(d.tasks_per_run);
    let all = policies(&mut s, &d.policies.all, f);
    let mut own = BTreeMap::new();
    for (name, mut tenant) in s.section("tenants", f).each(f) {
        match TenantId::new(name) {
            Ok(id) => drop(own.insert(id, policies(&mut tenant, &all, f))),
            Err(e) => f.mistakes.push(tenant.mistake("", format!("is not a tenant: {e}"))),
        }
        tenant.finish(f);
    }
    s.finish(f);
    Compaction { tasks_per_run, policies: ByTenant { all, own } }
}

/// What is not set is as in `base`.
fn policies(s: &mut Section<'_>, base: &Settings, f: &mut Findings) -> Settings {
    let mut settings = base.clone();
    for policy in Policy::ALL {
        let mut p = s.section(key(policy), f);
        let (enabled, schedule) = (p.switch("enabled", f), p.parsed("schedule", f));
        if let Some(Timing { enabled: on, schedule: usual }) = base.timing(policy).cloned() {
            let timing = Timing { enabled: enabled.unwrap_or(on), schedule: schedule.unwrap_or(usual) };
            settings.set_timing(policy, timing);
        }
        thresholds(policy, &mut p, &mut settings, f);
        p.finish(f);
    }
    settings
}

fn thresholds(policy: Policy, s: &mut Section<'_>, to: &mut Settings, f: &mut Findings) {
    match policy {
        Policy::RawEvents => {
            let raw = &mut to.raw_events;
            raw.keep = s.duration("keep", HOUR..=LONGEST, f).unwrap_or(raw.keep);
            raw.rare_runs = s.number("rare_runs", 0..=1_000_000, f).unwrap_or(raw.rare_runs);
            raw.rare_reads = s.number("rare_reads", 0..=1_000_000, f).unwrap_or(raw.rare_reads);
        }
        Policy::Condense => {
            let rules = &mut to.rules;
            rules.reads = s.number("reads", 0..=1_000_000, f).unwrap_or(rules.reads);
            rules.runs = s.number("runs", 2..=30, f).unwrap_or(rules.runs);
        }
        Policy::Archive => {
            let archive = &mut to.archive;
            archive.faded = s.fraction("faded", f).unwrap_or(archive.faded);
            let half_life = |name, s: &mut Section<'_>, f: &mut Findings| {
                s.duration(name, DAY..=LONGEST, f).map(|time| time.as_secs_f64() / DAY.as_secs_f64())
            };
            let success = half_life("success_half_life", s, f);
            archive.success_half_life = success.unwrap_or(archive.success_half_life);
            let failure = half_life("failure_half_life", s, f);
            archive.failure_half_life = failure.unwrap_or(archive.failure_half_life);
            archive.kept_per_goal = s.number("kept_per_goal", 0..=1_000, f).unwrap_or(archive.kept_per_goal);
            archive.kept = s.number("kept", 0..=1_000_000, f).unwrap_or(archive.kept);
            let served = s.number("served_per_goal", 1..=1_000_000, f);
            archive.served_per_goal = served.unwrap_or(archive.served_per_goal);
            archive.keep = s.duration("keep", DAY..=LONGEST, f).unwrap_or(archive.keep);
        }
        Policy::Facts => {
            let facts = &mut to.facts;
            let stay = |name, s: &mut Section<'_>, f: &mut Findings| {
                s.duration(name, Duration::ZERO..=LONGEST, f)?.try_into().ok()
            };
            facts.resolved = stay("resolved", s, f).unwrap_or(facts.resolved);
            facts.obsolete = stay("obsolete", s, f).unwrap_or(facts.obsolete);
        }
        Policy::Lessons | Policy::FailurePatterns | Policy::Merge | Policy::Contradictions => {}
    }
}

// How it is shown: as it would be written.

impl Serialize for Compaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tasks_per_run", &self.tasks_per_run)?;
        for (key, table) in tables(&self.policies.all) {
            map.serialize_entry(key, &table)?;
        }
        let tenants: BTreeMap<&str, BTreeMap<&str, toml::Table>> =
            self.policies.own.iter().map(|(tenant, own)| (tenant.as_str(), tables(own))).collect();
        if !tenants.is_empty() {
            map.serialize_entry("tenants", &tenants)?;
        }
        map.end()
    }
}

fn tables(settings: &Settings) -> BTreeMap<&'static str, toml::Table> {
    Policy::ALL.into_iter().map(|policy| (key(policy), table(settings, policy))).collect()
}

fn table(settings: &Settings, policy: Policy) -> toml::Table {
    let mut table = toml::Table::new();
    if let Some(timing) = settings.timing(policy) {
        table.insert("enabled".to_owned(), timing.enabled.into());
        table.insert("schedule".to_owned(), timing.schedule.to_string().into());
    }
    let mut set = |key: &str, value: toml::Value| drop(table.insert(key.to_owned(), value));
    let time = |time: Duration| humantime::format_duration(time).to_string().into();
    let days = |days: f64| time(Duration::try_from_secs_f64(days * DAY.as_secs_f64()).unwrap_or(LONGEST));
    let count = |n: u64| toml::Value::Integer(i64::try_from(n).unwrap_or(i64::MAX));
    match policy {
        Policy::RawEvents => {
            let raw = &settings.raw_events;
            set("keep", time(raw.keep));
            set("rare_runs", count(raw.rare_runs));
            set("rare_reads", count(raw.rare_reads));
        }
        Policy::Condense => {
            set("reads", count(settings.rules.reads));
            set("runs", count(settings.rules.runs as u64));
        }
        Policy::Archive => {
            let archive = &settings.archive;
            set("faded", archive.faded.into());
            set("success_half_life", days(archive.success_half_life));
            set("failure_half_life", days(archive.failure_half_life));
            set("kept_per_goal", count(archive.kept_per_goal as u64));
            set("kept", count(archive.kept as u64));
            set("served_per_goal", count(archive.served_per_goal as u64));
            set("keep", time(archive.keep));
        }
        Policy::Facts => {
            let stay = |span| time(Duration::try_from(span).unwrap_or_default());
            set("resolved", stay(settings.facts.resolved));
            set("obsolete", stay(settings.facts.obsolete));
        }
        Policy::Lessons | Policy::FailurePatterns | Policy::Merge | Policy::Contradictions => {}
    }
    table
}

#[cfg(test)]
mod tests;
