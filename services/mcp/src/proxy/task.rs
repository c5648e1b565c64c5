//! From messages to the record of a task: a call and its result become a step.

use hindsight_codec::time_to_proto;
use hindsight_proto::{
    collector::v1::{RecordEventsRequest, record_events_request::Body},
    common::v1::{ActionType, Environment, Scope, ScopeLevel, Step, StepStatus},
    event::v1::{TaskCompleted, TaskStarted},
};
use hindsight_types::{Timestamp, limits};
use jiff::SignedDuration;
use uuid::Uuid;

use super::{
    About,
    calls::{Calls, Way},
    message::{Answer, Id, Message},
};

#[cfg(test)]
mod tests;

/// Shortest text that a note about what was cut fits into.
const NOTE: usize = 64;

/// What a connection is used for, cut into tasks: one until nothing happens for long.
#[derive(Debug)]
pub(crate) struct Tasks {
    about: About,
    session: String,
    client: String,
    server: String,
    task: Task,
    /// Calls that were forgotten before their answer came.
    pub(crate) unanswered: u64,
}

#[derive(Debug)]
struct Task {
    trace: String,
    /// When its first message came.
    begun: Option<Timestamp>,
    open: Calls<Open>,
    steps: u32,
    receipts: Vec<String>,
}

#[derive(Debug)]
struct Open {
    tool: String,
    arguments: String,
    at: Timestamp,
}

impl Task {
    fn new(trace: String) -> Self {
        Self { trace, begun: None, open: Calls::default(), steps: 0, receipts: Vec::new() }
    }
}

impl Tasks {
    /// `server` is what is served, until it says so itself.
    pub(crate) fn new(about: About, server: String, trace: String) -> Self {
        let session = Uuid::now_v7().to_string();
        Self { about, session, client: String::new(), server, task: Task::new(trace), unanswered: 0 }
    }

    /// A message that came by `way`.
    pub(crate) fn see(&mut self, way: Way, message: Message, now: Timestamp) -> Vec<RecordEventsRequest> {
        self.task.begun.get_or_insert(now);
        match message {
            Message::Hello { client } => self.client = client,
            Message::Call(call) => {
                let arguments =
                    if call.arguments.is_null() { String::new() } else { call.arguments.to_string() };
                let open = Open { tool: call.tool, arguments, at: now };
                if self.task.open.put(way, call.id, open).is_some() {
                    self.unanswered += 1;
                }
            }
            Message::Cancelled { id, reason } => {
                // It comes by itself, whichever way the call went.
                if let Some(open) = self.task.open.take(Way::Common, &id) {
                    let text = if reason.is_empty() {
                        "cancelled".to_owned()
                    } else {
                        format!("cancelled: {reason}")
                    };
                    return self.step(open, Answer { failed: true, text }, now);
                }
            }
            Message::Postponed { id } => drop(self.task.open.take(way, &id)),
            Message::Answered { id, server, answer } => {
                if let Some(server) = server {
                    self.server = server;
                }
                if let Some(open) = self.task.open.take(way, &id) {
                    return self.step(open, answer, now);
                }
            }
        }
        Vec::new()
    }

    /// A call that was answered with a warning and never reached the server is no step.
    pub(crate) fn withheld(&mut self, way: Way, id: &Id) {
        self.task.open.take(way, id);
    }

    /// The agent was told something.
    pub(crate) fn reminded(&mut self, receipt: String) {
        if self.task.receipts.len() < limits::TAGS && !self.task.receipts.contains(&receipt) {
            self.task.receipts.push(receipt);
        }
    }

