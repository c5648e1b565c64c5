//! Test results in what a call printed.

use std::sync::LazyLock;

use hindsight_text::truncate_chars;
use hindsight_types::{ActionType, EvidenceSource, OutcomeStatus, Step};
use regex::{Captures, Regex};

use crate::effect::{self, Effect};

use super::{Act, Finding, words};

/// Results stand at the end of what a runner prints.
const READ_BYTES: usize = 16 * 1024;

/// How many checks held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Suite {
    pub(super) passed: u64,
    pub(super) failed: u64,
}

/// Formats of test runners; each names what it counts: `p` passed, `f` and `e` failed, `n` all, `ok` and `bad`
/// a word for the whole.
const RUNNERS: &[&str] = &[
    // pytest: `=== 1 failed, 3 passed in 0.12s ===`, `3 passed in 0.1s`
    r"(?m)^=*\s*(?:(?P<f>\d+) failed)?(?:, )?(?:(?P<p>\d+) passed)?(?:, \d+ (?:skipped|deselected|xfailed|xpassed|warnings?))*(?:, (?P<e>\d+) errors?)?(?:, \d+ (?:rerun|warnings?))* in [\d.]+ ?s",
    r"(?m)^=*\s*(?P<e>\d+) errors? in [\d.]+ ?s",
    // cargo
    r"(?m)^test result: \w+\. (?P<p>\d+) passed; (?P<f>\d+) failed",
    r"(?m)^\s*Summary \[[^\]]*\]\s+\d+(?:/\d+)? tests? run: (?P<p>\d+) passed(?: \([^)]*\))?(?:, (?P<f>\d+) failed)?",
    // jest, vitest
    r"(?m)^\s*Tests:?\s+(?:(?P<f>\d+) failed(?:,| \|)\s*)?(?:\d+ (?:skipped|todo)(?:,| \|)\s*)*(?:(?P<p>\d+) passed)?[^\n]*(?:total|\(\d+\))",
    // mocha
    r"(?m)^\s*(?P<p>\d+) passing\b(?:[^\n]*\n\s*(?:\d+ pending\s*\n\s*)?(?P<f>\d+) failing)?",
    // unittest
    r"(?m)^Ran (?P<n>\d+) tests? in [\d.]+s\s+(?:(?P<ok>OK)|FAILED \((?:failures=(?P<f>\d+))?(?:, )?(?:errors=(?P<e>\d+))?)",
    // Maven, Surefire, PHPUnit
    r"(?m)Tests run: (?P<n>\d+), Failures: (?P<f>\d+), Errors: (?P<e>\d+)",
    r"(?m)^Tests: (?P<n>\d+), Assertions: \d+(?:, Errors: (?P<e>\d+))?(?:, Failures: (?P<f>\d+))?",
    r"(?m)^OK \((?P<p>\d+) tests?, \d+ assertions?\)",
    // rspec, ctest, TAP
    r"(?m)^(?P<n>\d+) examples?, (?P<f>\d+) failures?",
    r"(?m)^\d+% tests passed, (?P<f>\d+) tests failed out of (?P<n>\d+)",
    r"(?m)^# tests (?P<n>\d+)\s+# pass\s+(?P<p>\d+)(?:\s+# fail\s+(?P<f>\d+))?",
];

/// Text without any of these holds no result.
const SPEAKS_OF_TESTS: &[&str] =
    &["pass", "fail", "FAIL", "PASS", "Fail", "Tests", "OK", "ok", "error", "example", "通过", "失败"];

