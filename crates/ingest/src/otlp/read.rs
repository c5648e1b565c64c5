//! From one span to what it tells. Knows nothing of other spans, so it can be done wherever a span arrives.

use hindsight_types::{
    ActionType, AgentId, EvidenceSource, Outcome, OutcomeEvidence, OutcomeStatus, ReceiptId, SessionId,
    SpanRole, SpanStep, Step, StepStatus, TaskStarted, TaskType, Timestamp, TraceId, TraceSpan, UserId,
    Voice, limits,
};

use super::{
    Attributes, RawSpan, Refused, SpanStatus, convention, environment,
    message::{Message, Role},
    span,
    talk::{self, Talk},
    tool,
    value::{as_words, text, words},
};
use crate::digest::head_and_tail;

/// Longest text of all that one span tells, in bytes.
const SPAN_BYTES: usize = 2 * 1024 * 1024;
/// Most steps of one span.
const STEPS: usize = 256;
/// Longest instructions that are kept, in bytes.
const INSTRUCTIONS: usize = 8 * 1024;
/// Left of a text when the span has said too much already, in bytes.
const REMNANT: usize = 128;

/// A span that tells of an agent's work.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub trace_id: TraceId,
    /// The person the agent works for, if the span names one.
    pub user: Option<UserId>,
    pub span: TraceSpan,
}

/// What a span tells. `resource` are the attributes of what sent it. `None`: nothing of an agent's work.
pub fn read(resource: &Attributes, raw: &RawSpan) -> Result<Option<Told>, Refused> {
    let (trace_id, span_id, parent) = span::ids(raw)?;
    let Some(role) = convention::role(raw) else { return Ok(None) };
    let user = user(raw)?;
    let started_at = time(raw.start);
    let mut reader = Reader { raw, room: SPAN_BYTES };
    let talk =
        if matches!(role, SpanRole::Agent | SpanRole::Model) { talk::of(raw) } else { Talk::default() };
    let steps = match role {
        SpanRole::Model => reader.model(&talk),
        SpanRole::Tool => vec![reader.tool()],
        SpanRole::Agent | SpanRole::Root => Vec::new(),
    };
    let instructions = reader.instructions(&talk);
    let span = TraceSpan {
        span_id,
        parent,
        role,
        name: name(&raw.name),
        started_at,
        ended_at: time(raw.end).max(started_at),
        task: reader.task(role, resource, &talk),
        instructions,
        steps,
        outcome: reader.outcome(role, &talk),
    };
    Ok(Some(Told { trace_id, user, span }))
}

/// A user that cannot be one is refused: without it, what is theirs would be everyone's.
fn user(raw: &RawSpan) -> Result<Option<UserId>, Refused> {
    let keys = ["user.id", "enduser.id", "langfuse.user.id", "traceloop.association.properties.user_id"];
    words(&raw.attributes, &keys)
        .map(|id| UserId::new(id.trim()))
        .transpose()
        .map_err(|e| Refused::User(e.to_string()))
}

fn time(nanoseconds: u64) -> Timestamp {
    Timestamp::from_nanosecond(nanoseconds.into()).unwrap_or_default()
}

/// A name within the limit of identifiers, cut at its end.
fn name(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    text[..text.floor_char_boundary(limits::ID_BYTES)].trim().to_owned()
}

struct Reader<'a> {
    raw: &'a RawSpan,
    /// Bytes that the span may still say.
    room: usize,
}

