use proptest::prelude::*;

use super::*;
use crate::testing::run;

#[test]
fn text_that_fits_is_left_alone() {
    assert!(matches!(observation("pod is running", 200), Cow::Borrowed(_)));
}

#[test]
fn json_keeps_state_and_trouble_and_counts_lists() {
    let pods: Vec<_> = (0..50)
        .map(|i| {
            let status = if i == 37 { "CrashLoopBackOff" } else { "Running" };
            serde_json::json!({"uid": format!("{i:032}"), "name": format!("web-{i}"), "status": status})
        })
        .collect();
    let text = serde_json::json!({"padding": "x".repeat(3000), "kind": "PodList", "items": pods}).to_string();
    let d = observation(&text, 1200);
    assert!(d.len() <= 1200, "{}", d.len());
    for part in ["kind: PodList", "50 items", "web-37", "CrashLoopBackOff", "more"] {
        assert!(d.contains(part), "{part} missing in:\n{d}");
    }
}

#[test]
fn tables_keep_the_header_and_the_unhealthy_rows() {
    let mut text = "NAME        READY   STATUS      RESTARTS\n".to_owned();
    for i in 0..200 {
        let row = if i == 150 { "0/1     ImagePullBackOff   7" } else { "1/1     Running     0" };
        text.push_str(&format!("web-{i:<6}  {row}\n"));
    }
    let d = observation(&text, 500);
    assert!(d.len() <= 500 && d.starts_with("NAME"), "{d}");
    assert!(d.contains("web-150") && d.contains("ImagePullBackOff") && d.contains("rows left out"), "{d}");
}

#[test]
fn logs_keep_error_lines_with_three_lines_around() {
    let mut lines: Vec<String> = (0..500).map(|i| format!("12:00:{i} request served")).collect();
    lines[250] = "12:00:250 数据库连接失败: 超时".to_owned();
    lines[400] = "12:00:400 ERROR db away".to_owned();
    let d = observation(&lines.join("\n"), 900).into_owned();
    assert!(d.len() <= 900);
    for part in ["数据库连接失败", "ERROR db away", ":247 ", ":253 ", "lines left out"] {
        assert!(d.contains(part), "{part} missing in:\n{d}");
    }
    assert!(!d.contains(":246 "));
}

#[test]
fn repeated_errors_are_counted_not_repeated() {
    let text: String = (0..900).map(|i| format!("12:00:{i} ERROR db away\n")).collect();
    let d = observation(&text, 600).into_owned();
    assert!(d.contains("898 more lines repeat"), "{d}");
}

#[test]
fn long_text_keeps_both_ends() {
    let text = format!("begin {} end", "词".repeat(5000));
    let d = observation(&text, 300);
    assert!(d.starts_with("begin") && d.ends_with("end") && d.len() <= 300);
}

#[test]
fn a_stored_run_is_bounded_and_keeps_its_steps() {
    let mut t = run(3000);
    for s in &mut t.steps {
        s.observation = "long ".repeat(1000);
        s.action_detail = "{".repeat(5000);
    }
    let d = trajectory(t);
    assert_eq!(d.steps.len(), 3000);
    let weight: usize = d.steps.iter().map(|s| s.observation.len() + s.action_detail.len()).sum();
    assert!(weight <= 3 * RUN_BYTES, "{weight}");
    assert_eq!(d.steps[1].observation, "same as step 0");
    assert_eq!(trajectory(run(3)), run(3), "a short run stays as it is");
}

#[test]
fn hostile_nesting_is_harmless() {
    observation(&"[".repeat(200_000), 500);
    observation(&format!("{}1{}", "[".repeat(100), "]".repeat(100)), 96);
}

proptest! {
    #[test]
    fn the_budget_holds_for_any_text(
        text in prop_oneof![
            "\\PC{0,600}",
            "(ERROR [a-z错误0-9 ]{0,60}\n|ok [a-z ]{0,40}\n){0,60}",
            "NAME  STATUS\n([a-z]{1,9}  (Running|Error)\n){0,80}",
            "\\[(\\{\"name\":\"[a-z错]{0,30}\",\"v\":[0-9]{1,9}\\},){0,30}1\\]",
        ],
        budget in 96usize..700,
    ) {
        prop_assert!(observation(&text, budget).len() <= budget);
        prop_assert!(head_and_tail(&text, budget).len() <= budget);
    }
}
