//! `[lifecycle]`: what has to be known of a lesson before agents are given it, for all tenants and for those that
//! have their own rules.

use std::collections::BTreeMap;

use hindsight_types::{EvidencePolicies, EvidencePolicy, Gate, TenantId};
use serde::{Serialize, Serializer};

use crate::section::{Findings, Section};

/// How lessons come to serve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lifecycle(pub EvidencePolicies);

const GATES: [(&str, Gate); 3] = [("evidence", Gate::Evidence), ("people", Gate::People), ("off", Gate::Off)];

pub(crate) fn lifecycle(mut s: Section<'_>, f: &mut Findings) -> Lifecycle {
    let default = policy(&mut s, EvidencePolicy::default(), f);
    let mut policies = EvidencePolicies { default, ..EvidencePolicies::default() };
    for (name, mut table) in s.section("tenants", f).each(f) {
        match TenantId::new(name) {
            Ok(tenant) => drop(policies.tenants.insert(tenant, policy(&mut table, default, f))),
            Err(e) => f.mistakes.push(table.mistake("", format!("is not a tenant: {e}"))),
        }
        table.finish(f);
    }
    s.finish(f);
    Lifecycle(policies)
}

/// What is not set is as in `base`.
fn policy(s: &mut Section<'_>, base: EvidencePolicy, f: &mut Findings) -> EvidencePolicy {
    EvidencePolicy {
        gate: s.choice("gate", &GATES, f).unwrap_or(base.gate),
        hold_out: s.real("hold_out", 0.0..=0.5, f).unwrap_or(base.hold_out),
        promote: s.real("promote", 0.5..=1.0, f).unwrap_or(base.promote),
        retire: s.real("retire", 0.5..=1.0, f).unwrap_or(base.retire),
        runs: s.number("runs", 2..=100, f).unwrap_or(base.runs),
        window: s.number("window", 5..=200, f).unwrap_or(base.window),
    }
}

// How it is shown: as it would be written.

#[derive(Serialize)]
struct Shown<'a> {
    gate: &'static str,
    hold_out: f64,
    promote: f64,
    retire: f64,
    runs: u32,
    window: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tenants: BTreeMap<&'a str, Shown<'a>>,
}

impl Shown<'_> {
    fn new(policy: &EvidencePolicy) -> Self {
        let EvidencePolicy { gate, hold_out, promote, retire, runs, window } = *policy;
        let gate = GATES.iter().find(|(_, g)| *g == gate).map_or("", |(name, _)| name);
        Self { gate, hold_out, promote, retire, runs, window, tenants: BTreeMap::new() }
    }
}

impl Serialize for Lifecycle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tenants = self.0.tenants.iter().map(|(tenant, own)| (tenant.as_str(), Shown::new(own)));
        Shown { tenants: tenants.collect(), ..Shown::new(&self.0.default) }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
