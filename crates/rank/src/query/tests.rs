use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::testkit::day;

fn ask(text: &str, recent: &[&str]) -> Query {
    let recent: Vec<String> = recent.iter().map(|t| (*t).to_owned()).collect();
    Query::new(text, &recent, day(100), &TimeZone::UTC)
}

fn term<'a>(query: &'a Query, text: &str) -> Option<&'a Term> {
    query.terms().iter().find(|t| t.text == text)
}

#[test]
fn what_may_be_a_name_is_looked_for() {
    let names = ask("What did Mary Ann say about `INV-78901` and the payment gateway?", &[]).names().to_vec();
    for name in ["inv-78901", "mary ann", "mary", "payment gateway"] {
        assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|n| n == "the" || n == "what"));
    let names = ask("李雷的订单 W2378156 到哪了", &[]).names().to_vec();
    for name in ["李雷", "w2378156", "订单"] {
        assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
    }
}

#[test]
fn a_name_is_mentioned_as_words_of_its_own() {
    assert!(mentions("what did ann say", "ann"));
    assert!(!mentions("the annual report", "ann"));
    assert!(mentions("问李雷的订单", "李雷"));
    assert!(!mentions("anything", ""));
}

#[test]
fn a_question_that_says_it_takes_names_and_words_of_before() {
    let lone = ask("when does it expire?", &["Renew the certificate of `pay-gw-01`", "ok"]);
    assert_eq!(term(&lone, "pay-gw-01").map(|t| t.weight), Some(RECENT_WEIGHT));
    assert_eq!(term(&lone, "expir").map(|t| t.weight), Some(1.0));
    assert!(lone.embedded().contains("pay-gw-01"));
    assert!(lone.names().iter().any(|n| n == "pay-gw-01"));
    assert_eq!(lone.text(), "when does it expire?");
    let chinese = ask("他的学历呢", &["我的表弟叫「王小明」"]);
    assert!(chinese.names().iter().any(|n| n == "王小明"), "{:?}", chinese.names());
}

#[test]
fn a_full_question_stands_on_its_own() {
    let full = ask("certificate of the staging gateway expired", &["let us talk about `redis-7`"]);
    assert!(term(&full, "redis-7").is_none());
    assert_eq!(full.embedded(), full.text());
}

#[test]
fn the_time_is_read_and_its_words_are_no_content() {
    let timed = ask("what did I buy last week", &[]);
    assert!(timed.period().is_some());
    assert_eq!(term(&timed, "week").map(|t| t.content), Some(false));
    assert_eq!(term(&timed, "buy").map(|t| t.content), Some(true));
    assert_eq!(ask("what did I buy", &[]).period(), None);
}

#[test]
fn parts_of_a_word_do_not_count_beside_it() {
    let query = ask("what is wrong with payment-gateway-01", &[]);
    assert_eq!(term(&query, "payment-gateway-01").map(|t| t.content), Some(true));
    assert_eq!(term(&query, "gateway").map(|t| t.content), Some(false));
}

proptest! {
    #[test]
    fn any_text_is_taken_apart(text in "\\PC{0,80}", recent in prop::collection::vec("\\PC{0,40}", 0..4)) {
        let query = Query::new(&text, &recent, day(100), &TimeZone::UTC);
        let sparse = query.sparse();
        prop_assert!(sparse.indices.is_sorted_by(|a, b| a < b));
        prop_assert_eq!(sparse.indices.len(), sparse.values.len());
        prop_assert!(query.names().len() <= 32);
    }
}
