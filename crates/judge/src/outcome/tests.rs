use hindsight_types::{OutcomeStatus, Trajectory};
use proptest::prelude::*;
use rstest::rstest;

use super::{EvidenceSource, InferredOutcome, infer};
use crate::testing::{disk_alarm, restart_loop, run};

const PASSED: &str = "===== 3 passed in 0.12s =====";
const FAILED: &str = "===== 1 failed, 2 passed in 0.12s =====";

fn unknown(run: crate::testing::Run) -> Trajectory {
    run.ended(OutcomeStatus::Unknown)
}

fn settled(t: &Trajectory) -> OutcomeStatus {
    infer(t).settled()
}

#[test]
fn the_last_test_decides_and_a_claim_against_it_is_shown() {
    let t = unknown(
        run("Make the tests of the parser pass")
            .call("shell", r#"{"command":"pytest"}"#, PASSED)
            .call("edit_file", r#"{"path":"a.py","text":"x"}"#, "edited")
            .fails("shell", r#"{"command":"pytest"}"#, FAILED)
            .says("All done, the parser is fixed."),
    );
    let outcome = infer(&t);
    assert_eq!(outcome.settled(), OutcomeStatus::Failure);
    assert!(outcome.confidence > 0.8, "{outcome:?}");
    assert_eq!(outcome.contradictions, ["the agent says done, but the last test failed: 1 of 3 (step 2)"]);
    assert_eq!(outcome.evidence[0].source, EvidenceSource::TestResult);
}

#[test]
fn a_chinese_run_is_told_in_chinese() {
    let t = unknown(
        run("修复解析器，使测试通过")
            .fails("运行测试", "{}", "通过 2，失败 1")
            .says("已完成，解析器已修复。"),
    );
    assert_eq!(infer(&t).contradictions, ["智能体说已完成，但最后一次测试失败：1/3（第 0 步）"]);
}

#[test]
fn a_test_that_changes_came_after_says_less() {
    let tested = || run("Fix the parser").call("shell", r#"{"command":"pytest"}"#, PASSED);
    let fresh = infer(&unknown(tested().says("Fixed.")));
    let stale = infer(&unknown(tested().call("edit_file", r#"{"path":"a.py"}"#, "edited").says("Fixed.")));
    assert_eq!(fresh.settled(), OutcomeStatus::Success);
    assert!(fresh.confidence > stale.confidence + 0.1, "{} {}", fresh.confidence, stale.confidence);
    assert!(stale.evidence[0].detail.contains("changes came after it"));
}

#[test]
fn trouble_that_is_gone_after_the_last_change_speaks_for_success_and_trouble_that_stays_against_it() {
    let until = |n: usize| {
        let mut t = restart_loop();
        t.outcome.evidence.clear();
        t.steps.truncate(n);
        t
    };
    let done = infer(&until(10));
    assert_eq!(done.settled(), OutcomeStatus::Success);
    assert!(done.evidence.iter().any(|f| f.detail.contains("is gone (step 8)")), "{done:?}");
    let half = infer(&until(5));
    assert_eq!(half.settled(), OutcomeStatus::Failure, "{half:?}");
    assert!(half.evidence.iter().any(|f| f.detail.contains("still there after the last change")));
    let mut t = disk_alarm();
    t.outcome.evidence.clear();
    assert_eq!(settled(&t), OutcomeStatus::Success);
}

#[rstest]
#[case("It works now, thank you!", OutcomeStatus::Success)]
#[case("已经恢复了，谢谢", OutcomeStatus::Success)]
#[case("It still doesn't work.", OutcomeStatus::Failure)]
#[case("还是不行，依然报错", OutcomeStatus::Failure)]
#[case("That's wrong, I asked for the 12th", OutcomeStatus::Failure)]
#[case("It is not fixed now", OutcomeStatus::Failure)]
#[case("现在正常了吗？我这边打不开", OutcomeStatus::Failure)]
#[case("现在正常了吗？", OutcomeStatus::Unknown)]
#[case("没有问题了，谢谢", OutcomeStatus::Success)]
#[case("好了，谢谢！", OutcomeStatus::Success)]
#[case("还没好，太好了是不可能的", OutcomeStatus::Failure)]
#[case("not bad, works for me", OutcomeStatus::Success)]
#[case("no problem, everything is fine now", OutcomeStatus::Success)]
#[case("great, now it is broken even more", OutcomeStatus::Failure)]
#[case("It works now?", OutcomeStatus::Unknown)]
#[case("Thanks, bye", OutcomeStatus::Unknown)]
#[case("Which one?", OutcomeStatus::Unknown)]
fn the_user_has_a_word(#[case] words: &str, #[case] expected: OutcomeStatus) {
    let t = unknown(
        run("Repair my login").call("reset_login", r#"{"user":"ana"}"#, "ok").says("I did it.").user(words),
    );
    assert_eq!(settled(&t), expected, "{:?}", infer(&t));
}

#[rstest]
#[case("The first one works, the second one does not.", true)]
#[case("The first one fails but the other works.", true)]
#[case("第一个好了，第二个还是打不开", true)]
#[case("The first one works, the second one does too.", false)]
#[case("第一个好了，第二个也好了", false)]
fn a_user_for_whom_one_thing_works_and_another_does_not_says_partly(
    #[case] words: &str,
    #[case] partly: bool,
) {
    let outcome = infer(&unknown(run("Repair both").call("reset_both", "{}", "ok").user(words)));
    assert_eq!(outcome.settled() == OutcomeStatus::Partial, partly, "{outcome:?}");
}

#[rstest]
#[case("no tests ran in 0.01s", "All tests pass.")]
#[case("collected 0 items", "All tests pass.")]
#[case("未找到测试用例", "所有测试都已通过。")]
fn a_run_of_no_tests_is_no_test_that_passed(#[case] printed: &str, #[case] said: &str) {
    let t = unknown(run("Make the suite pass").call("shell", "pytest", printed).says(said));
    let outcome = infer(&t);
    assert_eq!(outcome.settled(), OutcomeStatus::Unknown, "{outcome:?}");
    assert!(outcome.evidence.iter().all(|f| f.source != EvidenceSource::TestResult), "{outcome:?}");
}

#[test]
fn what_the_user_said_before_the_last_change_is_not_about_it() {
    let t = unknown(
        run("Repair my login")
            .user("It still doesn't work")
            .call("reset_login", r#"{"user":"ana"}"#, "ok")
            .says("Reset.")
            .user("It works now"),
    );
    assert_eq!(settled(&t), OutcomeStatus::Success);
    assert_eq!(infer(&t).contradictions, [""; 0]);
}

#[rstest]
#[case(run("Find the ISBN").call("search", "{}", "nothing").says("I was unable to find it."))]
#[case(run("查一下书号").call("搜索", "{}", "空").says("抱歉，未能找到。"))]
#[case(run("Find the ISBN").call("search", "{}", "nothing"))]
fn a_run_that_admits_defeat_or_stops_has_failed(#[case] run: crate::testing::Run) {
    assert_eq!(settled(&unknown(run)), OutcomeStatus::Failure);
}

#[test]
fn doubt_alone_is_no_failure_and_nothing_is_not_known() {
    let mut hard = run("Move the data to the new host");
    for i in 0..6 {
        hard = hard.call("get_state", &format!(r#"{{"host":"h-{i}"}}"#), "up");
    }
    let hard = hard.call("move_data", "{}", "moved").call("move_data", r#"{"n":2}"#, "moved").says("Here.");
    assert_eq!(settled(&unknown(hard)), OutcomeStatus::Unknown);
    let nothing = infer(&unknown(run("Move the data")));
    assert_eq!((nothing.status, nothing.confidence), (OutcomeStatus::Unknown, 0.0));
}

#[test]
fn a_stated_status_stands_and_what_speaks_against_it_is_shown() {
    let mut t = unknown(
        run("Make the tests pass")
            .fails("shell", r#"{"command":"pytest"}"#, FAILED)
            .says("I could not do it."),
    );
    t.outcome.status = OutcomeStatus::Success;
    let outcome = infer(&t);
    assert_eq!(outcome.settled(), OutcomeStatus::Success);
    assert!(outcome.confidence < 0.5, "{outcome:?}");
    assert_eq!(
        outcome.contradictions[0],
        "the run is said to have succeeded, but the last test failed: 1 of 3 (step 0)"
    );
}

proptest! {
    /// Whatever a run holds, the answer is in bounds and names steps that exist.
    #[test]
    fn any_run_has_an_outcome_in_bounds(
        steps in prop::collection::vec(("[a-z_]{0,12}|运行测试|pytest", "\\PC{0,60}", "\\PC{0,80}|1 failed, 2 passed in 1s|测试失败", 0..4u8), 0..12)
    ) {
        let mut built = run("do it");
        for (name, detail, seen, kind) in &steps {
            built = match kind {
                0 => built.call(name, detail, seen),
                1 => built.fails(name, detail, seen),
                2 => built.says(detail),
                _ => built.user(detail),
            };
        }
        let InferredOutcome { confidence, evidence, .. } = infer(&unknown(built));
        prop_assert!((0.0..=1.0).contains(&confidence));
        prop_assert!(evidence.iter().all(|f| f.weight >= 0.0 && !f.detail.is_empty()));
        prop_assert!(evidence.iter().filter_map(|f| f.step_index).all(|i| (i as usize) < steps.len()));
        prop_assert!(evidence.windows(2).all(|w| w[0].source <= w[1].source));
    }
}
