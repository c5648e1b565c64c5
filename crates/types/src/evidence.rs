use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{EvidenceId, MemoryId, OutcomeStatus, ReviewId, Scope, TenantId, Timestamp, TraceId, Visibility};

/// What a run said of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Verdict {
    Supported,
    Refuted,
    Ignored,
}

/// How a run met a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Exposure {
    /// It was shown.
    Injected,
    /// It would have been shown, and chance held it back.
    Withheld,
    /// The run met the situation without being told.
    Observed,
}

/// How a line came about. A later variant knows better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum EvidenceOrigin {
    /// A run that named no receipt was read.
    Observed,
    /// A run was read that named the receipt which shows or withholds the memory.
    Credited,
    /// The agent or a person said so.
    Reported,
}

/// One line of the ledger: what one run says of one memory. Counts are recomputed from these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub id: EvidenceId,
    pub memory_id: MemoryId,
    pub scope: Scope,
    pub trace_id: TraceId,
    pub verdict: Verdict,
    pub exposure: Exposure,
    pub origin: EvidenceOrigin,
    pub outcome: OutcomeStatus,
    /// Where `outcome` comes from when it is not from what `origin` and `at` tell: a writer leaves it out.
    pub outcome_from: Option<(EvidenceOrigin, Timestamp)>,
    /// 0: not known.
    pub steps: u32,
    /// 0: not known.
    pub tokens: u32,
    pub at: Timestamp,
}

impl Evidence {
    /// Two lines of the same run and memory as one. A join of a semilattice: neither the order in which lines
    /// arrive nor that one arrives twice makes a difference. The best known and latest verdict counts, and so
    /// does the best known and latest outcome among those that are known. Seen by the fewest.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let said = |e: &Self| (e.origin, e.at, e.verdict, e.exposure);
        let last = if said(self) >= said(other) { self } else { other };
        let ended = if self.ended() >= other.ended() { self } else { other };
        let from = ended.outcome_from.unwrap_or((ended.origin, ended.at));
        Self {
            scope: narrower(&self.scope, &other.scope).clone(),
            outcome: ended.outcome,
            outcome_from: (from != (last.origin, last.at)).then_some(from),
            steps: self.steps.max(other.steps),
            tokens: self.tokens.max(other.tokens),
            ..last.clone()
        }
    }

    fn ended(&self) -> impl Ord {
        let from = self.outcome_from.unwrap_or((self.origin, self.at));
        (self.outcome != OutcomeStatus::Unknown, from, self.outcome as u8)
    }
}

/// The run that taught a lesson, if it also speaks of it: what it says confirms nothing. That is the earliest of the
/// lesson's sources. As long as one of them says nothing it is that one, which judged before the lesson was known, and
/// there is nobody to leave out; when all of them speak, as with a lesson that was condensed from its runs or whose
/// first source was forgotten, it is the one whose line is the earliest.
pub fn teacher<'a>(sources: &[TraceId], lines: &'a [Evidence]) -> Option<&'a TraceId> {
    let mut spoke: BTreeMap<&TraceId, Timestamp> = BTreeMap::new();
    for line in lines.iter().filter(|line| sources.contains(&line.trace_id)) {
        let at = spoke.entry(&line.trace_id).or_insert(line.at);
        *at = line.at.max(*at);
    }
    let silent = sources.iter().any(|source| !spoke.contains_key(source));
    let earliest = spoke.into_iter().min_by_key(|(run, at)| (*at, *run));
    earliest.filter(|_| !silent).map(|(run, _)| run)
}

fn narrower<'a>(a: &'a Scope, b: &'a Scope) -> &'a Scope {
    let breadth = |s: &Scope| match s.visibility {
        Visibility::User(_) => 0,
        Visibility::Agent(_) | Visibility::Task(_) => 1,
        Visibility::Tenant => 2,
    };
    let key = |s: &Scope| (breadth(s), s.visibility.keyword());
    if key(a) <= key(b) { a } else { b }
}

/// What a person may say of a lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ReviewDecision {
    Approved,
    Rejected,
}

/// What a person said of a lesson; the newest counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The same request has the same.
    pub id: ReviewId,
    pub memory_id: MemoryId,
    /// That of the lesson.
    pub scope: Scope,
    pub decision: ReviewDecision,
    /// Name of the key with which it was said.
    pub by: String,
    pub reason: String,
    pub at: Timestamp,
}

/// What has to be known of a lesson before agents are given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// It is tried on a random half of the recalls, and serves once it is measured to help.
    #[default]
    Evidence,
    /// It serves once a person approved it. Nothing is tried.
    People,
    /// It serves as soon as it is learned.
    Off,
}

/// When a lesson serves, and when it no longer does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvidencePolicy {
    pub gate: Gate,
    /// Share of the recalls that do without an active lesson, so that it stays measured: 0 to 0.5.
    pub hold_out: f64,
    /// Probability that it helps from which it is promoted: 0.5 to 1.
    pub promote: f64,
    /// Probability that it harms from which it is retired: 0.5 to 1.
    pub retire: f64,
    /// Runs with the advice, and as many without, that are needed to compare the two.
    pub runs: u32,
    /// How many of the latest runs decide: the weight of a run falls by one part in so many with each that comes
    /// after it.
    pub window: u32,
}

impl Default for EvidencePolicy {
    fn default() -> Self {
        Self { gate: Gate::Evidence, hold_out: 0.05, promote: 0.9, retire: 0.9, runs: 3, window: 20 }
    }
}

/// The policy of every tenant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EvidencePolicies {
    pub default: EvidencePolicy,
    pub tenants: BTreeMap<TenantId, EvidencePolicy>,
}

impl EvidencePolicies {
    pub fn of(&self, tenant: &TenantId) -> EvidencePolicy {
        self.tenants.get(tenant).copied().unwrap_or(self.default)
    }
}

#[cfg(test)]
mod tests;
