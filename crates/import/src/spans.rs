//! Runs that were recorded as spans: calls of models and tools, each with its beginning, its end and the span it
//! belongs to. What a model said and what tools answered is put in the order in which the spans ended, so that
//! spans that are written as they end only ever add to a run.

mod again;
mod builder;

use std::collections::HashMap;

use hindsight_types::{AgentId, EvidenceSource, OutcomeEvidence, OutcomeStatus, Timestamp, UserId};
use serde_json::Value;

use crate::{
    Options, RecordError, UnderWay,
    draft::Draft,
    formats::Sink,
    json::scalar,
    message::{self, Message, Role},
};

/// Text held at a time; beyond it the runs that came first are finished.
const HELD_BYTES: usize = 4 * RUN_BYTES;
/// Text held of one run.
const RUN_BYTES: usize = hindsight_types::limits::MESSAGE_BYTES;

/// Most spans within each other.
const DEPTH: usize = 64;

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Model {
        /// What is new in what the model was given.
        heard: Vec<Message>,
        said: Vec<Message>,
    },
    Tool {
        call_id: Option<String>,
        arguments: String,
        output: String,
        /// Whether the tool says itself how it went.
        failed: Option<bool>,
        /// Only a tool when the model called one of this name.
        only_if_asked: bool,
    },
    Agent,
    Other,
}

#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub id: String,
    pub parent: Option<String>,
    pub name: String,
    pub kind: Kind,
    /// Why it broke off.
    pub error: Option<String>,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
}

impl Span {
    fn bytes(&self) -> usize {
        let message = |m: &Message| {
            let calls: usize = m.calls.iter().map(|c| c.arguments.len()).sum();
            let answers: usize = m.answers.iter().map(|a| a.text.len()).sum();
            m.text.len() + m.thought.len() + calls + answers
        };
        let text = match &self.kind {
            Kind::Model { heard, said } => heard.iter().chain(said).map(message).sum(),
            Kind::Tool { arguments, output, .. } => arguments.len() + output.len(),
            Kind::Agent | Kind::Other => 0,
        };
        // What a span weighs beside its text.
        text + 512
    }
}

/// What is new in what a model was given. A text alone is what the user says.
pub(crate) fn heard(input: &Value) -> Vec<Message> {
    let messages = message::news(message::messages(input));
    if !messages.is_empty() {
        return messages;
    }
    message::request(input).map(|text| Message::of(Role::User, text)).into_iter().collect()
}

/// What a model gave. A text alone is what it says.
pub(crate) fn said(output: &Value) -> Vec<Message> {
    let messages = message::messages(output);
    if !messages.is_empty() {
        return messages;
    }
    let generated = output.pointer("/generations/0/0/text").and_then(Value::as_str).map(str::to_owned);
    generated
        .or_else(|| message::reply(output))
        .map(|text| Message::of(Role::Agent, text))
        .into_iter()
        .collect()
}

/// What was said since the user spoke last, as a run as a whole may tell.
pub(crate) fn transcript(output: &Value) -> Vec<Message> {
    let all = message::messages(output);
    let asked = all.iter().rposition(|m| m.role == Role::User).map_or(0, |i| i + 1);
    all.into_iter().skip(asked).collect()
}

/// Whose run it is and in which conversation, as metadata commonly say; the rest is kept beside it.
pub(crate) fn describe(draft: &mut Draft, metadata: Option<&Value>) {
    for (key, value) in metadata.and_then(Value::as_object).into_iter().flatten() {
        let Some(text) = scalar(value) else { continue };
        match key.as_str() {
            "user_id" | "user" => draft.user = draft.user.take().or_else(|| UserId::new(text).ok()),
            "thread_id" | "session_id" | "conversation_id" => {
                draft.session = draft.session.take().or(Some(text))
            }
            "ls_model_name" => draft.attribute("model", text),
            // What the libraries note for themselves.
            key if ["ls_", "langgraph_", "lc_", "checkpoint", "LANGSMITH", "revision_id", "_"]
                .iter()
                .any(|own| key.starts_with(own)) => {}
            key => draft.attribute(key, text),
        }
    }
}

/// One run while its spans arrive. What is known of it beside them goes into `draft`.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    pub draft: Draft,
    /// What was asked of the run as a whole.
    pub goal: Option<String>,
    /// A name for the task where nobody is heard asking for it.
    pub title: Option<String>,
    pub reply: Option<String>,
    /// All that was said, where the run as a whole says so; read when there are no spans that do.
    pub transcript: Vec<Message>,
    /// Why the run as a whole broke off.
    pub error: Option<String>,
    pub ended: bool,
    start: RecordError,
    /// What was said of how it went, by the name of each verdict.
    verdicts: Vec<(String, OutcomeEvidence)>,
    spans: Vec<Span>,
    /// Where among the spans the one of an id is.
    places: HashMap<String, usize>,
    /// Every span that is known of, ended or not.
    known: HashMap<String, Around>,
    bytes: usize,
}

/// What a span is to those within it.
#[derive(Debug, Clone)]
struct Around {
    parent: Option<String>,
    agent: Option<AgentId>,
    tool: bool,
}

