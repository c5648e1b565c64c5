//! Whatever comes in, every step gets one label, and the work stays in proportion.

use hindsight_types::{ActionType, OutcomeStatus, StepStatus, Trajectory};
use proptest::prelude::*;

use crate::testing::run;

fn text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "docker restart web-1",
        "{\"id\":\"A-1\"}",
        "[1,{\"name\":\"退款\"}]",
        "错误：超时",
        "Error: no such file /tmp/a.b",
        "ch_7781",
        "A-1",
        "「订单」",
        "\u{0}\u{1f600}",
        "\"",
        "{",
        "restart",
        "that was a mistake",
        "2026-01-01T00:00:00Z FATAL x",
        "",
    ]);
    prop_oneof![
        3 => prop::collection::vec(words, 0..6).prop_map(|w| w.join(" ")),
        1 => any::<String>(),
        1 => "\\PC{0,200}",
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "shell",
            "get_order",
            "create_order",
            "cancel_order",
            "restart",
            "退款",
            "think",
            "submit",
            ""
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

pub(crate) fn trajectory() -> impl Strategy<Value = Trajectory> {
    let step = (0..4_u8, name(), text(), text(), text());
    let outcome = prop::sample::select(vec![
        OutcomeStatus::Success,
        OutcomeStatus::Partial,
        OutcomeStatus::Failure,
        OutcomeStatus::Unknown,
    ]);
    (text(), prop::collection::vec(step, 0..30), outcome, text()).prop_map(
        |(task, steps, outcome, conclusion)| {
            let mut r = run(&task);
            for (kind, name, detail, observation, _) in &steps {
                r = match kind {
                    0 => r.call(name, detail, observation),
                    1 => r.fails(name, detail, observation),
                    2 => r.says(detail),
                    _ => r.user(detail),
                };
            }
            let mut t = r.ended(outcome);
            for (step, (.., reflection)) in t.steps.iter_mut().zip(&steps) {
                step.reflection.clone_from(reflection);
            }
            t.outcome.conclusion = conclusion;
            t
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_step_gets_one_label_with_a_reason(t in trajectory()) {
        let judged = crate::slice::judge(&t).steps;
        prop_assert_eq!(judged.len(), t.steps.len());
        for (step, j) in t.steps.iter().zip(&judged) {
            prop_assert_eq!(step.step_index, j.step_index);
            prop_assert!(!j.rationale.is_empty());
            prop_assert!((0.0..=1.0).contains(&j.confidence));
            prop_assert!(j.depends_on.iter().all(|d| *d < j.step_index));
            prop_assert!(j.depends_on.is_sorted());
            if step.action_type == ActionType::ToolCall {
                prop_assert_eq!(step.status == StepStatus::Error, j.label == hindsight_types::StepLabel::Failed);
            }
        }
        prop_assert_eq!(judged, crate::slice::judge(&t).steps);
    }

    #[test]
    fn distilling_never_fails_and_stays_in_bounds(t in trajectory()) {
        let e = crate::evaluate(&t, t.ended_at);
        let d = crate::distil::distil(&t, &e, t.ended_at);
        prop_assert!(e.summary.split_whitespace().count() <= 150);
        for l in &d.lessons {
            prop_assert_eq!(&l.scope, &t.scope);
            prop_assert!(!l.situation.trim().is_empty() && !l.advice.trim().is_empty() && !l.basis.chosen.is_empty());
        }
        for p in &d.failure_patterns {
            prop_assert!(!p.signature.is_empty() && !p.suggestion.is_empty() && !p.cause.is_empty());
        }
    }
}

/// Reads that each give an id, some of which are acted on: `(order of the reads, ids, which are used)`.
fn reads() -> impl Strategy<Value = (Vec<usize>, Vec<String>, Vec<bool>)> {
    (2..7_usize).prop_flat_map(|n| {
        (
            Just((0..n).collect::<Vec<_>>()).prop_shuffle(),
            prop::collection::hash_set("[a-z]{3,8}-[0-9]{3,6}", n).prop_map(|ids| ids.into_iter().collect()),
            prop::collection::vec(any::<bool>(), n),
        )
    })
}

fn by_reads(order: &[usize], ids: &[String], used: &[bool]) -> Trajectory {
    let mut r = run("Clean up what is left over");
    for i in order {
        r = r.call("get_item", &format!(r#"{{"slot":{i}}}"#), &format!(r#"{{"found":"{}"}}"#, ids[*i]));
    }
    for (id, _) in ids.iter().zip(used).filter(|(_, used)| **used) {
        r = r.call("release_item", &format!(r#"{{"item":"{id}"}}"#), "");
        r = r.call("delete_item", &format!(r#"{{"item":"{id}"}}"#), "gone");
    }
    r.says("It is clean.").succeeded()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn neither_order_nor_names_decide((order, ids, used) in reads()) {
        prop_assume!(used.iter().any(|u| *u));
        let labels = |t: &Trajectory| crate::testing::labels(t).chars().collect::<Vec<_>>();
        let shuffled = labels(&by_reads(&order, &ids, &used));
        for (at, i) in order.iter().enumerate() {
            prop_assert_eq!(shuffled[at], if used[*i] { 'N' } else { 'R' });
        }
        let plain: Vec<String> = (0..ids.len()).map(|i| format!("item-{}", 100 + i)).collect();
        prop_assert_eq!(&labels(&by_reads(&order, &plain, &used)), &shuffled);
    }
}

/// A long session: every call uses what the one before it found, with restarts and repetitions between.
fn long(steps: usize) -> Trajectory {
    let mut r = run("Work through the queue");
    for i in 0..steps / 4 {
        let (this, next) = (format!("job-{i}x"), format!("job-{}x", i + 1));
        r = r
            .call(
                "get_job",
                &format!(r#"{{"id":"{this}"}}"#),
                &format!(r#"{{"id":"{this}","next":"{next}","state":"error 17"}}"#),
            )
            .call("create_run", &format!(r#"{{"job_id":"{this}"}}"#), &format!("run-{i}y"))
            .call("restart_job", &format!(r#"{{"id":"{this}"}}"#), "restarted")
            .call("delete_run", &format!(r#"{{"run_id":"run-{i}y"}}"#), "deleted");
    }
    r.says("All jobs are through.").succeeded()
}

/// The same look again and again, with a share that grows: a loop that waits.
fn waiting(steps: usize) -> Trajectory {
    let mut r = run("Wait for the build").call("start_build", r#"{"id":"build-77"}"#, "started");
    for i in 0..steps {
        r = r.call("get_build", r#"{"id":"build-77"}"#, &format!(r#"{{"progress":{i},"state":"running"}}"#));
    }
    r.says("build-77 is through.").succeeded()
}

/// Agents that talk about the same things, each naming the next.
fn talk(steps: usize) -> Trajectory {
    let mut r = run("Agree on a plan");
    for i in 0..steps {
        let (speaker, next) = (format!("agent-{}", i % 3), format!("agent-{}", (i + 1) % 3));
        let words = format!("{next}, take part-{} and part-{}; part-{} was ruled out", i % 50, i, i / 2);
        r = r.says(&words).by(&speaker);
    }
    r.failed()
}

/// Every step uses everything that the first one showed.
fn star(steps: usize) -> Trajectory {
    let ids: Vec<String> = (0..60).map(|i| format!("host-{i}x")).collect();
    let all = format!(r#"{{"hosts":["{}"]}}"#, ids.join("\",\""));
    let mut r = run("Check the hosts").call("list_hosts", "{}", &all);
    for i in 0..steps {
        r = r.call("check_hosts", &format!(r#"{{"round":{i},"hosts":["{}"]}}"#, ids.join("\",\"")), &all);
    }
    r.says("All is well.").succeeded()
}

#[rstest::rstest]
#[case::chain(long)]
#[case::waiting(waiting)]
#[case::talk(talk)]
#[case::star(star)]
fn work_grows_in_proportion_to_the_run(#[case] shape: fn(usize) -> Trajectory) {
    let (small, large) = (crate::slice::judge(&shape(250)).work, crate::slice::judge(&shape(2_000)).work);
    assert!(large < small * 10, "{small} operations for 250 steps, {large} for 2000");
}

#[test]
fn work_grows_in_proportion_to_what_was_seen() {
    let seen = |lines: usize| {
        let log = "2026-03-01T10:00:00Z INFO request r-17 took 12 ms\n".repeat(lines);
        crate::slice::judge(&run("Look").call("get_log", "{}", &log).says("Fine.").succeeded()).work
    };
    let (small, large) = (seen(100), seen(1_000));
    assert!(large < small * 11, "{small} operations for 100 lines, {large} for 1000");
}
