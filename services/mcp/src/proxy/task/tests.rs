use serde_json::json;

use super::{
    super::{calls::CALLS, message::Call},
    *,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

/// The id as a call has it.
fn id(n: u64) -> Id {
    match call(n, "t") {
        Message::Call(call) => call.id,
        other => panic!("{other:?}"),
    }
}

fn call(n: u64, tool: &str) -> Message {
    let line = json!({"id": n, "method": "tools/call", "params": {"name": tool, "arguments": {"n": n}}});
    Message::Call(super::super::message::read_call(line.to_string().as_bytes()).unwrap())
}

fn answered(n: u64, failed: bool, text: &str) -> Message {
    Message::Answered { id: id(n), server: None, answer: Answer { failed, text: text.to_owned() } }
}

fn tasks(goal: Option<&str>) -> Tasks {
    let about = About { goal: goal.map(str::to_owned), user: "anna".to_owned(), ..About::default() };
    Tasks::new(about, "weather.py".to_owned(), "trace-1".to_owned())
}

fn steps(records: &[RecordEventsRequest]) -> Vec<&Step> {
    let mut steps = Vec::new();
    for record in records {
        if let Some(Body::Step(step)) = &record.body {
            steps.push(step);
        }
    }
    steps
}

fn started(records: &[RecordEventsRequest]) -> Vec<(&RecordEventsRequest, &TaskStarted)> {
    let mut starts = Vec::new();
    for record in records {
        if let Some(Body::Started(started)) = &record.body {
            starts.push((record, started));
        }
    }
    starts
}

#[test]
fn a_call_and_its_result_are_a_step_and_the_first_one_begins_the_task() {
    let mut tasks = tasks(None);
    assert!(tasks.see(Way::Common, Message::Hello { client: "claude-code".to_owned() }, at(0)).is_empty());
    let hello = Message::Answered {
        id: id(0),
        server: Some("weather".to_owned()),
        answer: Answer { failed: false, text: String::new() },
    };
    assert!(tasks.see(Way::Common, hello, at(0)).is_empty());
    assert!(tasks.see(Way::Common, call(1, "today"), at(1)).is_empty());
    let first = tasks.see(Way::Common, answered(1, true, "HTTP 500"), at(3));
    let (start, said) = started(&first)[0];
    assert_eq!(said.goal, "Work with the tools of weather for claude-code");
    assert_eq!((said.user.as_str(), said.agent.as_str()), ("anna", "claude-code"));
    assert_eq!(start.recorded_at, Some(time_to_proto(at(0))));
    let step = steps(&first)[0];
    assert_eq!((step.action_name.as_str(), step.action_detail.as_str()), ("today", r#"{"n":1}"#));
    assert_eq!((step.observation.as_str(), step.status()), ("HTTP 500", StepStatus::Error));
    assert_eq!((step.started_at, step.ended_at), (Some(time_to_proto(at(1))), Some(time_to_proto(at(3)))));
    let end = tasks.end("trace-2".to_owned(), at(9));
    assert!(matches!(&end[..], [RecordEventsRequest { body: Some(Body::Completed(c)), trace_id, .. }]
        if c.step_count == 1 && trace_id == "trace-1"));
}

#[test]
fn steps_are_numbered_as_they_end_and_open_calls_end_with_the_task() {
    let mut tasks = tasks(Some("Plan the trip"));
    let mut records = Vec::new();
    for message in [call(1, "slow"), call(2, "quick"), answered(2, false, "done"), call(3, "dropped")] {
        records.extend(tasks.see(Way::Common, message, at(1)));
    }
    let cancelled = Message::Cancelled { id: id(3), reason: "user pressed escape".to_owned() };
    records.extend(tasks.see(Way::Common, cancelled, at(2)));
    assert!(tasks.is_busy());
    records.extend(tasks.end("trace-2".to_owned(), at(3)));
    let seen: Vec<_> = steps(&records).iter().map(|s| (s.step_index, s.action_name.as_str())).collect();
    assert_eq!(seen, [(0, "quick"), (1, "dropped"), (2, "slow")]);
    assert_eq!(steps(&records)[1].observation, "cancelled: user pressed escape");
    assert_eq!(started(&records)[0].1.goal, "Plan the trip");
    assert!(matches!(&records.last().unwrap().body, Some(Body::Completed(c)) if c.step_count == 3));
}

#[test]
fn a_connection_without_calls_leaves_nothing() {
    let mut tasks = tasks(None);
    tasks.see(Way::Common, Message::Hello { client: "inspector".to_owned() }, at(0));
    tasks.see(Way::Common, answered(5, false, "an answer to nothing"), at(1));
    tasks.see(Way::Common, call(6, "warned"), at(1));
    tasks.withheld(Way::Common, &id(6));
    assert!(tasks.end("trace-2".to_owned(), at(2)).is_empty());
}

#[test]
fn what_the_agent_was_told_is_named_by_a_start_that_counts_before_the_first() {
    let mut tasks = tasks(None);
    tasks.see(Way::Common, call(1, "today"), at(0));
    let mut records = tasks.see(Way::Common, answered(1, false, "晴"), at(1));
    tasks.reminded("r-1".to_owned());
    tasks.reminded("r-1".to_owned());
    records.extend(tasks.end("trace-2".to_owned(), at(2)));
    let starts = started(&records);
    assert_eq!(starts.len(), 2);
    let (first, again) = (starts[0], starts[1]);
    assert_eq!((first.1.receipts.len(), &again.1.receipts[..]), (0, &["r-1".to_owned()][..]));
    let micros =
        |r: &RecordEventsRequest| r.recorded_at.map(|t| t.seconds * 1_000_000 + i64::from(t.nanos / 1000));
    assert_eq!(micros(first.0).unwrap() - micros(again.0).unwrap(), 1);
    assert!(!again.0.event_id.is_empty());
    assert!(tasks.end("trace-3".to_owned(), at(3)).is_empty(), "the next task has told nothing yet");
}

#[test]
fn calls_that_are_never_answered_do_not_pile_up() {
    let mut tasks = tasks(None);
    for n in 0..(CALLS as u64 + 10) {
        tasks.see(Way::Common, call(n, "t"), at(i64::try_from(n).unwrap()));
    }
    assert_eq!((tasks.task.open.len(), tasks.unanswered), (CALLS, 10));
    assert!(tasks.see(Way::Common, answered(3, false, "late"), at(5000)).is_empty());
    assert_eq!(steps(&tasks.see(Way::Common, answered(12, false, "there"), at(5000))).len(), 1);
}

#[test]
fn answers_over_http_belong_to_the_calls_that_they_answer() {
    let mut tasks = tasks(None);
    let (weather, payroll) = (Way::Exchange(1), Way::Exchange(2));
    tasks.see(weather, call(1, "weather"), at(0));
    tasks.see(payroll, call(1, "payroll"), at(0));
    let mut records = tasks.see(payroll, answered(1, false, "paid"), at(1));
    records.extend(tasks.see(weather, answered(1, false, "晴"), at(1)));
    let seen: Vec<_> =
        steps(&records).iter().map(|s| (s.action_name.as_str(), s.observation.as_str())).collect();
    assert_eq!(seen, [("payroll", "paid"), ("weather", "晴")]);
    // A cancellation comes by itself.
    tasks.see(Way::Exchange(3), call(2, "slow"), at(2));
    let cancelled = Message::Cancelled { id: id(2), reason: String::new() };
    let cancelled = tasks.see(Way::Exchange(4), cancelled, at(3));
    assert_eq!(steps(&cancelled)[0].observation, "cancelled");
    assert_eq!((tasks.is_busy(), tasks.unanswered), (false, 0));
}

#[test]
fn long_texts_are_cut_where_they_may_be_and_say_so() {
    assert_eq!(cut("short".to_owned(), 5), "short");
    let text = "天".repeat(1000);
    let short = cut(text.clone(), 1001);
    assert!(short.len() <= 1001 && short.starts_with("天天"), "{}", short.len());
    let more: usize = short.split(" … [").nth(1).unwrap().trim_end_matches(" bytes more]").parse().unwrap();
    assert_eq!(short.find(' ').unwrap() + more, text.len());
    assert_eq!(cut("天天天".to_owned(), 7), "天天");
}

#[test]
fn an_argument_free_call_has_no_detail() {
    let mut tasks = tasks(None);
    tasks.see(
        Way::Common,
        Message::Call(Call {
            id: id(1),
            tool: "now".to_owned(),
            arguments: serde_json::Value::Null,
            versioned: false,
        }),
        at(0),
    );
    assert_eq!(steps(&tasks.see(Way::Common, answered(1, false, "12:00"), at(0)))[0].action_detail, "");
}
