//! Upkeep over the wire: runs that are read often become a rule, what was taken back is superseded, what ended
//! leaves; and what was done is not planned again.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic like tests")]

use hindsight_client::Client;
use hindsight_e2e::{Server, until};
use hindsight_proto::{
    collector::v1::{Consistency, RetainRequest, SubmitTrajectoryRequest},
    common::v1::{
        ActionType, CompactionPolicy as Policy, CompactionRunState, FactStatus, FactType, Lesson, MemoryKind,
        Outcome, OutcomeStatus, Step, StepStatus, Trajectory, memory::Kind,
    },
    compactor::v1::{GetRunRequest, RunCompactionRequest},
    memory::v1::{ListArchivedRequest, ListMemoriesRequest, RestoreArchivedRequest},
    recall::v1::RecallRequest,
};
use tonic::Code;

const POLICIES: [Policy; 5] =
    [Policy::Condense, Policy::Merge, Policy::Contradictions, Policy::Archive, Policy::Facts];
const FATAL: &str = "FATAL cannot read /etc/pay/db.yaml: permission denied";

/// A container that may not read its settings, found out and put right.
fn incident(trace: &str, container: &str) -> Trajectory {
    let calls = [
        ("docker ps -a".to_owned(), format!("{container}  Restarting (1) 4 seconds ago")),
        (format!("docker logs {container} --tail 20"), FATAL.to_owned()),
        ("chmod 640 /etc/pay/db.yaml".to_owned(), String::new()),
        (format!("docker restart {container}"), container.to_owned()),
        (format!("docker logs {container} --since 1m"), format!("{container} listening on 8080")),
    ];
    let step = |(at, (command, saw)): (u32, (String, String))| Step {
        step_index: at,
        action_type: ActionType::ToolCall as i32,
        action_name: "shell".to_owned(),
        action_detail: command,
        observation: saw,
        status: StepStatus::Ok as i32,
        ..Step::default()
    };
    Trajectory {
        trace_id: trace.to_owned(),
        task_description: goal(container),
        steps: (0..).zip(calls).map(step).collect(),
        outcome: Some(Outcome {
            status: OutcomeStatus::Success as i32,
            conclusion: format!("{container} is up again"),
            ..Outcome::default()
        }),
        ..Trajectory::default()
    }
}

fn goal(container: &str) -> String {
    format!("The container {container} restarts in a loop. Find out why and fix it.")
}

async fn retain(client: &Client, content: &str, day: i64, ends: Option<i64>) -> String {
    let time = |day: i64| prost_types::Timestamp { seconds: 1_700_000_000 + day * 86_400, nanos: 0 };
    let request = RetainRequest {
        user: "anna".to_owned(),
        content: content.to_owned(),
        occurred_at: Some(time(day)),
        expires_at: ends.map(time),
        r#type: FactType::Identity as i32,
        consistency: Consistency::Indexed as i32,
        force: true,
        ..RetainRequest::default()
    };
    client.retain(request).await.unwrap().memory_id
}

/// Applies the policies, one after the other, and waits until each is done. Says how many tasks there were.
async fn compact(client: &Client) -> Vec<u64> {
    let mut planned = Vec::new();
    for policy in POLICIES {
        let request =
            RunCompactionRequest { policies: vec![policy as i32], ..RunCompactionRequest::default() };
        let begun = client.run_compaction(request).await.unwrap().runs.remove(0);
        let run = until("a run of upkeep is done", async || {
            let request = GetRunRequest { id: begun.id.clone(), ..GetRunRequest::default() };
            let answer = client.get_run(request).await.unwrap();
            let run = answer.run.unwrap();
            match run.state() {
                CompactionRunState::Done => Ok(run),
                _ => Err(format!("{run:?} {:?}", answer.tasks)),
            }
        })
        .await;
        assert_eq!(run.failed, 0, "{run:?}");
        planned.push(run.planned);
    }
    planned
}

