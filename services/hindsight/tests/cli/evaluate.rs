//! `hindsight evaluate`: what it shows of runs that it only judges.

use serde_json::{Value, json};

use crate::support::Home;

const SECRETS: [&str; 6] =
    ["TaskPassw0rd1", "ArgPassw0rd2", "SeenPassw0rd3", "ThoughtPassw0rd4", "EndPassw0rd5", "NamePassw0rd6"];

fn run(task: &str, steps: Value) -> String {
    let conclusion = format!("password={}", SECRETS[4]);
    let evidence = json!([{"source": "USER", "verdict": "FAILURE", "detail": conclusion}]);
    let outcome = json!({"status": "FAILURE", "conclusion": conclusion, "evidence": evidence});
    json!({"trace_id": "r", "task_description": task, "steps": steps, "outcome": outcome}).to_string()
}

fn step(name: &str, detail: &str, observation: &str) -> Value {
    json!({"action_type": "TOOL_CALL", "action_name": name, "action_detail": detail,
        "observation": observation, "status": "ERROR", "reflection": format!("密码是{}", SECRETS[3])})
}

#[test]
fn secrets_of_a_run_are_not_shown() {
    let home = Home::new();
    let steps = json!([
        step("login", &json!({"password": SECRETS[1]}).to_string(), "Error: not known"),
        step("bash", "cat db.yaml", &format!("Error: password:\n  {}\n", SECRETS[2])),
        step(&format!("password={}", SECRETS[5]), "{}", "Error: no such tool"),
        {"action_type": "LLM_REASONING", "action_detail": format!("It says password={}", SECRETS[2])},
    ]);
    let file = home.file("run.jsonl", &run(&format!("Log in, password={}", SECRETS[0]), steps));
    let file = file.to_str().unwrap();
    for args in [&["evaluate", file][..], &["evaluate", file, "--full"], &["--json", "evaluate", file]] {
        let ran = home.run(args);
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        let shown = format!("{}{}", ran.stdout(), ran.stderr());
        assert!(shown.contains("REDACTED") || args[0] == "--json", "{shown}");
        for secret in SECRETS {
            assert!(!shown.contains(secret), "{args:?}: {secret} in {shown}");
        }
    }
}

#[test]
fn a_run_cannot_write_to_the_terminal() {
    let home = Home::new();
    let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\u{0}\u{202e}\u{9b}5m";
    let steps = json!([
        step(&format!("tool{hostile}"), &format!("arg{hostile}"), &format!("Error: seen{hostile}")),
        {"action_type": "LLM_REASONING", "action_detail": format!("done{hostile}")},
    ]);
    let file = home.file("run.jsonl", &run(&format!("Task{hostile}"), steps));
    let file = file.to_str().unwrap();
    let imported = home.run(&["import", file]);
    assert_eq!(imported.code(), 0, "{}", imported.stderr());
    for args in
        [&["evaluate", file][..], &["evaluate", file, "--full"], &["show", "r"], &["show", "r", "--full"]]
    {
        let ran = home.run(args);
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        let shown = format!("{}{}", ran.stdout(), ran.stderr());
        assert!(shown.contains("Task"), "{shown}");
        let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!shown.contains(raw), "{args:?}: {shown:?}");
    }
}

#[test]
fn a_broken_record_is_named_with_its_file() {
    let home = Home::new();
    let good = home.file("good.jsonl", &run("Log in", json!([step("login", "{}", "Error: not known")])));
    let bad = home.file("bad.jsonl", "{\"trace_id\":\"x\",\"steps\":5}\n");
    let ran = home.run(&["evaluate", good.to_str().unwrap(), bad.to_str().unwrap()]);
    assert_eq!(ran.code(), 65, "{}", ran.stderr());
    assert!(ran.stdout().contains("Log in"), "{}", ran.stdout());
    assert!(ran.stderr().contains("bad.jsonl"), "{}", ran.stderr());
}
