//! One small run per way in which one step can be seen to need another.

use crate::testing::{labels, rationale, run};

fn confidence(t: &hindsight_types::Trajectory, at: usize) -> f32 {
    crate::slice::judge(t).steps[at].confidence
}

#[test]
fn an_id_deep_in_json_is_named_with_its_field() {
    let t = run("Return what Mia bought last")
        .call("get_user", r#"{"name":"Mia"}"#, r#"{"user":{"orders":[{"order_id":"W123","total":20}]}}"#)
        .call("return_order", r#"{"request":{"lines":[{"order":"W123"}]}}"#, "ok")
        .says("Done.")
        .succeeded();
    assert_eq!(labels(&t), "NNN");
    assert_eq!(rationale(&t, 0), "it found order_id \"W123\", which step 1 (return_order) used");
    assert!(rationale(&t, 1).contains("order_id \"W123\" that step 0 (get_user) found"));
}

#[test]
fn an_id_in_prose_or_inside_an_address_is_the_same_id() {
    for (said, used) in [
        (
            "Your parcel, number PK-44871, waits in Graz.",
            r#"{"url":"https://api.example/parcels/pk-44871?full=1"}"#,
        ),
        ("包裹编号PK-44871，在格拉茨", r#"{"parcel":"PK_44871"}"#),
    ] {
        let t = run("Send the parcel on")
            .call("find_parcel", "{}", said)
            .call("get_weather", "{}", "sunny")
            .call("forward_parcel", used, "ok")
            .succeeded();
        assert_eq!(labels(&t), "NRN", "{used}");
    }
}

#[test]
fn a_value_written_otherwise_is_the_same_value() {
    for (shown, used) in [
        ("total: 1,200.00 due", r#"{"amount":1200}"#),
        (r#"{"due":"2026-03-01"}"#, r#"{"date":"2026/3/1"}"#),
        ("service paymentApi is down", r#"{"service":"payment-api"}"#),
        ("see src/importer.py line 3", r#"{"path":"/srv/importer.py"}"#),
    ] {
        let t = run("Settle it").call("look_up", "{}", shown).call("settle", used, "").succeeded();
        let t = hindsight_types::Trajectory { steps: [t.steps, act(used)].concat(), ..t };
        assert_eq!(labels(&t).chars().next(), Some('N'), "{shown} → {used}");
        assert!(confidence(&t, 0) >= 0.5, "{shown} → {used}");
    }
}

fn act(arguments: &str) -> Vec<hindsight_types::Step> {
    let mut steps =
        run("").call("a", "{}", "").call("b", "{}", "").call("set_it", arguments, "ok").succeeded().steps;
    steps.drain(2..).collect()
}

#[test]
fn a_common_word_alone_is_a_weak_link_and_the_label_says_so() {
    let list = |n: usize| format!(r#"{{"page":{n},"state":"pending"}}"#);
    let mut r = run("Clear the queue");
    for n in 0..6 {
        r = r.call("list_jobs", &format!(r#"{{"page":{n}}}"#), &list(n));
    }
    let t = r.call("cancel_jobs", r#"{"having":"pending"}"#, "ok").says("Cleared.").succeeded();
    assert_eq!(labels(&t).chars().next(), Some('N'));
    assert!(confidence(&t, 0) < 0.5);
    assert!(rationale(&t, 0).ends_with("though that may be chance"), "{}", rationale(&t, 0));
    // An identifier that came up as often is no chance.
    let mut r = run("Clear the queue");
    for n in 0..6 {
        r = r.call("list_jobs", &format!(r#"{{"page":{n}}}"#), r#"{"queue":"q-7731"}"#);
    }
    let t = r.call("cancel_jobs", r#"{"queue":"q-7731"}"#, "ok").says("Cleared.").succeeded();
    assert!(confidence(&t, 0) >= 0.5);
}

#[test]
fn what_a_decision_chose_was_used_and_what_it_rejected_was_not() {
    let t = run("Refund the double charge")
        .call("get_charge", r#"{"n":1}"#, r#"{"charge":"ch_7781"}"#)
        .call("get_charge", r#"{"n":2}"#, r#"{"charge":"ch_7782"}"#)
        .call("refund_last", "{}", "ok")
        .says("Refunded.");
    let mut t = t.succeeded();
    t.steps[2].decision = Some(hindsight_types::Decision {
        chosen: "refund ch_7782".to_owned(),
        rejected: vec!["refund ch_7781".to_owned()],
        rationale: "it came second".to_owned(),
    });
    assert_eq!(labels(&t), "RNNN");
}

#[test]
fn what_was_thought_before_an_act_counts_as_used() {
    let t = run("The shop is slow")
        .call("get_metrics", r#"{"host":"db"}"#, "slow query on orders_2024 takes 9 s")
        .call("get_metrics", r#"{"host":"web"}"#, "12 ms")
        .says("The table orders_2024 lacks an index, so I shall add one.")
        .call("create_index", r#"{"columns":["created"]}"#, "ok")
        .says("It is fast again.")
        .succeeded();
    assert_eq!(labels(&t), "NRNNN");
}

#[test]
fn a_suspicion_that_was_looked_into_and_given_up_is_redundant() {
    for words in ["Redis is fine, so redis-main was ruled out.", "排除 redis-main，继续看数据库"] {
        let t = run("The shop answers with errors")
            .call("get_stats", r#"{"name":"redis-main"}"#, "hits 99 %")
            .says(words)
            .call("get_stats", r#"{"name":"orders-db"}"#, "pool pool-17x exhausted")
            .call("set_pool", r#"{"pool":"pool-17x","size":50}"#, "ok")
            .succeeded();
        assert_eq!(labels(&t).chars().next(), Some('R'), "{words}");
        assert_eq!(
            rationale(&t, 0),
            "looked into something that step 1 (the agent's words) says was not the cause"
        );
    }
}

#[test]
fn the_looks_of_a_waiting_loop_are_redundant_but_for_its_ends() {
    let poll = |r: crate::testing::Run, share: u32| {
        r.call("get_job", r#"{"id":"job-77"}"#, &format!(r#"{{"progress":"{share} %"}}"#))
    };
    let mut r = run("Build it").call("start_job", r#"{"id":"job-77"}"#, "started");
    for share in [10, 35, 60, 99] {
        r = poll(r, share);
    }
    let t = r
        .call("get_job", r#"{"id":"job-77"}"#, r#"{"artifact":"img-9001"}"#)
        .call("deploy", r#"{"image":"img-9001"}"#, "ok")
        .says("img-9001 runs.")
        .succeeded();
    let labels = labels(&t);
    assert_eq!(&labels[2..5], "RRR", "{labels}");
    assert_eq!(&labels[5..], "NNN", "{labels}");
    assert_eq!(rationale(&t, 3), "waits, as step 5 (get_job) does once more");
}

#[test]
fn a_call_that_was_tried_again_otherwise_names_its_successor() {
    let t = run("Where is the parcel?")
        .call("find_parcel", r#"{"name":"Li"}"#, "[]")
        .fails("find_parcel", r#"{"number":7}"#, "Error: number must be text")
        .call("find_parcel", r#"{"number":"PK-7001"}"#, r#"{"at":"hub-12"}"#)
        .says("It is at hub-12.")
        .succeeded();
    assert_eq!(labels(&t), "RFNN");
    assert_eq!(rationale(&t, 0), "brought nothing; step 2 (find_parcel) asked with other arguments");
    assert!(rationale(&t, 1).ends_with("; step 2 (find_parcel) went through with other arguments"));
}

#[test]
fn a_hand_over_between_agents_is_part_of_the_chain() {
    let t = run("Summarise the report")
        .says("Reader, please open the report.")
        .by("Planner")
        .call("read_report", "{}", "revenue of unit-7 fell")
        .by("Reader")
        .says("It is about unit-7. Writer should put it into words.")
        .by("Reader")
        .says("The revenue of unit-7 fell.")
        .by("Writer")
        .succeeded();
    assert_eq!(labels(&t), "NNNN");
    assert_eq!(rationale(&t, 2), "it handed over to step 3 (words of Writer)");
    assert_eq!(rationale(&t, 0), "it led to step 1 (read_report by Reader)");
}

#[test]
fn the_change_that_is_named_is_the_one_that_was_wrong() {
    let t = run("Fix the pool")
        .call("set_pool", r#"{"name":"pool-a7"}"#, "ok")
        .call("set_pool", r#"{"name":"pool-b8"}"#, "ok")
        .says("Touching pool-a7 was a mistake.")
        .succeeded();
    assert_eq!(labels(&t), "MNN");
}
