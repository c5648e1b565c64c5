use hindsight_proto::{
    collector::v1::{RecordEventsRequest, record_events_request::Body},
    common::v1::{ActionType, Outcome, OutcomeStatus, Step, StepStatus, Trajectory},
    event::v1::{TaskCompleted, TaskStarted},
};

/// What the gate does with a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Tool calls enough: it is judged.
    Judged,
    /// Talk only: it stays raw.
    Skipped,
}

/// A step of a service that restarts in a loop; every step of every run has its own words.
pub fn step(run: &str, index: u32, kind: Kind) -> Step {
    let tool = kind == Kind::Judged;
    let names = ["list_containers", "read_logs", "查看容器状态", "describe_container"];
    let at = index as usize % names.len();
    Step {
        step_index: index,
        action_type: if tool { ActionType::ToolCall } else { ActionType::LlmReasoning } as i32,
        action_name: if tool { names[at].to_owned() } else { String::new() },
        action_detail: format!("{{\"container\": \"{run}-c{index}\"}}"),
        observation: format!("container {run}-c{index} restarted {} times, 状态异常", index + 1),
        status: StepStatus::Ok as i32,
        ..Step::default()
    }
}

fn outcome(run: &str) -> Outcome {
    Outcome {
        status: OutcomeStatus::Success as i32,
        conclusion: format!("raised the memory limit of {run}-c1"),
        ..Outcome::default()
    }
}

fn goal(run: &str) -> String {
    format!("find out why service {run} keeps restarting 服务反复重启")
}

/// The events of one run: start, `steps` steps, completion.
pub fn run(name: &str, steps: u32, kind: Kind) -> Vec<RecordEventsRequest> {
    let started = Body::Started(TaskStarted { goal: goal(name), ..TaskStarted::default() });
    let completed = Body::Completed(TaskCompleted { outcome: Some(outcome(name)), step_count: steps });
    let bodies = std::iter::once(started)
        .chain((0..steps).map(|i| Body::Step(step(name, i, kind))))
        .chain(std::iter::once(completed));
    bodies.map(|body| record(name, body)).collect()
}

/// An event without its sequence. The time is fixed, so that an event sent again is the same.
pub fn record(trace: &str, body: Body) -> RecordEventsRequest {
    RecordEventsRequest {
        trace_id: trace.to_owned(),
        recorded_at: Some(prost_types::Timestamp { seconds: 1_800_000_000, nanos: 0 }),
        body: Some(body),
        ..RecordEventsRequest::default()
    }
}

/// The same run as a whole.
pub fn trajectory(name: &str, steps: u32, kind: Kind) -> Trajectory {
    Trajectory {
        trace_id: name.to_owned(),
        task_description: goal(name),
        steps: (0..steps).map(|i| step(name, i, kind)).collect(),
        outcome: Some(outcome(name)),
        ..Trajectory::default()
    }
}
