use hindsight_types::{OutcomeStatus, Stage, TaskType, Trajectory, UserId, Visibility};
use rstest::rstest;

use super::{Distilled, distil, phrase, summary};
use crate::testing::{disk_alarm, double_charge, failed_deploy, restart_loop, run};

fn distilled(t: &Trajectory) -> Distilled {
    distil(t, &crate::evaluate(t, t.ended_at), t.ended_at)
}

#[test]
fn short_says_where_it_cut() {
    assert_eq!(phrase::short("a  b\nc", 10), "a b c");
    assert_eq!(phrase::short("磁盘已经满了", 3), "磁盘已…");
}

#[test]
fn a_lesson_names_the_symptom_the_action_and_what_did_not_help() {
    let lesson = &distilled(&restart_loop()).lessons[0];
    assert_eq!(
        lesson.advice,
        "When you see \"FATAL cannot read /etc/pay/db.yaml: permission denied\": shell(chmod 640 /etc/pay/db.yaml), \
         then shell(docker restart payment-api --time 5). Skip shell(docker restart payment-api): it did not help."
    );
    assert_eq!(lesson.basis.rejected, ["shell(docker restart payment-api)"]);
    assert_eq!(lesson.stage, Stage::Candidate);
    assert!(lesson.situation.contains("payment-api restarts in a loop"));
}

#[test]
fn the_removal_of_a_mistake_is_no_part_of_the_way() {
    let d = distilled(&double_charge());
    assert!(d.lessons.iter().all(|l| !l.basis.chosen.contains("refund_charge")), "{:?}", d.lessons);
    let d = distilled(&failed_deploy());
    assert!(d.lessons[0].basis.chosen.contains("rollback_release"));
    assert!(d.lessons[0].advice.contains("Skip deploy_release"));
}

/// Who did something else in the same situation learned something else; who did the same to another thing did not.
#[test]
fn what_a_verb_is_about_tells_lessons_apart_and_names_do_not() {
    let fixed = |service: &str, command: &str| {
        let logs = format!("kubectl logs deploy/{service}");
        run(&format!("The service {service} is killed over and over. Find out why and fix it."))
            .call("shell", &logs, "FATAL the heap is full: out of memory, the container was killed")
            .call("shell", command, &format!("{service} updated"))
            .call("shell", &format!("{logs} --since=1m"), &format!("{service} listening on 8080"))
            .succeeded()
    };
    let id = |t: &Trajectory| distilled(t).lessons[0].id;
    let limit = id(&fixed("zeta", "kubectl set resources deploy/zeta --limits=memory=1Gi"));
    assert_ne!(limit, id(&fixed("zeta", "kubectl set env deploy/zeta JAVA_OPTS=-Xmx100m")));
    assert_eq!(limit, id(&fixed("omega", "kubectl set resources deploy/omega --limits=memory=2Gi")));
    assert_eq!(limit, id(&fixed("omega", "kubectl set resources deployment omega --limits=memory=2Gi")));
}

#[test]
fn a_failure_pattern_says_what_worked_later() {
    let d = distilled(&disk_alarm());
    let [p] = d.failure_patterns.as_slice() else { panic!("{:?}", d.failure_patterns) };
    assert_eq!(p.action_name, "执行命令");
    assert_eq!(p.signature, "rm: 无法删除 <name>: 权限不够");
    assert_eq!(p.suggestion, "同一次运行中有效的做法：执行命令(rm -r /data/binlog-archive)");
}

