use hindsight_ports::testkit::samples::{evidence, lesson, shared, tenant, time, trace};
use hindsight_types::{EvidenceOrigin, Exposure, Gate, MemoryId, OutcomeStatus, ReviewDecision, Verdict};
use proptest::{collection::vec, prelude::*, sample::select};
use rstest::rstest;
use uuid::Uuid;

use super::*;

/// Lines of runs, one after the other.
#[derive(Debug, Default, Clone)]
struct Ledger {
    lines: Vec<Evidence>,
    reviews: Vec<Review>,
}

impl Ledger {
    fn line(
        &mut self,
        verdict: Verdict,
        exposure: Exposure,
        outcome: OutcomeStatus,
        steps: u32,
    ) -> &mut Self {
        let scope = shared(&tenant("acme"));
        let (at, memory) = (self.now(), MemoryId(Uuid::nil()));
        let line = evidence(&scope, memory, &trace(&format!("run-{at}")), verdict, at);
        self.lines.push(Evidence { exposure, outcome, steps, tokens: 0, ..line });
        self
    }

    fn now(&self) -> i64 {
        (self.lines.len() + self.reviews.len()) as i64
    }

    /// A run that did it on its own.
    fn seen(&mut self, verdict: Verdict) -> &mut Self {
        self.line(verdict, Exposure::Observed, OutcomeStatus::Success, 0)
    }

    /// Runs that were given it.
    fn with(&mut self, successes: u32, failures: u32, steps: u32) -> &mut Self {
        (0..successes).for_each(|_| {
            self.line(Verdict::Supported, Exposure::Injected, OutcomeStatus::Success, steps);
        });
        (0..failures).for_each(|_| {
            self.line(Verdict::Refuted, Exposure::Injected, OutcomeStatus::Failure, steps);
        });
        self
    }

    /// Runs that were not.
    fn without(&mut self, successes: u32, failures: u32, steps: u32) -> &mut Self {
        (0..successes).for_each(|_| {
            self.line(Verdict::Ignored, Exposure::Withheld, OutcomeStatus::Success, steps);
        });
        (0..failures).for_each(|_| {
            self.line(Verdict::Ignored, Exposure::Withheld, OutcomeStatus::Failure, steps);
        });
        self
    }

    fn review(&mut self, decision: ReviewDecision) -> &mut Self {
        let at = self.now();
        self.reviews.push(Review {
            id: ReviewId(Uuid::from_u128(at as u128)),
            memory_id: MemoryId(Uuid::nil()),
            scope: shared(&tenant("acme")),
            decision,
            by: "ops".to_owned(),
            reason: "试过了, tried it".to_owned(),
            at: time(at),
        });
        self
    }

    fn standing(&self) -> Standing {
        standing(&self.lines, &self.reviews, &EvidencePolicy::default())
    }

    fn under(&self, gate: Gate) -> Stage {
        standing(&self.lines, &self.reviews, &EvidencePolicy { gate, ..EvidencePolicy::default() }).stage
    }
}

fn ledger() -> Ledger {
    Ledger::default()
}

fn active() -> Ledger {
    let mut ledger = ledger();
    ledger.seen(Verdict::Supported).with(6, 0, 8).without(2, 4, 12);
    assert_eq!(ledger.standing().stage, Stage::Active);
    ledger
}

#[test]
fn a_lesson_is_confirmed_then_tried_then_trusted() {
    let mut told = ledger();
    let at = told.standing();
    assert_eq!((at.stage, at.helps, at.success), (Stage::Candidate, 0.5, None));
    assert_eq!(at.next, "a run, other than the one that taught it, that confirms it");

    let at = told.seen(Verdict::Supported).standing();
    assert_eq!((at.stage, at.why.as_str()), (Stage::Canary, "confirmed by 1 other run"));
    assert_eq!(at.next, "3 more runs with the advice and 3 without");

    let at = told.without(1, 2, 12).with(1, 0, 8).standing();
    assert_eq!((at.stage, at.next.as_str()), (Stage::Canary, "2 more runs with the advice"));

    let at = told.with(3, 0, 8).standing();
    assert_eq!(at.stage, Stage::Active, "{at:?}");
    assert!(at.why.starts_with("success 79 % with it, 39 % without: better"), "{}", at.why);
    assert_eq!((at.supported, at.refuted, at.injected.runs, at.withheld.successes), (5, 0, 4, 1));
    assert!(at.success.is_some_and(|u| u.low > -0.1 && u.probability >= 0.9), "{at:?}");
    assert!(at.next.starts_with("retired when it harms with probability 0.90 (now 0."), "{}", at.next);
}

#[test]
fn a_lucky_streak_of_two_does_not_promote() {
    let mut told = ledger();
    told.seen(Verdict::Supported).without(0, 9, 12).with(2, 0, 1);
    assert_eq!(told.standing().stage, Stage::Canary);
    let mut told = ledger();
    told.seen(Verdict::Supported).with(9, 0, 1).without(0, 2, 12);
    assert_eq!(told.standing().stage, Stage::Canary, "as many are needed without it");
}

