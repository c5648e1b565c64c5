use proptest::prelude::*;
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
#[case("pods \"web-1\" not found", "pods \"api\" not found")]
#[case("KeyError: 'DSN'", "KeyError: 'HOST'")]
#[case("订单A-1001不存在", "订单B-7不存在")]
#[case("请求超时，耗时 3.2 秒", "请求超时，耗时 30秒")]
#[case("src/a.rs:3:1: error: expected `;`", "lib/b/c.rs:77: error: expected `,`")]
#[case(
    r#"{"error":{"code":404,"message":"order A-1 not found"}}"#,
    r#"{"error":{"code":404,"message":"order B-2 not found"}}"#
)]
#[case(r#"Error: 404 {"message":"no such order: 17"}"#, r#"Error: 404 {"message":"no such order: 9981"}"#)]
#[case("dial db-1.prod.internal:5432: connection refused", "dial cache.test.internal: connection refused")]
fn the_same_failure_meets_itself(#[case] a: &str, #[case] b: &str) {
    assert_eq!(error_signature(a), error_signature(b));
    assert!(!error_signature(a).is_empty());
}

#[rstest]
#[case("connection refused", "connection reset")]
#[case("订单不存在", "订单已取消，失败")]
#[case("Error: quota exceeded", "Error: permission denied")]
#[case("HTTP 404 not found", "HTTP 503 not found")]
#[case("command failed with exit code 1", "command failed with exit code 137")]
#[case("订单A-1001不存在", "用户B-7已锁定，失败")]
#[case("java.lang.NullPointerException", "java.lang.IllegalStateException")]
#[case(r#"{"error":{"code":"NOT_FOUND"}}"#, r#"{"error":{"code":"FORBIDDEN"}}"#)]
fn different_failures_stay_apart(#[case] a: &str, #[case] b: &str) {
    assert_ne!(error_signature(a), error_signature(b));
}

#[test]
fn the_message_is_the_line_that_tells() {
    assert_eq!(error_message("Building…\nStep 3\nERROR: no such file x\nbye"), "ERROR: no such file x");
    let trace = "Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: invalid literal";
    assert_eq!(error_message(trace), "ValueError: invalid literal");
    let java = "Exception in thread \"main\" java.lang.RuntimeException: x\n\tat a.B.c(B.java:3)\nCaused by: \
                java.net.ConnectException: Connection refused\n\tat d.E.f(E.java:9)";
    assert_eq!(error_message(java), "Caused by: java.net.ConnectException: Connection refused");
    let rust =
        "thread 'main' panicked at src/main.rs:3:5:\nindex out of bounds: the len is 3\nnote: run with";
    assert_eq!(error_message(rust), "index out of bounds: the len is 3");
    let coded = r#"{"error":{"code":500,"message":"connection refused"}}"#;
    assert_eq!(error_message(coded), "message: connection refused");
    assert_eq!(error_message(r#"{"status":503}"#), "status: 503");
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
    assert!(super::TROUBLE.is_some() && super::TIME.is_some());
}

#[rstest]
#[case("KeyError: 'DSN'", true)]
#[case("web-1 0/1 CrashLoopBackOff", true)]
#[case("/dev/sda1 97% /", true)]
#[case("服务异常", true)]
#[case("500", true)]
#[case("502\n", true)]
#[case("200", false)]
#[case("5000", false)]
#[case("HTTP/1.1 502 Bad Gateway", true)]
#[case("HTTP/1.1 200 OK", false)]
#[case("status: DOWN", true)]
#[case(r#"{"status":"UNHEALTHY"}"#, true)]
#[case("status: UP", false)]
#[case("checks: 2 failed", true)]
#[case("checks: 0 failed", false)]
#[case("10 failed", true)]
#[case("0 failed, 3 errors", true)]
#[case("finished without errors", false)]
#[case("Last_Error:", false)]
#[case("Last_Error: duplicate key", true)]
#[case("last_error: none", false)]
#[case("Error:", true)]
#[case("没有错误，没有告警", false)]
#[case("失败：0，异常 3 个", true)]
#[case("10个失败", true)]
#[case("-rw-r--r-- 1 www 2.9G error.log", false)]
#[case("price 512, seats 14", false)]
#[case("all 12 checks passed", false)]
fn trouble_is_told_from_what_only_looks_like_it(#[case] line: &str, #[case] expected: bool) {
    assert_eq!(super::is_trouble(line), expected);
}

/// Errors of tools, with places for what varies: an id, a path, a time, a number, an address.
const ERRORS: [&str; 10] = [
    "Error: order {id} not found at {time}",
    "dial tcp {addr}: connection refused after {n} tries",
    "open {path}: no such file or directory",
    "permission denied: cannot write '{path}' ({n} bytes)",
    "错误：订单 {id} 不存在，时间 {time}",
    "无法连接 {addr}，已重试 {n} 次",
    "HTTP 503 from {addr}: service unavailable, request {id}",
    "Traceback (most recent call last):\n  File \"{path}\", line {n}\nKeyError: '{id}'",
    "{time} ERROR worker {id}: out of memory, {n} pages",
    "校验失败：{path} 第 {n} 行格式错误",
];

fn filled(error: &str, v: &(String, String, String, u32, String)) -> String {
    let n = v.3.to_string();
    let names = [("{id}", &v.0), ("{path}", &v.1), ("{time}", &v.2), ("{n}", &n), ("{addr}", &v.4)];
    names.iter().fold(error.to_owned(), |text, (name, value)| text.replace(name, value))
}

fn variables() -> impl Strategy<Value = (String, String, String, u32, String)> {
    (
        "[A-Z]{1,3}-[0-9]{1,6}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "(/[a-z]{1,8}){2,4}(\\.[a-z]{1,3})?",
        "20[0-9]{2}-0[1-9]-[12][0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{3})?Z",
        any::<u32>(),
        "[1-9][0-9]?\\.[1-9][0-9]?\\.[0-9]{1,2}\\.[0-9]{1,2}:[1-9][0-9]{2,4}",
    )
}

proptest! {
    /// The same failure has the same signature whatever ids, times, paths, numbers and addresses are in it; another has
    /// another.
    #[test]
    fn signatures_tell_failures_apart_and_nothing_else(
        (a, b) in (variables(), variables()),
        (x, y) in (0..ERRORS.len(), 0..ERRORS.len()),
    ) {
        let (one, two) = (error_signature(&filled(ERRORS[x], &a)), error_signature(&filled(ERRORS[y], &b)));
        prop_assert_eq!(one == two, x == y, "{} | {}", one, two);
    }

    #[test]
    fn any_text_has_a_bounded_signature(text in "\\PC{0,300}") {
        prop_assert!(error_signature(&text).chars().count() <= 200);
    }
}
