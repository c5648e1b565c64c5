//! What a person does with the command: take runs in, recall, retain, look at them.

use crate::support::{Home, examples, recalled};
use serde_json::Value;

#[test]
fn runs_are_taken_in_judged_and_recalled() {
    let home = Home::new();
    let server = home.serve(&[]);
    let runs = examples();
    let runs = runs.to_str().unwrap();

    let report = home.json(&["import", runs]);
    assert_eq!((report["submitted"].as_u64(), report["already_there"].as_u64()), (Some(18), Some(0)));
    assert_eq!(report["verdicts"]["judged"], 18, "{report}");
    let formats: Vec<_> = report["files"].as_array().unwrap().iter().map(|f| f["format"].clone()).collect();
    for format in ["hindsight", "openai-chat", "claude-code"] {
        assert!(formats.contains(&Value::from(format)), "{formats:?}");
    }

    let stats = home.json(&["stats"]);
    assert_eq!(stats["experiences"], 18);
    let again = home.json(&["import", runs]);
    assert_eq!((again["submitted"].as_u64(), again["already_there"].as_u64()), (Some(0), Some(18)));
    assert_eq!(home.json(&["stats"]), stats, "importing twice changes nothing");

    let english = home.json(&["recall", "the test environment is down: a container keeps restarting"]);
    let found = recalled(&english);
    assert!(["incident-2026-0817", "incident-2026-0810"].contains(&found[0]), "{found:?}");
    let chinese = home.json(&["recall", "用户反馈被重复扣费"]);
    assert_eq!(recalled(&chinese)[0], "ticket-55377");
    let nothing = home.run(&["recall", "how do I bake sourdough bread"]);
    assert_eq!((nothing.code(), nothing.stdout().as_str()), (0, ""));
    assert!(nothing.stderr().contains("nothing relevant"), "{}", nothing.stderr());

    let receipt = english["receipt_id"].as_str().unwrap();
    let explained = home.json(&["explain", receipt]);
    assert_eq!(explained["receipt"]["receipt_id"], receipt);
    let why = home.run(&["recall", "容器反复重启", "--why"]).stdout();
    assert!(why.contains("<hindsight-memory") && why.contains("score ") && why.contains("receipt "), "{why}");
    drop(server);
}

#[test]
fn a_run_is_shown_with_its_verdict_and_without_its_secrets() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["import", examples().join("containers.jsonl").to_str().unwrap()]);

    let shown = home.json(&["show", "incident-2026-0824"]);
    assert_eq!(shown["trajectory"]["steps"].as_array().unwrap().len(), 8);
    assert_eq!(shown["evaluation"]["steps"].as_array().unwrap().len(), 8);
    assert_eq!(shown["record"]["state"], "EVALUATION_STATE_JUDGED");
    let text = home.run(&["show", "incident-2026-0824", "--full"]).stdout();
    assert!(text.contains("● necessary") && text.contains("conclusion"), "{text}");
    assert!(text.contains("REDACTED") && !text.contains("hunter2"), "{text}");
    assert!(!text.contains('\x1b'), "no colours where nobody sees them");

    let failures = home.json(&["failures"]);
    assert_eq!(failures["failures"].as_array().unwrap().len(), 0);
    let kept = home.json(&["memories", "--kind", "experience"]);
    assert_eq!(kept["memories"].as_array().unwrap().len(), 4);
    assert_eq!(home.run(&["show", "nothing"]).code(), 66);
    drop(server);
}

