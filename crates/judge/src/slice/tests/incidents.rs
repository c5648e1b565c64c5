//! Whole sessions in the shape of real ones.

use hindsight_types::Trajectory;

use crate::testing::{disk_alarm, double_charge, failed_deploy, labels, rationale, restart_loop};

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
