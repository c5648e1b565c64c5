//! Lessons that chance keeps back.

use super::*;

/// Recalls with ids that never change.
fn receipts(n: u128) -> impl Iterator<Item = ReceiptId> {
    (0..n).map(|n| ReceiptId(uuid::Uuid::from_u128(n)))
}

/// A recall that does without the one lesson and has the other.
fn without(this: MemoryId, but: &[MemoryId]) -> ReceiptId {
    let fits = |r: &ReceiptId| r.draw(this) < 0.05 && but.iter().all(|id| r.draw(*id) >= 0.5);
    receipts(10_000).find(fits).unwrap()
}

fn advice(key: &str, stage: Stage) -> Lesson {
    lesson(key, QUERY, &format!("raise the memory limit by {key}"), stage)
}

fn given(ranking: &Ranking) -> Vec<MemoryId> {
    ranking.items.iter().map(|i| i.memory.id()).collect()
}

fn hit_of(lesson: &Lesson) -> Proposed {
    near(Memory::Lesson(lesson.clone()), QUERY)
}

/// The smallest `c` such that at most one in a million binomial counts lies further than `c` from its mean, computed
/// from the exact distribution.
fn bound(n: u64, p: f64) -> u64 {
    let log_factorial = |k: u64| (1..=k).map(|i| (i as f64).ln()).sum::<f64>();
    let all = log_factorial(n);
    let pmf = |k: u64| {
        let ways = all - log_factorial(k) - log_factorial(n - k);
        (ways + k as f64 * p.ln() + (n - k) as f64 * (1.0 - p).ln()).exp()
    };
    let mean = (n as f64 * p).round() as u64;
    let outside = |c: u64| (0..=n).filter(|k| k.abs_diff(mean) > c).map(pmf).sum::<f64>();
    (0..=n).find(|c| outside(*c) <= 1e-6).unwrap()
}

#[test]
fn a_lesson_on_trial_is_given_to_half_and_a_proven_one_to_nearly_all() {
    const RECALLS: u64 = 400;
    for (stage, reason, share) in
        [(Stage::Canary, WithheldReason::Control, 0.5), (Stage::Active, WithheldReason::HoldOut, 0.05)]
    {
        let tried = advice("512Mi", stage);
        let mut held = 0_u64;
        for receipt in receipts(RECALLS.into()) {
            let ranking = served(Serving::default(), vec![hit_of(&tried)], |r| r.receipt = receipt);
            match super::reason(&ranking, tried.id) {
                None => assert_eq!(given(&ranking), [tried.id]),
                Some(why) => {
                    assert_eq!(why, reason);
                    assert!(ranking.items.is_empty() && ranking.empty_reason.contains("by chance"));
                    held += 1;
                }
            }
        }
        let mean = (RECALLS as f64 * share) as u64;
        assert!(held.abs_diff(mean) <= bound(RECALLS, share), "{held} of {RECALLS} at {share}");
    }
}

#[test]
fn one_that_would_not_be_served_is_not_drawn_for() {
    let tried = advice("512Mi", Stage::Canary);
    let receipt = without(tried.id, &[]);
    let at = |hits: Vec<Proposed>, limit: usize, budget: usize| {
        let change = |r: &mut Request<'_>| (r.receipt, r.limit, r.token_budget) = (receipt, limit, budget);
        reason(&served(Serving::default(), hits, change), tried.id)
    };
    let far = hit(Memory::Lesson(lesson("512Mi", "likes tea", "drink tea", Stage::Canary)), 0.0);
    assert_eq!(at(vec![hit_of(&tried)], 3, 1_500), Some(WithheldReason::Control));
    assert_eq!(at(vec![far], 3, 1_500), Some(WithheldReason::BelowFloor));
    assert_eq!(at(vec![hit_of(&tried)], 0, 1_500), Some(WithheldReason::Budget));
    assert_eq!(at(vec![hit_of(&tried)], 3, 10), Some(WithheldReason::TokenBudget));
    let newer = Lesson { last_supported_at: day(100), ..advice("1Gi", Stage::Active) };
    let receipt = without(tried.id, &[newer.id]);
    let ranking = served(Serving::default(), vec![hit_of(&tried), hit_of(&newer)], |r| r.receipt = receipt);
    assert_eq!(reason(&ranking, tried.id), Some(WithheldReason::Superseded));
}

#[test]
fn the_next_one_takes_the_place_that_is_freed() {
    let tried = advice("512Mi", Stage::Canary);
    let receipt = without(tried.id, &[]);
    let doubted = Fact { confidence: 0.3, ..fact("1", "the api container is restarting on Mondays") };
    let far = near(Memory::Fact(doubted), QUERY);
    let hits = || vec![hit_of(&tried), far.clone()];
    let one = |serving: Serving| served(serving, hits(), |r| (r.receipt, r.limit) = (receipt, 1));
    assert_eq!(given(&one(Serving::default().certain())), [tried.id]);
    let ranking = one(Serving::default());
    assert_eq!(given(&ranking), [far.memory.id()]);
    assert_eq!(reason(&ranking, tried.id), Some(WithheldReason::Control));
}

