use hindsight_types::*;

use super::*;
use crate::testkit::{experience, fact, lesson};

fn both(test: impl Fn((&Memory, &Words), (&Memory, &Words)) -> bool, a: &Memory, b: &Memory) -> bool {
    let words = |m: &Memory| Words::new(m, token_set(&m.text()));
    let (wa, wb) = (words(a), words(b));
    let forth = test((a, &wa), (b, &wb));
    assert_eq!(forth, test((b, &wb), (a, &wa)), "must be symmetric");
    forth
}

fn same(a: &Memory, b: &Memory) -> bool {
    both(|x, y| say_the_same(x, y, 0.9), a, b)
}

fn about(key: &str, content: &str, entity: &str, intent: &str) -> Memory {
    let mut f = fact(key, content);
    f.entities = vec![entity.to_owned()];
    f.intent = intent.to_owned();
    Memory::Fact(f)
}

#[test]
fn statements_about_the_same_entity_and_intent_contradict() {
    let old = about("1", "send order 77 to Paris", "order-77", "delivery");
    assert!(both(contradict, &old, &about("2", "order 77 goes to Berlin now", "Order-77", "delivery")));
    assert!(!both(contradict, &old, &about("2", "refund order 77", "order-77", "refund")));
    assert!(!both(contradict, &old, &about("2", "send order 78 to Paris", "order-78", "delivery")));
    let mut other_user = fact("2", "order 77 goes to Berlin now");
    other_user.entities = vec!["order-77".to_owned()];
    other_user.intent = "delivery".to_owned();
    other_user.scope.visibility = Visibility::User(UserId::new("bob").unwrap());
    assert!(!both(contradict, &old, &Memory::Fact(other_user)));
}

#[test]
fn without_an_intent_much_of_the_wording_must_agree() {
    let old = about("1", "我的上司在深圳工作", "上司", "");
    assert!(both(contradict, &old, &about("2", "我的上司在上海工作", "上司", "")));
    assert!(!both(contradict, &old, &about("2", "上司的生日是十二月", "上司", "")));
}

#[test]
fn what_happened_adds_up_and_a_question_replaces_nothing() {
    let paid = |key, content| {
        let Memory::Fact(mut f) = about(key, content, "INV-555", "") else { unreachable!("a fact") };
        f.fact_type = FactType::Event;
        Memory::Fact(f)
    };
    let first = paid("1", "I paid 20 euro for invoice INV-555 on Monday");
    assert!(!both(contradict, &first, &paid("2", "I paid 30 euro for invoice INV-555 on Friday")));
    let asked = about("1", "Did order INV-900 arrive already?", "INV-900", "");
    assert!(!both(contradict, &asked, &about("2", "Yes, order INV-900 has arrived already", "INV-900", "")));
}

#[rstest::rstest]
#[case("I live in Shanghai", "I moved to Beijing, I no longer live in Shanghai", true)]
#[case("My favourite colour is blue", "My favourite colour is red now, not blue", true)]
#[case("我对花生过敏", "我对花生不过敏了", true)]
#[case("I live in Shanghai", "I live in Shanghai near the old port", false)]
#[case("I like tea in the morning", "I do not like coffee", false)]
#[case("I live in Shanghai", "Do I not live in Shanghai?", false)]
fn a_statement_takes_another_back_when_it_says_so(
    #[case] old: &str,
    #[case] new: &str,
    #[case] expected: bool,
) {
    let told = |key, content| Memory::Fact(fact(key, content));
    assert_eq!(both(contradict, &told("1", old), &told("2", new)), expected);
}

#[test]
fn lessons_contradict_when_the_situation_is_one_and_the_advice_is_not() {
    let a =
        Memory::Lesson(lesson("1", "the api container is out of memory", "raise its limit", Stage::Active));
    let b = Memory::Lesson(lesson("2", "api container out of memory", "restart it", Stage::Active));
    let c = Memory::Lesson(lesson("3", "the disk of db-01 is full", "restart it", Stage::Active));
    assert!(both(contradict, &a, &b));
    assert!(!both(contradict, &a, &c));
    assert!(!both(contradict, &a, &a));
}

#[test]
fn a_different_number_is_a_different_fact() {
    let told = |key, content: &str| Memory::Fact(fact(key, content));
    let a = told("1", "the birthday of my aunt who lives in the old house by the river is on May 29");
    let b = told("2", "the birthday of my aunt who lives in the old house by the river is on May 12");
    let c = told("3", "My aunt, who lives in the old house by the river: her birthday is on May 29!");
    assert!(!same(&a, &b));
    assert!(same(&a, &c));
}

#[test]
fn runs_are_the_same_only_when_they_went_the_same_way() {
    let run = |trace, status| Memory::Experience(Box::new(experience(trace, "api restarts", status)));
    assert!(same(&run("t-1", OutcomeStatus::Success), &run("t-2", OutcomeStatus::Success)));
    assert!(!same(&run("t-1", OutcomeStatus::Success), &run("t-2", OutcomeStatus::Failure)));
    let mut other = experience("t-3", "api restarts", OutcomeStatus::Success);
    other.trajectory.steps[2].action_name = "roll_back".to_owned();
    assert!(!same(&run("t-1", OutcomeStatus::Success), &Memory::Experience(Box::new(other))));
}
