//! One small run per rule.

use hindsight_types::OutcomeStatus;
use rstest::rstest;

use crate::testing::{labels, rationale, run};

#[test]
fn what_a_later_step_used_was_needed_and_the_chain_says_so() {
    let t = run("Cancel my booking")
        .call("get_user", r#"{"user":"mia"}"#, r#"{"bookings":["3FRNFB"]}"#)
        .call("get_weather", r#"{"city":"Oslo"}"#, "12 degrees")
        .call("cancel_booking", r#"{"booking_id":"3FRNFB"}"#, r#"{"state":"cancelled"}"#)
        .says("Done.")
        .succeeded();
    assert_eq!(labels(&t), "NRNN");
    assert_eq!(rationale(&t, 0), "it found bookings \"3FRNFB\", which step 2 (cancel_booking) used");
}

#[test]
fn what_the_task_itself_names_needs_no_step() {
    let t = run("Cancel booking 3FRNFB")
        .call("list_bookings", "{}", r#"["3FRNFB"]"#)
        .call("cancel_booking", r#"{"booking_id":"3FRNFB"}"#, "cancelled")
        .succeeded();
    assert_eq!(labels(&t), "RN");
}

#[test]
fn an_identical_call_with_the_same_result_is_redundant_whatever_its_spacing() {
    let t = run("Which flights go to Oslo?")
        .call("search_flights", r#"{"from":"EWR","to":"OSL"}"#, r#"["HAT041"]"#)
        .call("search_flights", r#"{ "to": "OSL", "from": "EWR" }"#, r#"["HAT041"]"#)
        .says("HAT041 does.")
        .succeeded();
    assert_eq!(labels(&t), "NRN");
}

#[test]
fn the_same_look_after_a_change_is_a_check_and_not_a_repetition() {
    let t = run("Set the replicas of web to 3")
        .call("get_service", r#"{"name":"web"}"#, "replicas 1")
        .call("scale_service", r#"{"name":"web","replicas":3}"#, "ok")
        .call("get_service", r#"{"name":"web"}"#, "replicas 3")
        .says("web runs with 3 replicas.")
        .succeeded();
    assert_eq!(labels(&t), "RNNN");
}

#[test]
fn a_write_that_finds_its_state_there_already_is_redundant() {
    let state = r#"{"booking_id":"FQ8APE","cabin":"economy","bags":3,"paid":"card_1"}"#;
    let t = run("Upgrade booking FQ8APE and add bags")
        .call(
            "update_cabin",
            r#"{"booking_id":"FQ8APE","cabin":"economy","pay":"card_1"}"#,
            r#"{"booking_id":"FQ8APE","cabin":"economy","bags":0,"paid":"card_1"}"#,
        )
        .call("update_bags", r#"{"booking_id":"FQ8APE","bags":3,"pay":"card_1"}"#, state)
        .call("update_cabin", r#"{"booking_id":"FQ8APE","cabin":"economy","pay":"gift_2"}"#, state)
        .says("All done.")
        .succeeded();
    assert_eq!(labels(&t), "NNRN");
    assert_eq!(rationale(&t, 2), "the state it returned was already there at step 1 (update_bags)");
}

#[rstest]
#[case("update_config", "no changes detected")]
#[case("更新配置", "配置无变化")]
fn a_write_that_says_it_changed_nothing_is_redundant(#[case] tool: &str, #[case] result: &str) {
    let t = run("fix it")
        .call("set_limit", r#"{"key":"mem"}"#, "ok")
        .call(tool, r#"{"name":"web"}"#, result)
        .succeeded();
    assert_eq!(labels(&t), "NR");
}

#[test]
fn a_value_that_was_set_again_to_another_was_not_needed() {
    let t = run("The worker is killed for memory")
        .call("set_memory_limit", r#"{"name":"worker","limit":"512Mi"}"#, "ok")
        .call("set_memory_limit", r#"{"name":"worker","limit":"2Gi"}"#, "ok")
        .succeeded();
    assert_eq!(labels(&t), "RN");
}

#[test]
fn edits_of_one_file_add_up() {
    let t = run("Fix the parser")
        .call("edit_file", r#"{"path":"src/a.rs","old":"x","new":"y"}"#, "ok")
        .call("edit_file", r#"{"path":"src/a.rs","old":"p","new":"q"}"#, "ok")
        .succeeded();
    assert_eq!(labels(&t), "NN");
}

#[test]
fn a_scratch_file_that_showed_the_cause_was_needed_though_it_was_removed() {
    let t = run("Fix the crash of the importer")
        .call("create_file", r#"{"path":"/tmp/repro.py"}"#, "created")
        .call("shell", r#"{"command":"python /tmp/repro.py"}"#, "crash in parse_header line 4711")
        .call("edit_file", r#"{"path":"importer.py","at":"parse_header"}"#, "ok")
        .call("delete_file", r#"{"path":"/tmp/repro.py"}"#, "ok")
        .says("parse_header is fixed.")
        .succeeded();
    assert_eq!(labels(&t), "NNNNN");
}

#[test]
fn a_cancellation_of_what_others_made_takes_nothing_back() {
    let t = run("Move me to economy, then cancel booking XEHM4B")
        .call("update_booking", r#"{"booking_id":"XEHM4B","cabin":"economy"}"#, "ok")
        .call("cancel_booking", r#"{"booking_id":"XEHM4B"}"#, "ok")
        .succeeded();
    assert_eq!(labels(&t), "NN");
}

#[test]
fn changes_of_a_failed_run_are_suspects() {
    let t = run("Cancel what I may cancel")
        .call("cancel_booking", r#"{"booking_id":"I6M8JQ"}"#, "cancelled")
        .says("I cancelled it.")
        .user("Thank you, bye!")
        .failed();
    assert_eq!(labels(&t), "MMR");
}

#[rstest]
#[case::cut_off(run("Downgrade both").call("update_booking", r#"{"id":"JG7FMM"}"#, "ok").failed())]
#[case::unanswered(
    run("Compensate me and book a flight")
        .call("send_voucher", r#"{"user":"noah"}"#, "sent")
        .says("Shall I book flight HAT082 for 1002 dollars?")
        .user("Yes, I confirm the total, go on with the booking.")
        .failed()
)]
#[case::given_up(
    run("赔偿并重新下单")
        .call("发送优惠券", r#"{"用户":"小明"}"#, "已发送")
        .fails("创建订单", r#"{"金额":957}"#, "错误：金额不符")
        .says("抱歉，没能下单。")
        .failed()
)]
fn a_run_that_failed_for_want_of_its_end_does_not_blame_what_it_had_done(
    #[case] t: hindsight_types::Trajectory,
) {
    assert_eq!(labels(&t).chars().next(), Some('N'), "{}", rationale(&t, 0));
}

#[test]
fn asking_the_same_in_other_words_is_redundant_and_going_on_with_it_misleads() {
    let page = r#"{"result":["Dirleton Castle is a medieval fortress in East Lothian","Gullane lies on the coast of the Firth"]}"#;
    let ask = |q: &str| format!(r#"{{"query":"{q}"}}"#);
    let runs = |verdict| {
        run("Which coastal area does the fortress border?")
            .call("search", &ask("dirleton castle coastal area south side"), page)
            .call("search", &ask("dirleton castle south side coastal area"), page)
            .call("search", &ask("coastal area dirleton castle side"), page)
            .says("I believe it is the harbour.")
            .ended(verdict)
    };
    assert_eq!(labels(&runs(OutcomeStatus::Failure)), "NRMM");
    assert_eq!(labels(&runs(OutcomeStatus::Success)), "NRRN");
}

#[test]
fn words_that_were_meant_as_a_call_and_were_not_taken_failed() {
    let t = run("Who wrote it?")
        .says("<tool_call>search who wrote it</tool_call>")
        .user("No effective tool call detected. Please call a tool using the provided schema.")
        .call("search", r#"{"query":"who wrote it"}"#, "Written by Zola")
        .says("Zola")
        .succeeded();
    assert_eq!(labels(&t), "FNNN");
}

#[rstest]
#[case("No, that was the wrong one!")]
#[case("你弄错了，不是这个订单")]
fn what_the_user_contradicts_was_misleading(#[case] words: &str) {
    let t = run("Cancel my order")
        .call("cancel_order", r#"{"order_id":"A-77"}"#, "ok")
        .user(words)
        .call("cancel_order", r#"{"order_id":"A-78"}"#, "ok")
        .succeeded();
    assert_eq!(labels(&t), "MNN");
}

#[test]
fn an_unknown_outcome_lowers_the_confidence_and_blames_nobody() {
    let t = run("Restart web").call("restart_service", r#"{"name":"web"}"#, "ok").says("Restarted.");
    let t = t.ended(OutcomeStatus::Unknown);
    assert_eq!(labels(&t), "NN");
    assert!(crate::slice::judge(&t).steps.iter().all(|s| s.confidence <= 0.6));
}

#[test]
fn what_the_user_says_of_something_else_contradicts_no_act() {
    let t = run("Cancel my order and check my address")
        .call("cancel_order", r#"{"order_id":"A-77"}"#, "ok")
        .call("get_address", r#"{"user":"ana"}"#, "Elm Street 5")
        .user("That's wrong, it is number 7.")
        .call("update_address", r#"{"user":"ana","street":"Elm Street 7"}"#, "ok")
        .succeeded();
    assert_eq!(labels(&t), "NNNN");
}

#[test]
fn a_check_counts_where_the_conclusion_is_no_step_of_its_own() {
    let mut t = run("web does not answer")
        .call("restart_service", r#"{"name":"web"}"#, "ok")
        .call("get_health", r#"{"name":"web"}"#, "healthy")
        .succeeded();
    t.outcome.conclusion = "It answers again.".to_owned();
    assert_eq!(labels(&t), "NN");
}

#[test]
fn a_restart_after_which_its_thing_is_in_trouble_did_not_help() {
    let t = run("The indexer crashes")
        .call("kubectl", r#"{"command":"rollout restart deploy/indexer"}"#, "restarted")
        .call("kubectl", r#"{"command":"get pods -l app=indexer"}"#, "indexer-84b6-x 0/1 CrashLoopBackOff 3")
        .call("kubectl", r#"{"command":"set resources deploy/indexer --limits=memory=2Gi"}"#, "updated")
        .call("kubectl", r#"{"command":"rollout status deploy/indexer"}"#, "successfully rolled out")
        .says("It runs with more memory.")
        .succeeded();
    assert_eq!(labels(&t), "RNNNN");
}

#[test]
fn a_removal_after_which_the_very_same_trouble_is_seen_did_not_help() {
    let disk = |used: u32| format!("/dev/sda1 100G {used}%");
    let t = |after: u32| {
        run("Disk alarm")
            .call("shell", r#"{"command":"df -h /"}"#, &disk(97))
            .call("shell", r#"{"command":"rm -r /var/cache/apt"}"#, "")
            .call("shell", r#"{"command":"df -h / --total"}"#, &disk(after))
            .call("shell", r#"{"command":"truncate -s 0 /var/log/huge.log"}"#, "")
            .succeeded()
    };
    assert_eq!(labels(&t(97)).chars().nth(1), Some('R'));
    assert_eq!(labels(&t(93)).chars().nth(1), Some('N'));
}

#[test]
fn handing_over_concludes_a_run() {
    let t = run("Cancel what I may cancel")
        .call("cancel_booking", r#"{"booking_id":"I6M8JQ"}"#, "cancelled")
        .call("transfer_to_human_agents", r#"{"summary":"the rest is not allowed"}"#, "transferred");
    assert_eq!(labels(&t.failed()), "MM");
}

#[test]
fn handing_over_in_the_middle_is_an_act() {
    let t = run("Kim cannot log in")
        .call("get_user", r#"{"user":"kim"}"#, r#"{"user":"kim","state":"locked"}"#)
        .call("escalate", r#"{"to":"L2","user":"kim"}"#, "ok")
        .call("get_user", r#"{"user":"kim"}"#, r#"{"user":"kim","state":"active"}"#)
        .says("Kim can log in again.");
    assert_eq!(&labels(&t.succeeded())[1..], "NNN");
}

/// The next page is another question: whether it was needed may be open, but it repeats nothing.
#[rstest]
#[case("list_invoices", "page")]
#[case("查询账单", "页码")]
fn pages_of_a_list_are_no_repetition(#[case] tool: &str, #[case] key: &str) {
    let page = |n: u32| {
        let rows: Vec<String> = (0..5)
            .map(|i| format!(r#"{{"invoice":"INV-{}","status":"overdue","sum":10}}"#, 100 * n + i))
            .collect();
        (format!(r#"{{"status":"overdue","{key}":{n}}}"#), format!("[{}]", rows.join(",")))
    };
    let mut t = run("Count all overdue invoices");
    for n in 1..=8 {
        let (ask, answer) = page(n);
        t = t.call(tool, &ask, &answer);
    }
    let t = t.says("40 invoices are overdue.").succeeded();
    for step in &super::super::judge(&t).steps[1..8] {
        assert!(!step.rationale.contains("asks again"), "{step:?}");
        assert!(step.label != hindsight_types::StepLabel::Redundant || step.confidence < 0.5, "{step:?}");
    }
}

#[test]
fn another_program_in_the_same_shell_is_no_retry() {
    let t = run("Make the tests of cart pass")
        .call("bash", "pytest -q", "1 failed, 3 passed\nexit code: 1")
        .call("bash", "cat cart.py", "def total(items): return sum(items) + 1")
        .call("bash", "sed -i 's/ + 1//' cart.py", "")
        .call("bash", "pytest -q", "4 passed")
        .says("The sum in cart.py was off by one.")
        .succeeded();
    assert!(!rationale(&t, 0).contains("other arguments"), "{}", rationale(&t, 0));
}
