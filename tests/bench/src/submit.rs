//! A run in the simulated world as a trajectory.

use hindsight_proto::common::v1::{
    ActionType, Environment, EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus, Scope, ScopeLevel,
    Step, StepStatus, Trajectory,
};
use prost_types::Timestamp;

use crate::world::{
    agent::{Call, Run},
    task::Task,
};

/// World time that one call takes, in seconds.
const CALL: i64 = 45;

/// How it is known how a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The last call checked.
    Check,
    /// The agent says so.
    Claim,
}

pub(crate) fn environment(task: &Task) -> Environment {
    Environment { tags: vec![task.fault.place.tag().to_owned()], ..Environment::default() }
}

/// The name of the run on a task.
pub(crate) fn name(task: &Task) -> String {
    format!("run-{}", task.index)
}

/// A run on a task, shared with everybody.
pub(crate) fn trajectory(
    name: String,
    task: &Task,
    run: &Run,
    receipts: Vec<String>,
    proof: Proof,
) -> Trajectory {
    let begun = task.at.as_second();
    let at = |seconds| Timestamp { seconds, nanos: 0 };
    let steps: Vec<Step> = (0..).zip(&run.calls).map(|(index, call)| step(index, call, begun)).collect();
    let ended = begun + CALL * i64::try_from(steps.len()).unwrap_or_default();
    Trajectory {
        trace_id: name,
        scope: Some(Scope { level: ScopeLevel::Tenant as i32, id: String::new() }),
        agent: "operator".to_owned(),
        task_description: task.report.clone(),
        steps,
        outcome: Some(outcome(run, proof)),
        environment: Some(environment(task)),
        receipts,
        started_at: Some(at(begun)),
        ended_at: Some(at(ended)),
        ..Trajectory::default()
    }
}

fn step(index: u32, call: &Call, begun: i64) -> Step {
    let began = begun + CALL * i64::from(index);
    let at = |seconds| Some(Timestamp { seconds, nanos: 0 });
    Step {
        step_index: index,
        action_type: ActionType::ToolCall as i32,
        action_name: "bash".to_owned(),
        action_detail: call.command.clone(),
        observation: call.output.text.clone(),
        status: if call.output.failed { StepStatus::Error } else { StepStatus::Ok } as i32,
        started_at: at(began),
        ended_at: at(began + CALL),
        ..Step::default()
    }
}

/// The last call of a run looks whether the trouble is gone: a test. Who only claims it has none.
fn outcome(run: &Run, proof: Proof) -> Outcome {
    let status = if run.solved { OutcomeStatus::Success } else { OutcomeStatus::Failure } as i32;
    let (source, detail) = match proof {
        Proof::Check => (
            EvidenceSource::TestResult,
            run.calls.last().map(|call| call.output.text.clone()).unwrap_or_default(),
        ),
        Proof::Claim => (EvidenceSource::AgentClaim, run.conclusion.clone()),
    };
    let evidence = OutcomeEvidence { source: source as i32, verdict: status, detail, observed_at: None };
    Outcome { status, evidence: vec![evidence], conclusion: run.conclusion.clone() }
}
