//! Events, checked.

use hindsight_codec::{feedback_verdict_from_proto, outcome_status_from_proto};
use hindsight_proto::recall::v1::{AfterCall, BeforeCall, ReminderFeedback, WatchStart, watch_request};
use hindsight_rank::block::Style;
use hindsight_types::{
    AgentId, Environment, FeedbackVerdict, FieldError, Invalid, OutcomeStatus, ReceiptId, SessionId,
    TaskType, TenantId, TraceId, UserId, Viewer, limits,
};
use jiff::tz::TimeZone;

use crate::{
    ask::{self, DEFAULT_TOKENS, MAX_TOKENS, note, optional},
    report::check_note,
};

/// The task that a stream is about.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) viewer: Viewer,
    pub(super) trace_id: Option<TraceId>,
    pub(super) session: Option<SessionId>,
    pub(super) goal: String,
    pub(super) environment: Environment,
    pub(super) style: Style,
    pub(super) time_zone: TimeZone,
    pub(super) reminders: u32,
    pub(super) token_budget: usize,
}

#[derive(Debug)]
pub(super) struct Called {
    pub(super) tool: String,
    pub(super) arguments: String,
}

#[derive(Debug)]
pub(super) enum Heard {
    Start(Box<Opening>),
    BeforeCall { call: Called, description: String },
    AfterCall { call: Called, failed: bool, output: String },
    Message(String),
    Feedback { reminder: ReceiptId, verdict: FeedbackVerdict, note: String },
    End(OutcomeStatus),
}

pub(super) fn read(tenant: &TenantId, event: Option<watch_request::Event>) -> Result<Heard, Invalid> {
    use watch_request::Event;
    match event {
        None => Err(Invalid::new("event", "is required: one of start, before_call, after_call, message, …")),
        Some(Event::Start(start)) => opening(tenant, start).map_err(|e| e.within("start")),
        Some(Event::BeforeCall(call)) => before(call).map_err(|e| e.within("before_call")),
        Some(Event::AfterCall(call)) => after(call).map_err(|e| e.within("after_call")),
        Some(Event::Message(said)) => message(said.text).map_err(|e| e.within("message")),
        Some(Event::Feedback(feedback)) => self::feedback(feedback).map_err(|e| e.within("feedback")),
        Some(Event::End(end)) => {
            let outcome = outcome_status_from_proto(end.outcome);
            outcome.map(Heard::End).map_err(|e| Invalid::new("end.outcome", e.fields[0].problem.clone()))
        }
    }
}

fn opening(tenant: &TenantId, start: WatchStart) -> Result<Heard, Invalid> {
    let mut wrong = Vec::new();
    let w = &mut wrong;
    let trace_id = note(w, optional(start.trace_id, TraceId::new)).flatten();
    let session = note(w, optional(start.session, SessionId::new)).flatten();
    let user = note(w, optional(start.user, UserId::new)).flatten();
    let agent = note(w, optional(start.agent, AgentId::new)).flatten();
    let task_type = note(w, optional(start.task_type, TaskType::new)).flatten();
    let environment = note(w, ask::environment(start.environment)).unwrap_or_default();
    let time_zone = note(w, ask::time_zone(&start.time_zone)).unwrap_or(TimeZone::UTC);
    let format = note(w, ask::format(start.format)).unwrap_or_default();
    let language = note(w, ask::language(&start.language)).flatten();
    let tokens = note(w, ask::amount("token_budget", start.token_budget, DEFAULT_TOKENS, MAX_TOKENS));
    within(w, "goal", &start.goal, limits::TEXT_BYTES);
    Invalid::check(wrong)?;
    let viewer =
        Viewer::of_tenant(tenant.clone()).with_user(user).with_agent(agent).with_task_type(task_type);
    Ok(Heard::Start(Box::new(Opening {
        viewer,
        trace_id,
        session,
        goal: start.goal,
        environment,
        style: Style { format, language },
        time_zone,
        reminders: start.reminders,
        token_budget: tokens.unwrap_or(DEFAULT_TOKENS),
    })))
}

fn before(call: BeforeCall) -> Result<Heard, Invalid> {
    let BeforeCall { call_id, tool, arguments, description } = call;
    let mut wrong = Vec::new();
    within(&mut wrong, "description", &description, limits::TEXT_BYTES);
    let call = called(&mut wrong, &call_id, tool, arguments);
    Invalid::check(wrong)?;
    Ok(Heard::BeforeCall { call, description })
}

fn after(call: AfterCall) -> Result<Heard, Invalid> {
    let AfterCall { call_id, tool, arguments, failed, output } = call;
    let mut wrong = Vec::new();
    within(&mut wrong, "output", &output, limits::OBSERVATION_BYTES);
    let call = called(&mut wrong, &call_id, tool, arguments);
    Invalid::check(wrong)?;
    Ok(Heard::AfterCall { call, failed, output })
}

fn called(wrong: &mut Vec<FieldError>, call_id: &str, tool: String, arguments: String) -> Called {
    within(wrong, "call_id", call_id, limits::ID_BYTES);
    within(wrong, "tool", &tool, limits::ID_BYTES);
    if tool.trim().is_empty() {
        wrong.extend(Invalid::new("tool", "is required: the name of the tool").fields);
    }
    within(wrong, "arguments", &arguments, limits::DETAIL_BYTES);
    Called { tool, arguments }
}

fn message(text: String) -> Result<Heard, Invalid> {
    let mut wrong = Vec::new();
    within(&mut wrong, "text", &text, limits::TEXT_BYTES);
    if text.trim().is_empty() {
        wrong.extend(Invalid::new("text", "is required: what the user said").fields);
    }
    Invalid::check(wrong)?;
    Ok(Heard::Message(text))
}

fn feedback(feedback: ReminderFeedback) -> Result<Heard, Invalid> {
    let mut wrong = Vec::new();
    let id = ReceiptId::parse(&feedback.reminder_id)
        .map_err(|e| Invalid::new("reminder_id", e.fields[0].problem.clone()));
    let reminder = note(&mut wrong, id);
    let verdict = note(&mut wrong, feedback_verdict_from_proto(feedback.verdict));
    note(&mut wrong, check_note(&feedback.note));
    Invalid::check(wrong)?;
    match reminder.zip(verdict) {
        Some((reminder, verdict)) => Ok(Heard::Feedback { reminder, verdict, note: feedback.note }),
        None => Err(Invalid::new("reminder_id", "is required")),
    }
}

fn within(wrong: &mut Vec<FieldError>, field: &str, text: &str, most: usize) {
    if text.len() > most {
        let problem =
            format!("is {} bytes long; at most {most} are accepted: send its beginning", text.len());
        wrong.extend(Invalid::new(field, problem).fields);
    }
}
