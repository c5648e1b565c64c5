mod hostile;

use hindsight_types::{Decision, Experience, FailurePattern, Lesson, MemoryId, OutcomeStatus, Trajectory};
use rstest::rstest;

use super::{Reading, Run, Stance};
use crate::{
    distil::distil,
    testing::{disk_alarm, failed_deploy, restart_loop, run},
};

fn lessons(t: &Trajectory) -> Vec<Lesson> {
    distil(t, &crate::evaluate(t, t.ended_at), t.ended_at).lessons
}

fn patterns(t: &Trajectory) -> Vec<FailurePattern> {
    distil(t, &crate::evaluate(t, t.ended_at), t.ended_at).failure_patterns
}

fn reading(t: &Trajectory, lesson: &Lesson) -> Reading {
    Run::new(t, &crate::evaluate(t, t.ended_at)).lesson(lesson)
}

fn stance(t: &Trajectory, lesson: &Lesson) -> Stance {
    reading(t, lesson).stance
}

/// What the restart loop was about, with other advice.
fn advising(chosen: &str, rejected: &[&str]) -> Lesson {
    let mut lesson = lessons(&restart_loop()).remove(0);
    lesson.situation = restart_loop().task_description;
    lesson.basis = Decision {
        chosen: chosen.to_owned(),
        rejected: rejected.iter().map(|r| (*r).to_owned()).collect(),
        rationale: String::new(),
    };
    lesson
}

fn experience(t: Trajectory) -> Experience {
    Experience {
        id: MemoryId::experience(&t.scope.tenant, &t.trace_id),
        evaluation: crate::evaluate(&t, t.ended_at),
        trajectory: t,
        entities: Vec::new(),
        supported: 0,
        refuted: 0,
    }
}