    /// Whether calls are under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.task.open.is_empty()
    }

    /// Ends the task; what follows is another one, named `next`. A task without a step leaves nothing.
    pub(crate) fn end(&mut self, next: String, now: Timestamp) -> Vec<RecordEventsRequest> {
        let mut records = Vec::new();
        let open: Vec<_> = self.task.open.drain().collect();
        for open in open {
            records.extend(self.step(open, Answer { failed: false, text: String::new() }, now));
        }
        let task = std::mem::replace(&mut self.task, Task::new(next));
        if task.steps == 0 {
            return records;
        }
        if let Some(begun) = task.begun.filter(|_| !task.receipts.is_empty()) {
            // Of several starts the one recorded first counts: this one says what the agent was told meanwhile.
            let restated = begun.saturating_sub(SignedDuration::from_micros(1)).unwrap_or(begun);
            let mut started = self.started(&task, restated);
            started.event_id = Uuid::new_v4().to_string();
            records.push(started);
        }
        let completed = TaskCompleted { outcome: None, step_count: task.steps };
        records.push(self.record(&task, now, Body::Completed(completed)));
        records
    }

    fn step(&mut self, open: Open, answer: Answer, now: Timestamp) -> Vec<RecordEventsRequest> {
        let mut records = Vec::new();
        if self.task.steps == 0 {
            records.push(self.started(&self.task, self.task.begun.unwrap_or(open.at)));
        }
        let status = if answer.failed { StepStatus::Error } else { StepStatus::Unspecified };
        let step = Step {
            step_index: self.task.steps,
            action_type: ActionType::ToolCall.into(),
            action_name: cut(open.tool, limits::ID_BYTES),
            action_detail: cut(open.arguments, limits::DETAIL_BYTES),
            observation: cut(answer.text, limits::OBSERVATION_BYTES),
            status: status.into(),
            started_at: Some(time_to_proto(open.at)),
            ended_at: Some(time_to_proto(now)),
            ..Step::default()
        };
        self.task.steps += 1;
        records.push(self.record(&self.task, now, Body::Step(step)));
        records
    }

    /// Whether the task holds all the steps that one may have.
    pub(crate) fn is_full(&self) -> bool {
        self.task.steps as usize + self.task.open.len() >= limits::STEPS
    }

    fn started(&self, task: &Task, at: Timestamp) -> RecordEventsRequest {
        let tags = self.about.environment.clone();
        let started = TaskStarted {
            goal: cut(self.goal(), limits::TEXT_BYTES),
            session: self.session.clone(),
            user: self.about.user.clone(),
            agent: cut(self.about.agent.clone().unwrap_or_else(|| self.client.clone()), limits::ID_BYTES),
            task_type: self.about.task_type.clone(),
            environment: Some(Environment { tags, ..Environment::default() }),
            receipts: task.receipts.clone(),
        };
        self.record(task, at, Body::Started(started))
    }

    fn record(&self, task: &Task, at: Timestamp, body: Body) -> RecordEventsRequest {
        let level = if self.about.user.is_empty() { ScopeLevel::Tenant } else { ScopeLevel::User };
        RecordEventsRequest {
            // Stated each time: a collector that has not seen the start could not know it.
            scope: Some(Scope { level: level.into(), id: self.about.user.clone() }),
            trace_id: task.trace.clone(),
            recorded_at: Some(time_to_proto(at)),
            body: Some(body),
            ..RecordEventsRequest::default()
        }
    }

    fn goal(&self) -> String {
        match &self.about.goal {
            Some(goal) => goal.clone(),
            None if self.client.is_empty() => format!("Work with the tools of {}", self.server),
            None => format!("Work with the tools of {} for {}", self.server, self.client),
        }
    }
}

/// `text` in at most `limit` bytes, saying what was cut.
pub(crate) fn cut(mut text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let room = if limit > 2 * NOTE { limit - NOTE } else { limit };
    let end = (0..=room).rev().find(|i| text.is_char_boundary(*i)).unwrap_or_default();
    let more = text.len() - end;
    text.truncate(end);
    if limit > 2 * NOTE {
        text.push_str(&format!(" … [{more} bytes more]"));
    }
    text
}