impl Reader<'_> {
    fn clip(&mut self, text: &str, most: usize) -> String {
        let most = most.min(self.room.max(REMNANT));
        let text = head_and_tail(text, most);
        let text = text[..text.floor_char_boundary(most)].to_owned();
        self.room = self.room.saturating_sub(text.len());
        text
    }

    fn step(&mut self, action_type: ActionType, detail: &str) -> Step {
        Step {
            step_index: 0,
            action_type,
            action_name: String::new(),
            action_detail: self.clip(detail, limits::DETAIL_BYTES),
            observation: String::new(),
            status: StepStatus::Unknown,
            decision: None,
            reflection: String::new(),
            agent: self.agent(),
            started_at: None,
            ended_at: None,
        }
    }

    /// What the model was told since it spoke last, and what it said.
    fn model(&mut self, talk: &Talk) -> Vec<SpanStep> {
        let fresh = talk.heard.iter().rposition(|m| m.role == Role::Assistant).map_or(0, |at| at + 1);
        let mut steps = Vec::new();
        for message in &talk.heard[fresh..] {
            self.answers(message, talk, &mut steps);
            if message.role == Role::User && !message.text.trim().is_empty() {
                let step = self.step(ActionType::UserInput, &message.text);
                steps.push(SpanStep { voice: Voice::Heard, call_id: String::new(), step });
            }
        }
        talk.said.iter().for_each(|message| self.said(message, &mut steps));
        if self.raw.status == SpanStatus::Error {
            steps.push(self.broken());
        }
        steps.truncate(STEPS);
        for (at, told) in steps.iter_mut().enumerate() {
            told.step.step_index = at as u32;
        }
        steps
    }

    fn answers(&mut self, message: &Message, talk: &Talk, steps: &mut Vec<SpanStep>) {
        for answer in message.answers.iter().take(STEPS) {
            let calls = talk.heard.iter().rev().flat_map(|m| &m.calls);
            let call = calls.into_iter().find(|c| !c.id.is_empty() && c.id == answer.id);
            let of_call = call.map(|c| c.name.as_str()).unwrap_or_default();
            let arguments = call.map(|c| c.arguments.as_str()).unwrap_or_default();
            let mut step = self.step(ActionType::ToolCall, arguments);
            step.action_name = name(if of_call.is_empty() { &answer.name } else { of_call });
            step.observation = self.clip(&answer.text, limits::OBSERVATION_BYTES);
            if answer.failed {
                step.status = StepStatus::Error;
            }
            steps.push(SpanStep { voice: Voice::Heard, call_id: name(&answer.id), step });
        }
    }

    /// Words before a call are the thought behind it; else they are a step.
    fn said(&mut self, message: &Message, steps: &mut Vec<SpanStep>) {
        let mut thought = [message.reasoning.trim(), message.text.trim()].join("\n").trim().to_owned();
        let mut calls = message.calls.iter().filter(|c| !c.name.trim().is_empty()).take(STEPS).peekable();
        if calls.peek().is_none() && !message.text.trim().is_empty() {
            let mut step = self.step(ActionType::LlmReasoning, message.text.trim());
            step.reflection = self.clip(message.reasoning.trim(), limits::TEXT_BYTES);
            steps.push(SpanStep { voice: Voice::Said, call_id: String::new(), step });
        }
        for call in calls {
            let mut step = self.step(ActionType::ToolCall, &call.arguments);
            step.action_name = name(&call.name);
            step.reflection = self.clip(&std::mem::take(&mut thought), limits::TEXT_BYTES);
            steps.push(SpanStep { voice: Voice::Said, call_id: name(&call.id), step });
        }
    }

    /// A model that did not answer.
    fn broken(&mut self) -> SpanStep {
        let mut step = self.step(ActionType::LlmReasoning, &self.raw.name.clone());
        step.observation = self.clip(&self.trouble(), limits::OBSERVATION_BYTES);
        step.status = StepStatus::Error;
        SpanStep { voice: Voice::Said, call_id: String::new(), step }
    }

    fn tool(&mut self) -> SpanStep {
        let told = tool::of(self.raw);
        let mut step = self.step(ActionType::ToolCall, &told.arguments);
        step.action_name = name(&told.name);
        let result = if told.result.trim().is_empty() { self.trouble() } else { told.result };
        step.observation = self.clip(&result, limits::OBSERVATION_BYTES);
        step.status = match self.raw.status {
            SpanStatus::Error => StepStatus::Error,
            _ if told.failed => StepStatus::Error,
            SpanStatus::Ok => StepStatus::Ok,
            SpanStatus::Unset => StepStatus::Unknown,
        };
        SpanStep { voice: Voice::Done, call_id: name(&told.call_id), step }
    }

    /// What went wrong, in words; empty when nothing is said to have.
    fn trouble(&self) -> String {
        let exception = self.raw.events.iter().rev().find(|e| e.name == "exception").map(|e| {
            let of = |key| e.attributes.get(key).map(as_words).unwrap_or_default();
            let (kind, message) = (of("exception.type"), of("exception.message"));
            if message.is_empty() { kind } else { format!("{kind}: {message}") }
        });
        let error = || words(&self.raw.attributes, &["error.type"]);
        match exception.filter(|e| !e.trim().is_empty()) {
            Some(exception) => exception,
            None if !self.raw.status_message.trim().is_empty() => self.raw.status_message.clone(),
            None if self.raw.status == SpanStatus::Error => error().unwrap_or_else(|| "error".to_owned()),
            None => String::new(),
        }
    }

    fn instructions(&mut self, talk: &Talk) -> String {
        let stated = self.raw.attributes.get("gen_ai.system_instructions");
        let stated = stated.map(super::message::text_of).filter(|t| !t.trim().is_empty());
        let system = || talk.heard.iter().find(|m| m.role == Role::System).map(|m| m.text.clone());
        let text = stated.or_else(system).unwrap_or_default();
        self.clip(text.trim(), INSTRUCTIONS)
    }

    fn agent(&self) -> Option<AgentId> {
        let own = text(&self.raw.attributes, &["gen_ai.agent.name", "agent.name", "gen_ai.agent.id"]);
        let entity = || match text(&self.raw.attributes, &["traceloop.span.kind"]) {
            Some("agent") => text(&self.raw.attributes, &["traceloop.entity.name"]),
            _ => None,
        };
        AgentId::new(name(own.or_else(entity)?)).ok()
    }

    fn task(&mut self, role: SpanRole, resource: &Attributes, talk: &Talk) -> TaskStarted {
        let attributes = &self.raw.attributes;
        let session = [
            "gen_ai.conversation.id",
            "session.id",
            "langfuse.session.id",
            "traceloop.association.properties.session_id",
        ];
        let session = text(attributes, &session).and_then(|s| SessionId::new(name(s)).ok());
        let task_type = text(attributes, &["hindsight.task_type"]).and_then(|t| TaskType::new(name(t)).ok());
        let receipts = match attributes.get("hindsight.receipts") {
            Some(serde_json::Value::Array(ids)) => {
                let ids = ids.iter().filter_map(|id| ReceiptId::parse(id.as_str()?).ok());
                ids.take(limits::TAGS).collect()
            }
            _ => Vec::new(),
        };
        let asked = talk.heard.iter().rev().find(|m| m.role == Role::User && !m.text.trim().is_empty());
        let goal = text(attributes, &["hindsight.goal"]).map(str::to_owned);
        let goal = goal.or_else(|| match role {
            SpanRole::Agent => asked.map(|m| m.text.trim().to_owned()),
            _ => None,
        });
        TaskStarted {
            goal: self.clip(&goal.unwrap_or_default(), limits::TEXT_BYTES),
            session,
            user: None,
            agent: self.agent(),
            task_type,
            environment: environment::of(role, resource, &self.raw.attributes),
            receipts,
        }
    }

    fn outcome(&mut self, role: SpanRole, talk: &Talk) -> Outcome {
        let mut outcome = Outcome::default();
        if role == SpanRole::Agent {
            let said = talk.said.iter().rev().find(|m| !m.text.trim().is_empty());
            outcome.conclusion = self.clip(said.map_or("", |m| m.text.trim()), limits::TEXT_BYTES);
        }
        outcome.evidence.extend(self.stated());
        if role != SpanRole::Tool {
            outcome.evidence.extend(self.ended());
        }
        outcome
    }

    /// What the status of the span says of the whole, should it be the outermost.
    fn ended(&mut self) -> Option<OutcomeEvidence> {
        let (source, verdict, detail) = match self.raw.status {
            SpanStatus::Unset => return None,
            SpanStatus::Ok => (
                EvidenceSource::AgentClaim,
                OutcomeStatus::Success,
                format!("the span `{}` says OK", self.raw.name),
            ),
            SpanStatus::Error => {
                let detail = format!("the span `{}` ended with an error: {}", self.raw.name, self.trouble());
                (EvidenceSource::ExitCode, OutcomeStatus::Failure, detail)
            }
        };
        let detail = self.clip(&detail, limits::TEXT_BYTES);
        Some(OutcomeEvidence { source, verdict, detail, observed_at: None })
    }

    /// How it went, as whoever made the span knows.
    fn stated(&mut self) -> Option<OutcomeEvidence> {
        let verdict = match text(&self.raw.attributes, &["hindsight.outcome"])?.to_ascii_lowercase().as_str()
        {
            "success" => OutcomeStatus::Success,
            "partial" => OutcomeStatus::Partial,
            "failure" => OutcomeStatus::Failure,
            _ => return None,
        };
        let source = match text(&self.raw.attributes, &["hindsight.outcome.source"]) {
            Some("test_result") => EvidenceSource::TestResult,
            Some("exit_code") => EvidenceSource::ExitCode,
            Some("user") => EvidenceSource::User,
            _ => EvidenceSource::AgentClaim,
        };
        let detail = words(&self.raw.attributes, &["hindsight.outcome.detail"]).unwrap_or_default();
        let observed_at = Some(time(self.raw.end));
        Some(OutcomeEvidence { source, verdict, detail: self.clip(&detail, limits::TEXT_BYTES), observed_at })
    }
}
