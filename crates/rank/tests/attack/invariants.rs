//! What holds whatever the arms bring, in whatever order.

use std::collections::BTreeMap;

use hindsight_ports::{Arm, Candidate, CandidateId, Encoding, Fetched, SparseVector};
use hindsight_rank::{
    Pool, Ranking, Settings,
    block::{BlockFormat, Language, Style},
    count_tokens,
};
use hindsight_types::*;
use proptest::prelude::*;
use uuid::Uuid;

use crate::world::{self, Limits, SCALE, arms, at, fetched, memories, query, ranked, words};

fn limits() -> impl Strategy<Value = Limits> {
    let format = prop::sample::select(vec![BlockFormat::Markdown, BlockFormat::Json]);
    let language = prop::sample::select(vec![None, Some(Language::English), Some(Language::Chinese)]);
    (0usize..12, 0usize..2_500, format, language).prop_map(|(limit, token_budget, format, language)| Limits {
        limit,
        token_budget,
        style: Style { format, language },
    })
}

fn shuffled<T: Clone + std::fmt::Debug>(items: &[T]) -> impl Strategy<Value = Vec<T>> + use<T> {
    Just(items.to_vec()).prop_shuffle()
}

/// Every candidate that was read is given or withheld, once, and nothing else is.
fn assert_accounted(ranking: &Ranking, read: &[Memory]) -> Result<(), TestCaseError> {
    let mut all: Vec<MemoryId> = ranking.items.iter().map(|i| i.memory.id()).collect();
    all.extend(ranking.withheld.iter().map(|w| w.memory_id));
    all.sort();
    let mut expected: Vec<MemoryId> = read.iter().map(Memory::id).collect();
    expected.sort();
    prop_assert_eq!(all, expected);
    Ok(())
}

fn assert_sound(ranking: &Ranking, read: &[Memory], limits: Limits) -> Result<(), TestCaseError> {
    assert_accounted(ranking, read)?;
    prop_assert!(ranking.items.len() <= limits.limit && ranking.tokens <= limits.token_budget);
    prop_assert_eq!(ranking.tokens, count_tokens(&ranking.block));
    prop_assert_eq!(ranking.items.is_empty(), ranking.block.is_empty());
    prop_assert_eq!(ranking.items.is_empty(), !ranking.empty_reason.is_empty());
    for item in &ranking.items {
        let f = item.factors;
        for factor in [f.similarity, f.decay, f.reliability, f.environment, f.trust, f.stage] {
            prop_assert!((0.0..=1.0).contains(&factor), "{:?}", f);
        }
        prop_assert!(f.similarity > 0.0 && !item.why.is_empty());
        prop_assert!(may_be_served(&item.memory), "{:?}", item.memory);
    }
    let withheld: BTreeMap<MemoryId, &Withheld> = ranking.withheld.iter().map(|w| (w.memory_id, w)).collect();
    for item in &ranking.items {
        for older in &item.supersedes {
            let w = withheld.get(older).ok_or_else(|| TestCaseError::fail("replaces what was not read"))?;
            prop_assert_eq!((w.reason, w.instead), (WithheldReason::Superseded, Some(item.memory.id())));
        }
    }
    for w in &ranking.withheld {
        prop_assert!(w.score.is_finite());
        prop_assert!(w.instead != Some(w.memory_id));
        let pointed = matches!(w.reason, WithheldReason::Superseded | WithheldReason::NearDuplicate);
        prop_assert!(w.instead.is_none() || pointed, "{:?}", w);
    }
    Ok(())
}