#[test]
fn what_a_user_told_is_found_for_this_user_alone() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["retain", "--user", "mei", "我对花生过敏，订餐时请避开"]);
    home.json(&["retain", "--user", "tom", "I prefer the window seat on trains"]);

    let content = |user: &str, query: &str| -> Vec<String> {
        let response = home.json(&["recall", "--user", user, query]);
        let items = response["items"].as_array().unwrap().clone();
        items.iter().map(|i| i["memory"]["fact"]["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(content("mei", "订餐 过敏"), ["我对花生过敏，订餐时请避开"]);
    assert_eq!(content("tom", "book a train seat by the window"), ["I prefer the window seat on trains"]);
    assert!(content("tom", "订餐 过敏").is_empty());
    assert!(content("mei", "book a train seat by the window").is_empty());

    home.json(&["retain", "--user", "tom", "--key", "seat", "I prefer the aisle seat"]);
    home.json(&["retain", "--user", "tom", "--key", "seat", "I prefer a seat at the table"]);
    let facts = home.json(&["memories", "--kind", "fact", "--user", "tom"]);
    assert_eq!(facts["memories"].as_array().unwrap().len(), 2, "the same key replaces: {facts}");
    drop(server);
}

#[test]
fn a_broken_record_is_named_and_the_rest_is_taken_in() {
    let home = Home::new();
    let run = |id: &str| {
        format!(
            r#"{{"trace_id":"{id}","task_description":"The disk is full","outcome":{{"status":"FAILURE"}},"steps":[{{"action_type":"TOOL_CALL","action_name":"bash","action_detail":"df -h","observation":"100%"}}]}}"#
        )
    };
    let file = home.file("runs.jsonl", &format!("{}\nnot json\n{}\n{{\"steps\":[]}}\n", run("a"), run("b")));
    let other = home.file("notes.txt", "just words\n");
    let ran = home.run(&["--json", "import", file.to_str().unwrap(), other.to_str().unwrap()]);
    assert_eq!(ran.code(), 65, "{}", ran.stderr());
    let report = ran.json();
    assert_eq!(
        (report["submitted"].as_u64(), report["verdicts"]["judged"].as_u64()),
        (Some(2), Some(2)),
        "{report}"
    );
    let lines: Vec<_> =
        report["files"][0]["broken"].as_array().unwrap().iter().map(|b| b["line"].as_u64()).collect();
    assert_eq!(lines, [Some(2), Some(4)]);
    assert!(report["files"][1]["error"].as_str().unwrap().contains("no format that is known"));

    let told = home.run(&["import", file.to_str().unwrap()]);
    assert!(told.stdout().contains("runs.jsonl:2: is not valid JSON"), "{}", told.stdout());
    assert!(told.stdout().contains("2 already there"), "{}", told.stdout());
}

#[test]
fn a_session_that_went_on_is_judged_again() {
    let home = Home::new();
    let server = home.serve(&[]);
    let session = std::fs::read_to_string(examples().join("claude-code-session.jsonl")).unwrap();
    let first = session.lines().take(9).collect::<Vec<_>>().join("\n");
    let file = home.file("session.jsonl", &first);
    home.json(&["import", file.to_str().unwrap()]);
    home.file("session.jsonl", &session);
    let report = home.json(&["import", file.to_str().unwrap()]);
    let counts = ["submitted", "already_there", "grown"].map(|n| report[n].as_u64().unwrap());
    assert_eq!((counts, report["verdicts"]["waiting"].as_u64()), ([0, 0, 1], Some(0)), "{report}");
    assert_eq!(home.json(&["import", file.to_str().unwrap()])["already_there"], 1);

    home.file("session.jsonl", &first);
    let report = home.json(&["import", file.to_str().unwrap()]);
    let changed = &report["changed"][0];
    assert!(changed["steps_then"].as_u64() > changed["steps_now"].as_u64(), "{report}");
    drop(server);
}

#[test]
fn the_demo_runs_by_itself() {
    let home = Home::new();
    let demo = home.json(&["demo"]);
    assert_eq!(demo["import"]["verdicts"]["judged"], 18, "{}", demo["import"]);
    let recalls = demo["recalls"].as_array().unwrap();
    assert_eq!(recalled(&recalls[0]["response"])[0], "incident-2026-0817");
    assert_eq!(recalled(&recalls[1]["response"])[0], "ticket-55377");
    assert!(!home.data().exists(), "nothing is left behind");
}
