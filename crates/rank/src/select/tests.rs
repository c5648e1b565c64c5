mod chance;

use hindsight_types::*;
use proptest::prelude::*;

use super::*;
use crate::{
    Serving, count_tokens,
    testkit::{
        Proposed, day, environment, experience, fact, hit, lesson, near, pattern, pool, query, request,
    },
};

const QUERY: &str = "the api container keeps restarting";

/// Nothing is left to chance: that is tested in [`chance`].
fn run(hits: Vec<Proposed>, change: impl Fn(&mut Request<'_>)) -> Ranking {
    served(Serving::default().certain(), hits, change)
}

fn served(serving: Serving, hits: Vec<Proposed>, change: impl Fn(&mut Request<'_>)) -> Ranking {
    let here = environment(&[]);
    let mut r = request(QUERY, &here);
    change(&mut r);
    let (pool, fetched) = pool(&query(QUERY), &hits, &Settings { serving, ..Settings::default() });
    pool.rank(fetched, &r)
}

fn run_of(trace: &str, task: &str) -> Memory {
    Memory::Experience(Box::new(experience(trace, task, OutcomeStatus::Success)))
}

fn reason(ranking: &Ranking, id: MemoryId) -> Option<WithheldReason> {
    ranking.withheld.iter().find(|w| w.memory_id == id).map(|w| w.reason)
}

#[test]
fn nothing_relevant_is_an_answer_with_its_reason() {
    let empty = run(vec![], |_| ());
    assert!(empty.items.is_empty() && empty.block.is_empty() && empty.tokens == 0);
    assert!(empty.empty_reason.contains("nothing"));

    let far = run(vec![hit(Memory::Fact(fact("1", "likes green tea")), 0.1)], |_| ());
    assert!(far.items.is_empty() && far.block.is_empty());
    assert!(far.empty_reason.contains("1 below the relevance floor"), "{}", far.empty_reason);
    assert_eq!(far.withheld[0].reason, WithheldReason::BelowFloor);
}

#[test]
fn the_newer_statement_wins_and_the_older_is_named() {
    let told = |key, content: &str, at| {
        let mut f = fact(key, content);
        f.entities = vec!["api".to_owned()];
        f.intent = "limit".to_owned();
        f.occurred_at = day(at);
        Memory::Fact(f)
    };
    let old = told("1", "the api container keeps restarting below 512Mi", 10);
    let new = told("2", "the api needs 1Gi now", 90);
    let older = told("3", "the api needs 256Mi", 1);
    let all = [&old, &new, &older].map(|m| near(m.clone(), QUERY));
    let ranking = run(all.to_vec(), |_| ());
    for memory in [&old, &older] {
        let withheld = ranking.withheld.iter().find(|w| w.memory_id == memory.id()).unwrap();
        assert_eq!((withheld.reason, withheld.instead), (WithheldReason::Superseded, Some(new.id())));
    }
    let mut replaced = ranking.items[0].supersedes.clone();
    replaced.sort();
    let mut expected = vec![old.id(), older.id()];
    expected.sort();
    assert_eq!(replaced, expected);
}

#[test]
fn expired_and_obsolete_facts_are_withheld() {
    let mut expired = fact("1", QUERY);
    expired.expires_at = Some(day(100));
    let mut obsolete = fact("2", QUERY);
    obsolete.status = FactStatus::Obsolete;
    let hits = vec![near(Memory::Fact(expired.clone()), QUERY), near(Memory::Fact(obsolete.clone()), QUERY)];
    let ranking = run(hits, |_| ());
    assert_eq!(reason(&ranking, expired.id), Some(WithheldReason::Expired));
    assert_eq!(reason(&ranking, obsolete.id), Some(WithheldReason::Superseded));
    assert!(ranking.items.is_empty());
}

#[test]
fn an_unproven_lesson_is_shown_only_beside_its_run() {
    let mut candidate = lesson("1", QUERY, "raise the memory limit", Stage::Candidate);
    candidate.sources = vec![TraceId::new("t-1").unwrap()];
    let lesson_hit = near(Memory::Lesson(candidate.clone()), QUERY);

    let alone = run(vec![lesson_hit.clone()], |_| ());
    assert_eq!(reason(&alone, candidate.id), Some(WithheldReason::Stage));
    let strangers = run(vec![lesson_hit.clone(), near(run_of("t-2", QUERY), QUERY)], |_| ());
    assert_eq!(reason(&strangers, candidate.id), Some(WithheldReason::Stage));
    let together = run(vec![lesson_hit, near(run_of("t-1", QUERY), QUERY)], |_| ());
    assert_eq!(together.items.len(), 2);
    assert!(together.block.contains("not proven yet"));

    let retired = lesson("2", QUERY, "restart it", Stage::Retired);
    let ranking = run(vec![near(Memory::Lesson(retired.clone()), QUERY)], |_| ());
    assert_eq!(reason(&ranking, retired.id), Some(WithheldReason::Stage));
}

#[test]
fn what_says_the_same_is_folded() {
    let ranking = run(vec![near(run_of("t-1", QUERY), QUERY), near(run_of("t-2", QUERY), QUERY)], |_| ());
    assert_eq!(ranking.items.len(), 1);
    let folded = &ranking.withheld[0];
    assert_eq!(folded.reason, WithheldReason::NearDuplicate);
    assert_eq!(folded.instead, Some(ranking.items[0].memory.id()));
}

#[test]
fn a_tight_token_budget_shortens_then_withholds() {
    let hits = || vec![near(run_of("t-1", QUERY), QUERY)];
    let full = run(hits(), |_| ());
    assert!(full.block.contains("Path to follow"));
    let brief = run(hits(), |r| r.token_budget = full.tokens - 1);
    assert_eq!(brief.items.len(), 1);
    assert!(brief.tokens < full.tokens);
    let none = run(hits(), |r| r.token_budget = brief.tokens / 4);
    assert_eq!(none.withheld[0].reason, WithheldReason::TokenBudget);
    assert!(none.empty_reason.contains("too long"), "{}", none.empty_reason);
}

#[test]
fn the_fourth_is_withheld_by_the_budget() {
    let hits = (0..5).map(|i| near(Memory::Fact(fact(&i.to_string(), &format!("{QUERY} no {i}"))), QUERY));
    let ranking = run(hits.collect(), |_| ());
    assert_eq!(ranking.items.len(), 3);
    assert!(ranking.withheld.iter().all(|w| w.reason == WithheldReason::Budget));
}

#[test]
fn of_equally_near_ones_the_one_that_says_something_else_comes_before() {
    let told = |key: &str, content: &str| near(Memory::Fact(fact(key, content)), QUERY);
    let ranking = run(
        vec![
            told("1", "the api container keeps restarting since the deploy of Monday"),
            told("2", "the api container keeps restarting since the deploy of Tuesday"),
            told("3", "each api container keeps restarting because its memory limit is low"),
        ],
        |r| r.limit = 2,
    );
    let third = MemoryId::fact(&TenantId::new("acme").unwrap(), &UserId::new("ann").unwrap(), "3");
    assert!(ranking.items.iter().any(|i| i.memory.id() == third), "{:?}", ranking.items);
}

fn any_memory() -> impl Strategy<Value = Memory> {
    let word =
        prop::sample::select(vec!["api", "container", "restarting", "disk", "full", "磁盘", "7", "keeps"]);
    let text = prop::collection::vec(word, 0..8).prop_map(|w| w.join(" "));
    (0..5u8, 0..30u32, text, -300..200i64, 0..4u8).prop_map(|(kind, n, text, at, stage)| match kind {
        0 => {
            let mut f = fact(&n.to_string(), &text);
            f.occurred_at = day(at);
            f.entities = vec!["api".to_owned(); usize::from(stage % 2)];
            f.expires_at = (stage == 3).then(|| day(at + 50));
            Memory::Fact(f)
        }
        1 => {
            let mut e = experience(&format!("t-{n}"), &text, OutcomeStatus::Success);
            e.trajectory.ended_at = day(at);
            Memory::Experience(Box::new(e))
        }
        2 => {
            let stages = [Stage::Candidate, Stage::Canary, Stage::Active, Stage::Retired];
            let mut l = lesson(&n.to_string(), &text, &text, stages[usize::from(stage)]);
            l.last_supported_at = day(at);
            l.sources = vec![TraceId::new(format!("t-{}", n / 2)).unwrap()];
            Memory::Lesson(l)
        }
        _ => {
            let mut p = pattern(&format!("sig {n}"));
            p.example = text;
            p.last_seen = day(at);
            Memory::FailurePattern(p)
        }
    })
}

fn any_hit() -> impl Strategy<Value = Proposed> {
    (any_memory(), -1.0..1.0f32).prop_map(|(memory, cosine)| hit(memory, cosine))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_candidates_changes_nothing(
        (hits, shuffled) in prop::collection::vec(any_hit(), 0..16)
            .prop_flat_map(|hits| (Just(hits.clone()), Just(hits).prop_shuffle())),
    ) {
        // Two different records under one id cannot come from a store.
        let unique = |hits: Vec<Proposed>| {
            let mut seen: Vec<Proposed> = Vec::new();
            for h in hits {
                if !seen.iter().any(|s| s.memory.id() == h.memory.id()) {
                    seen.push(h);
                }
            }
            seen
        };
        let hits = unique(hits);
        let shuffled = shuffled.into_iter().filter(|h| hits.contains(h)).collect();
        prop_assert_eq!(run(hits, |_| ()), run(unique(shuffled), |_| ()));
    }

    #[test]
    fn budgets_floor_and_ranges_hold_and_every_candidate_is_accounted_for(
        hits in prop::collection::vec(any_hit(), 0..16),
        limit in 0usize..6,
        token_budget in 0usize..2000,
    ) {
        let mut ids: Vec<MemoryId> = hits.iter().map(|h| h.memory.id()).collect();
        ids.sort();
        ids.dedup();
        let ranking = run(hits, |r| (r.limit, r.token_budget) = (limit, token_budget));
        prop_assert!(ranking.items.len() <= limit);
        prop_assert!(ranking.tokens <= token_budget);
        prop_assert_eq!(ranking.tokens, count_tokens(&ranking.block));
        prop_assert_eq!(ranking.items.is_empty(), ranking.block.is_empty());
        prop_assert_eq!(ranking.items.is_empty(), !ranking.empty_reason.is_empty());
        for item in &ranking.items {
            let f = item.factors;
            for value in [f.similarity, f.decay, f.reliability, f.environment, f.trust, f.stage, f.total()] {
                prop_assert!((0.0..=1.0).contains(&value), "{f:?}");
            }
            prop_assert!(f.similarity >= Settings::default().tail_floor);
            prop_assert!(!item.why.is_empty());
        }
        for kind in MemoryKind::ALL {
            let of_kind = || ranking.items.iter().filter(move |i| i.memory.kind() == kind);
            let first_withheld = ranking.withheld.iter().any(|w| w.kind == kind);
            let near = of_kind().any(|i| i.factors.similarity >= Settings::default().floor);
            prop_assert!(near || first_withheld || of_kind().next().is_none());
        }
        let served = ranking.items.iter().map(|i| i.memory.id());
        let mut told: Vec<MemoryId> = served.chain(ranking.withheld.iter().map(|w| w.memory_id)).collect();
        told.sort();
        prop_assert_eq!(told, ids);
    }
}

#[test]
fn a_second_failed_attempt_takes_no_place_from_what_shows_a_way() {
    let task = |n: u32| format!("{QUERY}, report {n}");
    let failed =
        |n: u32| Memory::Experience(Box::new(experience(&format!("f{n}"), &task(n), OutcomeStatus::Failure)));
    let worked = |n: u32| run_of(&format!("w{n}"), &task(n));
    let hits = |worked_too: bool| {
        let tried = [1, 2, 3].map(|n| hit(failed(n), 0.9));
        let ways = [4, 5].map(|n| hit(worked(n), 0.6));
        tried.into_iter().chain(ways.into_iter().filter(move |_| worked_too)).collect::<Vec<_>>()
    };
    let outcomes = |worked_too| -> Vec<OutcomeStatus> {
        let ranking = run(hits(worked_too), |_| ());
        let of = |m: &Memory| match m {
            Memory::Experience(m) => m.evaluation.outcome,
            _ => OutcomeStatus::Unknown,
        };
        ranking.items.iter().map(|item| of(&item.memory)).collect()
    };
    use OutcomeStatus::{Failure, Success};
    assert_eq!(outcomes(true), [Failure, Success, Success]);
    assert_eq!(
        outcomes(false),
        [Failure, Failure, Failure],
        "where nothing worked, what was tried is all there is"
    );
}
