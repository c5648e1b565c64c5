//! Who is held responsible for a run that failed.

use hindsight_types::{OutcomeStatus, Trajectory};

use crate::slice::blame;
use crate::testing::run;

fn at(t: &Trajectory) -> (u32, Option<String>) {
    let blame = blame(t).unwrap();
    assert!(!blame.reason.is_empty() && (0.0..=1.0).contains(&blame.confidence));
    (blame.step_index, blame.agent.map(|a| a.as_str().to_owned()))
}

#[test]
fn a_success_and_an_empty_run_blame_nobody() {
    assert_eq!(blame(&run("x").call("get_x", "{}", "1").succeeded()), None);
    assert_eq!(blame(&run("x").failed()), None);
}

#[test]
fn a_wrong_change_comes_before_everything_else() {
    let t = run("Cancel one")
        .fails("get_order", r#"{"id":1}"#, "Error: id must be text")
        .call("cancel_order", r#"{"id":"A-77"}"#, "cancelled")
        .says("Cancelled.")
        .failed();
    assert_eq!(at(&t).0, 1);
}

#[test]
fn a_figure_that_nobody_had_given_is_blamed_on_who_stated_it() {
    let t = run("How much do we owe?")
        .says("Expert, work it out.")
        .by("Planner")
        .says("I recall that the rate is 0.17 and the base 4410.")
        .by("Expert")
        .says("With a base of 4410 we owe 749.")
        .by("Clerk")
        .failed();
    assert_eq!(at(&t), (1, Some("Expert".to_owned())));
    assert!(blame(&t).unwrap().reason.contains("which nothing had shown"));
}

#[test]
fn the_act_that_failed_first_is_blamed_on_who_did_it() {
    let t = run("统计行数")
        .says("请执行者来数。")
        .by("计划者")
        .fails("执行代码", r#"{"code":"print(n)"}"#, "NameError: name 'n' is not defined")
        .by("执行者")
        .says("大约一百行。")
        .by("执行者")
        .failed();
    assert_eq!(at(&t), (1, Some("执行者".to_owned())));
}

#[test]
fn without_any_fault_the_result_is_traced_to_where_it_came_from() {
    let mut t = run("Which street?")
        .call("search", r#"{"q":"club"}"#, "many clubs")
        .call("open_page", r#"{"q":"first hit"}"#, "Oak Lane 12B-7")
        .says("It is there.")
        .ended(OutcomeStatus::Failure);
    t.outcome.conclusion = "Oak Lane 12B-7".to_owned();
    assert_eq!(at(&t).0, 1);
}

#[test]
fn who_only_hands_out_the_work_is_not_blamed_for_the_figures_in_its_plan() {
    let r = run("Find the price")
        .says("I guess it is 4410; Surfer, look it up.")
        .by("Planner")
        .call("open_page", r#"{"n":1}"#, "an empty page")
        .by("Surfer")
        .says("Look again for 4410.")
        .by("Planner")
        .call("open_page", r#"{"n":2}"#, "another empty page")
        .by("Surfer")
        .says("So it is 4410.")
        .by("Planner");
    let (_, agent) = at(&r.failed());
    assert_eq!(agent.as_deref(), Some("Surfer"));
}
