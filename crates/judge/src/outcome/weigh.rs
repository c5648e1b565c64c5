//! From findings to a status with its confidence.

use hindsight_types::{EvidenceSource, OutcomeStatus};

use super::{Finding, InferredOutcome, words};

/// What a stated status says, in log odds.
const STATED: f32 = 3.0;
/// Log odds of success of a run about which nothing is found.
const PRIOR: f32 = 0.6;
/// Most that all findings together may say without a test: 0.9.
const UNTESTED: f32 = 2.2;

/// `stated` is the status that came with the run, `given` the verdict of the most trusted evidence that did.
pub(super) fn all(
    stated: OutcomeStatus,
    given: OutcomeStatus,
    evidence: Vec<Finding>,
    chinese: bool,
) -> InferredOutcome {
    let contradictions = contradictions(stated, &evidence, chinese);
    let odds = odds(&evidence);
    if stated != OutcomeStatus::Unknown {
        let sign = if stated == OutcomeStatus::Failure { -1.0 } else { 1.0 };
        let confidence = probability(STATED + sign * odds);
        return InferredOutcome { status: stated, confidence, evidence, contradictions, stated: true };
    }
    if evidence.is_empty() {
        let status = OutcomeStatus::Unknown;
        return InferredOutcome { status, confidence: 0.0, evidence, contradictions, stated: false };
    }
    let status = match given {
        OutcomeStatus::Unknown if partial(&evidence) => OutcomeStatus::Partial,
        OutcomeStatus::Unknown if PRIOR + odds > 0.0 => OutcomeStatus::Success,
        OutcomeStatus::Unknown => OutcomeStatus::Failure,
        known => known,
    };
    let towards = if status == OutcomeStatus::Failure { -(PRIOR + odds) } else { PRIOR + odds };
    let confidence = match status {
        // Between the two: what speaks for it is that somebody said so, and the user knows best.
        OutcomeStatus::Partial if evidence.first().is_some_and(|f| f.source <= EvidenceSource::User) => 0.7,
        OutcomeStatus::Partial => 0.6,
        _ => probability(towards),
    };
    InferredOutcome { status, confidence, evidence, contradictions, stated: given != OutcomeStatus::Unknown }
}

/// Log odds of success: the strongest finding of each source for and against, added and held in bounds.
fn odds(evidence: &[Finding]) -> f32 {
    let strongest = |source: EvidenceSource, verdict: OutcomeStatus| {
        let of = evidence.iter().filter(|f| f.source == source && f.verdict == verdict);
        of.map(|f| f.weight).fold(0.0_f32, f32::max)
    };
    // What a judge notes are different things, each small: they add up.
    let noted = |verdict: OutcomeStatus| {
        let of = evidence.iter().filter(|f| f.source == EvidenceSource::Judge && f.verdict == verdict);
        of.map(|f| f.weight).sum::<f32>()
    };
    let graded = [
        EvidenceSource::TestResult,
        EvidenceSource::ExitCode,
        EvidenceSource::User,
        EvidenceSource::AgentClaim,
    ];
    let rest: f32 = graded[1..]
        .iter()
        .map(|s| strongest(*s, OutcomeStatus::Success) - strongest(*s, OutcomeStatus::Failure))
        .sum();
    let noted = noted(OutcomeStatus::Success) - noted(OutcomeStatus::Failure);
    let tested = strongest(graded[0], OutcomeStatus::Success) - strongest(graded[0], OutcomeStatus::Failure);
    tested + (rest + noted).clamp(-UNTESTED, UNTESTED)
}

/// Somebody says that a part was done, and nothing that is trusted more says how it went.
fn partial(evidence: &[Finding]) -> bool {
    evidence.first().is_some_and(|f| f.verdict == OutcomeStatus::Partial)
}

fn probability(log_odds: f32) -> f32 {
    1.0 / (1.0 + (-log_odds).exp())
}

/// A claim against what is trusted more: the stated status, or the agent's own words, against the steps.
fn contradictions(stated: OutcomeStatus, evidence: &[Finding], chinese: bool) -> Vec<String> {
    let opposed = |a: OutcomeStatus, b: OutcomeStatus| {
        let good = |s| matches!(s, OutcomeStatus::Success);
        let bad = |s| matches!(s, OutcomeStatus::Failure);
        (good(a) && bad(b)) || (bad(a) && good(b))
    };
    let mut out = Vec::new();
    // What is weak does not contradict anybody.
    let seen = |f: &&Finding| f.weight >= 0.7 && f.source < EvidenceSource::AgentClaim;
    if stated != OutcomeStatus::Unknown {
        for finding in evidence.iter().filter(seen).filter(|f| opposed(stated, f.verdict)) {
            out.push(words::but(words::stated(stated, chinese), &finding.detail, chinese));
        }
    }
    for claim in evidence.iter().filter(|f| f.source == EvidenceSource::AgentClaim) {
        for finding in evidence.iter().filter(seen).filter(|f| opposed(claim.verdict, f.verdict)) {
            out.push(words::but(words::claimed(claim.verdict, chinese), &finding.detail, chinese));
        }
    }
    out
}
