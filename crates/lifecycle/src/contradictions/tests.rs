use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::samples::{day, fact, lesson, scope};

fn replaced(all: &[Fact]) -> Vec<(MemoryId, MemoryId)> {
    facts(all, day(100)).into_iter().map(|s| (s.older, s.newer)).collect()
}

#[rstest]
#[case("I live in Shanghai", "I moved to Beijing, I no longer live in Shanghai")]
#[case("我对花生过敏", "我对花生不过敏了")]
fn a_later_statement_that_takes_an_earlier_one_back_replaces_it(#[case] old: &str, #[case] new: &str) {
    let (old, new) = (fact("ann", "a", old, 1), fact("ann", "b", new, 2));
    assert_eq!(replaced(&[new.clone(), old.clone()]), [(old.id, new.id)]);
    assert!(replaces(&new, &old, day(100)) && !replaces(&old, &new, day(100)));
}

#[rstest]
#[case::another_user(|f: &mut Fact| f.scope = scope("bob"))]
#[case::another_speaker(|f: &mut Fact| f.speaker = "Bob".to_owned())]
#[case::asked(|f: &mut Fact| f.content.push('?'))]
#[case::adds_up(|f: &mut Fact| f.fact_type = FactType::Order)]
#[case::same_time(|f: &mut Fact| f.occurred_at = day(1))]
#[case::over(|f: &mut Fact| f.expires_at = Some(day(3)))]
#[case::resolved(|f: &mut Fact| f.status = FactStatus::Resolved)]
fn nothing_else_replaces(#[case] change: fn(&mut Fact)) {
    let (old, mut new) =
        (fact("ann", "a", "I live in Shanghai", 1), fact("ann", "b", "I no longer live in Shanghai", 2));
    assert_eq!(replaced(&[old.clone(), new.clone()]).len(), 1);
    change(&mut new);
    assert_eq!(replaced(&[old, new]), []);
}

#[test]
fn each_goes_to_what_holds_in_the_end() {
    let of = |key: &str, content: &str, said| Fact {
        entities: vec!["上司".to_owned()],
        ..fact("安", key, content, said)
    };
    let told = [
        of("a", "我的上司在深圳工作", 1),
        of("b", "我的上司在上海工作", 2),
        of("c", "我的上司在北京工作", 3),
    ];
    let ids = told.each_ref().map(|f| f.id);
    let mut found = replaced(&told);
    found.sort_by_key(|(older, _)| ids.iter().position(|id| id == older));
    assert_eq!(found, [(ids[0], ids[2]), (ids[1], ids[2])]);
}

const SEEN: &str = "the api container is out of memory and restarts";

fn opposed() -> (Lesson, Lesson) {
    let mut old = lesson(&scope("ann"), "old", SEEN, "restart(api)");
    old.supported = 1;
    let mut new = lesson(&scope("ann"), "new", SEEN, "set_limit(api, 512m)");
    new.basis.rejected = vec!["restart(api)".to_owned()];
    new.supported = 3;
    new.last_supported_at = day(5);
    old.refuted = 2;
    (old, new)
}

#[test]
fn the_lesson_with_clear_newer_evidence_holds() {
    let (old, new) = opposed();
    let found = lessons(&[old.clone(), new.clone()]);
    assert_eq!(found.superseded.iter().map(|s| (s.older, s.newer)).collect::<Vec<_>>(), [(old.id, new.id)]);
    assert!(outweighs(&new, &old) && !outweighs(&old, &new));
    let retired = Lesson { stage: Stage::Retired, ..old };
    assert_eq!(lessons(&[retired, new]), Opposed::default());
}

#[test]
fn as_long_as_evidence_is_not_clear_both_stand() {
    let unclear = |change: fn(&mut Lesson, &mut Lesson)| {
        let (mut old, mut new) = opposed();
        change(&mut old, &mut new);
        let found = lessons(&[old.clone(), new.clone()]);
        assert_eq!((found.superseded.len(), found.disputed.len()), (0, 1));
        assert_eq!((found.disputed[0].older, found.disputed[0].newer), (old.id, new.id));
    };
    unclear(|_, new| new.supported = 2);
    unclear(|old, _| (old.refuted, old.supported) = (0, 2));
    unclear(|old, _| old.last_supported_at = day(9));
}