impl From<&Span> for Around {
    fn from(span: &Span) -> Self {
        Self {
            parent: span.parent.clone(),
            agent: AgentId::new(span.name.clone()).ok().filter(|_| matches!(span.kind, Kind::Agent)),
            tool: matches!(span.kind, Kind::Tool { only_if_asked: false, .. }),
        }
    }
}

impl Trace {
    /// A verdict on the run as a whole, with its source and words; `None`: it is not all or nothing. Given again under
    /// its name, it takes the place of the one before.
    pub(crate) fn verdict(&mut self, name: &str, given: Option<(EvidenceSource, OutcomeStatus, String)>) {
        self.verdicts.retain(|(other, _)| other != name);
        let evidence = given.map(|(source, verdict, detail)| OutcomeEvidence {
            source,
            verdict,
            detail,
            observed_at: None,
        });
        self.verdicts.extend(evidence.map(|evidence| (name.to_owned(), evidence)));
    }

    fn build(&self) -> Result<Draft, String> {
        if self.bytes > RUN_BYTES {
            return Err(format!("the run is too large ({} bytes); at most {RUN_BYTES} are read", self.bytes));
        }
        builder::Builder::new(self).build()
    }
}

/// Traces by their id, in the order in which they appear.
#[derive(Debug)]
pub(crate) struct Traces {
    prefix: &'static str,
    options: Options,
    /// Spans come in the order in which they ended; else nothing is settled before all are there.
    ordered: bool,
    order: Vec<String>,
    traces: HashMap<String, Trace>,
    held: usize,
}

impl Traces {
    /// Of spans that are written as they end.
    pub(crate) fn as_they_end(prefix: &'static str, options: &Options) -> Self {
        Self { ordered: true, ..Self::in_any_order(prefix, options) }
    }

    pub(crate) fn in_any_order(prefix: &'static str, options: &Options) -> Self {
        Self {
            prefix,
            options: options.clone(),
            ordered: false,
            order: Vec::new(),
            traces: HashMap::new(),
            held: 0,
        }
    }

    /// The trace of this id, which begins with this record when it is new.
    pub(crate) fn of(&mut self, id: &str, start: RecordError) -> &mut Trace {
        self.traces.entry(id.to_owned()).or_insert_with(|| {
            self.order.push(id.to_owned());
            Trace {
                draft: Draft::by(self.prefix).at((start.line, start.element)),
                goal: None,
                title: None,
                reply: None,
                transcript: Vec::new(),
                error: None,
                ended: false,
                start,
                verdicts: Vec::new(),
                spans: Vec::new(),
                places: HashMap::new(),
                known: HashMap::new(),
                bytes: 0,
            }
        })
    }

    /// Says that a span has begun that will be added when it ends.
    pub(crate) fn begin(&mut self, id: &str, span: &Span) {
        if let Some(trace) = self.traces.get_mut(id) {
            trace.known.insert(span.id.clone(), span.into());
        }
    }

    /// Adds to a trace that has begun. A span that is told of again is the one that is there, with what the other
    /// record says beyond it. Whether anything is new.
    pub(crate) fn add(&mut self, id: &str, mut span: Span) -> bool {
        let Some(trace) = self.traces.get_mut(id) else { return false };
        let place = trace.places.get(&span.id).copied();
        let mut before = 0;
        if let Some(earlier) = place.and_then(|i| trace.spans.get(i)) {
            // Its steps may have been handed on.
            if self.ordered && !earlier.is_open() {
                return false;
            }
            before = earlier.bytes();
            span = earlier.clone().joined(span);
        }
        let bytes = span.bytes();
        trace.bytes = trace.bytes.saturating_sub(before) + bytes;
        if trace.bytes > RUN_BYTES {
            return false;
        }
        self.held = self.held.saturating_sub(before) + bytes;
        trace.known.insert(span.id.clone(), (&span).into());
        if let Some(earlier) = place.and_then(|i| trace.spans.get_mut(i)) {
            *earlier = span;
        } else {
            trace.places.insert(span.id.clone(), trace.spans.len());
            trace.spans.push(span);
        }
        true
    }

    /// Finishes the first runs while more is held than there is room for.
    pub(crate) fn make_room(&mut self, sink: &mut Sink) {
        while self.order.len() > 1 && self.held > HELD_BYTES {
            let id = self.order.remove(0);
            self.give(&id, sink);
        }
    }

    pub(crate) fn finish(&mut self, sink: &mut Sink) {
        for id in std::mem::take(&mut self.order) {
            self.give(&id, sink);
        }
    }

    pub(crate) fn under_way(&self) -> Vec<UnderWay> {
        let run = |id: &String| {
            let mut draft = self.traces.get(id)?.build().ok()?;
            if !self.ordered {
                (draft.ended, draft.unsettled) = (false, Some(0));
            }
            draft.so_far(Some(id), self.prefix, &self.options)
        };
        self.order.iter().filter_map(run).collect()
    }

    fn give(&mut self, id: &str, sink: &mut Sink) {
        let Some(trace) = self.traces.remove(id) else { return };
        self.held = self.held.saturating_sub(trace.bytes);
        let run = trace.build().and_then(|draft| draft.finish(Some(id), self.prefix, &self.options));
        sink.push_back(run.map_err(|reason| RecordError { reason, ..trace.start }));
    }
}
