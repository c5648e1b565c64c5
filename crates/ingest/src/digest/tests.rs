use proptest::prelude::*;

use super::*;
use crate::testing::run;

#[test]
fn text_that_fits_is_left_alone() {
    assert!(matches!(observation("pod is running", 200), Cow::Borrowed(_)));
}

/// Every part stands in the digest, in this order.
#[track_caller]
fn holds(digest: &str, parts: &[&str]) {
    let mut rest = digest;
    for part in parts {
        let Some(at) = rest.find(part) else { panic!("{part} missing or out of place in:\n{digest}") };
        rest = &rest[at + part.len()..];
    }
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
    holds(&d, &["50 items", "web-37", "CrashLoopBackOff", "more"]);
    holds(&d, &["kind: PodList"]);
    let d = brief(&text, &Focus::default());
    holds(&d, &["CrashLoopBackOff"]);
}

#[test]
fn json_of_any_depth_gives_up_its_error() {
    let nested = |levels: usize| {
        (0..levels).fold(
            serde_json::json!({"错误": "磁盘已满", "error": "disk full"}),
            |inner, i| serde_json::json!({"padding": "x".repeat(40), format!("level{i}"): [inner]}),
        )
    };
    let d = observation(&nested(60).to_string(), 300).into_owned();
    assert!(d.contains("disk full") && d.contains("磁盘已满"), "{d}");
    // Deeper than a parser follows, it is read as text.
    let d = observation(&nested(120).to_string(), 300).into_owned();
    assert!(d.contains("disk full"), "{d}");
    // As when it was broken off.
    let whole = nested(20).to_string();
    let d = observation(&whole[..whole.len() - 3], 300).into_owned();
    assert!(d.contains("disk full"), "{d}");
}

#[test]
fn output_inside_json_is_read_by_its_own_kind() {
    let log: String = (0..400).map(|i| format!("12:00:{i:02} request {i} served\n")).collect();
    let stdout = format!("{log}12:09:00 FATAL no space left on /data\n{log}");
    let text = serde_json::json!({"exit_code": 3, "stdout": stdout}).to_string();
    let d = observation(&text, 400);
    assert!(d.contains("no space left on /data") && d.contains("exit_code: 3"), "{d}");
}

#[test]
fn large_json_lists_are_sampled_while_they_are_read() {
    let items: Vec<String> =
        (0..40_000).map(|i| format!("{{\"name\":\"n{i}\",\"tags\":[1,2,{{\"ok\":true}}]}}")).collect();
    let text = format!("[{},{{\"name\":\"last\",\"error\":\"quota exceeded\"}}]", items.join(","));
    let d = observation(&text, 500);
    holds(&d, &["40001 items", "quota exceeded"]);
}

#[test]
fn tables_show_names_and_states_with_the_unhealthy_first() {
    let mut text = "NAME        READY   STATUS      RESTARTS   AGE   LABELS\n".to_owned();
    for i in 0..200 {
        let row = if i == 150 {
            "0/1     ImagePullBackOff   7   3d   app=web"
        } else {
            "1/1     Running     0   3d   app=web"
        };
        text.push_str(&format!("web-{i:<6}  {row}\n"));
    }
    let d = observation(&text, 500);
    assert!(d.len() <= 500 && !d.contains("app=web"), "{d}");
    holds(
        &d,
        &["NAME", "200 rows: 1 ImagePullBackOff, 199 Running", "web-150 0/1 ImagePullBackOff", "web-", "… "],
    );
}

#[test]
fn the_row_that_was_asked_for_stays() {
    let mut text = "NAME            STATUS    AGE\n".to_owned();
    (0..300).for_each(|i| text.push_str(&format!("service-{i:<6}  Running   3d\n")));
    let focus = Focus::new(["is service-217 well?", "get pods"]);
    assert!(focused(&text, 300, &focus).contains("service-217"));
    assert!(!observation(&text, 300).contains("service-217"));
    assert!(brief(&text, &focus).contains("service-217"));
}

