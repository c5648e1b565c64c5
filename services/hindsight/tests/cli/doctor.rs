//! What looks after memories shows: where they come from, and where a chain breaks.

use serde_json::Value;

use crate::support::{Home, examples};

const TASK: &str = "the test environment is down: a container keeps restarting";

fn broken(diagnosis: &Value) -> (&str, &str) {
    let links = diagnosis["links"].as_array().unwrap();
    let link = links.iter().find(|link| link["state"] == "DIAGNOSIS_STATE_BROKEN").unwrap();
    (link["stage"].as_str().unwrap(), link["reason"].as_str().unwrap())
}

#[test]
fn the_chain_is_followed_to_where_it_breaks() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["import", examples().join("containers.jsonl").to_str().unwrap()]);
    let look = |subject: &str| home.run(&["--json", "doctor", subject]);

    let missing = look("nothing");
    assert_eq!(
        (missing.code(), broken(&missing.json())),
        (1, ("DIAGNOSIS_STAGE_COLLECTED", "NOT_COLLECTED"))
    );
    let unasked = look("incident-2026-0824");
    assert_eq!((unasked.code(), broken(&unasked.json())), (1, ("DIAGNOSIS_STAGE_RECALLED", "NEVER_ASKED")));

    let answer = home.json(&["recall", TASK]);
    let items = answer["items"].as_array().unwrap();
    let memory = items.iter().map(|item| &item["memory"]["experience"]).find(|m| m.is_object()).unwrap();
    let (id, trace) =
        (memory["memory_id"].as_str().unwrap(), memory["trajectory"]["trace_id"].as_str().unwrap());
    let told = home.run(&["doctor", trace]);
    assert_eq!(told.code(), 1);
    let text = told.stdout();
    for part in ["✓ collected", "✓ judged", "✓ stored", "✓ recalled", "✓ injected", "✗ helped", "remedy"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let receipt = answer["receipt_id"].as_str().unwrap();
    home.json(&["feedback", receipt, "--helpful", id]);
    for subject in [trace, id, receipt] {
        let whole = look(subject);
        assert_eq!(whole.code(), 0, "{subject}: {}", whole.stdout());
    }

    let tree = home.run(&["memories", "show", id]).stdout();
    for part in [trace, "verdict by slice/", "raw events", "given by 1 recall", "helpful", receipt] {
        assert!(tree.contains(part), "{part}: {tree}");
    }
    let json = home.json(&["memories", "show", id]);
    assert_eq!(json["runs"][0]["trace_id"], trace);
    assert_eq!(home.run(&["memories", "show", receipt]).code(), 66, "a receipt is no memory");
    drop(server);
}

#[test]
fn lists_are_narrowed() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["import", examples().to_str().unwrap()]);
    let list = |args: &[&str]| {
        let found = home.json(&[&["memories", "--limit", "500"], args].concat());
        found["memories"].as_array().unwrap().clone()
    };
    let all = list(&["--kind", "experience"]);
    let failed = list(&["--kind", "experience", "--outcome", "failure"]);
    assert!(!failed.is_empty() && failed.len() < all.len());
    assert!(failed.iter().all(|m| m["experience"]["evaluation"]["outcome"] == "OUTCOME_STATUS_FAILURE"));
    let trace = all[0]["experience"]["trajectory"]["trace_id"].as_str().unwrap();
    assert_eq!(list(&["--kind", "experience", "--trace", trace]), all[..1]);
    assert!(list(&["--kind", "experience", "--until", "2000-01-01T00:00:00Z"]).is_empty());
    let patterns = list(&["--kind", "failure-pattern"]);
    let action = patterns[0]["failure_pattern"]["action_name"].as_str().unwrap();
    let of_tool = list(&["--kind", "failure-pattern", "--action", action]);
    assert!(!of_tool.is_empty() && of_tool.iter().all(|m| m["failure_pattern"]["action_name"] == action));
    let refused = home.run(&["memories", "--kind", "fact", "--stage", "active"]);
    assert!(refused.code() == 65 && refused.stderr().contains("stage"), "{}", refused.stderr());
    assert_eq!(home.run(&["memories"]).code(), 64);
    drop(server);
}
