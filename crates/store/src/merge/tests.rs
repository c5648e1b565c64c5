use hindsight_ports::testkit::samples::{
    experience, failure_pattern, lesson, private, shared, tenant, time, trace,
};
use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

fn patterns() -> impl Strategy<Value = Memory> {
    let text = select(vec!["", "disk full", "磁盘已满"]);
    (vec("run-[0-9]{3}", 0..150), 0i64..5, 0i64..5, text.clone(), text).prop_map(
        |(runs, first, last, example, cause)| {
            let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
            let mut p = failure_pattern(&shared(&tenant("t")), "docker_pull", &runs, last);
            (p.first_seen, p.example, p.cause) = (time(first), example.to_owned(), cause.to_owned());
            Memory::FailurePattern(p)
        },
    )
}

fn lessons() -> impl Strategy<Value = Memory> {
    let stage = select(vec![Stage::Candidate, Stage::Canary, Stage::Active, Stage::Retired]);
    let advice = select(vec!["read the log", "先看日志"]);
    (vec("run-[0-9]{3}", 0..150), 0i64..5, 0i64..5, advice, stage, 0u32..3, 0u32..3).prop_map(
        |(runs, created, supported_at, advice, stage, supported, refuted)| {
            let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
            let mut l = lesson(&shared(&tenant("t")), "loop", &runs, created);
            (l.last_supported_at, l.advice, l.stage) = (time(supported_at), advice.to_owned(), stage);
            (l.supported, l.refuted) = (supported, refuted);
            Memory::Lesson(l)
        },
    )
}

fn three() -> impl Strategy<Value = (Memory, Memory, Memory)> {
    prop_oneof![(patterns(), patterns(), patterns()), (lessons(), lessons(), lessons())]
}

fn join(a: &Memory, b: &Memory) -> Memory {
    merge(a, b).unwrap()
}

proptest! {
    #[test]
    fn the_order_of_writing_makes_no_difference((a, b, c) in three()) {
        prop_assert_eq!(join(&a, &b), join(&b, &a));
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
    }

    #[test]
    fn writing_twice_makes_no_difference((a, b, _) in three()) {
        let once = join(&a, &b);
        prop_assert_eq!(join(&once, &b), once.clone());
        prop_assert_eq!(join(&once, &a), once.clone());
        prop_assert_eq!(join(&once, &once), once);
    }

    #[test]
    fn nothing_is_made_up((a, b, _) in three()) {
        let sources = |m: &Memory| match m {
            Memory::FailurePattern(p) => p.sources.clone(),
            Memory::Lesson(l) => l.sources.clone(),
            _ => Vec::new(),
        };
        let once = join(&a, &b);
        let given = [sources(&a), sources(&b)].concat();
        prop_assert!(sources(&once).iter().all(|s| given.contains(s)));
        prop_assert!(sources(&once).len() <= SOURCES);
        prop_assert!([a.text(), b.text()].contains(&once.text()));
    }
}

#[test]
fn a_stage_only_moves_forward() {
    let at = |stage| {
        let mut l = lesson(&shared(&tenant("t")), "loop", &["a"], 0);
        l.stage = stage;
        Memory::Lesson(l)
    };
    for (a, b, expected) in [
        (Stage::Active, Stage::Candidate, Stage::Active),
        (Stage::Candidate, Stage::Canary, Stage::Canary),
        (Stage::Retired, Stage::Active, Stage::Retired),
    ] {
        assert_eq!(join(&at(a), &at(b)), at(expected));
    }
}

#[test]
fn only_the_same_record_merges() {
    let tenant = tenant("t");
    let ours = lesson(&shared(&tenant), "loop", &["a"], 0);
    let mut annas = ours.clone();
    annas.scope = private(&tenant, "anna");
    let run = experience(&shared(&tenant), &trace("a"), 0);
    let mut pattern = failure_pattern(&shared(&tenant), "docker_pull", &["a"], 0);
    pattern.id = ours.id;
    assert_eq!(merge(&Memory::Lesson(ours.clone()), &Memory::Lesson(annas)), None);
    assert_eq!(merge(&Memory::Lesson(ours), &Memory::FailurePattern(pattern)), None);
    assert_eq!(merge(&run, &run), None);
}
