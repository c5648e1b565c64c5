//! Runs of agents as frameworks write them down: ATIF, AutoGen, ReAct.

use hindsight_types::{
    ActionType::{LlmReasoning, ToolCall, UserInput},
    EvidenceSource, OutcomeStatus,
    StepStatus::{Error, Ok as Fine, Unknown},
};

use crate::support::{options, outline, read};

fn agents(run: &hindsight_types::Trajectory) -> Vec<&str> {
    run.steps.iter().map(|s| s.agent.as_ref().map_or("", |a| a.as_str())).collect()
}

#[test]
fn atif() {
    let got = read(include_str!("../samples/atif.json"));
    assert_eq!((got.format, got.errors), ("atif", vec![]));
    let run = &got.runs[0];
    assert_eq!(run.trace_id.as_str(), "atif-7-main");
    assert_eq!(run.session.as_ref().unwrap().as_str(), "run-7");
    assert_eq!(run.agent.as_ref().unwrap().as_str(), "fixer");
    assert_eq!(run.task_description, "The nightly backup fails; 请修复。");
    assert_eq!(
        outline(run),
        [
            (ToolCall, "bash", Error),
            (ToolCall, "bash", Unknown),
            (ToolCall, "delegate", Unknown),
            (ToolCall, "bash", Unknown),
            (ToolCall, "action", Unknown),
            (LlmReasoning, "", Unknown),
        ]
    );
    assert_eq!(run.steps[0].action_detail, r#"{"cmd":"tail backup.log"}"#);
    assert_eq!(run.steps[0].observation, "No space left on device");
    assert_eq!(run.steps[0].reflection, "The log says why.\nI look at the log.");
    assert_eq!(run.steps[1].observation, "/backup 100%");
    assert_eq!(run.steps[2].observation, "cleaned");
    assert_eq!(agents(run), ["", "", "", "cleaner", "", ""]);
    assert_eq!((&*run.steps[4].action_detail, &*run.steps[4].observation), ("run backup.sh", "backup done"));
    assert_eq!(run.outcome.conclusion, "The backup works again.");
    assert_eq!(run.environment.attributes["model"], "some-model");
    assert_eq!((run.ended_at - run.started_at).as_secs(), 150, "a time without an offset is UTC");
}

#[test]
fn what_is_wrong_with_an_atif_step_is_named() {
    let sample = include_str!("../samples/atif.json");
    let wrong = read(&sample.replacen(r#""function_name": "delegate", "#, "", 1));
    assert_eq!(
        wrong.errors[0].to_string(),
        "line 1: steps[3].tool_calls[0].function_name: a tool call has no name"
    );
    let wrong = read(&sample.replacen(r#""source": "user""#, r#""source": "someone""#, 1));
    assert!(wrong.errors[0].reason.starts_with("steps[1].source: `someone`"), "{}", wrong.errors[0]);
    let wrong = read(r#"{"schema_version": "ATIF-v1.8", "steps": {}}"#);
    assert_eq!(wrong.errors[0].reason, "steps is an object, not a list");
}

#[test]
fn autogen_messages_one_by_one() {
    let got = read(include_str!("../samples/autogen_team.jsonl"));
    assert_eq!((got.format, got.runs.len()), ("autogen", 2));
    let run = &got.runs[0];
    assert_eq!(run.trace_id.as_str(), "m-1");
    assert_eq!(run.task_description, "Count the open tickets; 用中文回答。");
    assert_eq!(
        outline(run),
        [
            (ToolCall, "count", Fine),
            (ToolCall, "owners", Error),
            (ToolCall, "python", Fine),
            (LlmReasoning, "", Unknown),
        ]
    );
    assert_eq!(run.steps[0].reflection, "I ask the tracker.");
    assert_eq!((&*run.steps[2].action_detail, &*run.steps[2].observation), ("print(14)", "14\n"));
    assert_eq!(run.steps[2].reflection, "I count them myself.");
    assert_eq!(agents(run), ["desk", "desk", "coder", "desk"]);
    assert_eq!(run.environment.attributes["stop_reason"], "Text 'TERMINATE' mentioned");
    assert_eq!((run.ended_at - run.started_at).as_secs(), 6);
    assert_eq!(got.errors.len(), 2, "{:?}", got.errors);
    assert_eq!(got.errors[0].line, 9);
    assert!(got.errors[0].reason.starts_with("content[0].call_id: "), "{}", got.errors[0]);

    let logged = &got.runs[1];
    assert_eq!((logged.trace_id.as_str(), logged.task_description.as_str()), ("e-1", "And the closed ones?"));
    assert_eq!(outline(logged), [(LlmReasoning, "", Unknown)], "a message that is logged twice counts once");
}

#[test]
fn autogen_group_with_code_and_tools() {
    let got = read(include_str!("../samples/autogen_group.json"));
    assert_eq!((got.format, got.errors), ("autogen", vec![]));
    let run = &got.runs[0];
    assert_eq!(run.task_description, "How many trees stand in the park?");
    assert_eq!(
        outline(run),
        [
            (UserInput, "", Unknown),
            (ToolCall, "python", Error),
            (ToolCall, "look_up", Unknown),
            (LlmReasoning, "", Unknown),
        ]
    );
    assert_eq!(run.steps[1].action_detail, "print(open('trees').read())");
    assert_eq!(run.steps[1].observation, "FileNotFoundError: trees");
    assert_eq!(
        (&*run.steps[2].action_detail, &*run.steps[2].observation),
        (r#"{"place": "公园"}"#, "40 trees")
    );
    assert_eq!(agents(run), ["", "Tree_Expert", "Tree_Expert", "Check_Expert"]);
    assert_eq!(run.outcome.resolved(), OutcomeStatus::Failure);
    assert_eq!(run.outcome.evidence[0].source, EvidenceSource::TestResult);
    let told = serde_json::to_string(run).unwrap();
    assert!(
        !told.contains("mistake") && !told.contains("42"),
        "labels and the right answer are no part of a run"
    );
}

#[test]
fn autogen_orchestrator() {
    let got = read(include_str!("../samples/autogen_orchestra.json"));
    let run = &got.runs[0];
    assert_eq!(run.task_description, "Which shop sells tea?");
    assert_eq!(
        outline(run),
        [
            (LlmReasoning, "", Unknown),
            (ToolCall, "WebSurfer", Unknown),
            (LlmReasoning, "", Unknown),
            (LlmReasoning, "", Unknown),
        ]
    );
    assert_eq!(run.steps[1].action_detail, "Search for a tea shop.");
    assert_eq!(run.steps[1].observation, "I typed 'tea shop'. Found: Leaf & Cup.");
    assert_eq!(run.outcome.conclusion, "Leaf & Cup");
}

#[test]
fn react() {
    let got = read(include_str!("../samples/react.txt"));
    assert_eq!((got.format, got.runs.len()), ("react", 2));
    let run = &got.runs[0];
    assert_eq!(run.task_description, "Who wrote the tea book; 哪一年？");
    assert_eq!(
        outline(run),
        [(ToolCall, "search", Unknown), (ToolCall, "Lookup", Unknown), (LlmReasoning, "", Unknown)]
    );
    assert_eq!(run.steps[0].reflection, "I search for it.\nIt may be old.");
    assert_eq!(run.steps[0].action_detail, r#"{"q": "tea book"}"#);
    assert_eq!(run.steps[0].observation, "The Tea Book\n\n  by Lu Yu {\"year\": 760}");
    assert_eq!(
        (&*run.steps[1].action_detail, &*run.steps[1].observation),
        ("year", "Error: no page is open")
    );
    assert_eq!(run.outcome.conclusion, "Lu Yu, 约 760 年。");
    assert_eq!(run.steps[2].reflection, "I know enough.");
    assert_eq!(run.started_at, options().default_time);

    let second = &got.runs[1];
    assert_eq!(outline(second), [(ToolCall, "查询", Unknown), (LlmReasoning, "", Unknown)]);
    assert_eq!((&*second.steps[0].action_detail, &*second.steps[0].observation), ("订单", "没有找到"));
    assert_eq!(got.errors.len(), 1);
    assert_eq!(got.errors[0].to_string(), "line 21: an `Action Input` has no `Action` before it");
}