#[test]
fn chinese_tables_and_fields_are_read() {
    let mut text = "名称          状态      节点\n------------  --------  ------\n".to_owned();
    (0..60).for_each(|i| text.push_str(&format!("订单服务-{i:<4}  正常      n1\n")));
    text.push_str("支付服务-7     连接超时  n2\n");
    let d = observation(&text, 300);
    holds(&d, &["支付服务-7", "连接超时"]);
    let text = format!(
        "{}状态：失败\n原因：数据库不可用\n{}",
        "备注 一切照旧\n".repeat(40),
        "备注 一切照旧\n".repeat(40)
    );
    holds(&observation(&text, 200), &["状态：失败", "原因：数据库不可用"]);
}

#[test]
fn logs_keep_error_lines_with_three_lines_around() {
    let mut lines: Vec<String> = (0..500).map(|i| format!("12:00:{i} request served")).collect();
    lines[250] = "12:00:250 数据库连接失败: 超时".to_owned();
    lines[400] = "12:00:400 ERROR db away".to_owned();
    let d = observation(&lines.join("\n"), 900).into_owned();
    assert!(d.len() <= 900);
    holds(
        &d,
        &["… 24", ":247 ", "数据库连接失败", ":253 ", "… 14", ":397 ", "ERROR db away", ":403 ", "… 9"],
    );
    assert!(!d.contains(":246 ") && !d.contains(":254 "));
}

#[test]
fn repeated_errors_are_counted_whatever_their_times_and_ids() {
    let text: String = (0..900).map(|i| format!("12:00:{i} ERROR request 7f{i:04}ab: db away\n")).collect();
    let d = observation(&text, 600).into_owned();
    holds(&d, &["db away (×900)"]);
    assert_eq!(d.matches("db away").count(), 1 + 6, "and both ends: {d}");
}

#[test]
fn stack_traces_are_folded_and_their_message_stays() {
    let frames: String =
        (0..40).map(|i| format!("\tat com.shop.Order$Inner.run{i}(Order.java:{i})\n")).collect();
    let text = format!(
        "started\njava.lang.IllegalStateException: no stock for 42\n{frames}Caused by: java.net.ConnectException: refused\n{frames}"
    );
    let d = observation(&text, 500);
    holds(
        &d,
        &[
            "IllegalStateException: no stock for 42",
            "38 frames",
            "Caused by: java.net.ConnectException: refused",
        ],
    );
    let frames: String =
        (0..30).map(|i| format!("  File \"/app/a{i}.py\", line {i}, in f\n    g({i})\n")).collect();
    let text = format!("Traceback (most recent call last):\n{frames}ValueError: 余额不足\n");
    holds(&observation(&text, 300), &["frames", "ValueError: 余额不足"]);
}

#[test]
fn what_sounds_like_trouble_and_is_none_is_calm() {
    for calm in [
        "0 errors, 0 warnings",
        "error: null",
        "restartPolicy: OnFailure",
        "no errors found",
        "没有错误",
        "failed=0",
        "timeout=1s",
    ] {
        assert_eq!(trouble::of(calm), trouble::Trouble::None, "{calm}");
    }
    for hard in [
        "2 errors",
        "OOMKilled",
        "connection refused",
        "HTTP/1.1\" 503 12",
        "拒绝访问",
        "no errors but 1 failed",
    ] {
        assert_eq!(trouble::of(hard), trouble::Trouble::Hard, "{hard}");
    }
    assert_eq!(trouble::of("level=info msg=\"0 failed, retry later\""), trouble::Trouble::None);
}

#[test]
fn descriptions_keep_the_name_the_states_and_what_explains_them() {
    let mut text = "Name:         web-7\nNamespace:    shop\nStatus:       Pending\n".to_owned();
    (0..60).for_each(|i| text.push_str(&format!("  kubernetes.example/label{i}=value\n")));
    text.push_str("Node-Selectors:   disk=ssd\nEvents:\n  Type     Reason            Message\n  ----     ------            -------\n");
    text.push_str("  Warning  FailedScheduling  0/3 nodes match the node selector\n");
    let d = brief(&text, &Focus::default());
    holds(&d, &["Name: web-7", "Status: Pending", "Node-Selectors: disk=ssd", "FailedScheduling"]);
    assert!(d.len() * 8 < text.len(), "{d}");
}

