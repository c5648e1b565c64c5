use hindsight_types::*;

use super::*;
use crate::testkit::{day, environment, experience, fact, lesson, pattern};

fn of(memory: Memory) -> ScoreFactors {
    factors(&memory, 0.5, SimilarityParts::default(), &Environment::default(), day(100), &Settings::default())
}

fn close(a: f32, b: f32) {
    assert!((a - b).abs() < 1e-4, "{a} is not {b}");
}

#[test]
fn a_success_halves_in_thirty_days_and_a_failure_in_180() {
    for (status, age) in [(OutcomeStatus::Success, 30), (OutcomeStatus::Failure, 180)] {
        let mut e = experience("t", "task", status);
        e.trajectory.ended_at = day(100 - age);
        close(of(Memory::Experience(Box::new(e))).decay, 0.5);
    }
    let mut p = pattern("sig");
    p.last_seen = day(100 - 180);
    close(of(Memory::FailurePattern(p)).decay, 0.5);
}

#[test]
fn age_counts_from_the_last_support() {
    let mut old_but_confirmed = lesson("k", "s", "a", Stage::Active);
    old_but_confirmed.created_at = day(-1000);
    old_but_confirmed.last_supported_at = day(100);
    close(of(Memory::Lesson(old_but_confirmed)).decay, 1.0);
}

#[test]
fn a_fact_fades_to_its_floor_only() {
    let mut ancient = fact("k", "likes tea");
    ancient.occurred_at = day(-10_000);
    close(of(Memory::Fact(ancient)).decay, 0.95);
    let mut future = fact("k", "likes tea");
    future.occurred_at = day(5_000);
    close(of(Memory::Fact(future)).decay, 1.0);
}

#[test]
fn reliability_is_laplace_over_the_ledger() {
    let mut l = lesson("k", "s", "a", Stage::Active);
    for (supported, refuted, expected) in
        [(0, 0, 0.5), (1, 0, 2.0 / 3.0), (3, 1, 4.0 / 6.0), (0, 4, 1.0 / 6.0)]
    {
        (l.supported, l.refuted) = (supported, refuted);
        close(of(Memory::Lesson(l.clone())).reliability, expected);
    }
    (l.supported, l.refuted) = (u32::MAX, u32::MAX);
    close(of(Memory::Lesson(l)).reliability, 0.5);
}

#[test]
fn only_a_named_and_different_environment_counts_as_elsewhere() {
    let mut e = experience("t", "task", OutcomeStatus::Success);
    e.trajectory.environment = environment(&["docker", "staging"]);
    let memory = Memory::Experience(Box::new(e));
    let factor = |tags: &[&str]| {
        factors(&memory, 0.5, SimilarityParts::default(), &environment(tags), day(100), &Settings::default())
            .environment
    };
    close(factor(&["k8s"]), 0.5);
    close(factor(&["Docker"]), 1.0);
    close(factor(&[]), 1.0);
}

#[test]
fn trust_follows_the_best_evidence_that_agrees() {
    let mut e = experience("t", "task", OutcomeStatus::Success);
    let evidence =
        |source, verdict| OutcomeEvidence { source, verdict, detail: String::new(), observed_at: None };
    let mut trust = |list: Vec<OutcomeEvidence>| {
        e.trajectory.outcome.evidence = list;
        of(Memory::Experience(Box::new(e.clone()))).trust
    };
    close(trust(vec![]), 0.5);
    close(trust(vec![evidence(EvidenceSource::AgentClaim, OutcomeStatus::Success)]), 0.7);
    close(
        trust(vec![
            evidence(EvidenceSource::TestResult, OutcomeStatus::Failure),
            evidence(EvidenceSource::User, OutcomeStatus::Success),
        ]),
        0.9,
    );
}

#[test]
fn stages_and_settled_facts_count_less() {
    let stage = |s| of(Memory::Lesson(lesson("k", "s", "a", s))).stage;
    assert!(stage(Stage::Retired) < stage(Stage::Candidate));
    assert!(stage(Stage::Candidate) < stage(Stage::Canary));
    assert!(stage(Stage::Canary) < stage(Stage::Active));
    let mut settled = fact("k", "order shipped");
    settled.status = FactStatus::Resolved;
    close(of(Memory::Fact(settled)).stage, 0.5);
}

#[test]
fn a_broken_confidence_is_worth_nothing() {
    let mut f = fact("k", "x");
    f.confidence = f32::NAN;
    close(of(Memory::Fact(f)).trust, 0.0);
}
