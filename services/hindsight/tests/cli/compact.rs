//! `hindsight compact`: what upkeep would do, does and has done.

use serde_json::json;

use crate::support::Home;

/// A run of long ago that is not worth judging.
fn old(home: &Home) -> String {
    let then = "2020-01-02T03:04:05Z";
    let step = json!({"action_type": "TOOL_CALL", "action_name": "ls", "action_detail": "{}",
        "observation": "nothing", "status": "OK", "started_at": then, "ended_at": then});
    let run = json!({"trace_id": "long-ago", "task_description": "look around", "steps": [step],
        "outcome": {"status": "SUCCESS", "conclusion": "nothing"}, "started_at": then, "ended_at": then});
    home.file("old.jsonl", &run.to_string()).to_str().unwrap().to_owned()
}

#[test]
fn policies_are_listed_with_their_schedules() {
    let home = Home::new();
    let shown = home.run(&["compact", "policies"]);
    assert_eq!(shown.code(), 0, "{}", shown.stderr());
    for name in ["raw-events", "lessons", "condense", "14 days", "12 3 * * *", "no run on record"] {
        assert!(shown.stdout().contains(name), "{name}: {}", shown.stdout());
    }
    let policies = home.json(&["compact", "policies"]);
    assert_eq!(policies["policies"].as_array().unwrap().len(), 8);
}

#[test]
fn a_plan_is_shown_then_done_and_stays_on_record() {
    let home = Home::new();
    let file = old(&home);
    let imported = home.run(&["import", &file]);
    assert_eq!(imported.code(), 0, "{}", imported.stderr());
    let dry = home.run(&["compact", "raw-events", "--dry-run"]);
    assert_eq!(dry.code(), 0, "{}", dry.stderr());
    assert!(dry.stdout().contains("expire the events of 1 run"), "{}", dry.stdout());
    assert!(dry.stdout().contains("older than 14 days: 1 not judged"), "{}", dry.stdout());
    let done = home.json(&["compact", "raw-events", "--wait"]);
    let run = &done["runs"][0];
    assert_eq!(run["state"], "COMPACTION_RUN_STATE_DONE", "{run}");
    assert_eq!((&run["planned"], &run["done"]), (&json!(1), &json!(1)), "{run}");
    let id = run["id"].as_str().unwrap();
    let shown = home.run(&["compact", "run", id]);
    assert!(shown.stdout().contains("1 tasks: 1 done, 0 skipped, 0 failed"), "{}", shown.stdout());
    let listed = home.run(&["compact", "runs", "--policy", "raw-events"]);
    assert!(listed.stdout().contains(id), "{}", listed.stdout());
    let again = home.run(&["compact", "raw-events", "--dry-run"]);
    assert!(again.stdout().contains("nothing to do"), "{}", again.stdout());
}

#[test]
fn a_policy_that_there_is_not_is_named() {
    let home = Home::new();
    let ran = home.run(&["compact", "raw"]);
    assert_eq!(ran.code(), 64, "{}", ran.stderr());
    assert!(ran.stderr().contains("raw-events"), "{}", ran.stderr());
    let unknown = home.run(&["compact", "run", "00000000-0000-0000-0000-000000000007"]);
    assert_ne!(unknown.code(), 0);
}
