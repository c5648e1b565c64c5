//! The factors of a score beside similarity.

use hindsight_types::{
    Environment, EvidenceSource, Experience, FactStatus, Memory, OutcomeStatus, ScoreFactors,
    SimilarityParts, Stage, Timestamp,
};

use crate::Settings;

const SECONDS_PER_DAY: f64 = 86_400.0;

pub(crate) fn factors(
    memory: &Memory,
    similarity: f32,
    parts: SimilarityParts,
    environment: &Environment,
    now: Timestamp,
    settings: &Settings,
) -> ScoreFactors {
    ScoreFactors {
        similarity,
        parts,
        decay: decay(memory, now, settings),
        reliability: reliability(memory),
        environment: if is_elsewhere(memory, environment) { settings.other_environment } else { 1.0 },
        trust: trust(memory),
        stage: stage(memory, settings),
    }
}

/// When the memory was last supported: the time its age is counted from.
pub(crate) fn supported_at(memory: &Memory) -> Timestamp {
    match memory {
        Memory::Fact(m) => m.occurred_at,
        Memory::Experience(m) => m.trajectory.ended_at,
        Memory::Lesson(m) => m.last_supported_at,
        Memory::FailurePattern(m) => m.last_seen,
        Memory::Step(m) => m.recorded_at,
    }
}

/// Days since the memory was last supported; negative for a time that is still to come.
pub(crate) fn age_days(memory: &Memory, now: Timestamp) -> f64 {
    now.as_second().saturating_sub(supported_at(memory).as_second()) as f64 / SECONDS_PER_DAY
}

/// 0.5^(age / half-life). Facts have no outcome: they fade to a floor only, so that of two equally near
/// ones the newer wins and none is lost by age.
fn decay(memory: &Memory, now: Timestamp, settings: &Settings) -> f32 {
    let age = age_days(memory, now).max(0.0);
    let half = |days: f32| 0.5_f64.powf(age / f64::from(days.max(f32::EPSILON))) as f32;
    let of_outcome = |outcome: OutcomeStatus| match outcome {
        OutcomeStatus::Failure => half(settings.failure_half_life_days),
        _ => half(settings.success_half_life_days),
    };
    match memory {
        Memory::Fact(_) => {
            let floor = settings.fact_decay_floor.clamp(0.0, 1.0);
            floor + (1.0 - floor) * half(settings.fact_half_life_days)
        }
        Memory::Experience(m) => of_outcome(m.evaluation.outcome),
        Memory::Lesson(m) => of_outcome(m.source_outcome),
        Memory::FailurePattern(_) => half(settings.failure_half_life_days),
        Memory::Step(m) => of_outcome(m.outcome),
    }
}

/// (1 + supported) / (2 + supported + refuted), by the ledger. Beside it the statement or the run a memory comes from
/// counts as one support, each run a failure was seen in as another; a lesson has only what its ledger counts.
fn reliability(memory: &Memory) -> f32 {
    let (supported, refuted) = match memory {
        Memory::Fact(_) | Memory::Step(_) => (1, 0),
        Memory::Experience(m) => {
            let known = m.trajectory.outcome.resolved() != OutcomeStatus::Unknown;
            (m.supported.saturating_add(known.into()), m.refuted)
        }
        Memory::Lesson(m) => (m.supported, m.refuted),
        Memory::FailurePattern(m) => {
            let seen = u32::try_from(m.sources.len()).unwrap_or(u32::MAX);
            (m.supported.saturating_add(seen), m.refuted)
        }
    };
    let (supported, refuted) = (f64::from(supported), f64::from(refuted));
    ((1.0 + supported) / (2.0 + supported + refuted)) as f32
}

/// True when both sides name where they are and share no tag.
pub(crate) fn is_elsewhere(memory: &Memory, here: &Environment) -> bool {
    let there = match memory {
        Memory::Experience(m) => &m.trajectory.environment,
        Memory::Lesson(m) => &m.environment,
        Memory::FailurePattern(m) => &m.environment,
        Memory::Fact(_) | Memory::Step(_) => return false,
    };
    let same = |a: &String| here.tags.iter().any(|b| a.eq_ignore_ascii_case(b));
    !here.tags.is_empty() && !there.tags.is_empty() && !there.tags.iter().any(same)
}

/// By the best evidence for the outcome: a test result is trusted most, a judge least. A failure pattern
/// rests on an error that was observed, a fact on the confidence it was stated with.
fn trust(memory: &Memory) -> f32 {
    match memory {
        Memory::Fact(m) if m.confidence.is_finite() => m.confidence.clamp(0.0, 1.0),
        Memory::Fact(_) => 0.0,
        Memory::Experience(m) => best_evidence(m).map_or(0.5, grade),
        Memory::Lesson(m) => of_known(m.source_outcome),
        Memory::FailurePattern(_) => grade(EvidenceSource::ExitCode),
        Memory::Step(m) => of_known(m.outcome),
    }
}

fn of_known(outcome: OutcomeStatus) -> f32 {
    if outcome == OutcomeStatus::Unknown { 0.5 } else { 0.8 }
}

/// The most trusted evidence, stated or read from the steps, that agrees with how the run is judged to have
/// ended.
pub(crate) fn best_evidence(experience: &Experience) -> Option<EvidenceSource> {
    let Experience { trajectory, evaluation, .. } = experience;
    let all = trajectory.outcome.evidence.iter().chain(&evaluation.outcome_evidence);
    all.filter(|e| e.verdict == evaluation.outcome).map(|e| e.source).min()
}

fn grade(source: EvidenceSource) -> f32 {
    match source {
        EvidenceSource::TestResult => 1.0,
        EvidenceSource::ExitCode => 0.95,
        EvidenceSource::User => 0.9,
        EvidenceSource::AgentClaim => 0.7,
        EvidenceSource::Judge => 0.6,
    }
}

fn stage(memory: &Memory, settings: &Settings) -> f32 {
    match memory {
        Memory::Lesson(m) => match settings.serving.stage(m) {
            Stage::Candidate => settings.candidate_stage,
            Stage::Canary => settings.canary_stage,
            Stage::Active => 1.0,
            Stage::Retired => 0.0,
        },
        Memory::Fact(m) if m.status == FactStatus::Resolved => settings.resolved_fact,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests;
