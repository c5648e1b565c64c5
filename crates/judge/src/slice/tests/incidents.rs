//! Whole sessions in the shape of real ones.

use hindsight_types::Trajectory;

use crate::testing::{disk_alarm, double_charge, failed_deploy, labels, rationale, restart_loop, run};

#[test]
fn a_restart_that_the_fix_did_not_need_is_redundant() {
    let t = restart_loop();
    // ps, restart, logs, restart, logs, free, chmod, restart, logs, words
    assert_eq!(labels(&t), "RRNRRRNNNN");
}

#[test]
fn the_clean_up_that_freed_the_disk_is_necessary() {
    let t = disk_alarm();
    assert_eq!(labels(&t), "NNFRNNN");
    assert!(rationale(&t, 1).contains("/data/binlog-archive"), "{}", rationale(&t, 1));
}

#[test]
fn a_charge_that_was_refunded_was_misleading() {
    let t = double_charge();
    assert_eq!(labels(&t), "NNMRNN");
    assert_eq!(rationale(&t, 2), "taken back by step 4 (refund_charge)");
}

#[test]
fn a_deployment_that_was_rolled_back_was_misleading() {
    let t = failed_deploy();
    assert_eq!(labels(&t), "NMNNNN");
}

#[test]
fn a_refund_needs_the_look_that_gave_its_number() {
    let t = run("用户投诉订单 20260311008 被重复扣款，请核实并处理")
        .call(
            "查询订单",
            r#"{"订单号":"20260311008"}"#,
            r#"{"订单号":"20260311008","金额":199,"支付状态":"已支付"}"#,
        )
        .call("查询库存", r#"{"商品":"K-22"}"#, r#"{"数量":17}"#)
        .call(
            "查询支付流水",
            r#"{"订单号":"20260311008"}"#,
            r#"{"流水":["pay_9001","pay_9002"],"说明":"同一订单两笔"}"#,
        )
        .fails("申请退款", r#"{"流水号":"pay_9002","金额":299}"#, "错误：退款金额超过支付金额")
        .call("申请退款", r#"{"流水号":"pay_9002","金额":199}"#, r#"{"退款单":"rf_31","状态":"处理中"}"#)
        .call("发送通知", r#"{"退款单":"rf_31","内容":"已退款 199 元"}"#, "已发送")
        .says("订单 20260311008 的重复扣款 pay_9002 已退款，退款单 rf_31。")
        .succeeded();
    assert_eq!(labels(&t), "NRNFNNN");
    assert!(rationale(&t, 2).contains("pay_9002"), "{}", rationale(&t, 2));
}

#[test]
fn a_failed_deployment_that_was_never_understood_blames_its_changes() {
    let t = run("发布 order-service 2.8.0 失败，请恢复")
        .call("查看部署", r#"{"服务":"order-service"}"#, "2.8.0 启动失败：端口 8085 被占用")
        .call("修改配置", r#"{"服务":"order-service","内存":"4G"}"#, "ok")
        .call("重启服务", r#"{"服务":"order-service"}"#, "ok")
        .call("查看日志", r#"{"服务":"order-service","行数":50}"#, "启动失败：端口 8085 被占用")
        .says("已调大内存并重启。")
        .failed();
    assert_eq!(labels(&t), "NMRNM");
}

fn renamed(t: &Trajectory, names: &[(&str, &str)]) -> Trajectory {
    let mut t = t.clone();
    let rename = |text: &mut String| {
        for (from, to) in names {
            *text = text.replace(from, to);
        }
    };
    rename(&mut t.task_description);
    for step in &mut t.steps {
        rename(&mut step.action_detail);
        rename(&mut step.observation);
    }
    t
}

#[test]
fn renaming_things_changes_no_label() {
    let names = [
        ("payment-api", "basket-v2"),
        ("/etc/pay/db.yaml", "/srv/conf/x1.toml"),
        ("db-node-3", "pg-17"),
        ("/data/binlog-archive", "/data/old-dumps"),
        ("A-1001", "ZX/99"),
        ("ch_77", "tx-00"),
        ("checkout", "ledger-svc"),
        ("rel-8", "build-40"),
    ];
    for t in [restart_loop(), disk_alarm(), double_charge(), failed_deploy()] {
        assert_eq!(labels(&renamed(&t, &names)), labels(&t), "{}", t.task_description);
    }
}

#[test]
fn the_order_of_independent_reads_changes_no_label() {
    // `free` and the second look at the logs; the listing of charges and nothing else depend on each other.
    let mut t = restart_loop();
    let before = labels(&t);
    t.steps.swap(4, 5);
    let mut expected: Vec<char> = before.chars().collect();
    expected.swap(4, 5);
    for (i, s) in t.steps.iter_mut().enumerate() {
        s.step_index = i as u32;
    }
    assert_eq!(labels(&t), expected.iter().collect::<String>());
}

/// A check that shows the same trouble after a change shows that the change did not help.
#[test]
fn a_check_after_a_change_is_no_repetition_though_it_shows_the_same() {
    let bare = |task: &str, bad: &str, good: &str, done: &str| {
        run(task)
            .call("shell", r#"{"command":"curl -s http://api/login"}"#, bad)
            .call("shell", r#"{"command":"systemctl restart api"}"#, "")
            .call("shell", r#"{"command":"curl -s http://api/login"}"#, bad)
            .call("shell", r#"{"command":"sed -i s/8081/8080/ /etc/api.conf && systemctl restart api"}"#, "")
            .call("shell", r#"{"command":"curl -s http://api/login"}"#, good)
            .says(done)
            .succeeded()
    };
    for t in [
        bare("The login is down", "500", "200", "The port in /etc/api.conf was wrong."),
        bare("The login is down", "HTTP/1.1 502 Bad Gateway", "HTTP/1.1 200 OK", "The port was wrong."),
        bare("登录接口不可用", r#"{"status":"DOWN"}"#, r#"{"status":"UP"}"#, "端口配错了。"),
    ] {
        assert!(!rationale(&t, 2).contains("nothing had changed"), "{}", rationale(&t, 2));
        assert_eq!(&labels(&t)[1..2], "R", "{}", rationale(&t, 1));
        assert_eq!(&labels(&t)[3..], "NNN");
    }
}
