//! Runs recorded as spans: OpenAI Agents SDK, LangChain, LangSmith, Langfuse.

use hindsight_types::{
    ActionType::{LlmReasoning, ToolCall, UserInput},
    EvidenceSource, OutcomeStatus,
    StepStatus::{Error, Ok as Fine, Unknown},
    UserId, Visibility,
};

use crate::support::{options, outline, read};

#[test]
fn openai_agents() {
    let got = read(include_str!("../samples/openai_agents.jsonl"));
    assert_eq!((got.format, got.runs.len()), ("openai-agents", 1));
    let run = &got.runs[0];
    assert_eq!(run.trace_id.as_str(), "trace_a1");
    assert_eq!(run.session.as_ref().unwrap().as_str(), "thread-3");
    assert_eq!(run.scope.visibility, Visibility::User(UserId::new("mei").unwrap()));
    assert_eq!(run.task_description, "Order B-9 came twice; 请退款。");
    assert_eq!(
        outline(run),
        [
            (ToolCall, "get_order", Unknown),
            (ToolCall, "transfer_to_refund_desk", Fine),
            (ToolCall, "refund", Error),
            (LlmReasoning, "", Unknown),
        ]
    );
    assert_eq!(run.steps[0].reflection, "Look first.");
    assert_eq!(
        (&*run.steps[0].action_detail, &*run.steps[0].observation),
        (r#"{"id":"B-9"}"#, r#"{"sent":2}"#)
    );
    assert_eq!(run.steps[1].observation, "Refund Desk takes over");
    assert_eq!(run.steps[2].observation, "Error running tool: already refunded");
    let agents: Vec<_> = run.steps.iter().map(|s| s.agent.as_ref().unwrap().as_str()).collect();
    assert_eq!(agents, ["Triage", "Triage", "Refund Desk", "Refund Desk"]);
    assert_eq!(run.outcome.conclusion, "It was refunded yesterday.");
    assert_eq!((run.ended_at - run.started_at).as_millis(), 7200);
    assert_eq!(
        (&*run.environment.attributes["model"], &*run.environment.attributes["desk"]),
        ("some-model", "2")
    );

    let errors: Vec<_> = got.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 2);
    assert_eq!(errors[0], "line 14: trace.span: has no `span_data`");
    assert!(errors[1].starts_with("line 12: nobody is heard asking"), "{}", errors[1]);
}

#[test]
fn openai_agents_in_batches() {
    let lines: Vec<_> = include_str!("../samples/openai_agents.jsonl").lines().take(11).collect();
    let whole = read(&lines.join("\n"));
    for batches in [format!("{{\"data\":[{}]}}", lines.join(",")), format!("[{}]", lines.join(",\n"))] {
        let got = read(&batches);
        assert_eq!((got.format, &got.errors), ("openai-agents", &vec![]));
        assert_eq!(got.runs, whole.runs);
    }
}

