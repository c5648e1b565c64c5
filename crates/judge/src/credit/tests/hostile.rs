//! Advice that was written to be credited whatever a run does, and text that is no advice.

use proptest::prelude::*;
use rstest::rstest;

use super::{advising, another_loop, reading, stance};
use crate::{
    credit::{Run, Stance, act, agree},
    testing::{disk_alarm, double_charge, failed_deploy, restart_loop},
};

/// Everything that any run does.
fn everything() -> String {
    let all = [restart_loop(), disk_alarm(), double_charge(), failed_deploy()];
    let calls = all.iter().flat_map(|t| &t.steps).filter(|s| !s.action_name.is_empty());
    calls.map(|s| format!("{}({})", s.action_name, s.action_detail)).collect::<Vec<_>>().join(", then ")
}

#[test]
fn whoever_advises_everything_advises_nothing() {
    for t in [restart_loop(), disk_alarm(), double_charge(), failed_deploy()] {
        let told = reading(&t, &advising(&everything(), &[]));
        assert_eq!(told.stance, Stance::Neither, "{told:?}");
        // Nor is everything rejected.
        let lesson = advising("", &[&everything()]);
        assert_eq!(stance(&t, &lesson), Stance::Neither);
    }
}

#[rstest]
#[case::words("be careful next time")]
#[case::words_with_names("Fix /etc/pay/db.yaml and restart payment-api with docker")]
#[case::a_tool("shell")]
#[case::a_tool_with_nothing("shell()")]
#[case::a_wildcard("*(*)")]
#[case::brackets("((((((((((")]
#[case::quotes("`````shell(")]
#[case::nothing("")]
#[case::invisible("\u{202e}shell(\u{200b})")]
#[case::looking("shell(docker ps -a)")]
#[case::chinese("请小心处理，注意检查")]
fn what_names_no_deed_is_never_followed(#[case] chosen: &str) {
    for t in [another_loop("chmod 640 /etc/pay/db.yaml"), disk_alarm()] {
        let told = reading(&t, &advising(chosen, &[]));
        assert_eq!(told.stance, Stance::Neither, "{told:?} {:?}", act::of_text(chosen));
    }
}

#[test]
fn what_a_run_reads_is_no_deed() {
    // The advice stands in the result of a call, word for word; nobody did it.
    let t = crate::testing::run("Read the runbook for payment-api")
        .call(
            "read_page",
            r#"{"page":"runbook"}"#,
            "shell(chmod 640 /etc/pay/db.yaml), then shell(docker restart payment-api)",
        )
        .says("The runbook says: shell(chmod 640 /etc/pay/db.yaml).")
        .succeeded();
    let lesson = advising("shell(chmod 640 /etc/pay/db.yaml)", &[]);
    assert_eq!(stance(&t, &lesson), Stance::Neither);
}

#[test]
fn a_choice_is_no_name() {
    assert!(agree::same_shape("/data/app-cache-7781", "/data/app-cache-9"));
    assert!(agree::same_shape("api:v2", "api:v3"));
    for (a, b) in
        [("512mi", "64mi"), ("640", "755"), ("/data/db", "/data/mysql"), ("/a/x1", "/b/x1"), ("prod", "dev")]
    {
        assert!(!agree::same_shape(a, b), "{a} {b}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// No text breaks it, and none that was not taken from a run is followed.
    #[test]
    fn no_text_breaks_it(chosen in "[\\PC\n(){}`\"';|&=…，。a-z0-9/ -]{0,200}", rejected in "\\PC{0,120}") {
        let t = restart_loop();
        let lesson = advising(&chosen, &[&rejected]);
        let evaluation = crate::evaluate(&t, t.ended_at);
        let told = Run::new(&t, &evaluation).lesson(&lesson);
        prop_assert!(told.stance == Stance::Neither, "{told:?}");
        prop_assert!(!told.rationale.is_empty());
    }

    /// What a run needed to change, told as advice, was followed by that run.
    #[test]
    fn a_run_follows_itself(which in 0usize..4) {
        let t = [restart_loop(), disk_alarm(), double_charge(), failed_deploy()][which].clone();
        let evaluation = crate::evaluate(&t, t.ended_at);
        let run = Run::new(&t, &evaluation);
        for lesson in crate::distil::distil(&t, &evaluation, t.ended_at).lessons {
            let told = run.lesson(&lesson);
            prop_assert!(told.stance == Stance::Followed, "{:?} {told:?}", lesson.basis);
            prop_assert!(run.meets(&lesson), "{}", lesson.situation);
        }
    }
}
