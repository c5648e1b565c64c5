//! Runs, and what becomes of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hindsight_ingest::{assemble::evaluation_request_id, split};
use hindsight_ports::{Envelope, MemoryStore as _, Queue};
use hindsight_proto::event::v1::EvaluationRequested;
use hindsight_types::{
    ActionType, Environment, EvaluationRecord, EvaluationState, Event, Experience, Outcome, OutcomeStatus,
    Scope, Step, StepStatus, Timestamp, TraceId, Trajectory, Viewer, Visibility,
};
use prost::Message as _;

use super::{House, tenant, until};

pub(crate) fn step(index: u32, name: &str, detail: &str, observation: &str) -> Step {
    Step {
        step_index: index,
        action_type: ActionType::ToolCall,
        action_name: name.to_owned(),
        action_detail: detail.to_owned(),
        observation: observation.to_owned(),
        status: StepStatus::Unknown,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: None,
        ended_at: None,
    }
}

/// A disk that is full, the wrong remedy, the right one.
pub(crate) fn incident(trace: &str) -> Trajectory {
    let at = |s: i64| Timestamp::from_second(1_760_000_000 + s).unwrap();
    let missing = "Error: No such file or directory: /var/log/ap.log";
    let steps = vec![
        step(0, "shell", "df -h", "Filesystem Use%\n/dev/vdb1 100% /data"),
        step(1, "shell", "truncate /var/log/ap.log", missing),
        step(2, "shell", "du -sh /data/*", "48G /data/app-cache-7781\n1G /data/db"),
        step(3, "shell", "rm -rf /data/app-cache-7781", "removed /data/app-cache-7781"),
        step(4, "shell", "systemctl restart api-9", "api-9 active"),
        step(5, "shell", "curl -s http://127.0.0.1:8080/health", "ok"),
    ];
    Trajectory {
        trace_id: TraceId::new(trace).unwrap(),
        scope: Scope::new(tenant(), Visibility::Tenant),
        session: None,
        user: None,
        agent: None,
        task_type: None,
        task_description: "磁盘告警: api-9 cannot write to /data, password=hunter2hunter2".to_owned(),
        steps,
        outcome: Outcome {
            status: OutcomeStatus::Success,
            evidence: Vec::new(),
            conclusion: "removed /data/app-cache-7781, api-9 is healthy".to_owned(),
        },
        environment: Environment::default(),
        receipts: Vec::new(),
        started_at: at(0),
        ended_at: at(120),
    }
}

pub(crate) fn requested(run: &Trajectory) -> Envelope {
    let request = EvaluationRequested {
        not_before: None,
        trace_id: run.trace_id.to_string(),
        scope: Some(hindsight_codec::scope_to_proto(&run.scope)),
        step_count: u32::try_from(run.steps.len()).unwrap(),
    };
    Envelope {
        id: evaluation_request_id(&run.scope.tenant, &run.trace_id, run.steps.len() as u32).0,
        schema: "hindsight.event.v1.EvaluationRequested".to_owned(),
        tenant: run.scope.tenant.clone(),
        occurred_at: run.ended_at,
        trace_context: Default::default(),
        payload: request.encode_to_vec(),
    }
}

/// Stores the events that `keep` lets through, and asks for the evaluation.
pub(crate) async fn ask(house: &House, run: &Trajectory, keep: impl Fn(usize) -> bool) -> Vec<Event> {
    let events = split(run.clone());
    let kept: Vec<Event> =
        events.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, e)| e.clone()).collect();
    house.store.append_events(&kept).await.unwrap();
    house.bus.publish(Queue::Evaluate, vec![requested(run)]).await.unwrap();
    events
}

pub(crate) async fn record(
    house: &House,
    viewer: &Viewer,
    run: &Trajectory,
    wanted: impl Fn(&EvaluationState) -> bool,
) -> EvaluationRecord {
    until("a state of the evaluation", || async {
        let record = house.store.evaluation_record(viewer, &run.trace_id).await.ok()??;
        wanted(&record.state).then_some(record)
    })
    .await
}

pub(crate) fn judged(state: &EvaluationState) -> bool {
    *state == EvaluationState::Judged
}

/// The record is written before the delivery is settled.
pub(crate) async fn settled(house: &House) {
    until("every delivery is settled", || async {
        let stats = house.bus.stats(Queue::Evaluate).await.ok()?;
        (stats.ready + stats.unsettled + stats.delayed == 0).then_some(())
    })
    .await;
}

pub(crate) async fn experience(house: &House, viewer: &Viewer, run: &Trajectory) -> Option<Experience> {
    house.store.experience(viewer, &run.trace_id).await.unwrap()
}