#[test]
fn failed_commands_keep_their_exit_code() {
    let text =
        format!("{}exit code: 137\n{}", "compiling part\n".repeat(90), "done with a part\n".repeat(90));
    assert!(brief(&text, &Focus::default()).contains("exit code: 137"));
    let text = text.replace("exit code: 137", "退出码：1");
    assert!(observation(&text, 200).contains("退出码：1"));
}

#[test]
fn pages_lose_their_markup_and_diffs_keep_what_changed() {
    let page = format!(
        "<!DOCTYPE html><html><head><title>Run &amp; book</title><style>p {{}}</style><script>if (a<b) fail()</script></head>\
         <body><p>First <b>restart</b></p>{}<p>Error 17: 服务不可用</p>",
        "<div class=\"x\">filler</div>".repeat(80)
    );
    let d = observation(&page, 300);
    holds(&d, &["Run & book", "First restart", "Error 17: 服务不可用"]);
    assert!(!d.contains('<') && !d.contains("fail()"), "{d}");
    let context: String = (0..80).map(|i| format!(" let unchanged{i} = error();\n")).collect();
    let diff = format!(
        "diff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n@@ -1,80 +1,81 @@\n{context}-old\n+new\n+newer\n{context}"
    );
    holds(
        &observation(&diff, 300),
        &["diff --git a/x.rs b/x.rs", "2 lines added, 1 removed", "-old", "+new", "+newer"],
    );
}

#[test]
fn consecutive_steps_of_one_kind_become_one() {
    let mut steps = run(7).steps;
    steps[2].observation = "pod web-2 has failed".to_owned();
    steps[4].action_name = "helm".to_owned();
    steps[6].reflection = "enough".to_owned();
    let observe = |text: &str, _: &Focus| text.to_owned();
    let merged = merge(&steps, "", 200, observe);
    let spans: Vec<_> = merged.iter().map(|m| (m.first, m.last)).collect();
    assert_eq!(spans, [(0, 3), (4, 4), (5, 5), (6, 6)]);
    assert_eq!(merged[0].detail, "get pod {web-0, web-1, web-2, web-3}");
    assert_eq!(merged[0].observation, "[0–1, 3] pod web-0 is running\n[2] pod web-2 has failed");
    assert!(merge(&[], "", 200, observe).is_empty());
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
        let most = text.len().min((text.len() / 10).max(512));
        prop_assert!(brief(&text, &Focus::new(["web-1"])).len() <= most.max(100));
        prop_assert!(head_and_tail(&text, budget).len() <= budget);
    }

    /// Other ids in the same places give the same digest with other ids.
    #[test]
    fn the_shape_of_a_digest_does_not_depend_on_ids(
        ids in prop::collection::btree_set("[bcdfghjklmnpqrstvwxz2456789]{5}", 12),
        others in prop::collection::btree_set("[bcdfghjklmnpqrstvwxz2456789]{5}", 12),
        budget in 200usize..900,
    ) {
        let text = |ids: &std::collections::BTreeSet<String>| {
            let id: Vec<&String> = ids.iter().collect();
            let rows: String = (0..12).map(|i| {
                let state = if i % 5 == 3 { "0/1    CrashLoopBackOff" } else { "1/1    Running" };
                format!("shop-{}   {state}   3d\n", id[i])
            }).collect();
            let log: String = (0..40).map(|i| {
                let level = if i % 13 == 7 { "ERROR 支付失败" } else { "INFO served" };
                format!("2026-01-02T03:04:{i:02}Z {level} request=req-{}\n", id[i % 12])
            }).collect();
            format!("NAME   READY   STATUS   AGE\n{rows}\n{log}")
        };
        let (a, b) = (text(&ids), text(&others));
        let digests = [(&a, &ids), (&b, &others)].map(|(text, ids)| {
            let digest = observation(text, budget).into_owned();
            ids.iter().enumerate().fold(digest, |d, (i, id)| d.replace(id.as_str(), &format!("<{i}>")))
        });
        prop_assert_eq!(&digests[0], &digests[1]);
    }
}