/// What a run of each policy would do now.
async fn plans(client: &Client) -> Vec<usize> {
    let policies = POLICIES.iter().map(|policy| *policy as i32).collect();
    let request = RunCompactionRequest { policies, dry_run: true, ..RunCompactionRequest::default() };
    let plans = client.run_compaction(request).await.unwrap().plans;
    POLICIES
        .iter()
        .map(|policy| plans.iter().filter(|plan| plan.policy() == *policy).map(|plan| plan.tasks.len()).sum())
        .collect()
}

async fn rules(client: &Client) -> Vec<Lesson> {
    let request = ListMemoriesRequest { kind: MemoryKind::Lesson as i32, ..ListMemoriesRequest::default() };
    let found = client.list_memories(request).await.unwrap().memories;
    let lessons = found.into_iter().filter_map(|memory| match memory.kind {
        Some(Kind::Lesson(lesson)) => Some(lesson),
        _ => None,
    });
    lessons.filter(|lesson| lesson.key.starts_with("rule-")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_upkeep_has_done_is_not_planned_again() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]).await;
    let client = Client::remote(server.url(), None).unwrap();
    for n in 1..=3 {
        let run = incident(&format!("run-{n}"), &format!("pay-{n}"));
        let request =
            SubmitTrajectoryRequest { trajectory: Some(run), consistency: Consistency::Indexed as i32 };
        client.submit_trajectory(request).await.unwrap();
    }
    for _ in 0..6 {
        let request = RecallRequest { query: goal("pay-9"), strict: true, ..RecallRequest::default() };
        let found = client.recall(request).await.unwrap();
        assert!(!found.items.is_empty(), "else nothing is read");
    }
    retain(&client, "I live in Shanghai", 1, None).await;
    retain(&client, "I moved to Beijing, I no longer live in Shanghai", 2, None).await;
    retain(&client, "I have a coupon for the old cinema", 3, Some(4)).await;

    until("the reads are known", async || {
        let found = plans(&client).await;
        if found[0] == 1 { Ok(()) } else { Err(format!("{found:?}")) }
    })
    .await;
    let planned = plans(&client).await;
    let done = compact(&client).await;
    assert_eq!(done[0], 1, "one rule");
    assert_eq!(*done.last().unwrap(), 1, "one coupon");
    assert_eq!(planned[2], usize::try_from(done[2]).unwrap(), "a dry run says what a run does");
    let rules = rules(&client).await;
    let [rule] = rules.as_slice() else { panic!("one rule: {rules:?}") };
    assert_eq!(rule.sources.len(), 3);
    assert_eq!(rule.supported, 2, "runs other than the first");
    assert!(rule.basis.as_ref().unwrap().chosen.contains("chmod 640 /etc/pay/db.yaml"), "{rule:?}");

    let request =
        ListMemoriesRequest { kind: MemoryKind::Fact as i32, user: "anna".to_owned(), ..Default::default() };
    let facts = client.list_memories(request).await.unwrap().memories;
    let stands = facts.iter().filter_map(|memory| match &memory.kind {
        Some(Kind::Fact(fact)) => Some((fact.content.as_str(), fact.status())),
        _ => None,
    });
    let expected = [
        ("I moved to Beijing, I no longer live in Shanghai", FactStatus::Open),
        ("I live in Shanghai", FactStatus::Obsolete),
    ];
    assert_eq!(stands.collect::<Vec<_>>(), expected);
    assert_eq!(plans(&client).await, [0; 5], "what was done is not planned again");
    assert_eq!(compact(&client).await, [0; 5]);

    let archived = client.list_archived(ListArchivedRequest::default()).await.unwrap().archived;
    for left in archived {
        assert!(!left.instead.is_empty(), "nothing is old enough to fade: {left:?}");
    }
    let request = RestoreArchivedRequest { memory_id: rule.memory_id.clone(), ..Default::default() };
    let missing = client.restore_archived(request).await.unwrap_err();
    assert_eq!(missing.code, Code::NotFound);
}
