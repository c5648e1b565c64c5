use hindsight_types::Memory;
use proptest::prelude::*;

use super::*;
use crate::testkit::{DENSE, fact, hit, near};

fn of(query: &str, hits: &[Hit]) -> Vec<f32> {
    let tokens: Vec<Tokens> = hits.iter().map(Tokens::of).collect();
    similarities(query, hits, &tokens, DENSE)
}

fn told(key: &str, content: &str) -> Memory {
    Memory::Fact(fact(key, content))
}

#[test]
fn holding_the_whole_question_is_near_and_sharing_one_common_word_is_not() {
    let query = "api container restart loop after deploy";
    let hits = [
        near(told("1", "after the deploy the api container is in a restart loop"), query),
        near(told("2", "the api key of the billing account"), query),
        near(told("3", "the api documentation moved"), query),
    ];
    let s = of(query, &hits);
    assert!(s[0] > 0.9, "{s:?}");
    assert!(s[1] < 0.2 && s[2] < 0.2, "{s:?}");
}

#[test]
fn the_best_of_the_irrelevant_stays_irrelevant() {
    let query = "how long does sourdough bread bake at home";
    let hits = [hit(told("1", "/home is full on db-01"), 9.0, 0.15), hit(told("2", "disk alarm"), 0.0, 0.12)];
    assert!(of(query, &hits).into_iter().all(|s| s < crate::Settings::default().floor));
}

#[test]
fn chinese_is_covered_by_its_words() {
    let query = "数据库磁盘满了怎么办";
    let hits =
        [near(told("1", "数据库的磁盘写满，清理日志后恢复"), query), near(told("2", "用户重复扣款"), query)];
    let s = of(query, &hits);
    assert!(s[0] > 0.4 && s[1] == 0.0, "{s:?}");
}

#[test]
fn a_missing_arm_leaves_its_share_to_the_other() {
    let query = "disk full";
    let mut one = near(told("1", "the disk is full"), query);
    one.dense = None;
    assert!((of(query, &[one.clone()])[0] - 1.0).abs() < 1e-5);
    one.sparse = None;
    one.dense = Some(DENSE.full);
    assert!((of(query, &[one.clone()])[0] - 1.0).abs() < 1e-5);
    one.dense = None;
    assert_eq!(of(query, &[one])[0], 0.0);
}

#[test]
fn a_long_question_is_not_held_against_a_short_answer() {
    let filler: Vec<String> = (0..80).map(|i| format!("filler{i}")).collect();
    let query = format!("{} the staging certificate of the payment gateway expired", filler.join(" "));
    let hits = [
        near(told("1", "certificate of the payment gateway expired on staging: renew it"), &query),
        near(told("2", "the gateway documentation moved"), &query),
    ];
    let s = of(&query, &hits);
    assert!(
        s[0] >= crate::Settings::default().floor && s[1] < crate::Settings::default().tail_floor,
        "{s:?}"
    );
}

#[test]
fn words_that_only_ask_need_no_answer() {
    let hits = [near(told("1", "表姐的学历是硕士"), "表姐学历")];
    let plain = of("表姐学历", &hits)[0];
    assert!((of("表姐到底是啥学历来着", &hits)[0] - plain).abs() < 1e-5);
    // A question of nothing else still has something to look for.
    let asked = [near(told("1", "who knows how many"), "how many")];
    assert!(of("how many", &asked)[0] > 0.5);
}

proptest! {
    #[test]
    fn always_between_zero_and_one(
        query in ".{0,60}",
        texts in prop::collection::vec(".{0,60}", 0..8),
        scores in prop::collection::vec((any::<f32>(), any::<f32>()), 8),
    ) {
        let hits: Vec<Hit> = texts
            .iter()
            .zip(scores)
            .enumerate()
            .map(|(i, (text, (sparse, dense)))| hit(told(&i.to_string(), text), sparse, dense))
            .collect();
        for s in of(&query, &hits) {
            prop_assert!((0.0..=1.0).contains(&s), "{s}");
        }
    }
}
