//! Events in, reminders out.

use std::{io::Write as _, process::Stdio, time::Duration};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::{Home, until};

/// What the command prints for these lines, with its notes.
fn told(home: &Home, args: &[&str], lines: &[&str]) -> (String, String) {
    told_bytes(home, args, format!("{}\n", lines.join("\n")).as_bytes())
}

fn told_bytes(home: &Home, args: &[&str], lines: &[u8]) -> (String, String) {
    let mut command = home.command(&[&["watch"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines).unwrap();
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
    let log = std::fs::read_to_string(home.log()).unwrap();
    assert!(
        !log.is_empty() && !log.contains("Cancelled"),
        "a watch that ends is no call that is broken off: {log}"
    );
}

#[test]
fn a_line_that_cannot_be_read_is_rejected_and_the_next_one_answered() {
    let home = Home::new();
    let server = home.serve(&[]);
    let long = vec![b'x'; 8 * 1024 * 1024 + 1];
    let lines = [b"\xff\xfe", &long[..], br#"{"before_call": {"tool": "x"}}"#, b""].join(&b'\n');
    let (out, _) = told_bytes(&home, &["--json"], &lines);
    let answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [encoding, length, start, call] = &answers[..] else { panic!("{out}") };
    for (answer, line, why) in
        [(encoding, 1, "byte 1 is no UTF-8"), (length, 2, "longer than the 8388608 bytes")]
    {
        assert_eq!(answer["in_reply_to"], line);
        assert!(answer["rejection"]["message"].as_str().unwrap().contains(why), "{answer}");
    }
    assert!(start["silence"].is_object() && call["silence"].is_object(), "{out}");
    assert_eq!(call["in_reply_to"], 3);
    assert_eq!(server.terminate(), Some(0));
}

/// Runs in which a deployment failed and another way led there.
fn deployments() -> String {
    let begun = Timestamp::now() - Duration::from_secs(3600);
    let run = |i: u32| {
        let step = |i: u32, region: &str, observation: &str, status: &str| {
            json!({"step_index": i, "action_type": "TOOL_CALL", "action_name": "deploy", "status": status,
                "action_detail": json!({"service": "shop", "region": region}).to_string(), "observation": observation})
        };
        json!({"trace_id": format!("d-{i}"), "task_description": format!("Deploy the shop, attempt {i}"),
            "started_at": begun.to_string(), "ended_at": (begun + Duration::from_secs(60)).to_string(),
            "outcome": {"status": "SUCCESS", "conclusion": "deployed to us",
                "evidence": [{"source": "USER", "verdict": "SUCCESS", "detail": "yes"}]},
            "steps": [step(0, "eu", "Error: quota exceeded for region eu in service shop", "ERROR"),
                step(1, "us", "deployed shop to us", "OK")]})
    };
    (0..3).map(|i| format!("{}\n", run(i))).collect()
}

#[test]
fn a_hook_is_answered_as_the_agent_takes_it() {
    let home = Home::new();
    let server = home.serve(&[]);
    home.json(&["import", home.file("runs.jsonl", &deployments()).to_str().unwrap()]);
    home.json(&["retain", "--user", "anna", "the spare key is under the blue flower pot"]);
    // A process for each, as the agent does it.
    let hook = |args: &[&str], name: &str, more: Value| {
        let mut line = json!({"hook_event_name": name, "session_id": "5e55-9", "cwd": "/"});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        told(&home, args, &[&line.to_string()]).0
    };
    let context = |out: &str, name: &str| {
        let answer: Value = serde_json::from_str(out).unwrap();
        let given = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
        let whole = json!({"hookSpecificOutput": {"hookEventName": name, "additionalContext": given}});
        assert_eq!(answer, whole, "nothing else, above all no decision in the place of the user");
        given
    };
    let call =
        |region: &str| json!({"tool_name": "deploy", "tool_input": {"service": "shop", "region": region}});

    let mut warned = String::new();
    until("the failure is known", || {
        warned = hook(&[], "PreToolUse", call("eu"));
        !warned.is_empty()
    });
    let block = context(&warned, "PreToolUse");
    assert!(block.starts_with("<hindsight-memory") && block.contains("quota exceeded"), "{block}");
    let receipt = block.split("receipt=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let explained = home.run(&["explain", receipt]).stdout();
    assert!(explained.contains("5e55-9"), "the run is that of the session: {explained}");

    let failed = json!({"tool_name": "deploy", "tool_input": {"service": "shop", "region": "eu"},
        "error": "Error: quota exceeded for region eu in service shop"});
    context(&hook(&[], "PostToolUseFailure", failed), "PostToolUseFailure");
    let anna = ["--user", "anna", "--goal", "where is the spare key?"];
    let begun = context(&hook(&anna, "SessionStart", json!({"source": "startup"})), "SessionStart");
    assert!(begun.contains("blue flower pot"), "{begun}");
    let asked = json!({"prompt": "do you remember where the spare key is?"});
    assert!(context(&hook(&anna, "UserPromptSubmit", asked), "UserPromptSubmit").contains("blue flower pot"));
    let fine = json!({"tool_name": "deploy", "tool_input": {"region": "us"}, "tool_response": "deployed"});
    assert_eq!(hook(&anna, "PostToolUse", fine), "", "silence is nothing at all");
    assert_eq!(server.terminate(), Some(0));
}
