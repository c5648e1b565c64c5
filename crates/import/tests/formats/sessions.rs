//! Sessions of coding agents, chats and the product's own lines.

use hindsight_import::{Importer, ReadError};
use hindsight_types::{ActionType, EvidenceSource, OutcomeStatus, StepStatus, UserId, Visibility};

use crate::support::{options, outline, read, read_with};

use ActionType::{LlmReasoning, ToolCall, UserInput};
use StepStatus::{Error, Ok as Fine, Unknown};

#[test]
fn chat_runs() {
    let text = include_str!("../samples/chat_runs.json");
    let got = read(text);
    assert_eq!(got.format, "openai-chat");
    assert_eq!(got.runs.len(), 2);
    let run = &got.runs[0];
    assert_eq!(run.task_description, "Order A-17 was charged twice.");
    assert_eq!(
        outline(run),
        [
            (ToolCall, "get_order", Unknown),
            (ToolCall, "list_charges", Unknown),
            (LlmReasoning, "", Unknown),
            (UserInput, "", Unknown),
            (ToolCall, "refund", Error),
            (LlmReasoning, "", Unknown),
        ]
    );
    assert_eq!(run.steps[0].observation, r#"{"status":"paid"}"#);
    assert_eq!(run.steps[1].observation, r#"[{"id":"ch_1"},{"id":"ch_2"}]"#);
    assert_eq!(run.steps[4].reflection, "Refunding it now.");
    assert_eq!(run.outcome.conclusion, "The refund is refused.");
    assert_eq!(run.outcome.evidence[0].source, EvidenceSource::TestResult);
    assert_eq!(run.outcome.resolved(), OutcomeStatus::Success);
    assert_eq!(run.environment.attributes["task_id"], "7");
    assert!(run.trace_id.as_str().starts_with("chat-"));
    assert_eq!(run.ended_at, options().default_time);

    let named = &got.runs[1];
    assert_eq!(named.trace_id.as_str(), "run-with-a-name");
    assert_eq!(named.task_description, "测试环境挂了\n[image_url]");
    assert_eq!(named.outcome.resolved(), OutcomeStatus::Failure);

    assert_eq!(got.errors.len(), 1);
    assert_eq!((got.errors[0].line, got.errors[0].element), (17, Some(1)));
    assert!(got.errors[0].reason.contains("messages[1]") && got.errors[0].reason.contains("role"));
}

#[test]
fn a_list_of_messages_is_one_run() {
    let lines = include_str!("../samples/messages.jsonl");
    let array = format!("[{}]", lines.trim().replace('\n', ","));
    let got = [read(lines), read(&array), read(&format!("{array}\n"))];
    for read in &got {
        assert_eq!((read.runs.len(), read.errors.len()), (1, 0));
        assert_eq!(outline(&read.runs[0]), [(ToolCall, "bash", Unknown), (LlmReasoning, "", Unknown)]);
    }
    assert_eq!(got[0].runs[0].trace_id, got[1].runs[0].trace_id, "the id comes from the content alone");
}

#[test]
fn swe_agent() {
    let got = read(include_str!("../samples/swe.traj"));
    assert_eq!((got.format, got.errors.len()), ("swe-agent", 0));
    let run = &got.runs[0];
    assert_eq!(run.task_description, "The last page is lost");
    assert_eq!(
        outline(run),
        [(ToolCall, "find_file", Unknown), (LlmReasoning, "", Unknown), (ToolCall, "submit", Unknown)]
    );
    assert_eq!(run.steps[0].reflection, "Let us find the file.");
    assert_eq!(run.outcome.conclusion, "diff --git a/pager.py b/pager.py");
    assert_eq!(run.outcome.resolved(), OutcomeStatus::Unknown, "a submission is not yet a success");
}

#[test]
fn claude_code_session() {
    let got = read(include_str!("../samples/claude.jsonl"));
    assert_eq!(got.format, "claude-code");
    assert_eq!(got.runs.len(), 1);
    let run = &got.runs[0];
    assert_eq!(run.trace_id.as_str(), "5e55-1");
    assert_eq!(run.task_description, "nginx does not start, fix it");
    assert_eq!(
        outline(run),
        [(ToolCall, "Bash", Error), (LlmReasoning, "", Unknown), (LlmReasoning, "", Unknown)]
    );
    assert_eq!(run.steps[0].reflection, "Check the config first.\nI test the configuration.");
    assert_eq!(run.steps[0].observation, "unknown directive \"listn\"", "a repeated entry counts once");
    assert_eq!(run.steps[1].agent.as_ref().unwrap().as_str(), "b1");
    assert_eq!(run.steps[2].agent, None);
    assert_eq!(run.outcome.conclusion, "It was a typo in line 3; 已修复。");
    assert_eq!((run.ended_at - run.started_at).as_secs(), 18);
    assert_eq!(run.environment.attributes["git_branch"], "main");
    let errors: Vec<_> = got.errors.iter().map(|e| e.line).collect();
    assert_eq!(errors, [12, 13, 14]);
}

#[test]
fn a_side_chain_alone_does_not_take_the_name_of_its_session() {
    let got = read(include_str!("../samples/claude_sidechain.jsonl"));
    assert_eq!(got.runs[0].trace_id.as_str(), "5e55-1:b1");
    assert_eq!(got.runs[0].task_description, "Search the file for listn");
}

#[test]
fn codex_rollout() {
    let got = read(include_str!("../samples/codex.jsonl"));
    assert_eq!(got.format, "codex");
    let run = &got.runs[0];
    assert_eq!(run.trace_id.as_str(), "0199-codex");
    assert_eq!(run.task_description, "Make the tests pass.");
    assert_eq!(
        outline(run),
        [
            (ToolCall, "exec_command", Error),
            (ToolCall, "apply_patch", Unknown),
            (ToolCall, "shell", Fine),
            (LlmReasoning, "", Unknown),
        ]
    );
    assert_eq!(run.steps[0].reflection, "Run them first.");
    assert_eq!(run.steps[2].action_detail, "pytest -q");
    assert_eq!(run.environment.attributes["model"], "some-model");
    assert_eq!(got.errors.iter().map(|e| e.line).collect::<Vec<_>>(), [13]);
}

#[test]
fn codex_flat_rollout() {
    let got = read(include_str!("../samples/codex_flat.jsonl"));
    assert_eq!((got.format, got.runs.len(), got.errors.len()), ("codex", 1, 0));
    assert_eq!(got.runs[0].trace_id.as_str(), "0042-flat");
    assert_eq!(outline(&got.runs[0]), [(ToolCall, "shell", Unknown)]);
}

#[test]
fn hindsight_lines() {
    let got = read(include_str!("../samples/hindsight.jsonl"));
    assert_eq!(got.format, "hindsight");
    let run = &got.runs[0];
    assert_eq!(run.scope.visibility, Visibility::User(UserId::new("u-9").unwrap()));
    assert_eq!(outline(run), [(ToolCall, "bash", Fine), (LlmReasoning, "", Unknown)]);
    assert_eq!(run.steps[0].decision.as_ref().unwrap().rejected, ["du"]);
    assert_eq!(run.environment.tags, ["docker"]);
    assert_eq!(got.runs[1].scope.visibility, Visibility::Tenant, "a stated scope shares what names a user");
    let errors: Vec<_> = got.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(errors[0].starts_with("line 2: steps[0]: unknown field `obervation`"), "{}", errors[0]);
    assert!(errors[1].starts_with("line 3: unknown field `tasktype`"), "{}", errors[1]);
    assert!(errors[2].starts_with("line 5: steps[0]: step_index must be 0"), "{}", errors[2]);
    assert!(errors[3].starts_with("line 6: is not valid JSON"), "{}", errors[3]);
}

#[test]
fn what_the_caller_adds() {
    let mut options = options();
    options.user = Some(UserId::new("u-1").unwrap());
    options.tags = vec!["k8s".to_owned(), "docker".to_owned()];
    let got = read_with(include_str!("../samples/hindsight.jsonl"), &options);
    assert_eq!(got.runs[0].user.as_ref().unwrap().as_str(), "u-9", "the record goes first");
    assert_eq!(got.runs[0].environment.tags, ["docker", "k8s"]);
    let chat = read_with(include_str!("../samples/messages.jsonl"), &options);
    assert_eq!(chat.runs[0].scope.visibility, Visibility::User(UserId::new("u-1").unwrap()));
}

#[test]
fn unknown_input_names_the_known_formats() {
    let error = Importer::new(&b"hello\nworld\n"[..], &options()).unwrap_err();
    assert!(matches!(error, ReadError::Unrecognised { first: Some(_) }));
    assert!(error.to_string().contains("claude-code") && error.to_string().contains("line 1"), "{error}");
    assert!(matches!(Importer::new(&b" \n"[..], &options()), Err(ReadError::Empty)));
}

#[test]
fn a_large_observation_keeps_its_head_and_tail() {
    let log = format!("first line\n{}\nlast line", "日志 ".repeat(400_000));
    let line = serde_json::json!({
        "trace_id": "t", "task_description": "x",
        "steps": [{"action_type": "TOOL_CALL", "action_name": "logs", "observation": log}]
    });
    let got = read(&line.to_string());
    let observation = &got.runs[0].steps[0].observation;
    assert!(observation.len() <= hindsight_types::limits::OBSERVATION_BYTES);
    assert!(observation.starts_with("first line") && observation.ends_with("last line"));
    assert!(observation.contains("bytes left out"));
}

#[test]
fn a_run_of_too_many_steps_is_refused_with_the_remedy() {
    let mut text = String::from("{\"role\":\"user\",\"content\":\"go\"}\n");
    for _ in 0..=hindsight_types::limits::STEPS {
        text.push_str("{\"role\":\"assistant\",\"content\":\"step\"}\n");
    }
    let got = read(&text);
    assert_eq!((got.runs.len(), got.errors.len()), (0, 1));
    assert!(got.errors[0].reason.contains("5001 steps") && got.errors[0].reason.contains("split"));
}