/// What anybody may write; believed of a call that runs tests only.
const PLAIN: &[&str] = &[
    r"(?i)\b(?P<p>\d+) (?:of|out of|/) ?(?P<n>\d+) (?:tests?|checks?|cases?|assertions?|specs?)\b[^\n]{0,12}\b(?:pass|ok|succe)",
    r"(?i)\b(?:tests?|checks?)(?: passed)?: (?P<p>\d+) ?(?:passed)?[,;/ ]+(?P<f>\d+) failed",
    r"(?i)\b(?P<p>\d+) (?:tests? |checks? )?passed[,;] (?P<f>\d+) failed",
    r"(?i)\b(?P<f>\d+) (?:tests? |checks? )?failed[,;] (?P<p>\d+) passed",
    r"(?i)\b(?P<ok>all (?:\d+ )?(?:the )?(?:tests?|checks?) (?:have )?pass(?:ed)?)\b",
    r"(?im)^(?P<ok>ok|pass(?:ed)?)\b(?:\s+\S+\s+[\d.]+s)?\s*$",
    r"(?m)^(?P<bad>FAIL(?:ED)?)\b",
    r#""(?:passed|tests_passed|numPassedTests)"\s*:\s*(?P<p>\d+)[^{}]{0,80}"(?:failed|tests_failed|numFailedTests)"\s*:\s*(?P<f>\d+)"#,
    r#""(?:failed|tests_failed|numFailedTests)"\s*:\s*(?P<f>\d+)[^{}]{0,80}"(?:passed|tests_passed|numPassedTests)"\s*:\s*(?P<p>\d+)"#,
    r"通过(?:数)?[:： ]*(?P<p>\d+)[^\d\n]{1,8}失败(?:数)?[:： ]*(?P<f>\d+)",
    r"失败(?:数)?[:： ]*(?P<f>\d+)[^\d\n]{1,8}通过(?:数)?[:： ]*(?P<p>\d+)",
    r"(?P<p>\d+) ?(?:个|项|条)?(?:测试|用例|检查)?(?:全部)?通过[，,、; ]*(?P<f>\d+) ?(?:个|项|条)?(?:测试|用例|检查)?失败",
    r"(?P<bad>(?:测试|校验|用例|检查)(?:未通过|不通过|失败))",
    r"(?P<ok>(?:全部|所有)(?:测试|用例|检查)?(?:均|都|已)?通过|(?:测试|校验|用例|检查)(?:全部|均|都|已)?通过)",
];

static RUNNERS_SET: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(RUNNERS));
static PLAIN_SET: LazyLock<Vec<Regex>> = LazyLock::new(|| compiled(PLAIN));
static RUNS_TESTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:^|[^a-z])(?:py|unit|c)?tests?(?:$|[^a-z])|\b(?:jest|mocha|vitest|rspec|tox|nextest|tap|check|verify)\b|测试|校验|用例",
    )
    .ok()
});

fn compiled(patterns: &[&str]) -> Vec<Regex> {
    patterns.iter().filter_map(|p| Regex::new(p).ok()).collect()
}

