//! The same run told otherwise: other ids, another order of independent reads, another language. The labels
//! must be the same.

use hindsight_types::{OutcomeStatus, StepLabel, Trajectory};
use proptest::prelude::*;

use crate::testing::{Run, run};

/// What becomes of one thing that the agent looks at.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plan {
    /// Looked at, and never used.
    Ignored,
    /// Its id is acted on.
    Used,
    /// Acted on, and the first attempt fails.
    UsedAtSecondAttempt,
    /// Looked into, and said not to be the cause.
    GivenUp,
    /// Changed, and the change taken back.
    Undone,
}

#[derive(Debug, Clone)]
struct Session {
    plans: Vec<Plan>,
    /// Order in which the things are looked at, and another one.
    orders: [Vec<usize>; 2],
    /// Names and ids of the things, and others.
    names: [Vec<(String, String)>; 2],
    outcome: OutcomeStatus,
}

#[derive(Debug, Clone, Copy)]
enum Language {
    English,
    Chinese,
}

use Language::{Chinese, English};

impl Language {
    fn choose<'a>(self, english: &'a str, chinese: &'a str) -> &'a str {
        match self {
            English => english,
            Chinese => chinese,
        }
    }
}

fn session() -> impl Strategy<Value = Session> {
    let plan = prop::sample::select(vec![
        Plan::Ignored,
        Plan::Used,
        Plan::UsedAtSecondAttempt,
        Plan::GivenUp,
        Plan::Undone,
    ]);
    let outcome =
        prop::sample::select(vec![OutcomeStatus::Success, OutcomeStatus::Failure, OutcomeStatus::Unknown]);
    (2..6_usize).prop_flat_map(move |n| {
        let order = || Just((0..n).collect::<Vec<_>>()).prop_shuffle();
        let names = || {
            let ids = prop::collection::hash_set("[a-z]{3,6}-[0-9]{3,5}", 2 * n);
            ids.prop_map(move |ids| {
                let ids: Vec<String> = ids.into_iter().collect();
                ids.chunks(2).map(|c| (c[0].clone(), c[1].clone())).collect::<Vec<_>>()
            })
        };
        let plans = prop::collection::vec(plan.clone(), n);
        (plans, [order(), order()], [names(), names()], outcome.clone())
            .prop_map(|(plans, orders, names, outcome)| Session { plans, orders, names, outcome })
    })
}

/// The run, and per step the thing it is about, so that runs in different orders can be compared.
fn told(s: &Session, order: usize, names: usize, language: Language) -> Trajectory {
    let say = |english, chinese| language.choose(english, chinese);
    let names = &s.names[names];
    let mut r = run(say("Bring the shop back and clean up", "恢复商店并清理"));
    for thing in &s.orders[order] {
        let (name, id) = &names[*thing];
        let words = say("looks well, all is fine", "运行良好，一切正常");
        r = r.call(
            "get_part",
            &format!(r#"{{"part":"{name}"}}"#),
            &format!(r#"{{"ticket":"{id}","note":"{words}"}}"#),
        );
    }
    for (thing, plan) in s.plans.iter().enumerate() {
        r = acted(r, *plan, &names[thing], language);
    }
    r.says(say("The shop is back.", "商店已经恢复。")).ended(s.outcome)
}

fn acted(r: Run, plan: Plan, (name, id): &(String, String), language: Language) -> Run {
    let say = |english, chinese| language.choose(english, chinese);
    let by_id = format!(r#"{{"ticket":"{id}"}}"#);
    match plan {
        Plan::Ignored => r,
        Plan::Used => r.call("close_ticket", &by_id, say("closed", "已关闭")),
        Plan::UsedAtSecondAttempt => {
            let error = say("Error: ticket must be confirmed", "错误：需要确认");
            let confirmed = format!(r#"{{"ticket":"{id}","confirm":true}}"#);
            r.fails("close_ticket", &by_id, error).call("close_ticket", &confirmed, say("closed", "已关闭"))
        }
        Plan::GivenUp => {
            let words = say("was ruled out", "已排除");
            r.says(&format!("{name} {words}"))
        }
        Plan::Undone => r.call("create_lock", &by_id, say("locked", "已锁定")).call(
            "delete_lock",
            &by_id,
            say("unlocked", "已解锁"),
        ),
    }
}

/// Labels of the reads in the order of the things, then those of the rest.
fn labels(s: &Session, order: usize, names: usize, language: Language) -> Vec<StepLabel> {
    let judged = crate::slice::judge(&told(s, order, names, language)).steps;
    let mut labels: Vec<StepLabel> = judged.iter().map(|j| j.label).collect();
    for (at, thing) in s.orders[order].iter().enumerate() {
        labels[*thing] = judged[at].label;
    }
    labels
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn labels_do_not_depend_on_names_order_or_language(s in session()) {
        let told = labels(&s, 0, 0, English);
        prop_assert_eq!(&labels(&s, 0, 1, English), &told, "other names");
        prop_assert_eq!(&labels(&s, 1, 0, English), &told, "another order");
        prop_assert_eq!(&labels(&s, 0, 0, Chinese), &told, "another language");
        prop_assert_eq!(&labels(&s, 1, 1, Chinese), &told, "all at once");
    }

    /// That they are the same would be worth little if they were always the same.
    #[test]
    fn what_becomes_of_a_thing_decides_the_label_of_the_look_at_it(mut s in session()) {
        s.outcome = OutcomeStatus::Success;
        let labels = labels(&s, 0, 0, English);
        for (thing, plan) in s.plans.iter().enumerate() {
            let used = matches!(plan, Plan::Used | Plan::UsedAtSecondAttempt | Plan::Undone);
            // Where nothing was changed, what was looked at last is what the run concluded from.
            if used {
                prop_assert_eq!(labels[thing], StepLabel::Necessary, "{:?}", plan);
            } else if s.plans.iter().any(|p| !matches!(p, Plan::Ignored | Plan::GivenUp)) {
                prop_assert_eq!(labels[thing], StepLabel::Redundant, "{:?}", plan);
            }
        }
    }
}