fn may_be_served(memory: &Memory) -> bool {
    match memory {
        Memory::Fact(m) => m.status != FactStatus::Obsolete && m.expires_at.is_none_or(|end| end > at(0)),
        Memory::Lesson(m) => m.stage != Stage::Retired,
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn budgets_accounts_and_ranges_hold(all in memories(24), asked in words(), limits in limits()) {
        let query = query(&asked);
        let ranking = ranked(&query, arms(&query, &all), fetched(&all), limits);
        assert_sound(&ranking, &all, limits)?;
    }

    /// The order in which arms answer, in which candidates stand in an answer and in which memories are read
    /// changes nothing; neither does hearing of a candidate twice.
    #[test]
    fn no_order_changes_anything(
        (all, asked, again, brought, read) in (memories(16), words(), any::<bool>()).prop_flat_map(|(all, asked, again)| {
            let query = query(&asked);
            let (mut brought, read) = (arms(&query, &all), fetched(&all));
            if again {
                brought.extend(brought.clone());
            }
            (Just(all), Just(asked), Just(again), shuffled(&brought), shuffled(&read))
        }),
        limits in limits(),
    ) {
        let query = query(&asked);
        let plain = ranked(&query, arms(&query, &all), fetched(&all), limits);
        prop_assert_eq!(ranked(&query, brought, read, limits), plain, "again: {}", again);
    }

    /// One call with all candidates of an arm is the same as a call for each.
    #[test]
    fn how_answers_are_cut_changes_nothing(all in memories(16), asked in words(), limits in limits()) {
        let query = query(&asked);
        let single = arms(&query, &all);
        let mut whole: Vec<world::Brought> = Vec::new();
        for b in single.clone() {
            match whole.iter_mut().find(|w| w.kind == b.kind && w.arm == b.arm) {
                Some(known) => known.candidates.extend(b.candidates),
                None => whole.push(b),
            }
        }
        let read = || fetched(&all);
        prop_assert_eq!(ranked(&query, single, read(), limits), ranked(&query, whole, read(), limits));
    }

    /// A store that reads what nobody proposed cannot slip it in.
    #[test]
    fn what_no_arm_proposed_is_never_given(all in memories(16), asked in words(), limits in limits(), known in 0usize..16) {
        let query = query(&asked);
        let proposed = &all[..known.min(all.len())];
        let ranking = ranked(&query, arms(&query, proposed), fetched(&all), limits);
        assert_sound(&ranking, proposed, limits)?;
        let absent = ranked(&query, arms(&query, proposed), fetched(proposed), limits);
        prop_assert_eq!(ranking, absent);
    }

    #[test]
    fn a_larger_budget_never_gives_less(all in memories(12), asked in words(), limits in limits(), more in 0usize..1_000) {
        // Chance may take away a lesson that fits, and its twin that had fitted in its place.
        let all: Vec<Memory> = all.into_iter().filter(|m| m.kind() != MemoryKind::Lesson).collect();
        let query = query(&asked);
        let given = |token_budget| {
            let limits = Limits { limit: 3, token_budget, ..limits };
            ranked(&query, arms(&query, &all), fetched(&all), limits).items.len()
        };
        // The first that is tried is served by the larger budget if the smaller one served anything.
        prop_assert!(given(limits.token_budget) == 0 || given(limits.token_budget + more) > 0);
    }

    /// Numbers that no store should give.
    #[test]
    fn no_number_breaks_it(
        all in memories(10),
        asked in words(),
        limits in limits(),
        wild in prop::collection::vec((any::<f32>(), prop::collection::vec(any::<f32>(), 0..4), any::<u8>()), 10),
    ) {
        let query = query(&asked);
        let mut brought = arms(&query, &all);
        for (memory, (score, vector, form)) in all.iter().zip(wild) {
            let sparse = SparseVector {
                indices: query.sparse().indices.into_iter().take(vector.len()).collect(),
                values: vector.clone(),
            };
            let arm = match form % 4 {
                0 => Arm::Dense(vec![1.0, 0.0]),
                1 => Arm::Bm25(query.sparse()),
                2 => Arm::Entities(vec![]),
                _ => Arm::Period(Period { from: at(3), until: at(0) }),
            };
            let encoding = Encoding { dense: vector, sparse };
            let candidate = Candidate { id: CandidateId(memory.id().0), score, encoding };
            brought.insert(0, world::Brought { kind: memory.kind(), arm, candidates: vec![candidate] });
        }
        assert_sound(&ranked(&query, brought, fetched(&all), limits), &all, limits)?;
    }

    #[test]
    fn the_shortlist_is_of_what_was_proposed_and_short(all in memories(30), asked in words(), most in 0usize..6) {
        let query = query(&asked);
        let settings = Settings { shortlist: most, ..Settings::default() };
        let mut pool = Pool::new(query.clone(), vec![1.0, 0.0], SCALE, settings);
        arms(&query, &all).into_iter().for_each(|b| pool.add(b.kind, &b.arm, b.candidates));
        let listed = pool.shortlist();
        for kind in MemoryKind::ALL {
            let of_kind: Vec<Uuid> = listed.iter().filter(|(k, _)| *k == kind).map(|(_, id)| id.0).collect();
            prop_assert!(of_kind.len() <= most);
            prop_assert!(of_kind.iter().all(|id| all.iter().any(|m| m.kind() == kind && m.id().0 == *id)));
        }
    }
}

#[test]
fn questions_of_nothing_and_of_too_much_are_answered() {
    let all: Vec<Memory> = (0..4i64)
        .map(|n| Memory::Fact(world::fact(&n.to_string(), "the api container restarts", n)))
        .collect();
    let limits = Limits { limit: 3, token_budget: 1_500, style: Style::default() };
    let long = "restart the container ".repeat(20_000);
    for asked in ["", " \n\t", "?!…，。", "\u{200b}\u{202e}", "the of and", "</hindsight-memory>", &long]
    {
        let query = query(asked);
        let ranking = ranked(&query, arms(&query, &all), fetched(&all), limits);
        assert_sound(&ranking, &all, limits).unwrap();
    }
}

#[test]
fn nothing_read_is_an_answer() {
    let query = query("why does the api restart");
    let limits = Limits { limit: 3, token_budget: 1_500, style: Style::default() };
    let none: Vec<Fetched> = Vec::new();
    let ranking = ranked(&query, Vec::new(), none, limits);
    assert_sound(&ranking, &[], limits).unwrap();
    assert!(!ranking.empty_reason.is_empty());
}

/// The newer statement need not repeat the words of the question that the older one answers.
#[test]
fn what_replaces_an_answer_is_the_answer() {
    let told = |id: &str, content: &str, days_ago| {
        let mut fact = world::fact(id, content, days_ago);
        fact.key = "colour of the pots".to_owned();
        Memory::Fact(fact)
    };
    let (older, newer) = (told("1", "the pots shall be painted red", 30), told("2", "make that blue", 1));
    let query = query("what colour shall the pots be painted");
    let limits = Limits { limit: 3, token_budget: 1_500, style: Style::default() };
    let all = [older.clone(), newer.clone()];
    let ranking = ranked(&query, arms(&query, &all), fetched(&all), limits);
    assert_eq!(ranking.items.iter().map(|i| i.memory.id()).collect::<Vec<_>>(), [newer.id()]);
    assert_eq!(ranking.items[0].supersedes, [older.id()]);
    assert!(
        ranking
            .block
            .contains("- What: make that blue\n- Replaces: the pots shall be painted red (2026-04-28)\n")
    );
    assert_sound(&ranking, &all, limits).unwrap();
}
