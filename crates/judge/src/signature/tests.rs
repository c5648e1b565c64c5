use rstest::rstest;

use super::{error_message, error_signature, normalise};

#[rstest]
#[case(
    "Error: order A-1001 not found at 2026-03-01T10:00:05Z",
    "Error: order B-77 not found at 2026-04-09T23:11:00.120Z"
)]
#[case("dial tcp 10.0.3.7:5432: connection refused", "dial tcp 10.9.13.17:6432: connection refused")]
#[case("no space left on device: /var/lib/docker/overlay2/ab12/x", "no space left on device: /srv/data/y")]
#[case(
    "payment amount does not add up, total price is 1002, but paid 957",
    "payment amount does not add up, total price is 88.50, but paid 9"
)]
#[case("pod web-7f9c4d-x2x9k is in CrashLoopBackOff", "pod web-55d8b6-q8q2m is in CrashLoopBackOff")]
#[case("错误：订单 20260301001 不存在", "错误：订单 77 不存在")]
#[case("panic at 0x7ffee4: invalid state", "panic at 0x10: invalid state")]
fn the_same_failure_meets_itself(#[case] a: &str, #[case] b: &str) {
    assert_eq!(error_signature(a), error_signature(b));
    assert!(!error_signature(a).is_empty());
}

#[rstest]
#[case("connection refused", "connection reset")]
#[case("订单不存在", "订单已取消，失败")]
#[case("Error: quota exceeded", "Error: permission denied")]
fn different_failures_stay_apart(#[case] a: &str, #[case] b: &str) {
    assert_ne!(error_signature(a), error_signature(b));
}

#[test]
fn the_message_is_the_line_that_tells() {
    assert_eq!(error_message("Building…\nStep 3\nERROR: no such file x\nbye"), "ERROR: no such file x");
    let trace = "Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: invalid literal";
    assert_eq!(error_message(trace), "ValueError: invalid literal");
    assert_eq!(error_message("all quiet\nsecond"), "all quiet");
    assert_eq!(error_message(" \n"), "");
}

#[test]
fn a_signature_is_a_fixed_point() {
    for text in ["Error: order A-1001 at /a/b/c 10:00:05 <x>", "错误：磁盘 /data 已满 96%"] {
        let once = error_signature(text);
        assert_eq!(error_signature(&once), once);
        assert!(normalise(text).len() <= 2 * text.len());
    }
}

#[test]
fn every_pattern_compiles() {
    assert_eq!(super::VARIABLE.len(), 12);
    assert!(super::TROUBLE.is_some() && super::TIME.is_some());
}

#[rstest]
#[case("KeyError: 'DSN'", true)]
#[case("web-1 0/1 CrashLoopBackOff", true)]
#[case("/dev/sda1 97% /", true)]
#[case("服务异常", true)]
#[case("-rw-r--r-- 1 www 2.9G error.log", false)]
#[case("price 512, seats 14", false)]
#[case("all 12 checks passed", false)]
fn trouble_is_told_from_what_only_looks_like_it(#[case] line: &str, #[case] expected: bool) {
    assert_eq!(super::is_trouble(line), expected);
}