#[test]
fn the_last_word_of_a_person_counts() {
    let said = |request: &str, decision, at| Review {
        id: hindsight_types::ReviewId::of_request(&scope("ann").tenant, request),
        memory_id: opposed().0.id,
        scope: scope("ann"),
        decision,
        by: "ann".to_owned(),
        reason: String::new(),
        at: day(at),
    };
    let (yes, no) = (said("1", ReviewDecision::Approved, 2), said("2", ReviewDecision::Rejected, 1));
    assert!(!is_approved(&[]));
    assert!(is_approved(&[yes.clone(), no.clone()]) && is_approved(&[no.clone(), yes.clone()]));
    assert!(!is_approved(&[yes, said("3", ReviewDecision::Rejected, 3)]));
}

#[rstest]
#[case::scope(|l: &mut Lesson| l.scope = scope("bob"))]
#[case::task(|l: &mut Lesson| l.task_type = Some(TaskType::new("deploy").unwrap()))]
#[case::place(|l: &mut Lesson| l.environment.tags = vec!["k8s".to_owned()])]
#[case::situation(|l: &mut Lesson| l.situation = "the disk of db-01 is full".to_owned())]
#[case::two_ways(|l: &mut Lesson| l.basis.rejected.clear())]
fn lessons_that_do_not_oppose_each_other(#[case] change: fn(&mut Lesson)) {
    let (old, mut new) = opposed();
    change(&mut new);
    assert_eq!(lessons(&[old, new]), Opposed::default());
}

#[rstest]
#[case("restart(api)", "do not restart(api)")]
#[case("重启网关", "不要重启网关")]
fn a_denial_opposes_what_it_denies(#[case] chosen: &str, #[case] denied: &str) {
    let a = lesson(&scope("ann"), "a", SEEN, chosen);
    let b = lesson(&scope("ann"), "b", SEEN, denied);
    assert_eq!(lessons(&[a, b]).disputed.len(), 1);
}

proptest! {
    /// However many lessons there are, those that oppose each other are found without comparing all with all.
    #[test]
    fn all_that_oppose_each_other_face_each_other(
        said in proptest::collection::vec(("(do not |never |不要)?(restart|scale)", "(restart|do not scale|scale)?"), 0..12),
    ) {
        let told = |(n, (chosen, rejected)): (usize, &(String, String))| {
            let mut lesson = lesson(&scope("ann"), &n.to_string(), SEEN, chosen);
            lesson.basis.rejected = Some(rejected.clone()).filter(|r| !r.is_empty()).into_iter().collect();
            lesson
        };
        let all: Vec<Lesson> = said.iter().enumerate().map(told).collect();
        let advice: Vec<Advice<'_>> = all.iter().map(Advice::of).collect();
        let facing = facing(&advice);
        let opposing: BTreeSet<(usize, usize)> = (0..all.len())
            .flat_map(|a| (a + 1..all.len()).map(move |b| (a, b)))
            .filter(|(a, b)| advice[*a].opposes(&advice[*b]))
            .collect();
        prop_assert!(opposing.is_subset(&facing), "{opposing:?} {facing:?}");
    }

    /// What is replaced is done with: planning again finds nothing, in any order, and nothing speaks across users.
    #[test]
    fn replaced_once_is_replaced(
        said in proptest::collection::vec(("(ann|bob)", "(not |no longer |I |live |in |Paris |Rome |不|住 ){1,6}", 0_i64..5), 0..10),
        shift in 0_usize..10,
    ) {
        let all: Vec<Fact> = said.iter().enumerate().map(|(n, (user, text, at))| {
            Fact { entities: vec!["home".to_owned()], ..fact(user, &n.to_string(), text, *at) }
        }).collect();
        let mut other = all.clone();
        other.rotate_left(shift.min(all.len()));
        let (mut found, mut again) = (replaced(&all), replaced(&other));
        found.sort();
        again.sort();
        prop_assert_eq!(&found, &again);
        let of = |id: MemoryId| all.iter().find(|f| f.id == id).unwrap();
        for (older, newer) in &found {
            prop_assert_eq!(&of(*older).scope, &of(*newer).scope);
            prop_assert!(found.iter().all(|(gone, _)| gone != newer), "what replaces stands");
        }
        let left: Vec<Fact> = all.iter().filter(|f| found.iter().all(|(gone, _)| *gone != f.id)).cloned().collect();
        prop_assert_eq!(replaced(&left), vec![]);
    }
}
