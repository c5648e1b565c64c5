use hindsight_ports::{Encoding, SparseVector};
use hindsight_text::bm25;
use hindsight_types::*;
use proptest::prelude::*;

use super::*;
use crate::testkit::{DENSE, fact, hit, idf, near, pool, query};

fn told(key: &str, content: &str) -> Memory {
    Memory::Fact(fact(key, content))
}

#[test]
fn the_rarities_of_the_engine_are_read_from_its_sums() {
    let asked = query("api container restart deploy");
    let texts =
        ["api container", "container restart restart", "deploy of the api", "restart", "deploy api restart"];
    let memories: Vec<_> = texts.iter().map(|t| hit(told(t, t), 0.1)).collect();
    let (pool, _) = pool(&asked, &memories, &Settings::default());
    let entries = &pool.kinds[&MemoryKind::Fact];
    let rarity = Rarity::new(asked.terms(), entries.values());
    for entry in entries.values() {
        assert!((rarity.sum(entry) - entry.sum.unwrap()).abs() < 0.1, "{entry:?}");
    }
    // What another arm brings is measured by the same rarities.
    let (indices, values) = bm25::encode_document("api restart");
    let held = rarity::held(asked.terms(), &indices, &values);
    let other = Entry { held, ..Entry::default() };
    let engine: f32 = indices.iter().zip(&values).map(|(id, w)| idf(*id) * w).sum();
    assert!((rarity.sum(&other) - engine).abs() < 0.1, "{} {engine}", rarity.sum(&other));
}

#[test]
fn the_shortlist_is_short_and_best_first() {
    let asked = query("disk full");
    let many: Vec<_> = (0..30)
        .map(|i| told(&i.to_string(), &format!("disk {}", "filler ".repeat(i))))
        .chain([told("best", "the disk is full")])
        .map(|m| near(m, "disk full"))
        .collect();
    let settings = Settings { shortlist: 5, ..Settings::default() };
    let (pool, _) = pool(&asked, &many, &settings);
    let listed = pool.shortlist();
    assert_eq!(listed.len(), 5);
    assert_eq!(listed[0].1.0, many[30].memory.id().0);
    assert_eq!(pool.candidates(MemoryKind::Fact), 31);
    assert_eq!(pool.candidates(MemoryKind::Lesson), 0);
}

#[test]
fn vectors_of_another_length_are_no_meaning() {
    assert_eq!(cosine(&[1.0, 0.0], &[1.0]), None);
    assert_eq!(cosine(&[], &[]), None);
    assert_eq!(cosine(&[f32::NAN], &[1.0]), None);
    assert_eq!(cosine(&[0.6, 0.8], &[0.6, 0.8]), Some(1.0));
}

fn any_candidate() -> impl Strategy<Value = Candidate> {
    let vector = prop::collection::vec(any::<f32>(), 0..3);
    let sparse = prop::collection::btree_map(0u32..50, any::<f32>(), 0..6);
    (0u128..12, any::<f32>(), vector, sparse).prop_map(|(id, score, dense, sparse)| {
        let (indices, values) = sparse.into_iter().unzip();
        let encoding = Encoding { dense, sparse: SparseVector { indices, values } };
        Candidate { id: CandidateId(uuid::Uuid::from_u128(id)), score, encoding }
    })
}

fn arm(n: u8, asked: &Query) -> Arm {
    match n {
        0 => Arm::Dense(vec![1.0, 0.0]),
        1 => Arm::Bm25(asked.sparse()),
        2 => Arm::Entities(vec!["api".to_owned()]),
        _ => Arm::Period(Period { from: Timestamp::UNIX_EPOCH, until: Timestamp::MAX }),
    }
}

proptest! {
    #[test]
    fn neither_the_order_of_arms_nor_of_candidates_changes_the_shortlist(
        (brought, shuffled) in prop::collection::vec((0u8..4, any_candidate()), 0..24).prop_flat_map(|mut brought| {
            // One memory has one encoding, whichever arm brings it.
            let mut encodings = std::collections::HashMap::new();
            for (_, candidate) in &mut brought {
                let first = encodings.entry(candidate.id).or_insert_with(|| candidate.encoding.clone());
                candidate.encoding = first.clone();
            }
            (Just(brought.clone()), Just(brought).prop_shuffle())
        }),
    ) {
        let asked = query("the api container keeps restarting");
        let list = |brought: Vec<(u8, Candidate)>| {
            let mut pool = Pool::new(asked.clone(), vec![1.0, 0.0], DENSE, Settings::default());
            for (n, candidate) in brought {
                pool.add(MemoryKind::Fact, &arm(n, &asked), vec![candidate]);
            }
            pool.shortlist()
        };
        prop_assert_eq!(list(brought), list(shuffled));
    }
}
