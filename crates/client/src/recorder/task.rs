//! One task as it is recorded.

use std::{
    sync::{Arc, Mutex},
    time::SystemTime,
};

use hindsight_proto::{
    collector::v1::{RecordEventsRequest, record_events_request::Body},
    common::v1::{
        ActionType, Environment, EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus, Scope, ScopeLevel,
        Step, StepStatus,
    },
    event::v1::{TaskCompleted, TaskStarted},
};
use hindsight_types::{Invalid, TraceId, limits};
use uuid::Uuid;

use super::{Handle, fit, sender::lock};

/// What a task is. All but the goal may stay empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewTask {
    /// In words.
    pub goal: String,
    /// The agent's own name for the run, unique within the tenant. Empty: a new one.
    pub trace_id: String,
    /// Person the agent works for. What is learned is theirs alone, unless `scope` says otherwise.
    pub user: String,
    pub agent: String,
    /// Conversation or process it belongs to.
    pub session: String,
    pub task_type: String,
    pub environment: Environment,
    /// Receipts of the recalls that shape it.
    pub receipts: Vec<String>,
    pub scope: Option<Scope>,
}

impl NewTask {
    pub fn new(goal: impl Into<String>) -> Self {
        Self { goal: goal.into(), ..Self::default() }
    }
}

/// A task that is being recorded. Nothing here waits. Dropped without an end, it ends as one whose outcome is
/// not known, and as failed in a panic.
#[derive(Debug)]
pub struct Task {
    handle: Arc<Handle>,
    trace_id: String,
    /// Stated on every event: a server that has not seen the start could not know it.
    scope: Scope,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    steps: u32,
    open: bool,
}

impl Task {
    pub(super) fn start(handle: Arc<Handle>, new: NewTask) -> Result<Self, Invalid> {
        let trace_id = if new.trace_id.is_empty() { Uuid::now_v7().to_string() } else { new.trace_id };
        TraceId::new(trace_id.as_str())?;
        let scope = match new.scope {
            Some(scope) => scope,
            None if new.user.is_empty() => Scope { level: ScopeLevel::Tenant.into(), id: String::new() },
            None => Scope { level: ScopeLevel::User.into(), id: new.user.clone() },
        };
        let started = TaskStarted {
            goal: new.goal,
            session: new.session,
            user: new.user,
            agent: new.agent,
            task_type: new.task_type,
            environment: Some(new.environment),
            receipts: new.receipts,
        };
        if started.goal.trim().is_empty() || started.goal.len() > limits::TEXT_BYTES {
            let problem = format!("is required, and has at most {} bytes", limits::TEXT_BYTES);
            return Err(Invalid::new("goal", problem));
        }
        hindsight_codec::task_started_from_proto(started.clone())?;
        let mut task =
            Self { handle, trace_id, scope, progress: Mutex::new(Progress { steps: 0, open: false }) };
        let open = task.record(Body::Started(started));
        task.progress = Mutex::new(Progress { steps: 0, open });
        Ok(task)
    }

    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// Records a step; its index and, where it is missing, its end are set here. Returns the index; `None` when the
    /// step was not taken, and [`RecorderState`](super::RecorderState) says why.
    pub fn step(&self, mut step: Step) -> Option<u32> {
        let shared = &self.handle.shared;
        let mut progress = lock(&self.progress);
        if !progress.open {
            shared.lose("the start of the task was not taken, or it has ended".to_owned());
            return None;
        }
        match fit::step(&mut step) {
            Ok(true) => shared.cut(),
            Ok(false) => {}
            Err(e) => {
                shared.lose(e.to_string());
                return None;
            }
        }
        let index = progress.steps;
        if index as usize >= limits::STEPS {
            shared.lose(format!("a task has at most {} steps", limits::STEPS));
            return None;
        }
        let ended_at = step.ended_at.or_else(|| Some(SystemTime::now().into()));
        let step = Step { step_index: index, ended_at, ..step };
        self.record(Body::Step(step)).then(|| {
            progress.steps += 1;
            index
        })
    }

    /// A call of a tool: its name, its arguments, and what came back or how it failed.
    pub fn tool_call(&self, name: &str, arguments: &str, result: Result<&str, &str>) -> Option<u32> {
        let (observation, status) = match result {
            Ok(output) => (output, StepStatus::Ok),
            Err(error) => (error, StepStatus::Error),
        };
        self.step(Step {
            action_type: ActionType::ToolCall.into(),
            action_name: name.to_owned(),
            action_detail: arguments.to_owned(),
            observation: observation.to_owned(),
            status: status.into(),
            ..Step::default()
        })
    }

    /// What the model thought or said.
    pub fn reasoning(&self, text: &str) -> Option<u32> {
        self.words(ActionType::LlmReasoning, text)
    }

    /// What the user said.
    pub fn user_input(&self, text: &str) -> Option<u32> {
        self.words(ActionType::UserInput, text)
    }

    fn words(&self, kind: ActionType, text: &str) -> Option<u32> {
        self.step(Step { action_type: kind.into(), action_detail: text.to_owned(), ..Step::default() })
    }

    /// Ends the task; it is judged once the server has all its steps.
    pub fn complete(self, outcome: Outcome) {
        self.end(outcome);
    }

    /// Ends the task as reached, by the agent's own word. `conclusion` is the answer.
    pub fn succeeded(self, conclusion: &str) {
        self.end(claimed(OutcomeStatus::Success, conclusion));
    }

    /// Ends the task as missed, by the agent's own word.
    pub fn failed(self, error: &str) {
        self.end(claimed(OutcomeStatus::Failure, error));
    }

    fn end(&self, mut outcome: Outcome) {
        let mut progress = lock(&self.progress);
        if std::mem::replace(&mut progress.open, false) {
            if fit::outcome(&mut outcome) {
                self.handle.shared.cut();
            }
            let completed = TaskCompleted { outcome: Some(outcome), step_count: progress.steps };
            self.record(Body::Completed(completed));
        }
    }

    fn record(&self, body: Body) -> bool {
        let is_end = matches!(body, Body::Completed(_));
        let event = RecordEventsRequest {
            scope: Some(self.scope.clone()),
            trace_id: self.trace_id.clone(),
            recorded_at: Some(SystemTime::now().into()),
            body: Some(body),
            ..RecordEventsRequest::default()
        };
        self.handle.shared.offer(&event, is_end)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.end(if std::thread::panicking() {
            claimed(OutcomeStatus::Failure, "the agent panicked")
        } else {
            Outcome { status: OutcomeStatus::Unknown.into(), ..Outcome::default() }
        });
    }
}

fn claimed(status: OutcomeStatus, conclusion: &str) -> Outcome {
    let evidence = OutcomeEvidence {
        source: EvidenceSource::AgentClaim.into(),
        verdict: status.into(),
        detail: conclusion.to_owned(),
        observed_at: None,
    };
    Outcome { status: status.into(), evidence: vec![evidence], conclusion: conclusion.to_owned() }
}
