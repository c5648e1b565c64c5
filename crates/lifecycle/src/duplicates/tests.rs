use hindsight_types::{Revision, RevisionCause};
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::samples::{day, fact, lesson, scope};

const SEEN: &str = "the api container is out of memory and restarts";

fn merged(all: &[Lesson]) -> Vec<(MemoryId, Vec<MemoryId>)> {
    lessons(all).into_iter().map(|m| (m.survivor, m.others)).collect()
}

fn by_hand() -> Revision {
    Revision {
        at: day(3),
        cause: RevisionCause::Updated,
        by: "ops".to_owned(),
        reason: "it was not the whole truth".to_owned(),
        request_id: String::new(),
    }
}

#[test]
fn lessons_that_say_the_same_become_the_strongest_of_them() {
    let a = lesson(&scope("ann"), "a", SEEN, "set_limit(api, 512m)");
    let mut b = lesson(
        &scope("ann"),
        "b",
        "The api container is out of memory, and restarts.",
        "set_limit(api, 512m).",
    );
    b.supported = 2;
    assert!(same_lesson(&a, &b));
    assert_eq!(merged(&[a.clone(), b.clone()]), [(b.id, vec![a.id])]);
    let proven = Lesson { stage: Stage::Active, ..a.clone() };
    assert_eq!(merged(&[b.clone(), proven.clone()]), [(a.id, vec![b.id])]);
    let corrected = Lesson { revision: Some(by_hand()), advice: "as a person says".to_owned(), ..b };
    assert_eq!(merged(&[corrected.clone(), proven]), [(corrected.id, vec![a.id])], "in a person's words");
}

#[rstest]
#[case::number(|l: &mut Lesson| l.basis.chosen = "set_limit(api, 256m)".to_owned())]
#[case::tool(|l: &mut Lesson| l.basis.chosen = "restart(api, 512m)".to_owned())]
#[case::negation(|l: &mut Lesson| l.basis.chosen = "do not set_limit(api, 512m)".to_owned())]
#[case::situation(|l: &mut Lesson| l.situation = "the disk of db-01 is full".to_owned())]
#[case::denied(|l: &mut Lesson| l.situation = "the api container is not out of memory and restarts".to_owned())]
#[case::place(|l: &mut Lesson| l.environment.tags = vec!["k8s".to_owned()])]
#[case::entities(|l: &mut Lesson| l.entities = vec!["api-2".to_owned()])]
#[case::task(|l: &mut Lesson| l.task_type = Some(TaskType::new("deploy").unwrap()))]
#[case::scope(|l: &mut Lesson| l.scope = scope("bob"))]
#[case::outcome(|l: &mut Lesson| l.source_outcome = hindsight_types::OutcomeStatus::Failure)]
#[case::retired(|l: &mut Lesson| l.stage = Stage::Retired)]
fn lessons_that_differ_in_meaning_stay_apart(#[case] change: fn(&mut Lesson)) {
    let a = lesson(&scope("ann"), "a", SEEN, "set_limit(api, 512m)");
    let mut b = lesson(&scope("ann"), "b", SEEN, "set_limit(api, 512m)");
    assert_eq!(merged(&[a.clone(), b.clone()]).len(), 1);
    change(&mut b);
    assert_eq!(merged(&[a, b]), []);
}

fn facts(all: &[Fact]) -> Vec<Merge> {
    let mut seen = Facts::default();
    all.iter().for_each(|fact| seen.see(fact, day(100)));
    seen.plan()
}

fn said(all: &[Fact]) -> Vec<(MemoryId, Vec<MemoryId>)> {
    facts(all).into_iter().map(|m| (m.survivor, m.others)).collect()
}

#[test]
fn what_was_said_twice_is_kept_as_it_was_said_last() {
    let (a, b) = (fact("ann", "a", "I don't eat peanuts.", 1), fact("ann", "b", "i do not eat peanuts", 9));
    assert_eq!(said(&[b.clone(), a.clone()]), [(b.id, vec![a.id])]);
    let (c, d) = (fact("安", "a", "我不吃花生。", 1), fact("安", "b", "我不吃花生", 2));
    assert_eq!(said(&[c.clone(), d.clone()]), [(d.id, vec![c.id])]);
}

