use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case("Fix the 502 of gateway web-3f9c", "Fix the 502 of gateway web-77aa", true)]
#[case("Fix the 502 of gateway web-3", "Fix the 404 of gateway web-3", false)]
#[case("Free the disk of db-01.internal", "Free the disk of db-02.internal", true)]
#[case("Free the disk of db-01", "Rotate the certificate of db-01", false)]
#[case("清理 db-01 的磁盘空间", "清理 db-02 的磁盘空间", true)]
#[case("清理 db-01 的磁盘空间", "更新 db-01 的证书", false)]
fn goals_are_the_same_whatever_they_are_about(#[case] a: &str, #[case] b: &str, #[case] same: bool) {
    let (a, b) = (Goal::of(a), Goal::of(b));
    assert_eq!(a.is_like(&b), same, "{a:?} {b:?}");
    assert_eq!(b.is_like(&a), same);
}

#[test]
fn names_leave_a_gap() {
    assert_eq!(generalised("Restart  web-3f9c on /srv/www/app\nnow"), "Restart … on … now");
    assert_eq!(generalised("重启 web-3f9c"), "重启 …");
}

proptest! {
    #[test]
    fn any_text_is_read(text in "\\PC{0,300}") {
        prop_assert!(!generalised(&text).contains(['\n', '\r']));
        let goal = Goal::of(&text);
        prop_assert!(goal.is_like(&goal));
    }
}
