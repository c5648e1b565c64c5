//! Events in, reminders out.

use std::{io::Write as _, process::Stdio};

use serde_json::Value;

use crate::support::Home;

/// What the command prints for these lines, with its notes.
fn told(home: &Home, args: &[&str], lines: &[&str]) -> (String, String) {
    let mut command = home.command(&[&["watch"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    lines.iter().for_each(|line| writeln!(input, "{line}").unwrap());
    drop(input);
    let ran = child.wait_with_output().unwrap();
    let [out, notes] = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(ran.status.success(), "{notes}");
    (out, notes)
}

#[test]
fn events_are_answered_line_by_line() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["retain", "--user", "anna", "the spare key is under the blue flower pot"]);
    let lines = [
        r#"{"before_call": {"tool": "bash", "arguments": {"command": "ls"}}}"#,
        "no JSON",
        r#"{"sequence": 77, "message": {"text": "do you remember where the spare key is?"}}"#,
        "",
        r#"{"hook_event_name": "UserPromptSubmit", "prompt": "do you remember where the spare key is?"}"#,
        r#"{"end": {"outcome": "OUTCOME_STATUS_SUCCESS"}}"#,
    ];
    let (out, _) = told(&home, &["--json", "--user", "anna", "--trace", "visit"], &lines);
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: Vec<&str> = answers
        .iter()
        .map(|a| ["reminder", "silence", "rejection"].into_iter().find(|s| !a[s].is_null()).unwrap())
        .collect();
    assert_eq!(said, ["silence", "silence", "rejection", "reminder", "silence", "silence"], "{out}");
    assert_eq!(answers[3]["in_reply_to"], 77);
    assert_eq!(answers[3]["reminder"]["trigger"], "REMINDER_TRIGGER_ASKED");
    assert_eq!(answers[4]["silence"]["reason"], "SILENCE_REASON_SAID_BEFORE", "{out}");
    let receipt = answers[3]["reminder"]["reminder_id"].as_str().unwrap();
    let text = home.run(&["explain", receipt, "--user", "anna"]).stdout();
    assert!(text.contains("on a stream: asked in visit") && text.contains("given"), "{text}");

    let (out, notes) = told(&home, &["--user", "anna"], &lines);
    assert!(out.starts_with("<hindsight-memory") && out.contains("blue flower pot"), "{out}");
    assert_eq!(out.matches("<hindsight-memory").count(), 1, "said once");
    assert!(notes.contains("line 2 is no event"), "{notes}");
    assert_eq!(server.terminate(), Some(0));
}