#[test]
fn the_same_failure_in_two_runs_has_one_id_and_another_user_has_another() {
    let at = |order: &str| {
        run("pay")
            .fails(
                "pay_order",
                &format!(r#"{{"order":"{order}"}}"#),
                &format!("Error: order {order} not found"),
            )
            .failed()
    };
    let id = |t: &Trajectory| distilled(t).failure_patterns[0].id;
    assert_eq!(id(&at("A-1")), id(&at("B-22")));
    let mut other = at("A-1");
    other.scope.visibility = Visibility::User(UserId::new("ana").unwrap());
    assert_ne!(id(&other), id(&at("A-1")));
    assert_eq!(distilled(&other).failure_patterns[0].scope, other.scope);
}

#[test]
fn a_failure_that_was_never_solved_says_what_to_check() {
    let t = run("pay")
        .fails("pay", "{}", "Error: card expired")
        .fails("pay", "{}", "Error: card expired")
        .failed();
    let d = distilled(&t);
    assert_eq!(d.failure_patterns.len(), 1);
    assert!(
        d.failure_patterns[0].suggestion.contains("failed, 2 times"),
        "{}",
        d.failure_patterns[0].suggestion
    );
    assert!(d.lessons.is_empty());
}

#[rstest]
#[case(run("…").call("restart", "", "ok").succeeded())]
#[case(run("Is it up?").call("get_state", r#"{"name":"web"}"#, "up").says("It is up.").succeeded())]
#[case(run("Book a seat").call("book_seat", r#"{"seat":"12C"}"#, "ok").says("Booked.").ended(OutcomeStatus::Unknown))]
fn what_has_no_condition_no_action_or_no_known_result_is_no_lesson(#[case] t: Trajectory) {
    assert_eq!(distilled(&t).lessons, []);
}

#[test]
fn a_long_run_is_told_in_100_to_150_words_or_characters() {
    let mut english =
        run("Find out why the nightly export of the billing service has not arrived since Monday");
    let mut chinese = run("查明计费服务的夜间导出为什么从周一起没有到达");
    for i in 0..12 {
        let args = format!(r#"{{"path":"/srv/export/part-{i}"}}"#);
        let next = format!("/srv/export/part-{} is the next file and it is complete", i + 1);
        english = english.call("read_file", &args, &next);
        chinese =
            chinese.call("读取文件", &args, &format!("下一个文件是 /srv/export/part-{}，内容完整", i + 1));
    }
    for t in [
        english.says("The file /srv/export/part-12 was missing.").succeeded(),
        chinese.says("缺少 /srv/export/part-12。").succeeded(),
    ] {
        let told = summary(&t, t.outcome.resolved(), &crate::slice::judge(&t).steps);
        let n = super::summary::length(&told);
        assert!((100..=150).contains(&n), "{n}: {told}");
    }
}

#[test]
fn a_lesson_says_where_it_holds_and_by_what_it_is_found() {
    let mut t = restart_loop();
    t.environment.tags = vec!["docker".to_owned()];
    t.task_type = Some(TaskType::new("incident").unwrap());
    let lesson = &distilled(&t).lessons[0];
    assert_eq!(
        lesson.applicability,
        "Where shell is used on docker for tasks of kind incident; not tried elsewhere."
    );
    assert!(lesson.entities.contains(&"/etc/pay/db.yaml".to_owned()), "{:?}", lesson.entities);
}

#[test]
fn a_chinese_run_teaches_in_chinese() {
    let d = distilled(&disk_alarm());
    let lesson = &d.lessons[0];
    assert!(
        lesson.advice.starts_with("看到“/dev/vdb1 500G 480G 96% /data 空间不足”时：执行命令("),
        "{}",
        lesson.advice
    );
    assert!(lesson.situation.contains("现象："), "{}", lesson.situation);
    assert!(lesson.applicability.starts_with("适用于使用 执行命令"), "{}", lesson.applicability);
    assert!(lesson.result.starts_with("成功"), "{}", lesson.result);
    for text in [&lesson.advice, &lesson.situation, &lesson.applicability, &d.failure_patterns[0].suggestion]
    {
        for english in ["When", "Seen", "Skip", "Where", "worked", "then"] {
            assert!(!text.contains(english), "{text}");
        }
    }
}

#[test]
fn a_time_out_that_was_gone_at_the_next_try_is_no_lesson_but_a_failure_that_is_listed() {
    let t = run("Read the invoice INV-7 and say its total")
        .fails("get_invoice", r#"{"id":"INV-7"}"#, "Error: request timed out after 30 s")
        .call("get_invoice", r#"{"id":"INV-7"}"#, r#"{"id":"INV-7","total":"310.55"}"#)
        .says("The total of INV-7 is 310.55.")
        .succeeded();
    let d = distilled(&t);
    assert_eq!(d.lessons, []);
    assert!(d.rejected[0].reason.starts_with("one accident"), "{:?}", d.rejected);
    assert_eq!(d.failure_patterns.len(), 1);
}

#[rstest]
#[case(run("Is it up?").call("get_state", r#"{"name":"web"}"#, "up").says("It is up.").succeeded(), "it changed nothing")]
#[case(
    run("Pay").fails("pay", "{}", "Error: card expired").says("I was unable to pay.").failed(),
    "the run failed and got past none"
)]
#[case(run("restart web on host-7").call("restart", r#"{"service":"web","host":"host-7"}"#, "ok").says("Restarted web.").succeeded(), "it repeats the task")]
fn a_person_can_see_why_a_run_left_no_lesson(#[case] t: Trajectory, #[case] reason: &str) {
    let d = distilled(&t);
    assert_eq!(d.lessons, []);
    assert!(d.rejected.iter().any(|r| r.reason.starts_with(reason)), "{:?}", d.rejected);
}

#[test]
fn a_run_whose_end_is_in_doubt_advises_nothing() {
    let mut t = run("Fix the failing test test_total in cart.py")
        .fails("read_file", r#"{"path":"carts.py"}"#, "Error: no such file: carts.py")
        .call("read_file", r#"{"path":"cart.py"}"#, "def total(xs): return sum(xs)-1")
        .call("shell", r#"{"command":"sed -i 's/-1/-2/' cart.py"}"#, "")
        .call("shell", r#"{"command":"pytest -q"}"#, "FAILED test_total\n1 failed, 1 passed in 0.1s")
        .says("test_total in cart.py is fixed.")
        .ended(OutcomeStatus::Unknown);
    t.outcome.status = OutcomeStatus::Success;
    let d = distilled(&t);
    assert_eq!(d.lessons, []);
    assert!(!d.rejected.is_empty());
    assert!(d.rejected.iter().all(|r| r.reason.contains("in doubt")), "{:?}", d.rejected);
}

#[test]
fn a_test_that_fails_is_no_failure_of_the_one_who_runs_it() {
    let t = run("Fix the failing test test_total in cart.py")
        .fails(
            "bash",
            r#"{"command":"pytest -q"}"#,
            "FAILED test_total - assert 9 == 10\n1 failed, 1 passed in 0.1s",
        )
        .fails("bash", r#"{"command":"pytest -q"}"#, "bash: pytest: command not found")
        .says("I was unable to fix it.")
        .failed();
    let d = distilled(&t);
    let [p] = d.failure_patterns.as_slice() else { panic!("{:?}", d.failure_patterns) };
    assert!(p.example.contains("command not found"), "a runner that is not there is a failure: {p:?}");
}

#[rstest]
#[case(
    run("Please refund my order A-1001")
        .call("refund", r#"{"order":"A-1001","amount":30}"#, r#"{"refund":"R-5"}"#)
        .says("Order A-1001 is refunded: R-5.").succeeded()
)]
#[case(
    run("请给订单 A-1001 退款")
        .call("退款", r#"{"订单":"A-1001","金额":30}"#, r#"{"退款单":"R-5"}"#)
        .says("订单 A-1001 已退款：R-5。").succeeded()
)]
fn a_lesson_that_knows_the_task_only_and_rejects_nothing_is_none(#[case] t: Trajectory) {
    let d = distilled(&t);
    assert_eq!(d.lessons, []);
    assert!(d.rejected[0].reason.starts_with("it repeats the task"), "{:?}", d.rejected);
}

#[test]
fn the_task_is_told_once_and_with_its_times() {
    let t = run("Orders from the shop are not arriving in the ERP since 10:00.")
        .fails("set_route", r#"{"queue":"erp-out","to":"shop-old"}"#, "Error: no such queue: erp-out")
        .call("set_route", r#"{"queue":"erp-in","to":"shop-new"}"#, r#"{"arrived":"erp-in"}"#)
        .says("Orders arrive through erp-in, which now goes to shop-new.")
        .succeeded();
    let d = distilled(&t);
    let [lesson, ..] = d.lessons.as_slice() else { panic!("{:?}", d.rejected) };
    assert_eq!(lesson.situation, t.task_description);
    assert!(lesson.advice.contains("since 10:00."), "{}", lesson.advice);
}

#[test]
fn what_is_part_of_the_way_is_not_to_be_skipped() {
    let t = run("Make the service shop start")
        .call("shell", r#"{"command":"systemctl status shop"}"#, "shop: cannot read /srv/shop.key")
        .fails(
            "shell",
            r#"{"command":"systemctl restart shop"}"#,
            "Error: job for shop failed, cannot read /srv/shop.key",
        )
        .call("shell", r#"{"command":"chmod 640 /srv/shop.key"}"#, "")
        .call("shell", r#"{"command":"systemctl restart shop"}"#, "shop restarted")
        .call("shell", r#"{"command":"systemctl status shop --full"}"#, "shop: active, listening on 8080")
        .says("shop is active: I corrected the mode of /srv/shop.key.")
        .succeeded();
    let d = distilled(&t);
    let [lesson, ..] = d.lessons.as_slice() else { panic!("{:?}", d.rejected) };
    assert!(lesson.basis.chosen.contains("systemctl restart shop"), "{}", lesson.advice);
    assert!(!lesson.advice.contains("Skip"), "{}", lesson.advice);
}