#[test]
fn what_it_replaces_holds_in_the_recalls_that_do_without_it() {
    let oldest = Lesson { last_supported_at: day(50), ..advice("256Mi", Stage::Active) };
    let older = Lesson { last_supported_at: day(60), ..advice("512Mi", Stage::Active) };
    let newest = Lesson { last_supported_at: day(90), ..advice("1Gi", Stage::Canary) };
    let hits = || vec![hit_of(&oldest), hit_of(&older), hit_of(&newest)];
    let with = served(Serving::default().certain(), hits(), |_| ());
    assert_eq!(given(&with), [newest.id]);
    let receipt = without(newest.id, &[older.id, oldest.id]);
    let ranking = served(Serving::default(), hits(), |r| r.receipt = receipt);
    assert_eq!(given(&ranking), [older.id]);
    assert_eq!(ranking.items[0].supersedes, [oldest.id]);
    let why =
        |id| ranking.withheld.iter().find(|w| w.memory_id == id).map(|w| (w.reason, w.instead)).unwrap();
    assert_eq!(why(newest.id), (WithheldReason::Control, None));
    assert_eq!(why(oldest.id), (WithheldReason::Superseded, Some(older.id)));
}

/// The recall that does without a lesson is not told the same by its twin.
#[test]
fn a_twin_does_not_take_its_place() {
    let tried = lesson("1", QUERY, "raise the memory limit of the api container to 512Mi", Stage::Canary);
    let mut twin = lesson("2", QUERY, "raise the memory limit of the api container to 512Mi", Stage::Canary);
    twin.last_supported_at = day(98);
    let receipt = without(tried.id, &[twin.id]);
    let ranking = served(Serving::default(), vec![hit_of(&tried), hit_of(&twin)], |r| r.receipt = receipt);
    assert!(ranking.items.is_empty(), "{:?}", ranking.items);
    let held = ranking.withheld.iter().find(|w| w.memory_id == twin.id).unwrap();
    assert_eq!((held.reason, held.instead), (WithheldReason::NearDuplicate, Some(tried.id)));
}

#[test]
fn one_that_is_not_proven_is_on_trial_beside_its_run_and_never_alone() {
    let mut candidate = advice("512Mi", Stage::Candidate);
    candidate.sources = vec![TraceId::new("t-1").unwrap()];
    let beside = |receipt| {
        let hits = vec![hit_of(&candidate), near(run_of("t-1", QUERY), QUERY)];
        served(Serving::default(), hits, |r| r.receipt = receipt)
    };
    let kept_back = beside(without(candidate.id, &[]));
    assert_eq!(reason(&kept_back, candidate.id), Some(WithheldReason::Control));
    assert_eq!(kept_back.items.len(), 1, "its run stays");
    let shown = beside(receipts(10_000).find(|r| r.draw(candidate.id) >= 0.5).unwrap());
    assert!(given(&shown).contains(&candidate.id));
    for receipt in receipts(20) {
        let alone = served(Serving::default(), vec![hit_of(&candidate)], |r| r.receipt = receipt);
        assert_eq!(reason(&alone, candidate.id), Some(WithheldReason::Stage));
    }
}

#[test]
fn people_try_nothing_and_without_a_gate_all_is_served() {
    let stages = [Stage::Candidate, Stage::Canary, Stage::Active, Stage::Retired];
    let served_at = |gate, stage, receipt| {
        let serving = Serving { gate, ..Serving::default() };
        let lesson = advice("512Mi", stage);
        reason(&served(serving, vec![hit_of(&lesson)], |r| r.receipt = receipt), lesson.id)
    };
    let kept_back = without(advice("512Mi", Stage::Canary).id, &[]);
    let at = |gate| stages.map(|stage| served_at(gate, stage, kept_back));
    let stage = Some(WithheldReason::Stage);
    assert_eq!(
        at(Gate::Evidence),
        [stage, Some(WithheldReason::Control), Some(WithheldReason::HoldOut), stage]
    );
    assert_eq!(at(Gate::People), [stage, stage, Some(WithheldReason::HoldOut), stage]);
    assert_eq!(at(Gate::Off), [None, None, None, stage]);
}

#[test]
fn where_people_decide_an_unproven_lesson_is_not_even_shown_beside_its_run() {
    let mut candidate = advice("512Mi", Stage::Candidate);
    candidate.sources = vec![TraceId::new("t-1").unwrap()];
    let shown = |gate| {
        let serving = Serving { gate, ..Serving::default().certain() };
        let hits = vec![hit_of(&candidate), near(run_of("t-1", QUERY), QUERY)];
        reason(&served(serving, hits, |_| ()), candidate.id)
    };
    assert_eq!(shown(Gate::Evidence), None);
    assert_eq!(shown(Gate::People), Some(WithheldReason::Stage));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Chance takes lessons away and nothing else, the same ones each time.
    #[test]
    fn chance_is_the_same_each_time_and_touches_lessons_alone(
        hits in prop::collection::vec(any_hit(), 0..16),
        receipt in any::<u128>(),
    ) {
        let receipt = ReceiptId(uuid::Uuid::from_u128(receipt));
        let once = || served(Serving::default(), hits.clone(), |r| r.receipt = receipt);
        let ranking = once();
        prop_assert_eq!(&ranking, &once());
        for held in ranking.withheld.iter().filter(|w| w.reason.is_chance()) {
            prop_assert_eq!(held.kind, MemoryKind::Lesson);
            let share = if held.reason == WithheldReason::HoldOut { 0.05 } else { 0.5 };
            prop_assert!(receipt.draw(held.memory_id) < share);
        }
        for item in &ranking.items {
            if let Memory::Lesson(lesson) = &item.memory {
                let share = if lesson.stage == Stage::Active { 0.05 } else { 0.5 };
                prop_assert!(receipt.draw(lesson.id) >= share, "kept back by chance, and given");
            }
        }
    }
}
