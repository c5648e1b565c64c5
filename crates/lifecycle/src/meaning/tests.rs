use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case("Restart the web container.", "please restart web container")]
#[case("I don’t like tea!", "I do not like tea")]
#[case("Reboot ＷＥＢ-1", "restart web-1")]
#[case("我不吃花生。", "我不吃花生")]
#[case("先重新启动网关，再检查", "先重启网关 再检查")]
fn the_same_in_other_letters(#[case] a: &str, #[case] b: &str) {
    assert_eq!(key(a), key(b));
}

#[rstest]
#[case("fly from Paris to Berlin", "fly from Berlin to Paris")]
#[case("restart web, not db", "restart db, not web")]
#[case("I like tea", "I do not like tea")]
#[case("my mother likes tea", "her mother likes tea")]
#[case("set the limit to 512", "set the limit to 256")]
#[case("use docker", "use podman")]
#[case("I live in Paris", "Do I live in Paris?")]
#[case("我吃花生", "我不吃花生")]
#[case("从北京到上海", "从上海到北京")]
fn what_means_something_else(#[case] a: &str, #[case] b: &str) {
    assert_ne!(key(a), key(b));
}

#[rstest]
#[case("the api container is out of memory", "api container out of memory", true)]
#[case("the disk of db-01 is full", "the disk of db-02 is full", false)]
#[case(
    "the login of the shop page fails before the update ran",
    "the login of the shop page fails after the update ran",
    false
)]
#[case("网关返回 502，日志显示连接被拒绝", "网关返回 502，日志中显示连接被拒绝", true)]
#[case("网关可以连接数据库", "网关不可以连接数据库", false)]
fn situations(#[case] a: &str, #[case] b: &str, #[case] same: bool) {
    let (a, b) = (Situation::of(a), Situation::of(b));
    assert_eq!(a.is_like(&b), same, "{a:?} {b:?}");
    assert_eq!(b.is_like(&a), same);
}

proptest! {
    #[test]
    fn any_text_has_a_meaning(text in "\\PC{0,400}") {
        prop_assert_eq!(key(&text), key(&text));
        let situation = Situation::of(&text);
        prop_assert!(situation.is_like(&situation));
    }

    /// Case and the space between words mean nothing.
    #[test]
    fn spacing_and_case_do_not_count(words in proptest::collection::vec("[a-z]{2,8}|[0-9]{1,3}|不|not", 1..8)) {
        prop_assert_eq!(key(&words.join(" ")), key(&format!("  {}. ", words.join("  ").to_uppercase())));
    }

    /// A number put in the place of another always counts.
    #[test]
    fn a_number_counts(before in "[a-z ]{0,12}", after in "[a-z ]{0,12}", a in 0_u32..500, b in 500_u32..999) {
        prop_assert_ne!(key(&format!("{before} {a} {after}")), key(&format!("{before} {b} {after}")));
    }
}
