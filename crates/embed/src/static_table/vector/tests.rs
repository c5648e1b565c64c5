use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn of(text: &str) -> Vec<f32> {
    vector(crate::static_table::TABLE.as_ref().unwrap(), text)
}

fn cosine(a: &str, b: &str) -> f32 {
    of(a).iter().zip(of(b)).map(|(x, y)| x * y).sum()
}

/// What unrelated texts hardly reach.
const UNRELATED: f32 = 0.18;

#[rstest]
#[case("磁盘满了", "the disk is full", "we had pasta for dinner")]
#[case("the disk is full", "磁盘满了", "我们晚饭吃了面条")]
#[case("支付服务的容器不断重启", "the payment container keeps restarting", "the user likes window seats")]
#[case("she adopted a puppy", "my new dog", "the invoice was paid twice")]
#[case("取消航班", "cancel my flight", "the router needs a new certificate")]
#[case("cancel my flight", "取消我的航班", "证书过期")]
#[case("用户喜欢靠窗的座位", "user likes window seats", "the database lost its connection")]
fn meaning_is_told_across_words_and_languages(#[case] text: &str, #[case] same: &str, #[case] other: &str) {
    let (same, other) = (cosine(text, same), cosine(text, other));
    assert!(same > 0.25 && other < UNRELATED, "{same} {other}");
}

#[test]
fn equal_identifiers_meet_and_unequal_ones_part() {
    let query = "where is INV-78901";
    assert!(cosine(query, "INV-78901 was paid twice") > 0.4);
    assert!(cosine(query, "INV-78901 was paid twice") > 2.0 * cosine(query, "INV-12345 was paid twice"));
    let query = "错误码 E1042";
    assert!(cosine(query, "E1042 出现在日志里") > 2.0 * cosine(query, "E2077 出现在日志里"));
    assert!(cosine("zqxv frobnicator", "frobnicator zqxv") > 0.999);
    assert!(cosine("zqxv frobnicator", "wvut blargomat").abs() < 0.3);
}

#[test]
fn a_slip_of_the_pen_keeps_a_part() {
    assert!(cosine("kubernetes", "kuberntes") > 0.25);
}

#[test]
fn a_chinese_word_without_a_row_means_what_its_characters_do() {
    let table = crate::static_table::TABLE.as_ref().unwrap();
    let word = "猫狗";
    assert!(table.row(word).is_none());
    let mut sum = Sum::default();
    assert!(sum.add_characters(table, word, 1.0));
    let mut expected = vec![0.0; MEANING];
    for character in ["猫", "狗"] {
        table.row(character).unwrap().add_to(&mut expected, 0.5);
    }
    assert_eq!(sum.meaning, expected);
}

#[test]
fn texts_without_words_are_themselves() {
    assert!((cosine("", "") - 1.0).abs() < 1e-6);
    assert!((cosine("的", "的") - 1.0).abs() < 1e-6);
    assert!(cosine("", "of the").abs() < 1e-6);
    assert_eq!(of("  "), of(""));
}

#[test]
fn order_and_repetition_change_little() {
    assert!(cosine("rollback the failed deploy", "deploy failed the rollback") > 0.999);
    assert!(cosine("disk full", "disk full disk full disk full") > 0.999);
}

/// Vectors are stored: a change here needs a new model id.
#[rstest]
#[case("restart pod-7 重启", [0.0014590966, 0.0534598, -0.06383236, 0.0, -0.3746661])]
#[case("磁盘满了", [-0.046164814, 0.18447685, -0.15970537, 0.3645272, 0.0])]
fn vectors_stay_as_they_are(#[case] text: &str, #[case] expected: [f32; 5]) {
    let vector = of(text);
    let got = [0, 6, 17, 218, 346].map(|place| vector[place]);
    assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{got:?}");
}

proptest! {
    #[test]
    fn any_text_has_a_unit_vector(text in any::<String>()) {
        let vector = of(&text);
        prop_assert_eq!(vector.len(), DIMENSION);
        let length: f32 = vector.iter().map(|x| x * x).sum();
        prop_assert!((length - 1.0).abs() < 1e-4, "{}", length);
    }

    #[test]
    fn words_of_the_table_and_others_make_unit_vectors(
        text in "((disk|full|磁盘|满|猫狗|INV-[0-9]{4}|[a-z]{1,9}|404|\u{202e}|\\PC)[ ,.]?){0,40}"
    ) {
        let length: f32 = of(&text).iter().map(|x| x * x).sum();
        prop_assert!((length - 1.0).abs() < 1e-4, "{}", length);
    }
}
