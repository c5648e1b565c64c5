use hindsight_ports::testkit::samples::{evidence, shared, tenant, trace};
use hindsight_types::{MemoryId, Verdict};
use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

fn line(outcome: OutcomeStatus, steps: u32) -> Evidence {
    let scope = shared(&tenant("acme"));
    let memory = MemoryId::lesson(&scope.tenant, "tenant", "l");
    Evidence { outcome, steps, tokens: 0, ..evidence(&scope, memory, &trace("t"), Verdict::Supported, 0) }
}

fn tally(runs: &[(OutcomeStatus, u32)]) -> Tally {
    let mut tally = Tally::new(20.0);
    runs.iter().for_each(|(outcome, steps)| tally.add(&line(*outcome, *steps)));
    tally
}

fn compare<T>(
    with: &[(OutcomeStatus, u32)],
    without: &[(OutcomeStatus, u32)],
    ask: impl Fn(&Comparison<'_>) -> T,
) -> T {
    let (with, without) = (tally(with), tally(without));
    ask(&Comparison { with: &with, without: &without, needed: 3 })
}

use OutcomeStatus::{Failure, Partial, Success, Unknown};

#[test]
fn success_is_compared_and_bounded() {
    let with = [(Success, 8), (Success, 8), (Success, 8), (Success, 8)];
    let without = [(Failure, 0), (Success, 12), (Failure, 0), (Failure, 0)];
    let uplift = compare(&with, &without, |c| c.success()).unwrap();
    assert!((uplift.value - 0.5).abs() < 0.05, "{uplift:?}");
    assert!(uplift.probability > 0.95 && uplift.low > 0.0 && uplift.high < 0.9, "{uplift:?}");
    assert!(uplift.low < uplift.value && uplift.value < uplift.high);
}

#[test]
fn too_few_runs_are_not_compared() {
    let (two, three) = (vec![(Success, 8); 2], vec![(Failure, 8); 3]);
    assert!(compare(&two, &three, |c| c.better()).is_none());
    assert!(compare(&three, &two, |c| c.success()).is_none());
    let mut unknown = two.clone();
    unknown.extend([(Unknown, 8); 9]);
    assert!(compare(&unknown, &three, |c| c.better()).is_none(), "an unknown end says nothing");
}

#[test]
fn saved_steps_are_a_share() {
    let (with, without) = (vec![(Success, 8); 6], vec![(Success, 12); 6]);
    let saved = compare(&with, &without, |c| c.steps().unwrap().uplift());
    assert!((saved.value - 1.0 / 3.0).abs() < 1e-9, "{saved:?}");
    assert!(saved.low > 0.1 && saved.high < 0.5 && saved.probability > 0.99, "{saved:?}");
    let lost = compare(&without, &with, |c| c.steps().unwrap().uplift());
    assert!((lost.value + 0.5).abs() < 1e-9 && lost.probability < 0.01, "{lost:?}");
    let same = compare(&with, &with, |c| c.steps().unwrap().uplift());
    assert!(same.value.abs() < 1e-9 && (same.probability - 0.5).abs() < 1e-9);
}

/// Three runs that are equal by chance are no proof of a small difference.
#[test]
fn equal_runs_are_not_certain() {
    let saved = compare(&[(Success, 10); 3], &[(Success, 11); 3], |c| c.steps().unwrap().uplift());
    assert!(saved.probability < 0.9, "{saved:?}");
}

#[test]
fn steps_of_failures_do_not_count() {
    let with = [(Success, 8), (Success, 8), (Success, 8), (Failure, 1)];
    assert!((tally(&with).arm().steps - 8.0).abs() < 1e-9);
    assert_eq!(tally(&[(Failure, 5)]).arm().steps, 0.0);
}

#[test]
fn the_latest_runs_decide() {
    let mut turned = vec![(Success, 8); 60];
    turned.extend(vec![(Failure, 8); 20]);
    assert!(tally(&turned).success().mean() < 0.45);
    assert_eq!(tally(&turned).arm().runs, 80);
}

fn runs() -> impl Strategy<Value = Vec<(OutcomeStatus, u32)>> {
    vec((select(vec![Success, Failure, Partial, Unknown]), 0..50u32), 0..40)
}

proptest! {
    #[test]
    fn a_probability_is_one(with in runs(), without in runs()) {
        let within = |p: Option<f64>| p.is_none_or(|p| (0.0..=1.0).contains(&p));
        prop_assert!(within(compare(&with, &without, |c| c.better())));
        prop_assert!(within(compare(&with, &without, |c| c.steps().map(|s| s.probability()))));
        if let Some(u) = compare(&with, &without, |c| c.success()) {
            prop_assert!(u.low <= u.high && u.low >= -1.0 && u.high <= 1.0);
        }
    }

    /// Whether one more run succeeds or one that failed is taken to have succeeded.
    #[test]
    fn more_success_never_helps_less(with in runs(), without in runs(), which in any::<prop::sample::Index>()) {
        let before = compare(&with, &without, |c| c.better());
        let mut more = with.clone();
        more.push((Success, 5));
        let added = compare(&more, &without, |c| c.better());
        if let (Some(before), Some(added)) = (before, added) {
            prop_assert!(added >= before - 1e-9, "{added} after {before}");
        }
        let mut turned = with;
        let failed: Vec<usize> =
            turned.iter().enumerate().filter(|(_, r)| r.0 == Failure).map(|(at, _)| at).collect();
        if !failed.is_empty() {
            turned[failed[which.index(failed.len())]].0 = Success;
            if let (Some(before), Some(turned)) = (before, compare(&turned, &without, |c| c.better())) {
                prop_assert!(turned >= before - 1e-9, "{turned} after {before}");
            }
        }
    }
}
