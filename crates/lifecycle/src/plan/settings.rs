use std::collections::BTreeMap;

use hindsight_types::{Policy, TenantId};

use super::{Schedule, raw_events::RawEventSettings};
use crate::{archive::ArchiveSettings, facts::FactSettings, rules::RuleSettings};

/// How memories of a tenant age.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    timings: BTreeMap<Policy, Timing>,
    pub raw_events: RawEventSettings,
    pub rules: RuleSettings,
    pub archive: ArchiveSettings,
    pub facts: FactSettings,
}

/// Whether and when a policy is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    pub enabled: bool,
    pub schedule: Schedule,
}

impl Settings {
    pub fn timing(&self, policy: Policy) -> Option<&Timing> {
        self.timings.get(&policy)
    }

    pub fn set_timing(&mut self, policy: Policy, timing: Timing) {
        self.timings.insert(policy, timing);
    }

    pub fn enabled(&self, policy: Policy) -> bool {
        self.timing(policy).is_some_and(|timing| timing.enabled)
    }

    /// What a policy does with its thresholds, in words.
    pub fn describe(&self, policy: Policy) -> String {
        let days = |seconds: u64| seconds / (24 * 60 * 60);
        match policy {
            Policy::RawEvents => {
                let s = &self.raw_events;
                format!(
                    "raw events leave after {} days, unless their run is important, at most {} like it are known and \
                     at most {} recalls of 30 days brought it",
                    days(s.keep.as_secs()),
                    s.rare_runs,
                    s.rare_reads
                )
            }
            Policy::Lessons => "lessons get the stage that their evidence says".to_owned(),
            Policy::FailurePatterns => {
                "it is counted anew how often failure patterns were seen in 7 and in 30 days".to_owned()
            }
            Policy::Condense => {
                let s = &self.rules;
                format!(
                    "{} or more runs alike that were read more than {} times become a rule",
                    s.runs, s.reads
                )
            }
            Policy::Merge => "memories that say the same become one".to_owned(),
            Policy::Archive => {
                let s = &self.archive;
                format!(
                    "what has faded below {}, and runs with {} later ones like them, leave for the archive; what is \
                     rare and important stays; after {} days in the archive they are deleted",
                    s.faded,
                    s.served_per_goal,
                    days(s.keep.as_secs())
                )
            }
            Policy::Contradictions => {
                "of memories that contradict each other the older is superseded".to_owned()
            }
            Policy::Facts => {
                let s = &self.facts;
                format!(
                    "expired facts leave; resolved ones after {} days, obsolete ones after {} days",
                    s.resolved.as_hours() / 24,
                    s.obsolete.as_hours() / 24
                )
            }
        }
    }
}

/// Spread over the quiet hours, so that one has what another left: first what counts, then what makes of many one,
/// then what leaves.
fn usual(policy: Policy) -> &'static str {
    match policy {
        Policy::Lessons => "7 * * * *",
        Policy::Facts => "41 * * * *",
        Policy::FailurePatterns => "12 1 * * *",
        Policy::Contradictions => "42 1 * * *",
        Policy::Condense => "12 2 * * *",
        Policy::Merge => "42 2 * * *",
        Policy::RawEvents => "12 3 * * *",
        Policy::Archive => "42 3 * * *",
    }
}

impl Default for Settings {
    fn default() -> Self {
        let timing = |policy| {
            let schedule: Schedule = usual(policy).parse().ok()?;
            Some((policy, Timing { enabled: true, schedule }))
        };
        Self {
            timings: Policy::ALL.into_iter().filter_map(timing).collect(),
            raw_events: RawEventSettings::default(),
            rules: RuleSettings::default(),
            archive: ArchiveSettings::default(),
            facts: FactSettings::default(),
        }
    }
}

/// Settings of all tenants, and of those that have their own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ByTenant {
    pub all: Settings,
    pub own: BTreeMap<TenantId, Settings>,
}

impl ByTenant {
    pub fn of(&self, tenant: &TenantId) -> &Settings {
        self.own.get(tenant).unwrap_or(&self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_has_its_time_and_its_words() {
        let settings = Settings::default();
        for policy in Policy::ALL {
            assert!(settings.enabled(policy), "{}", policy.as_str());
            assert!(!settings.describe(policy).is_empty());
        }
        assert!(settings.describe(Policy::RawEvents).contains("14 days"));
        assert!(settings.describe(Policy::Facts).contains("30 days"));
    }

    #[test]
    fn a_tenant_has_its_own_settings_or_those_of_all() {
        let (own, other) = (TenantId::new("own").unwrap(), TenantId::new("other").unwrap());
        let mut mine = Settings::default();
        mine.raw_events.rare_runs = 9;
        let settings = ByTenant { all: Settings::default(), own: BTreeMap::from([(own.clone(), mine)]) };
        assert_eq!(settings.of(&own).raw_events.rare_runs, 9);
        assert_eq!(settings.of(&other).raw_events.rare_runs, 3);
    }
}