/// What the last tests of a run say, weaker where the run went on changing things after them.
pub(super) fn find(acts: &[Act<'_>], chinese: bool) -> Option<Finding> {
    let last = acts.iter().enumerate().rev().find_map(|(at, a)| Some((at, of_step(a.step)?)));
    let Some((at, suite)) = last else {
        let act = acts.iter().rfind(|a| a.is_call() && found_none(&a.step.observation))?;
        let what = ["its test run found no tests", "测试没有真正运行：没有找到用例"][usize::from(chinese)];
        let detail = words::at(what, act.step.step_index, chinese);
        return Some(act.shows(EvidenceSource::Judge, OutcomeStatus::Failure, 0.8, detail));
    };
    let changed = acts[at + 1..].iter().any(changes_what_is_tested);
    let (verdict, weight) = match (suite.failed, changed) {
        (0, false) => (OutcomeStatus::Success, 2.2),
        (0, true) => (OutcomeStatus::Success, 0.6),
        (_, false) => (OutcomeStatus::Failure, 2.5),
        (_, true) => (OutcomeStatus::Failure, 0.6),
    };
    let detail = words::at(&told(suite, changed, chinese), acts[at].step.step_index, chinese);
    Some(acts[at].shows(EvidenceSource::TestResult, verdict, weight, detail))
}

/// A runner that had nothing to run: neither a test that passed nor one that failed.
fn found_none(printed: &str) -> bool {
    const NONE: [&str; 6] = [
        "no tests ran",
        "no tests found",
        "no test files",
        "collected 0 items",
        "没有找到测试",
        "未找到测试",
    ];
    let lower = truncate_chars(printed, 2_000).to_lowercase();
    NONE.iter().any(|none| lower.contains(none))
}

/// Handing in and cleaning up do not make a test stale; a change does.
fn changes_what_is_tested(act: &Act<'_>) -> bool {
    use crate::effect::WriteKind::{Change, Create, Put, Undo};
    matches!(act.effect, Effect::Write(Change | Create | Put | Undo))
        && !["commit", "push"].iter().any(|w| act.step.action_detail.contains(w))
}

fn told(suite: Suite, changed: bool, chinese: bool) -> String {
    let Suite { passed, failed } = suite;
    let all = passed + failed;
    let mut told = match (failed, passed, chinese) {
        (0, 0, false) => "the last test passed".to_owned(),
        (0, _, false) => format!("the last test passed: {passed} of {all}"),
        (1, 0, false) => "the last test failed".to_owned(),
        (_, _, false) => format!("the last test failed: {failed} of {all}"),
        (0, 0, true) => "最后一次测试通过".to_owned(),
        (0, _, true) => format!("最后一次测试通过：{passed}/{all}"),
        (1, 0, true) => "最后一次测试失败".to_owned(),
        (_, _, true) => format!("最后一次测试失败：{failed}/{all}"),
    };
    if changed {
        told.push_str(if chinese { "，其后又有改动" } else { ", and changes came after it" });
    }
    told
}

/// What a call says of tests, if it ran any.
pub(super) fn of_step(step: &Step) -> Option<Suite> {
    if step.action_type != ActionType::ToolCall {
        return None;
    }
    let text = &step.observation;
    let text = &text[text.ceil_char_boundary(text.len().saturating_sub(READ_BYTES))..];
    if !SPEAKS_OF_TESTS.iter().any(|w| text.contains(w)) || looks_at_a_file(step) {
        return None;
    }
    let strict = || RUNNERS_SET.iter().find_map(|r| sum(r, text));
    let runs = || {
        let call = [step.action_name.as_str(), truncate_chars(&step.action_detail, 500)];
        call.iter().any(|c| RUNS_TESTS.as_ref().is_some_and(|r| r.is_match(c)))
    };
    strict().or_else(|| if runs() { PLAIN_SET.iter().find_map(|r| sum(r, text)) } else { None })
}

/// What is printed from a file or a log was tested by somebody else, at some other time.
fn looks_at_a_file(step: &Step) -> bool {
    const LOOKS: [&str; 14] = [
        "cat", "less", "head", "tail", "grep", "rg", "sed", "open", "read", "view", "search", "find", "log",
        "logs",
    ];
    let call = effect::purpose(step).to_lowercase();
    call.split(|c: char| !c.is_alphanumeric()).next().is_some_and(|first| LOOKS.contains(&first))
}

/// All matches of one format together: a workspace prints a line per crate.
fn sum(format: &Regex, text: &str) -> Option<Suite> {
    let mut all: Option<Suite> = None;
    for caps in format.captures_iter(text) {
        let Some(one) = count(&caps) else { continue };
        let sum = all.get_or_insert_default();
        sum.passed = sum.passed.saturating_add(one.passed);
        sum.failed = sum.failed.saturating_add(one.failed);
    }
    all
}

fn count(caps: &Captures<'_>) -> Option<Suite> {
    let number = |name: &str| caps.name(name).and_then(|m| m.as_str().parse::<u64>().ok());
    if caps.name("ok").is_some() {
        return Some(Suite { passed: number("n").unwrap_or(0), failed: 0 });
    }
    if caps.name("bad").is_some() {
        return Some(Suite { passed: 0, failed: 1 });
    }
    let (passed, all) = (number("p"), number("n"));
    let failed = match (number("f"), number("e")) {
        (None, None) => all.zip(passed).map(|(n, p)| n.saturating_sub(p)),
        (f, e) => Some(f.unwrap_or(0).saturating_add(e.unwrap_or(0))),
    };
    // A line that counts nothing is none of ours.
    if passed.or(failed).or(all).is_none() || (passed, failed, all) == (None, None, Some(0)) {
        return None;
    }
    let failed = failed.unwrap_or(0);
    Some(Suite { passed: passed.unwrap_or_else(|| all.unwrap_or(0).saturating_sub(failed)), failed })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::testing::run;

    fn suite(call: &str, printed: &str) -> Option<(u64, u64)> {
        let t = run("x").call("shell", call, printed).succeeded();
        of_step(&t.steps[0]).map(|s| (s.passed, s.failed))
    }

    #[rstest]
    #[case("===== 1 failed, 3 passed in 0.12s =====", 3, 1)]
    #[case("FAILED a.py::t\n2 passed, 1 warning in 3.20s", 2, 0)]
    #[case("=== 4 passed, 1 skipped, 2 errors in 1.0s ===", 4, 2)]
    #[case("test result: ok. 3 passed; 0 failed; 0 ignored\ntest result: FAILED. 1 passed; 2 failed", 4, 2)]
    #[case("     Summary [   1.2s] 12 tests run: 11 passed, 1 failed, 0 skipped", 11, 1)]
    #[case("Tests:       1 failed, 5 passed, 6 total", 5, 1)]
    #[case("  5 passing (30ms)\n  1 failing", 5, 1)]
    #[case("Ran 4 tests in 0.010s\n\nOK", 4, 0)]
    #[case("Ran 4 tests in 0.010s\n\nFAILED (failures=1, errors=1)", 2, 2)]
    #[case("[INFO] Tests run: 7, Failures: 0, Errors: 1, Skipped: 0", 6, 1)]
    #[case("10 examples, 2 failures", 8, 2)]
    #[case("90% tests passed, 1 tests failed out of 10", 9, 1)]
    fn runners_are_read(#[case] printed: &str, #[case] passed: u64, #[case] failed: u64) {
        assert_eq!(suite("make all", printed), Some((passed, failed)));
    }

    #[rstest]
    #[case("3 of 3 tests pass", 3, 0)]
    #[case("All tests passed", 0, 0)]
    #[case("ok  \texample.com/pkg\t0.012s", 0, 0)]
    #[case("--- FAIL: TestX\nFAIL\texample.com/pkg", 0, 1)]
    #[case(r#"{"passed": 3, "failed": 1}"#, 3, 1)]
    #[case("通过 12，失败 1", 12, 1)]
    #[case("全部测试通过", 0, 0)]
    #[case("校验未通过：余额不符", 0, 1)]
    fn plain_words_count_where_tests_were_run(
        #[case] printed: &str,
        #[case] passed: u64,
        #[case] failed: u64,
    ) {
        assert_eq!(suite("run_tests.sh", printed), Some((passed, failed)));
        assert_eq!(suite("ls /srv", printed), None);
    }

    #[test]
    fn what_stands_in_a_file_was_not_tested_here() {
        assert_eq!(suite("cat test.log", "1 failed, 3 passed in 0.12s"), None);
        assert_eq!(suite("pytest", "no tests ran in 0.01s"), None);
    }

    #[test]
    fn every_format_compiles() {
        assert_eq!((RUNNERS_SET.len(), PLAIN_SET.len()), (RUNNERS.len(), PLAIN.len()));
        assert!(RUNS_TESTS.is_some());
    }
}