#[test]
fn langchain_events() {
    let got = read(include_str!("../samples/langchain_events.jsonl"));
    assert_eq!((got.format, got.runs.len()), ("langchain", 1));
    let run = &got.runs[0];
    assert_eq!(run.trace_id.as_str(), "r-root");
    assert_eq!(run.session.as_ref().unwrap().as_str(), "t-4");
    assert_eq!(run.user.as_ref().unwrap().as_str(), "mei");
    assert_eq!(run.task_description, "Why is the site slow? 请查一下。");
    assert_eq!(
        outline(run),
        [(ToolCall, "ping", Fine), (ToolCall, "query", Error), (LlmReasoning, "", Unknown)],
        "tools that end in another order than they were called in answer their own calls"
    );
    assert_eq!(run.steps[0].reflection, "I measure.");
    assert_eq!((&*run.steps[0].action_detail, &*run.steps[0].observation), (r#"{"host":"db"}"#, "12 ms"));
    assert_eq!(
        run.steps[1].observation, "permission denied for table stats",
        "what was answered is not repeated"
    );
    assert_eq!(run.outcome.conclusion, "The database answers; I may not read its statistics.");
    assert_eq!(
        run.environment.attributes.keys().collect::<Vec<_>>(),
        ["model"],
        "not what the library notes for itself"
    );
    assert_eq!(run.started_at, options().default_time, "the events carry no times");
    assert_eq!(
        got.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["line 12: run_id: is missing"]
    );
}

#[test]
fn langchain_callbacks() {
    let got = read(include_str!("../samples/langchain_callbacks.jsonl"));
    assert_eq!((got.format, got.errors), ("langchain", vec![]));
    let run = &got.runs[0];
    assert_eq!(run.task_description, "Restart the worker.");
    assert_eq!(
        outline(run),
        [(LlmReasoning, "", Unknown), (ToolCall, "restart", Unknown), (ToolCall, "docs", Unknown)]
    );
    assert_eq!(
        (&*run.steps[1].action_detail, &*run.steps[1].observation),
        (r#"{"unit":"worker"}"#, "restarted")
    );
    assert!(
        run.steps[2].action_detail == "worker" && run.steps[2].observation.contains("Workers restart alone.")
    );
    assert_eq!(run.outcome.resolved(), OutcomeStatus::Failure);
    assert_eq!(run.outcome.evidence[0].detail, "the run broke off: Agent stopped: too many iterations");
    assert_eq!((run.ended_at - run.started_at).as_secs(), 7);
}

#[test]
fn langsmith() {
    let got = read(include_str!("../samples/langsmith.jsonl"));
    assert_eq!((got.format, got.runs.len()), ("langsmith", 3));
    let run = &got.runs[0];
    assert_eq!(run.trace_id.as_str(), "s-root");
    assert_eq!((run.session.as_ref().unwrap().as_str(), run.user.as_ref().unwrap().as_str()), ("t-9", "tom"));
    assert_eq!(run.task_description, "A flight to Oslo, 最便宜的。");
    assert_eq!(outline(run), [(ToolCall, "search_flights", Error), (LlmReasoning, "", Unknown)]);
    assert_eq!(run.steps[0].observation, "TimeoutError('no answer in 30 s')");
    assert_eq!(run.steps[0].reflection, "Searching.");
    assert_eq!(run.outcome.conclusion, "No flight can be found now.");
    assert_eq!(
        run.outcome.resolved(),
        OutcomeStatus::Failure,
        "feedback that is all or nothing is a verdict"
    );
    assert_eq!(run.environment.attributes["feedback.tone"], "0.5");
    assert_eq!(run.started_at.to_string(), "2026-05-04T08:00:00Z");
    assert_eq!(run.ended_at.to_string(), "2026-05-04T08:00:05Z");

    let nested = &got.runs[1];
    assert_eq!(nested.task_description, "Summarise the notes.");
    assert_eq!(outline(nested), [(ToolCall, "read_notes", Unknown)]);
    assert_eq!(nested.outcome.resolved(), OutcomeStatus::Failure);
    assert_eq!(nested.outcome.evidence[0].source, EvidenceSource::ExitCode);

    let told = &got.runs[2];
    assert_eq!(outline(told), [(ToolCall, "greet", Fine), (LlmReasoning, "", Unknown)]);
    assert_eq!(got.errors.iter().map(ToString::to_string).collect::<Vec<_>>(), ["line 7: id: is missing"]);
}

#[test]
fn langfuse() {
    let got = read(include_str!("../samples/langfuse.json"));
    assert_eq!((got.format, &got.errors), ("langfuse", &vec![]));
    let run = &got.runs[0];
    assert_eq!(run.trace_id.as_str(), "lf-1");
    assert_eq!((run.session.as_ref().unwrap().as_str(), run.user.as_ref().unwrap().as_str()), ("s-2", "mei"));
    assert_eq!(run.task_description, "My parcel is lost; 怎么办？");
    assert_eq!(
        outline(run),
        [
            (ToolCall, "track", Error),
            (ToolCall, "locate", Unknown),
            (UserInput, "", Unknown),
            (LlmReasoning, "", Unknown),
        ],
        "a span is a tool when the model called one of its name"
    );
    assert_eq!(run.steps[0].observation, "carrier does not answer");
    assert_eq!(run.steps[0].reflection, "I track it.");
    assert_eq!(run.steps[1].observation, r#"{"place":"depot"}"#);
    assert_eq!(run.steps[2].action_detail, "Is it insured?");
    assert!(
        run.steps
            .iter()
            .filter(|s| s.action_type != UserInput)
            .all(|s| s.agent.as_ref().unwrap().as_str() == "parcels")
    );
    assert_eq!(run.outcome.evidence[0].source, EvidenceSource::User);
    assert_eq!(run.outcome.evidence[0].detail, "score solved: 1 (called back)");
    assert_eq!(run.outcome.resolved(), OutcomeStatus::Success);
    assert_eq!(run.environment.attributes["score.tone"], "0.8");
    assert_eq!((run.ended_at - run.started_at).as_secs(), 9);

    let pages = format!("{{\"data\":[{}],\"meta\":{{}}}}", include_str!("../samples/langfuse.json"));
    assert_eq!(read(&pages).runs, got.runs);
}

#[test]
fn langfuse_observations_one_by_one() {
    let got = read(include_str!("../samples/langfuse_rows.jsonl"));
    assert_eq!((got.format, got.runs.len()), ("langfuse", 1));
    let run = &got.runs[0];
    assert_eq!((run.task_description.as_str(), run.user.as_ref().unwrap().as_str()), ("What is new?", "tom"));
    assert_eq!(outline(run), [(LlmReasoning, "", Error), (LlmReasoning, "", Unknown)]);
    assert_eq!((&*run.steps[0].observation, &*run.steps[1].action_detail), ("rate limited", "Nothing."));
    assert!(got.errors[0].to_string().starts_with("line 3: type: is missing"), "{}", got.errors[0]);
}