#[rstest]
#[case::denial(|f: &mut Fact| f.content = "I eat peanuts".to_owned())]
#[case::question(|f: &mut Fact| f.content = "I don't eat peanuts?".to_owned())]
#[case::whose(|f: &mut Fact| f.scope = scope("bob"))]
#[case::speaker(|f: &mut Fact| f.speaker = "Bob".to_owned())]
#[case::entities(|f: &mut Fact| f.entities = vec!["peanut".to_owned()])]
#[case::end(|f: &mut Fact| f.expires_at = Some(day(200)))]
#[case::over(|f: &mut Fact| f.expires_at = Some(day(50)))]
#[case::status(|f: &mut Fact| f.status = FactStatus::Obsolete)]
#[case::another_day(|f: &mut Fact| f.fact_type = FactType::Event)]
fn facts_that_differ_stay_apart(#[case] change: fn(&mut Fact)) {
    let (a, mut b) = (fact("ann", "a", "I don't eat peanuts", 1), fact("ann", "b", "I don't eat peanuts", 9));
    assert_eq!(said(&[a.clone(), b.clone()]).len(), 1);
    change(&mut b);
    assert_eq!(said(&[a, b]), []);
}

#[test]
fn what_happened_twice_on_one_day_was_told_twice() {
    let mut told = [
        fact("ann", "a", "I paid 20 euro", 1),
        fact("ann", "b", "I paid 20 euro", 1),
        fact("ann", "c", "I paid 20 euro", 2),
    ];
    told.iter_mut().for_each(|f| f.fact_type = FactType::Event);
    let merged = said(&told);
    assert_eq!(merged.len(), 1);
    assert_eq!(merged[0].1.len(), 1);
    assert!(!merged[0].1.contains(&told[2].id) && merged[0].0 != told[2].id);
}

fn any_lesson() -> impl Strategy<Value = Lesson> {
    let text = prop_oneof![
        Just("disk db full on the old host"),
        Just("Disk db full, on old host."),
        Just("网关 502"),
        Just("")
    ];
    (0_u32..30, text, "[ab]", 0_u32..3, "(ann|bob)").prop_map(|(key, situation, chosen, supported, user)| {
        let mut l = lesson(&scope(&user), &format!("k{key}"), situation, &chosen);
        l.supported = supported;
        l
    })
}

fn each_once(mut all: Vec<Lesson>) -> Vec<Lesson> {
    all.sort_by_key(|l| l.id);
    all.dedup_by_key(|l| l.id);
    all
}

proptest! {
    #[test]
    fn merging_does_not_depend_on_the_order(all in proptest::collection::vec(any_lesson(), 0..12), shift in 0_usize..12) {
        let all = each_once(all);
        let mut other = all.clone();
        other.rotate_left(shift.min(all.len()));
        let order = |mut merges: Vec<(MemoryId, Vec<MemoryId>)>| { merges.sort(); merges };
        prop_assert_eq!(order(merged(&all)), order(merged(&other)));
    }

    /// After the merge nothing is left to merge, nothing is gone but what was merged, and nothing left its scope.
    #[test]
    fn merged_once_is_merged(all in proptest::collection::vec(any_lesson(), 0..12)) {
        let all = each_once(all);
        let gone: Vec<MemoryId> = lessons(&all).into_iter().flat_map(|m| {
            let of = |id: MemoryId| all.iter().find(|l| l.id == id).unwrap();
            assert!(m.others.iter().all(|o| of(*o).scope == m.scope && of(m.survivor).scope == m.scope));
            assert!(!m.others.contains(&m.survivor));
            m.others
        }).collect();
        let left: Vec<Lesson> = all.into_iter().filter(|l| !gone.contains(&l.id)).collect();
        prop_assert!(lessons(&left).is_empty());
    }

    #[test]
    fn any_fact_can_be_compared(contents in proptest::collection::vec("\\PC{0,40}", 0..8)) {
        let all: Vec<Fact> = contents.iter().enumerate().map(|(n, c)| fact("ann", &n.to_string(), c, 1)).collect();
        let gone: Vec<MemoryId> = facts(&all).into_iter().flat_map(|m| m.others).collect();
        let left: Vec<Fact> = all.into_iter().filter(|f| !gone.contains(&f.id)).collect();
        prop_assert!(facts(&left).is_empty());
    }
}
