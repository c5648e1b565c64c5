//! From spans to steps.

use std::collections::HashSet;

use hindsight_types::{EvidenceSource, OutcomeStatus, Timestamp, limits};

use super::{Around, DEPTH, Kind, Span, Trace};
use crate::{
    clip::clip,
    draft::{Draft, Mark},
    formats::status_of,
    message::{Message, Role},
};

pub(super) struct Builder<'a> {
    trace: &'a Trace,
    draft: Draft,
    /// Calls whose result is known.
    answered: HashSet<String>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let mut draft = trace.draft.clone();
        draft.evidence.extend(trace.verdicts.iter().map(|(_, evidence)| evidence.clone()));
        Self { trace, draft, answered: HashSet::new() }
    }

    pub(super) fn build(mut self) -> Result<Draft, String> {
        let first = self.trace.spans.iter().filter_map(|s| s.started).min();
        let asks = self.trace.goal.is_some() || self.anyone_asks();
        if !asks && self.trace.title.is_none() {
            return Err("nobody is heard asking for anything and the trace has no name of its own, so its task is not known; \
                        give the trace a name"
                .to_owned());
        }
        if let Some(goal) = &self.trace.goal {
            self.draft.user(goal.clone(), Mark { at: first, agent: None });
        } else if !asks && let Some(title) = &self.trace.title {
            self.draft.user(title.clone(), Mark { at: first, agent: None });
        }
        self.draft.seen(first);
        let mut spans: Vec<&Span> = self.trace.spans.iter().collect();
        // Stable: spans without times stay in the order in which they came.
        spans.sort_by_key(|s| s.ended.or(s.started));
        for span in spans {
            if self.draft.unsettled.is_none() && (span.is_open() || !self.is_placed(span)) {
                self.draft.unsettled = Some(self.draft.step_count());
            }
            self.span(span)?;
            self.draft.seen(span.ended);
        }
        self.transcript()?;
        self.draft.flush();
        if let Some(reply) = &self.trace.reply {
            self.draft.conclusion = clip(reply.clone(), limits::TEXT_BYTES);
        }
        if let Some(error) = &self.trace.error {
            let detail = format!("the run broke off: {}", clip(error.clone(), 1024));
            self.draft.proof(EvidenceSource::ExitCode, OutcomeStatus::Failure, detail);
        }
        self.draft.ended = self.trace.ended;
        Ok(self.draft)
    }

    /// The run as told by the whole, when no part of it is there.
    fn transcript(&mut self) -> Result<(), String> {
        let told = |s: &Span| matches!(s.kind, Kind::Model { .. } | Kind::Tool { only_if_asked: false, .. });
        let whole = Span {
            id: "whole".to_owned(),
            parent: None,
            name: String::new(),
            kind: Kind::Other,
            error: None,
            started: None,
            ended: None,
        };
        if self.trace.spans.iter().any(told) {
            return Ok(());
        }
        for (i, message) in self.trace.transcript.iter().enumerate() {
            let whole = Span { id: i.to_string(), ..whole.clone() };
            self.heard(&whole, std::slice::from_ref(message));
            self.said(&whole, std::slice::from_ref(message))?;
        }
        Ok(())
    }

    /// Whether a user is heard before a model in the run itself.
    fn anyone_asks(&self) -> bool {
        self.trace.spans.iter().any(|s| match &s.kind {
            Kind::Model { heard, .. } => {
                heard.iter().any(|m| m.role == Role::User && !m.text.trim().is_empty())
                    && !self.inside_tool(s)
            }
            _ => false,
        })
    }

    fn span(&mut self, span: &'a Span) -> Result<(), String> {
        match &span.kind {
            Kind::Model { heard, said } => {
                self.heard(span, heard);
                self.said(span, said)?;
                if let Some(error) = &span.error {
                    let mark = self.mark(span, span.started);
                    self.draft.failure(format!("{} was asked", span.name), error.clone(), mark);
                }
                Ok(())
            }
            Kind::Tool { arguments, only_if_asked: true, .. }
                if self.draft.open_call(&span.name, arguments).is_none() =>
            {
                Ok(())
            }
            Kind::Tool { call_id, arguments, output, failed, .. } => {
                let output = match &span.error {
                    Some(error) if output.is_empty() => error.clone(),
                    Some(error) if !output.contains(error.as_str()) => format!("{output}\n{error}"),
                    _ => output.clone(),
                };
                let failed = if span.error.is_some() { Some(true) } else { *failed };
                self.tool(span, call_id.as_deref(), arguments, output, failed)
            }
            Kind::Agent | Kind::Other => Ok(()),
        }
    }

    fn heard(&mut self, span: &Span, heard: &[Message]) {
        for message in heard {
            for answer in &message.answers {
                if self.draft.is_open(&answer.call_id) && self.answered.insert(answer.call_id.clone()) {
                    let status = status_of(answer.failed);
                    // The call is open, so there is nothing to go wrong.
                    let _ =
                        self.draft.result(Some(&answer.call_id), answer.text.clone(), status, span.started);
                }
            }
            // What an agent within a tool is told comes from the agent that calls it.
            if message.role == Role::User && !self.inside_tool(span) && !self.draft.heard(message.text.trim())
            {
                self.draft.user(message.text.trim().to_owned(), Mark { at: span.started, agent: None });
            }
        }
    }

    fn said(&mut self, span: &Span, said: &[Message]) -> Result<(), String> {
        for (i, message) in said.iter().filter(|m| m.role == Role::Agent).enumerate() {
            let mark = self.mark(span, span.started);
            self.draft.think(&message.thought, mark.clone());
            self.draft.say(&message.text, mark);
            for (k, call) in message.calls.iter().enumerate() {
                let own = format!("{}/{i}/{k}", span.id);
                let id = if call.id.is_empty() { &own } else { &call.id };
                let mark = self.mark(span, span.ended.or(span.started));
                self.draft.call(Some(id), &call.name, call.arguments.clone(), mark)?;
            }
        }
        self.draft.flush();
        Ok(())
    }

    fn tool(
        &mut self,
        span: &Span,
        call_id: Option<&str>,
        arguments: &str,
        output: String,
        failed: Option<bool>,
    ) -> Result<(), String> {
        let asked = call_id.filter(|id| self.draft.is_open(id));
        let asked = asked.or_else(|| self.draft.open_call(&span.name, arguments)).map(str::to_owned);
        let id = match asked {
            Some(id) => id,
            None => {
                let mark = self.mark(span, span.started);
                self.draft.call(Some(&span.id), &span.name, arguments.to_owned(), mark)?;
                span.id.clone()
            }
        };
        self.answered.insert(id.clone());
        self.draft.result(Some(&id), output, status_of(failed), span.ended)
    }

    fn mark(&self, span: &Span, at: Option<Timestamp>) -> Mark {
        Mark { at, agent: self.above(span).find_map(|around| around.agent.clone()) }
    }

    fn inside_tool(&self, span: &Span) -> bool {
        self.above(span).any(|around| around.tool)
    }

    /// Whether enough is known of what is around a span to say whose it is.
    fn is_placed(&self, span: &Span) -> bool {
        let outermost = self.above(span).last().map_or(&span.parent, |around| &around.parent);
        outermost.is_none() || self.above(span).any(|around| around.agent.is_some())
    }

    /// What is around this span, from the inside out. Ends in a circle, too.
    fn above<'s>(&'s self, span: &'s Span) -> impl Iterator<Item = &'s Around> {
        let mut parent = span.parent.as_deref();
        let next = move || {
            let around = self.trace.known.get(parent?)?;
            parent = around.parent.as_deref();
            Some(around)
        };
        std::iter::from_fn(next).take(DEPTH)
    }
}