#[test]
fn fewer_steps_at_the_same_success_promote() {
    let mut told = ledger();
    let at = told.seen(Verdict::Supported).with(8, 0, 8).without(8, 0, 12).standing();
    assert_eq!(at.stage, Stage::Active, "{at:?}");
    assert!(at.why.starts_with("33 % fewer steps at the same success"), "{}", at.why);

    let at = ledger().seen(Verdict::Supported).with(5, 3, 8).without(8, 0, 12).standing();
    assert_ne!(at.stage, Stage::Active, "fewer steps do not make up for success");
    let at = ledger().seen(Verdict::Supported).with(8, 0, 12).without(8, 0, 12).standing();
    assert_eq!(at.stage, Stage::Canary, "nothing is better");
}

#[test]
fn what_harms_is_retired_at_any_stage() {
    let at = ledger().seen(Verdict::Refuted).seen(Verdict::Refuted).seen(Verdict::Refuted).standing();
    assert_eq!(at.stage, Stage::Retired, "a candidate: {at:?}");
    assert!(at.why.starts_with("harm: confirmed by 0 runs, contradicted by 3"), "{}", at.why);
    assert_eq!(at.next, "an approval");

    // Success falls although those who follow it say that it held.
    let mut told = ledger();
    told.seen(Verdict::Supported).without(8, 0, 8);
    (0..6).for_each(|_| {
        told.line(Verdict::Supported, Exposure::Injected, OutcomeStatus::Failure, 8);
    });
    let at = told.standing();
    assert_eq!(at.stage, Stage::Retired, "{at:?}");
    assert!(at.why.starts_with("harm: success ") && at.why.contains("% without"), "{}", at.why);

    assert_eq!(ledger().seen(Verdict::Refuted).standing().stage, Stage::Candidate, "once is no proof");
}

/// The world changes: what was good fails from now on.
#[rstest]
#[case::young(0, 7)]
#[case::proven(20, 6)]
#[case::old(500, 6)]
fn an_active_lesson_under_drift_is_retired_within(#[case] more: u32, #[case] failures: u32) {
    let mut told = active();
    told.with(more, 0, 8);
    for failure in 1.. {
        if told.with(0, 1, 8).standing().stage == Stage::Retired {
            assert!(failure >= 3, "{failure} failures are little");
            break;
        }
        assert!(failure < failures, "{failure} failures, and still {:?}", told.standing());
    }
    assert_eq!(told.seen(Verdict::Supported).standing().stage, Stage::Retired, "for good");
}

/// Where agents fail at most tasks anyway, advice that helps half of the time is worth following.
#[test]
fn hard_tasks_are_not_held_against_a_lesson() {
    let mut told = ledger();
    told.seen(Verdict::Supported);
    for _ in 0..12 {
        told.with(1, 1, 8).without(0, 2, 8);
    }
    assert_eq!(told.standing().stage, Stage::Active, "{:?}", told.standing());
}

#[test]
fn a_trusted_lesson_is_not_tried_again_for_want_of_runs_without_it() {
    let mut told = active();
    for _ in 0..40 {
        told.with(6, 1, 8);
    }
    assert_eq!(told.standing().stage, Stage::Active, "{:?}", told.standing());
}

#[test]
fn people_decide_until_it_harms() {
    let mut told = ledger();
    let at = told.review(ReviewDecision::Approved).standing();
    assert_eq!((at.stage, at.why.as_str()), (Stage::Active, "approved by ops: 试过了, tried it"));
    assert!(at.next.starts_with("nothing: approved by ops; retired when"), "{}", at.next);
    assert_eq!(told.with(0, 4, 8).standing().stage, Stage::Retired);
    assert_eq!(told.review(ReviewDecision::Approved).standing().stage, Stage::Active, "measured anew");
    assert_eq!(told.standing().injected.runs, 0);
    assert_eq!(told.with(0, 1, 8).standing().stage, Stage::Active);
    let at = told.review(ReviewDecision::Rejected).standing();
    assert_eq!((at.stage, at.next.as_str()), (Stage::Retired, "an approval"));
    assert_eq!(told.with(50, 0, 8).standing().stage, Stage::Retired, "rejected for good");
}

#[test]
fn gates_differ() {
    let (proven, mut approved, mut rejected) = (active(), ledger(), ledger());
    approved.review(ReviewDecision::Approved);
    rejected.seen(Verdict::Supported).review(ReviewDecision::Rejected);
    assert_eq!(proven.under(Gate::People), Stage::Candidate);
    assert_eq!(approved.under(Gate::People), Stage::Active);
    assert_eq!(approved.with(0, 4, 8).under(Gate::People), Stage::Retired);
    assert_eq!(ledger().under(Gate::Off), Stage::Active);
    assert_eq!(ledger().with(0, 9, 8).under(Gate::Off), Stage::Active);
    for gate in [Gate::Evidence, Gate::People, Gate::Off] {
        assert_eq!(rejected.under(gate), Stage::Retired);
    }
}

