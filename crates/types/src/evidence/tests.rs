use proptest::{collection::vec, prelude::*, sample::select};

use uuid::Uuid;

use super::*;

fn line() -> impl Strategy<Value = Evidence> {
    use EvidenceOrigin::{Credited, Observed, Reported};
    use OutcomeStatus::{Failure, Partial, Success, Unknown};
    let verdict = select(vec![Verdict::Supported, Verdict::Refuted, Verdict::Ignored]);
    let exposure = select(vec![Exposure::Injected, Exposure::Withheld, Exposure::Observed]);
    let origin = select(vec![Observed, Credited, Reported]);
    let outcome = select(vec![Success, Partial, Failure, Unknown]);
    let scope = select(vec!["tenant", "user:anna", "user:本", "agent:bot", "task:incident"]);
    (verdict, exposure, origin, outcome, scope, 0..3u32, 0..3i64).prop_map(
        |(verdict, exposure, origin, outcome, scope, steps, at)| Evidence {
            id: EvidenceId(Uuid::nil()),
            memory_id: MemoryId(Uuid::nil()),
            scope: Scope::new(TenantId::new("acme").unwrap(), Visibility::parse(scope).unwrap()),
            trace_id: TraceId::new("t").unwrap(),
            verdict,
            exposure,
            origin,
            outcome,
            outcome_from: None,
            steps,
            tokens: steps * 10,
            at: Timestamp::from_second(at).unwrap(),
        },
    )
}

fn joined(lines: &[Evidence]) -> Evidence {
    lines.iter().skip(1).fold(lines[0].clone(), |sum, line| sum.join(line))
}

proptest! {
    #[test]
    fn neither_order_nor_repetition_matters(lines in vec(line(), 1..6), seed in any::<u64>()) {
        let mut shuffled = lines.clone();
        shuffled.extend(lines.clone());
        let half = shuffled.len() / 2;
        shuffled.rotate_left(seed as usize % half.max(1));
        shuffled.reverse();
        prop_assert_eq!(joined(&shuffled), joined(&lines));
        let (a, b) = lines.split_at(lines.len() / 2);
        if !a.is_empty() {
            prop_assert_eq!(joined(a).join(&joined(b)), joined(&lines), "in parts");
        }
    }

    #[test]
    fn a_known_outcome_is_never_lost(lines in vec(line(), 1..6)) {
        let known = lines.iter().any(|line| line.outcome != OutcomeStatus::Unknown);
        prop_assert_eq!(joined(&lines).outcome != OutcomeStatus::Unknown, known);
    }
}

#[test]
fn who_knows_better_is_heard_and_what_it_leaves_open_is_kept() {
    let line = |origin, verdict, outcome, at| Evidence {
        id: EvidenceId(Uuid::nil()),
        memory_id: MemoryId(Uuid::nil()),
        scope: Scope::new(TenantId::new("acme").unwrap(), Visibility::Tenant),
        trace_id: TraceId::new("t").unwrap(),
        verdict,
        exposure: Exposure::Injected,
        origin,
        outcome,
        outcome_from: None,
        steps: 0,
        tokens: 0,
        at: Timestamp::from_second(at).unwrap(),
    };
    let read = line(EvidenceOrigin::Credited, Verdict::Refuted, OutcomeStatus::Failure, 9);
    let said = line(EvidenceOrigin::Reported, Verdict::Supported, OutcomeStatus::Unknown, 1);
    let both = read.join(&said);
    assert_eq!((both.verdict, both.origin, both.at), (said.verdict, said.origin, said.at));
    assert_eq!((both.outcome, both.outcome_from), (read.outcome, Some((read.origin, read.at))));
    // The run is judged again: better.
    let again = line(EvidenceOrigin::Credited, Verdict::Refuted, OutcomeStatus::Success, 10);
    let all = both.join(&again);
    assert_eq!((all.verdict, all.outcome), (Verdict::Supported, OutcomeStatus::Success));
}

fn said_by(name: &str, at: i64) -> Evidence {
    let scope = Scope::new(TenantId::new("acme").unwrap(), Visibility::Tenant);
    let trace_id = TraceId::new(name).unwrap();
    Evidence {
        id: EvidenceId::of(MemoryId(Uuid::nil()), &scope.tenant, &trace_id),
        memory_id: MemoryId(Uuid::nil()),
        scope,
        trace_id,
        verdict: Verdict::Supported,
        exposure: Exposure::Observed,
        origin: EvidenceOrigin::Observed,
        outcome: OutcomeStatus::Success,
        outcome_from: None,
        steps: 1,
        tokens: 0,
        at: Timestamp::from_second(at).unwrap(),
    }
}

#[test]
fn the_teacher_is_the_earliest_source() {
    let run = |name: &str| TraceId::new(name).unwrap();
    let at = |sources: &[&str], lines: &[(&str, i64)]| {
        let sources: Vec<TraceId> = sources.iter().map(|name| run(name)).collect();
        let lines: Vec<Evidence> = lines.iter().map(|(name, at)| said_by(name, *at)).collect();
        teacher(&sources, &lines).cloned()
    };
    assert_eq!(at(&["z"], &[]), None);
    assert_eq!(at(&["z"], &[("q", 1)]), None, "another run");
    assert_eq!(at(&["z"], &[("z", 1), ("q", 0)]), Some(run("z")));
    assert_eq!(at(&["q", "q2", "z"], &[("q", 1), ("q2", 2)]), None, "z, which knew of no lesson to speak of");
    assert_eq!(at(&["q", "q2"], &[("q", 2), ("q2", 1)]), Some(run("q2")), "z was forgotten");
    assert_eq!(
        at(&["q", "q2"], &[("q", 2), ("q2", 1), ("q2", 3)]),
        Some(run("q")),
        "the latest line is the line"
    );
    assert_eq!(at(&[], &[("q", 1)]), None, "nobody knows");
}