/// Another container, another file, the same trouble and the same way.
fn another_loop(fix: &str) -> Trajectory {
    run("The container checkout-api restarts in a loop. Find out why and fix it.")
        .call("bash", r#"{"command":"docker ps -a"}"#, "checkout-api  Restarting (1) 9 seconds ago")
        .call(
            "bash",
            r#"{"command":"docker logs checkout-api --tail 50"}"#,
            "2026-04-02T08:10:05Z FATAL cannot read /etc/pay/db.yaml: permission denied",
        )
        .call("bash", &format!(r#"{{"command":"{fix}"}}"#), "")
        .call("bash", r#"{"command":"docker restart checkout-api"}"#, "checkout-api")
        .call("bash", r#"{"command":"docker logs checkout-api --since 1m"}"#, "listening on 8080")
        .says("checkout-api is up again.")
        .succeeded()
}

#[test]
fn another_run_that_does_the_same_for_another_container_followed() {
    let lesson = lessons(&restart_loop()).remove(0);
    let again = another_loop("chmod 640 /etc/pay/db.yaml");
    let told = reading(&again, &lesson);
    assert_eq!(told.stance, Stance::Followed, "{told:?}");
    assert!(told.rationale.starts_with("it did what is advised, in step 2, 3: chmod("), "{}", told.rationale);
    assert!(Run::new(&again, &crate::evaluate(&again, again.ended_at)).meets(&lesson));
    // Both commands in one line.
    assert_eq!(
        stance(&another_loop("sudo chmod 640 /etc/pay/db.yaml && docker restart checkout-api"), &lesson),
        Stance::Followed
    );
}

/// The advised calls, the trouble again or not, and another way out.
fn another_way_out(after: &str) -> Trajectory {
    run("The container checkout-api restarts in a loop. Find out why and fix it.")
        .call("bash", r#"{"command":"docker ps -a"}"#, "checkout-api  Restarting (1) 9 seconds ago")
        .call(
            "bash",
            r#"{"command":"docker logs checkout-api --tail 50"}"#,
            "2026-04-02T08:10:05Z FATAL cannot read /etc/pay/db.yaml: permission denied",
        )
        .call("bash", r#"{"command":"chmod 640 /etc/pay/db.yaml"}"#, "")
        .call("bash", r#"{"command":"docker restart checkout-api"}"#, "checkout-api")
        .call("bash", r#"{"command":"docker logs checkout-api --since 1m"}"#, after)
        .call("bash", r#"{"command":"chown checkout /etc/pay/db.yaml"}"#, "")
        .call("bash", r#"{"command":"docker logs checkout-api --since 1m"}"#, "listening on 8080")
        .says("checkout-api is up again: the file belonged to somebody else.")
        .succeeded()
}

#[test]
fn advice_after_which_the_trouble_was_still_there_was_followed_in_vain() {
    let lesson = lessons(&restart_loop()).remove(0);
    let still = "2026-04-02T08:14:41Z FATAL cannot read /etc/pay/db.yaml: permission denied";
    let told = reading(&another_way_out(still), &lesson);
    assert_eq!(told.stance, Stance::InVain, "{told:?}");
    assert!(told.rationale.contains("step 4 saw the trouble as before"), "{}", told.rationale);
    // Another trouble says nothing of the first one.
    let other = reading(&another_way_out("2026-04-02T08:14:41Z ERROR listen 8080: address in use"), &lesson);
    assert_ne!(other.stance, Stance::InVain, "{other:?}");
    assert_ne!(stance(&another_way_out("listening on 8080"), &lesson), Stance::InVain);
    // Nothing ended it: how the run ended says what is to be said.
    let mut failed = another_way_out(still);
    failed.outcome.status = OutcomeStatus::Failure;
    failed.outcome.evidence.clear();
    assert_ne!(stance(&failed, &lesson), Stance::InVain);
}

#[rstest]
#[case::another_mode("chmod 755 /etc/pay/db.yaml")]
#[case::another_file("chmod 640 /etc/shadow")]
#[case::another_deed("chown app /etc/pay/db.yaml")]
#[case::nothing("true")]
fn what_a_run_chooses_by_itself_must_agree(#[case] fix: &str) {
    let lesson = lessons(&restart_loop()).remove(0);
    assert_eq!(stance(&another_loop(fix), &lesson), Stance::Neither);
}

#[test]
fn what_failed_or_was_not_needed_is_not_followed() {
    let lesson = advising("shell(docker restart payment-api)", &[]);
    // The restarts of the loop did not help.
    let vain = run("The container checkout-api restarts in a loop. Find out why and fix it.")
        .fails(
            "shell",
            r#"{"command":"docker restart checkout-api"}"#,
            "Error: No such container: checkout-api",
        )
        .call("shell", r#"{"command":"systemctl start checkout-api"}"#, "started")
        .says("checkout-api is up.")
        .succeeded();
    assert_eq!(stance(&vain, &lesson), Stance::Neither);
    let looked = run("How much disk is left?")
        .call("shell", r#"{"command":"df -h"}"#, "40% /data")
        .says("60 % are left.")
        .succeeded();
    assert_eq!(stance(&looked, &lesson), Stance::Neither);
}

#[test]
fn a_run_that_failed_did_what_it_did_whatever_it_was_worth() {
    let lesson = advising("shell(docker restart payment-api)", &[]);
    let t = run("The container checkout-api restarts in a loop. Find out why and fix it.")
        .call("shell", r#"{"command":"docker restart checkout-api"}"#, "checkout-api")
        .call("shell", r#"{"command":"docker ps"}"#, "checkout-api Restarting (1)")
        .says("It still restarts.")
        .failed();
    assert_eq!(stance(&t, &lesson), Stance::Followed);
}

#[test]
fn kubernetes() {
    let source = run("Deployment shop-web in namespace prod keeps crashing, bring it back")
        .call("kubectl", r#"{"command":"get pods -n prod"}"#, "shop-web-7f9c 0/1 CrashLoopBackOff")
        .call("kubectl", r#"{"command":"rollout restart deploy/shop-web -n prod"}"#, "deployment restarted")
        .call(
            "kubectl",
            r#"{"command":"describe pod shop-web-7f9c -n prod"}"#,
            "Last State: Terminated, Reason: OOMKilled, limit 256Mi",
        )
        .call(
            "kubectl",
            r#"{"command":"set resources deploy/shop-web -n prod --limits=memory=512Mi"}"#,
            "deployment resource requirements updated",
        )
        .call("kubectl", r#"{"command":"get pods -n prod -w"}"#, "shop-web-5d2b 1/1 Running")
        .says("shop-web runs with 512Mi.")
        .succeeded();
    let lesson = lessons(&source).remove(0);
    assert!(lesson.basis.chosen.contains("set resources"), "{lesson:?}");
    let other = |command: &str| {
        run("Deployment cart-web in namespace prod keeps crashing, bring it back")
            .call(
                "run_kubectl",
                r#"{"command":"kubectl describe pod cart-web-9d8e -n prod"}"#,
                "Last State: Terminated, Reason: OOMKilled, limit 256Mi",
            )
            .call("run_kubectl", &format!(r#"{{"command":"kubectl {command}"}}"#), "deployment updated")
            .call("run_kubectl", r#"{"command":"kubectl get pods -n prod"}"#, "cart-web-1a2b 1/1 Running")
            .says("cart-web is up.")
            .succeeded()
    };
    let told = reading(&other("set resources deploy/cart-web -n prod --limits=memory=512Mi"), &lesson);
    assert_eq!(told.stance, Stance::Followed, "{told:?} {:?}", lesson.basis);
    assert_eq!(
        stance(&other("set resources deploy/cart-web -n prod --limits=memory=64Mi"), &lesson),
        Stance::Neither
    );
    assert_eq!(stance(&other("scale deploy/cart-web -n prod --replicas=3"), &lesson), Stance::Neither);
}

#[test]
fn a_run_that_owes_everything_to_what_is_rejected_contradicts() {
    let lesson = advising("shell(chmod 640 /etc/pay/db.yaml)", &["shell(docker restart payment-api)"]);
    let restarted = run("The container checkout-api restarts in a loop. Find out why and fix it.")
        .call(
            "shell",
            r#"{"command":"docker logs checkout-api"}"#,
            "FATAL cannot read /etc/pay/db.yaml: permission denied",
        )
        .call("shell", r#"{"command":"docker restart checkout-api"}"#, "checkout-api")
        .call(
            "shell",
            r#"{"command":"docker logs checkout-api --since 1m"}"#,
            "checkout-api listening on 8080",
        )
        .says("checkout-api is up: a restart was enough.")
        .succeeded();
    let told = reading(&restarted, &lesson);
    assert_eq!(told.stance, Stance::Contradicted, "{told:?}");
    // One more change, and nobody can tell which of them it was.
    assert_eq!(stance(&another_loop("chown app /etc/pay/db.yaml"), &lesson), Stance::Neither);
    // What is advised, after the detour.
    assert_eq!(stance(&restart_loop(), &lesson), Stance::Followed);
}

#[test]
fn the_opposite_contradicts() {
    let lesson =
        advising("set_flag(service=payment-api, flag=cache), then enable_cache(service=payment-api)", &[]);
    let told = |verb: &str| {
        run("The container checkout-api restarts in a loop. Find out why and fix it.")
            .call("get_status", r#"{"service":"checkout-api"}"#, "checkout-api: cache errors, exited")
            .call(
                &format!("{verb}_cache"),
                r#"{"service":"checkout-api"}"#,
                r#"{"service":"checkout-api","state":"changed"}"#,
            )
            .call("get_status", r#"{"service":"checkout-api","full":true}"#, "checkout-api: running")
            .says("checkout-api runs.")
            .succeeded()
    };
    assert_eq!(stance(&told("disable"), &lesson), Stance::Contradicted);
    assert_eq!(stance(&told("enable"), &lesson), Stance::Neither, "half of the advice is not the advice");
    assert_eq!(stance(&told("reset"), &lesson), Stance::Neither);
}

/// The tools of an airline's agent take ids and lists; the choice lies in the tool and its plain values.
#[test]
fn tools_with_schemas() {
    let source = run("The customer wants to leave the basic economy flight of reservation 4WQ150 on May 16 for a later one")
        .call("get_reservation_details", r#"{"reservation_id":"4WQ150"}"#, r#"{"reservation_id":"4WQ150","cabin":"basic_economy","user_id":"mia_li_3668"}"#)
        .fails(
            "update_reservation_flights",
            r#"{"reservation_id":"4WQ150","cabin":"basic_economy","flights":[{"flight_number":"HAT083","date":"2024-05-17"}]}"#,
            "Error: basic economy flights cannot be modified",
        )
        .call(
            "update_reservation_flights",
            r#"{"reservation_id":"4WQ150","cabin":"economy","flights":[{"flight_number":"HAT083","date":"2024-05-17"}]}"#,
            r#"{"reservation_id":"4WQ150","cabin":"economy"}"#,
        )
        .says("Your reservation 4WQ150 is in economy now, and the flight is changed.")
        .succeeded();
    let lesson = lessons(&source).into_iter().find(|l| l.basis.chosen.contains("cabin=economy")).unwrap();
    let other = |cabin: &str| {
        run("The customer wants to leave the basic economy flight of reservation JMO1MG on May 20 for a later one")
            .call("get_reservation_details", r#"{"reservation_id":"JMO1MG"}"#, r#"{"reservation_id":"JMO1MG","cabin":"basic_economy","user_id":"ana_r_1"}"#)
            .call(
                "update_reservation_flights",
                &format!(r#"{{"reservation_id":"JMO1MG","cabin":"{cabin}","flights":[{{"flight_number":"HAT201","date":"2024-05-21"}}]}}"#),
                &format!(r#"{{"reservation_id":"JMO1MG","cabin":"{cabin}"}}"#),
            )
            .says("Your reservation JMO1MG is changed.")
            .succeeded()
    };
    assert_eq!(stance(&other("economy"), &lesson), Stance::Followed, "{:?}", lesson.basis);
    assert_eq!(stance(&other("business"), &lesson), Stance::Neither);
    let cancelled = run("The customer wants to cancel reservation JMO1MG")
        .call(
            "cancel_reservation",
            r#"{"reservation_id":"JMO1MG"}"#,
            r#"{"reservation_id":"JMO1MG","status":"cancelled"}"#,
        )
        .says("Reservation JMO1MG is cancelled.")
        .succeeded();
    assert_eq!(stance(&cancelled, &lesson), Stance::Neither);
}

#[test]
fn a_database_and_its_statement() {
    let mut lesson = advising(
        r#"psql -U postgres -c "ALTER SYSTEM SET max_connections = 300", then systemctl restart postgresql"#,
        &[],
    );
    lesson.situation = "The database of the shop refuses connections: too many clients already".to_owned();
    let ran = |statement: &str| {
        run("The database refuses connections: too many clients already")
            .call("shell", &format!(r#"{{"command":"psql -U postgres -c \"{statement}\""}}"#), "ALTER SYSTEM")
            .call("shell", r#"{"command":"systemctl restart postgresql"}"#, "postgresql restarted")
            .call("shell", r#"{"command":"psql -c \"SHOW max_connections\""}"#, "max_connections 300")
            .says("max_connections is 300 now.")
            .succeeded()
    };
    assert_eq!(stance(&ran("ALTER SYSTEM SET max_connections = 300"), &lesson), Stance::Followed);
    assert_eq!(stance(&ran("ALTER SYSTEM SET work_mem = 300"), &lesson), Stance::Neither);
    assert_eq!(stance(&ran("ALTER SYSTEM RESET max_connections"), &lesson), Stance::Neither);
}

#[test]
fn chinese() {
    let lesson = lessons(&disk_alarm()).remove(0);
    let cleaned = |path: &str| {
        run("告警：db-node-8 磁盘使用率 97%，请处理")
            .call("执行命令", r#"{"command":"df -h /data"}"#, "/dev/vdb1 500G 485G 97% /data 空间不足")
            .call("执行命令", r#"{"command":"du -sh /data/*"}"#, "300G /data/binlog-archive\n90G /data/mysql")
            .call("执行命令", &format!(r#"{{"command":"rm -r {path}"}}"#), "")
            .call("执行命令", r#"{"command":"df -h /data/."}"#, "/dev/vdb1 500G 90G 18% /data")
            .says(&format!("磁盘已恢复，清理了 {path}。"))
            .succeeded()
    };
    let told = reading(&cleaned("/data/binlog-archive"), &lesson);
    assert_eq!(told.stance, Stance::Followed, "{told:?}");
    assert!(told.rationale.starts_with("第 2 步照建议做了"), "{}", told.rationale);
    assert_eq!(stance(&cleaned("/data/mysql"), &lesson), Stance::Neither);
    // In the words of a model, with the call inside.
    let model = advising(
        "退款(支付单=P-31, 金额=60)，金额取自查询订单返回的支付金额",
        &["退款(支付单=P-31, 金额=80)"],
    );
    assert_eq!(stance(&cleaned("/data/binlog-archive"), &model), Stance::Neither);
}

#[test]
fn a_run_may_follow_the_path_of_another() {
    let again = another_loop("chmod 640 /etc/pay/db.yaml");
    let with = |e: Experience| Run::new(&again, &crate::evaluate(&again, again.ended_at)).experience(&e);
    assert_eq!(with(experience(restart_loop())).stance, Stance::Followed);
    assert_eq!(with(experience(failed_deploy())).stance, Stance::Neither);
    let failed =
        experience(run("x").call("shell", r#"{"command":"chmod 640 /etc/pay/db.yaml"}"#, "").failed());
    assert_eq!(with(failed).stance, Stance::Neither, "a run that failed shows no way");
}

#[test]
fn the_remedy_of_a_failure_is_followed_and_the_failing_call_that_works_contradicts() {
    let pattern = patterns(&disk_alarm()).remove(0);
    let reading = |t: &Trajectory| Run::new(t, &crate::evaluate(t, t.ended_at)).pattern(&pattern);
    assert_eq!(reading(&disk_alarm()).stance, Stance::Followed);
    let works = run("告警：db-node-9 磁盘使用率 96%，请处理")
        .call(
            "执行命令",
            r#"{"command":"df -h /data"}"#,
            "/dev/vdb1 500G 480G 96% /data 空间不足，/data/mysql/slow.log 很大",
        )
        .call("执行命令", r#"{"command":"rm /data/mysql/slow.log"}"#, "")
        .call("执行命令", r#"{"command":"df -h /data/."}"#, "/dev/vdb1 500G 90G 18% /data")
        .says("磁盘已恢复，删除了 /data/mysql/slow.log。")
        .succeeded();
    let told = reading(&works);
    assert_eq!(told.stance, Stance::Contradicted, "{told:?}");
}

#[test]
fn a_lesson_is_met_by_its_symptom_or_by_its_task() {
    let lesson = lessons(&restart_loop()).remove(0);
    let meets = |t: &Trajectory, l: &Lesson| Run::new(t, &crate::evaluate(t, t.ended_at)).meets(l);
    let other = run("Rotate the certificates of the proxy")
        .call("shell", r#"{"command":"certbot renew"}"#, "ok")
        .succeeded();
    assert!(!meets(&other, &lesson));
    let by_task = Lesson { situation: "Book a flight for a customer and add one bag".to_owned(), ..lesson };
    let same =
        run("Please book a flight for this customer; add one bag.").call("book", "{}", "ok").succeeded();
    assert!(meets(&same, &by_task) && !meets(&other, &by_task));
}

#[test]
fn the_end_of_a_run_does_not_change_what_it_did() {
    let mut t = another_loop("chmod 640 /etc/pay/db.yaml");
    let lesson = lessons(&restart_loop()).remove(0);
    for status in [OutcomeStatus::Success, OutcomeStatus::Partial, OutcomeStatus::Failure] {
        t.outcome.status = status;
        assert_eq!(stance(&t, &lesson), Stance::Followed, "{status:?}");
    }
}

/// Another way of paying, told by the id of a card: what differs from run to run tells nothing, what it is does.
#[test]
fn what_tells_the_advice_from_what_is_rejected_must_agree() {
    let paid = |id: &str, by: &str| {
        let told = format!(r#"{{"order":"{id}","amount":40,"payment":"{by}"}}"#);
        run(&format!("The customer wants order {id} to be paid"))
            .call(
                "get_order",
                &format!(r#"{{"order":"{id}"}}"#),
                &format!(
                    r#"{{"order":"{id}","amount":40,"payments":["card_7711","voucher_882","card_9001"]}}"#
                ),
            )
            .call("pay_order", &told, &format!(r#"{{"order":"{id}","state":"paid"}}"#))
            .says("It is paid.")
            .succeeded()
    };
    let mut lesson = advising(
        "pay_order(amount=40, order=A-1, payment=voucher_1234)",
        &["pay_order(amount=40, order=A-1, payment=card_1234)"],
    );
    lesson.situation = "The customer wants order A-1 to be paid".to_owned();
    assert_eq!(stance(&paid("B-22", "voucher_882"), &lesson), Stance::Followed);
    assert_ne!(stance(&paid("B-22", "card_7711"), &lesson), Stance::Followed);
    // Elsewhere the same call is what everybody does.
    let mut elsewhere = paid("B-22", "voucher_882");
    elsewhere.task_description = "Find the cheapest flight to Rome and book it".to_owned();
    assert_eq!(stance(&elsewhere, &lesson), Stance::Neither);
}