#[test]
fn a_lesson_does_not_confirm_itself() {
    let scope = shared(&tenant("acme"));
    let line = |name: &str| evidence(&scope, MemoryId(Uuid::nil()), &trace(name), Verdict::Supported, 1);
    let policy = EvidencePolicy::default();
    let at = |sources: &[&str], by: &[&str]| {
        let lines: Vec<Evidence> = by.iter().map(|name| line(name)).collect();
        of_lesson(&lesson(&scope, "loop", sources, 0), &lines, &[], &policy).stage
    };
    assert_eq!(at(&["a"], &["a"]), Stage::Candidate);
    assert_eq!(at(&["a"], &["b"]), Stage::Canary);
    assert_eq!(at(&["a", "b"], &["b"]), Stage::Canary, "another run taught the same");
    assert_eq!(at(&["b"], &["b"]), Stage::Candidate, "the first was forgotten");
}

/// The counts, the words and the stage go by the same runs.
#[test]
fn all_count_the_runs_other_than_the_teacher() {
    let scope = shared(&tenant("acme"));
    let line = |name: &str, at| evidence(&scope, MemoryId(Uuid::nil()), &trace(name), Verdict::Supported, at);
    let policy = EvidencePolicy::default();
    let at = |sources: &[&str]| {
        let lines = [line("q", 1), line("q2", 2)];
        let at = of_lesson(&lesson(&scope, "loop", sources, 0), &lines, &[], &policy);
        (at.supported, at.why)
    };
    // It became a canary with the first, and has been one since.
    assert_eq!(at(&["q", "q2", "z"]), (2, "confirmed by 1 other run".to_owned()));
    assert_eq!(
        at(&["q", "q2"]),
        (1, "confirmed by 1 other run".to_owned()),
        "z, which taught it, was forgotten"
    );
    assert_eq!(at(&["q", "q2", "q3"]), (2, "confirmed by 1 other run".to_owned()), "not yet heard");
}

fn ledgers() -> impl Strategy<Value = Ledger> {
    let verdict = select(vec![Verdict::Supported, Verdict::Refuted, Verdict::Ignored]);
    let exposure = select(vec![Exposure::Injected, Exposure::Withheld, Exposure::Observed]);
    let outcome = select(vec![
        OutcomeStatus::Success,
        OutcomeStatus::Partial,
        OutcomeStatus::Failure,
        OutcomeStatus::Unknown,
    ]);
    let review = prop_oneof![
        12 => Just(None),
        1 => Just(Some(ReviewDecision::Approved)),
        1 => Just(Some(ReviewDecision::Rejected)),
    ];
    vec((verdict, exposure, outcome, 0..30u32, review, 0..6i64), 0..40).prop_map(|all| {
        let mut told = ledger();
        for (verdict, exposure, outcome, steps, review, earlier) in all {
            told.line(verdict, exposure, outcome, steps);
            if let Some(last) = told.lines.last_mut() {
                // Times meet and go back.
                last.at = time((last.at.as_second() - time(0).as_second() - earlier).max(0));
            }
            if let Some(decision) = review {
                told.review(decision);
            }
        }
        told
    })
}

proptest! {
    #[test]
    fn the_set_of_lines_decides(told in ledgers(), seed in any::<u64>(), twice in any::<bool>()) {
        let mut other = told.clone();
        if twice {
            other.lines.extend(told.lines.clone());
            other.reviews.extend(told.reviews.clone());
        }
        let (lines, reviews) = (other.lines.len().max(1), other.reviews.len().max(1));
        other.lines.rotate_left(seed as usize % lines);
        other.lines.reverse();
        other.reviews.rotate_left(seed as usize % reviews);
        prop_assert_eq!(other.standing(), told.standing());
    }

    /// A run that is read again, and then reported on, is still one run.
    #[test]
    fn a_line_that_is_told_again_is_one_line(told in ledgers(), which in any::<prop::sample::Index>()) {
        prop_assume!(!told.lines.is_empty());
        let at = which.index(told.lines.len());
        let again = Evidence { origin: EvidenceOrigin::Reported, verdict: Verdict::Refuted, ..told.lines[at].clone() };
        let (mut replaced, mut added) = (told.clone(), told);
        replaced.lines[at] = replaced.lines[at].join(&again);
        added.lines.push(again);
        prop_assert_eq!(replaced.standing(), added.standing());
    }

    #[test]
    fn probabilities_are_such_and_counts_agree(told in ledgers()) {
        let at = told.standing();
        prop_assert!((0.0..=1.0).contains(&at.helps) && (0.0..=1.0).contains(&at.harms), "{:?}", at);
        let supported = told.lines.iter().filter(|l| l.verdict == Verdict::Supported).count();
        prop_assert_eq!(at.supported as usize, supported);
        prop_assert!(!at.why.is_empty() && !at.next.is_empty());
        let confirmed = supported > 0 || !told.reviews.is_empty();
        prop_assert!(confirmed || matches!(at.stage, Stage::Candidate | Stage::Retired), "{:?}", at);
    }
}
