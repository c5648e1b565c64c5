use hindsight_types::{
    ActionType, Environment, Outcome, OutcomeStatus, Scope, Step, StepStatus, TenantId, Timestamp, TraceId,
    Trajectory, Visibility,
};

pub(crate) fn seconds(s: i64) -> Timestamp {
    Timestamp::from_second(1_760_000_000 + s).unwrap()
}

pub(crate) fn step(index: u32) -> Step {
    Step {
        step_index: index,
        action_type: ActionType::ToolCall,
        action_name: "kubectl".to_owned(),
        action_detail: format!("get pod web-{index}"),
        observation: format!("pod web-{index} is running"),
        status: StepStatus::Unknown,
        decision: None,
        reflection: String::new(),
        agent: None,
        started_at: Some(seconds(i64::from(index))),
        ended_at: Some(seconds(i64::from(index) + 1)),
    }
}

pub(crate) fn run(steps: u32) -> Trajectory {
    Trajectory {
        trace_id: TraceId::new("trace-1").unwrap(),
        scope: Scope::new(TenantId::new("acme").unwrap(), Visibility::Tenant),
        session: None,
        user: None,
        agent: None,
        task_type: None,
        task_description: "web is down".to_owned(),
        steps: (0..steps).map(step).collect(),
        outcome: Outcome { status: OutcomeStatus::Success, ..Outcome::default() },
        environment: Environment::default(),
        receipts: Vec::new(),
        started_at: seconds(0),
        ended_at: seconds(60),
    }
}
