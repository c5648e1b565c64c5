//! The recorder against a server that is slow, refuses, dies and comes back, and with a process of its own that is
//! killed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod support;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use hindsight_client::{Client, NewTask, Recorder, RecorderSettings, RecorderState, SpoolError};
use hindsight_proto::common::v1::{OutcomeStatus, ScopeLevel, Step, StepStatus};
use support::Collector;

const LIMIT: Duration = Duration::from_secs(60);

fn recorder(url: &str, spool: &Path) -> Recorder {
    Recorder::start(Client::remote(url, None).unwrap(), &RecorderSettings::new(spool)).unwrap()
}

/// An address where nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// A task of so many steps.
fn run(recorder: &Recorder, name: &str, steps: u32) {
    let task =
        recorder.task(NewTask { trace_id: name.into(), ..NewTask::new("find the open ports") }).unwrap();
    for i in 0..steps {
        assert_eq!(task.tool_call("probe", &format!("port {i}"), Ok("open")), Some(i));
    }
    task.succeeded("all are open");
}

async fn until(recorder: &Recorder, what: &str, condition: impl Fn(&RecorderState) -> bool) {
    let waiting = async {
        while !condition(&recorder.state()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, waiting).await.is_ok(), "{what}: {:?}", recorder.state());
}

#[tokio::test]
async fn a_run_arrives_whole_and_in_order() {
    let (server, folder) = (Collector::start().await, tempfile::tempdir().unwrap());
    let recorder = recorder(&server.url(), folder.path());
    let task = recorder
        .task(NewTask {
            user: "li.lei".into(),
            trace_id: "t-1".into(),
            ..NewTask::new("退款 for order 4711")
        })
        .unwrap();
    assert_eq!(task.user_input("where is my money?"), Some(0));
    assert_eq!(task.reasoning("look the order up"), Some(1));
    assert_eq!(task.tool_call("get_order", r#"{"id": 4711}"#, Err("timeout")), Some(2));
    assert_eq!(task.step(Step { action_name: "refund".into(), ..Step::default() }), Some(3));
    task.failed("the order service does not answer");
    let state = recorder.flush(LIMIT).await;
    assert_eq!((state.recorded, state.acknowledged, state.pending, state.lost), (6, 6, 0, 0), "{state:?}");
    let run = server.run("t-1");
    assert_eq!(run.goal, "退款 for order 4711");
    assert_eq!(run.kinds, ["UserInput", "LlmReasoning", "ToolCall", "ToolCall"]);
    assert_eq!(run.steps[2].status(), StepStatus::Error);
    assert_eq!(run.ended, Some((OutcomeStatus::Failure, 4)));
    let scopes = [(ScopeLevel::User as i32, "li.lei".to_owned())];
    assert_eq!(run.scopes.into_iter().collect::<Vec<_>>(), scopes, "every event says whose it is");
    assert!(recorder.close(LIMIT).await.problem.is_none());
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "the lock alone stays");
}

#[tokio::test]
async fn a_server_that_dies_within_the_stream_gets_the_rest_when_it_is_back() {
    let (mut server, folder) = (Collector::start().await, tempfile::tempdir().unwrap());
    let recorder = recorder(&server.url(), folder.path());
    server.acknowledge_only(100);
    for n in 0..5 {
        run(&recorder, &format!("t-{n}"), 100);
    }
    until(&recorder, "some arrive", |s| s.acknowledged > 0).await;
    server.kill();
    until(&recorder, "the death is noticed", |s| s.trouble.is_some()).await;
    run(&recorder, "t-5", 100);
    assert!(recorder.state().pending > 0);
    server.revive().await;
    let state = recorder.flush(LIMIT).await;
    assert_eq!((state.acknowledged, state.pending, state.lost), (6 * 102, 0, 0), "{state:?}");
    assert_eq!((state.trouble, state.problem), (None, None));
    for n in 0..6 {
        server.assert_whole(&format!("t-{n}"), 100);
    }
}

#[tokio::test]
async fn a_full_spool_loses_the_newest_and_counts_them_and_ends_are_kept() {
    let (url, folder) = (nobody(), tempfile::tempdir().unwrap());
    let settings = RecorderSettings { spool_bytes: 64 * 1024, ..RecorderSettings::new(folder.path()) };
    let recorder = Recorder::start(Client::remote(&url, None).unwrap(), &settings).unwrap();
    let task = recorder.task(NewTask { trace_id: "t".into(), ..NewTask::new("goal") }).unwrap();
    let taken = (0..1000).filter(|_| task.tool_call("cat", "x", Ok(&"text ".repeat(100))).is_some()).count();
    task.succeeded("done");
    until(&recorder, "all is written", |s| s.queued == 0).await;
    let state = recorder.state();
    assert!(taken > 50 && taken < 130, "{taken}");
    assert_eq!((state.recorded, state.lost), (taken as u64 + 2, 1000 - taken as u64), "{state:?}");
    assert!(state.problem.as_ref().unwrap().contains("full"), "{state:?}");
    let on_disk: u64 =
        std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
    assert_eq!(on_disk, state.held_bytes);
    assert!(on_disk <= settings.spool_bytes);
    drop(recorder);
    let server = Collector::start().await;
    let after = again(&server.url(), folder.path()).await;
    assert_eq!((after.recovered, after.acknowledged), (state.recorded, state.recorded), "{after:?}");
    // What was lost leaves no hole, so the run can be judged.
    server.assert_whole("t", u32::try_from(taken).unwrap());
}

/// The next recorder on the spool of one that is being dropped.
async fn again(url: &str, spool: &Path) -> RecorderState {
    let start = async {
        loop {
            match Recorder::start(Client::remote(url, None).unwrap(), &RecorderSettings::new(spool)) {
                Ok(recorder) => return recorder,
                Err(SpoolError::InUse { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
                Err(e) => panic!("{e}"),
            }
        }
    };
    tokio::time::timeout(LIMIT, start).await.expect("the spool is let go").flush(LIMIT).await
}

#[tokio::test]
async fn what_is_sent_twice_changes_nothing_and_what_is_refused_does_not_stop_the_rest() {
    let (server, folder) = (Collector::start().await, tempfile::tempdir().unwrap());
    server.acknowledge_only(3);
    let first = recorder(&server.url(), folder.path());
    run(&first, "t", 10);
    until(&first, "some arrive", |s| s.acknowledged == 3).await;
    let state = first.close(Duration::from_millis(1)).await;
    assert_eq!(state.pending, 9, "{state:?}");
    server.acknowledge_all();
    server.refuse("refused");
    let second = recorder(&server.url(), folder.path());
    run(&second, "refused", 2);
    run(&second, "after", 2);
    let state = second.flush(LIMIT).await;
    assert_eq!((state.recovered, state.rejected, state.pending), (12, 4, 0), "{state:?}");
    assert!(state.problem.unwrap().contains("mend the field"), "the server's words");
    server.assert_whole("t", 10);
    server.assert_whole("after", 2);
    assert!(server.repeated() > 0, "an acknowledged record was sent again with its file");
}

#[tokio::test]
async fn mistakes_are_named_and_nothing_waits() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(&nobody(), folder.path());
    for (new, field) in [
        (NewTask::new(" "), "goal"),
        (NewTask { trace_id: "x".repeat(1000), ..NewTask::new("goal") }, "trace_id"),
        (NewTask { user: "x".repeat(1000), ..NewTask::new("goal") }, "user"),
        (NewTask { receipts: vec!["no receipt".into()], ..NewTask::new("goal") }, "receipt"),
    ] {
        let error = recorder.task(new).unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    let task = recorder.task(NewTask::new("goal")).unwrap();
    assert_eq!(task.tool_call("", "", Ok("")), None);
    assert!(recorder.state().problem.unwrap().contains("step.action_name"));
    assert_eq!(task.tool_call("ls", "", Ok("")), Some(0), "what was refused leaves no hole");
    drop(task);
    let again =
        Recorder::start(Client::remote(&nobody(), None).unwrap(), &RecorderSettings::new(folder.path()));
    assert!(matches!(again, Err(SpoolError::InUse { .. })));
    let state = recorder.clone().close(Duration::ZERO).await;
    assert_eq!((state.recorded, state.pending, state.lost), (3, 3, 1), "{state:?}");
    let late = recorder.task(NewTask::new("late")).unwrap();
    assert_eq!(late.reasoning("nobody hears this"), None);
    assert!(recorder.state().problem.unwrap().contains("not taken"));
}

#[test]
fn a_runtime_is_needed_and_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(async { Client::remote(&nobody(), None).unwrap() });
    let error = Recorder::start(client, &RecorderSettings::new(folder.path())).unwrap_err();
    assert!(error.to_string().contains("tokio"), "{error}");
}

#[tokio::test]
async fn a_panic_ends_the_task_as_failed() {
    let (server, folder) = (Collector::start().await, tempfile::tempdir().unwrap());
    let recorder = recorder(&server.url(), folder.path());
    let task = recorder.task(NewTask { trace_id: "t".into(), ..NewTask::new("goal") }).unwrap();
    let panicked = std::thread::spawn(move || {
        task.reasoning("this ends badly");
        panic!("as it should");
    });
    assert!(panicked.join().is_err());
    recorder.flush(LIMIT).await;
    assert_eq!(server.run("t").ended, Some((OutcomeStatus::Failure, 1)));
}

/// Not a test of its own: the process that is killed below.
#[tokio::test]
async fn child() {
    let Ok(spool) = std::env::var("RECORDER_SPOOL") else { return };
    let recorder = recorder(&std::env::var("RECORDER_URL").unwrap(), Path::new(&spool));
    for n in 0.. {
        run(&recorder, &format!("t-{n}"), 20);
        until(&recorder, "all is written", |s| s.queued == 0).await;
        println!("\nwritten {n}");
    }
}

#[tokio::test]
async fn a_process_that_is_killed_loses_nothing_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env("RECORDER_SPOOL", folder.path())
        .env("RECORDER_URL", nobody())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let written =
        BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok).find_map(|line| {
            line.strip_prefix("written ").map(|n| n.parse::<u32>().unwrap()).filter(|n| *n >= 5)
        });
    child.kill().unwrap();
    child.wait().unwrap();
    let written = written.expect("the child writes");
    let server = Collector::start().await;
    let state = again(&server.url(), folder.path()).await;
    assert_eq!((state.acknowledged, state.pending), (state.recovered, 0), "{state:?}");
    for n in 0..=written {
        server.assert_whole(&format!("t-{n}"), 20);
    }
}
