//! Between a run and its events: `split` on the way in, `assemble` on the way to the judge.

use std::collections::BTreeMap;

use hindsight_types::{
    Event, EventBody, EventId, Outcome, OutcomeStatus, ReceiptId, Scope, Step, StepStatus, TaskCompleted,
    TaskStarted, TenantId, TraceId, Trajectory, Visibility, limits,
};

use crate::{environment, otlp, status};

#[cfg(test)]
mod tests;

/// Missing parts that are named; the rest is counted.
const NAMED: usize = 20;

/// What the events of a trace make.
#[derive(Debug, Clone, PartialEq)]
pub enum Assembly {
    Complete(Box<Trajectory>),
    Missing(Gap),
}

/// What is not there yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gap {
    /// Steps that are there.
    pub have: usize,
    /// Steps that were announced; `None` while the completion is missing.
    pub expected: Option<u32>,
    /// `start`, `completion`, `step 3`, …: the first of them.
    pub which: Vec<String>,
    /// How many more are missing than `which` names.
    pub more: usize,
    /// Events of the trace that belong to another user, task type or agent, and were left out.
    pub foreign: usize,
}

impl std::fmt::Display for Gap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "missing {}", self.which.join(", "))?;
        if self.more > 0 {
            write!(f, " and {} more", self.more)?;
        }
        write!(f, "; {} steps are there", self.have)?;
        if let Some(expected) = self.expected {
            write!(f, " of {expected}")?;
        }
        if self.foreign > 0 {
            write!(f, "; {} events were recorded under another scope than the start", self.foreign)?;
        }
        Ok(())
    }
}

/// The events of a whole run, with ids that are the same each time.
pub fn split(t: Trajectory) -> Vec<Event> {
    let Trajectory { trace_id, scope, steps, outcome, started_at, ended_at, .. } = t;
    let started = TaskStarted {
        goal: t.task_description,
        session: t.session,
        user: t.user,
        agent: t.agent,
        task_type: t.task_type,
        environment: t.environment,
        receipts: t.receipts,
    };
    let step_count = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let mut bodies = vec![(started_at, EventBody::Started(started))];
    bodies.extend(
        steps.into_iter().map(|s| (s.ended_at.or(s.started_at).unwrap_or(started_at), EventBody::Step(s))),
    );
    bodies.push((ended_at, EventBody::Completed(TaskCompleted { outcome, step_count })));
    let event = |(recorded_at, body): (_, EventBody)| Event {
        event_id: event_id(&scope, &trace_id, &body),
        scope: scope.clone(),
        trace_id: trace_id.clone(),
        recorded_at,
        body,
    };
    bodies.into_iter().map(event).collect()
}

/// The id of an event that came without one: one start, one event per step, and one completion for each
/// number of steps, so that a run that has grown can end again.
pub fn event_id(scope: &Scope, trace: &TraceId, body: &EventBody) -> EventId {
    let key = match body {
        EventBody::Started(_) => "started".to_owned(),
        EventBody::Step(s) => format!("step:{}", s.step_index),
        EventBody::Completed(c) => format!("completed:{}", c.step_count),
        EventBody::Span(s) => return otlp::event_id(&scope.tenant, trace, &s.span_id),
    };
    EventId::derived(&scope.tenant, trace, &key)
}

/// The id of the request to judge a run of this many steps: it is asked for once, however often its
/// completion comes.
pub fn evaluation_request_id(tenant: &TenantId, trace: &TraceId, step_count: u32) -> EventId {
    EventId::derived(tenant, trace, &format!("evaluate:{step_count}"))
}

/// The end of a run whose agent never said how it ended, as of its last event: outcome unknown, with the
/// steps up to the last one there. The same each time. `None`: it has ended, or there is nothing of it.
///
/// Its id is not that of a completion by the agent, which may still come and then says more.
pub fn ending(events: &[Event]) -> Option<Event> {
    let last = events.iter().max_by_key(|e| (e.recorded_at, e.event_id))?;
    let mut step_count = 0;
    for event in events {
        match &event.body {
            EventBody::Started(_) => {}
            EventBody::Step(s) => step_count = step_count.max(s.step_index.saturating_add(1)),
            EventBody::Completed(_) => return None,
            EventBody::Span(_) if otlp::ends(&event.body) => return None,
            EventBody::Span(_) => {}
        }
    }
    step_count = step_count.max(otlp::spans(events));
    let scope = scope_of(events).unwrap_or(&last.scope).clone();
    Some(Event {
        event_id: EventId::derived(&scope.tenant, &last.trace_id, &format!("idle:{step_count}")),
        scope,
        trace_id: last.trace_id.clone(),
        recorded_at: last.recorded_at,
        body: EventBody::Completed(TaskCompleted { outcome: Outcome::default(), step_count }),
    })
}

/// Puts the events of one trace together, in any order and with repeats.
///
/// The run belongs to the scope of its start. Events that everyone in the tenant may see join it;
/// events of another user, task type or agent never do. Of several events for the same place the first
/// recorded counts, but a start that comes again adds receipts: an agent is told of them on its way. Of several
/// completions the one of the most steps counts, and of those one that knows the outcome. Steps beyond the announced count are left out. Spans are woven into steps first.
pub fn assemble(mut events: Vec<Event>) -> Assembly {
    events.sort_by_key(|e| (e.recorded_at, e.event_id));
    let scope = scope_of(&events).cloned();
    let total = events.len();
    if let Some(scope) = &scope {
        let joins =
            |s: &Scope| s.tenant == scope.tenant && (s == scope || s.visibility == Visibility::Tenant);
        events.retain(|e| joins(&e.scope));
    }
    let foreign = total - events.len();
    let events = otlp::weave(events, scope.as_ref());
    let (mut started, mut completed, mut steps) = (None, None, BTreeMap::new());
    let mut receipts = Vec::new();
    for Event { trace_id, scope, recorded_at, body, .. } in events {
        match body {
            EventBody::Started(s) => {
                add_receipts(&mut receipts, &s.receipts);
                started.get_or_insert((trace_id, scope, recorded_at, s));
            }
            EventBody::Completed(c) if completed.as_ref().is_none_or(|(_, before)| says_more(&c, before)) => {
                completed = Some((recorded_at, c));
            }
            EventBody::Step(s) => {
                steps.entry(s.step_index).or_insert(s);
            }
            EventBody::Completed(_) | EventBody::Span(_) => {}
        }
    }
    let missing = missing(started.is_some(), completed.as_ref().map(|(_, c)| c.step_count), &steps);
    let (Some((trace_id, scope, started_at, start)), Some((ended_at, end)), true) =
        (started, completed, missing.which.is_empty())
    else {
        return Assembly::Missing(Gap { foreign, ..missing });
    };
    let mut t = Trajectory {
        trace_id,
        scope,
        session: start.session,
        user: start.user,
        agent: start.agent,
        task_type: start.task_type,
        task_description: start.goal,
        steps: steps.into_values().filter(|s| s.step_index < end.step_count).collect(),
        outcome: end.outcome,
        environment: start.environment,
        receipts,
        started_at,
        ended_at: ended_at.max(started_at),
    };
    complete(&mut t);
    Assembly::Complete(Box::new(t))
}

/// Adds receipts that are not there yet, as far as a run may name them.
pub(crate) fn add_receipts(receipts: &mut Vec<ReceiptId>, more: &[ReceiptId]) {
    for receipt in more {
        if receipts.len() < limits::TAGS && !receipts.contains(receipt) {
            receipts.push(*receipt);
        }
    }
}

/// Whether a completion counts rather than one recorded before it.
fn says_more(c: &TaskCompleted, before: &TaskCompleted) -> bool {
    let known = |c: &TaskCompleted| c.outcome.resolved() != OutcomeStatus::Unknown;
    (c.step_count, known(c)) > (before.step_count, known(before))
}

/// Where the run belongs: the scope of its start, or of the user that its spans name.
pub fn scope_of(events: &[Event]) -> Option<&Scope> {
    let starts = events.iter().filter(|e| matches!(e.body, EventBody::Started(_)));
    let start = starts.min_by_key(|e| (e.recorded_at, e.event_id)).map(|e| &e.scope);
    start.or_else(|| otlp::scope_of(events))
}

/// Fills in what the text tells and nobody said: the status of steps, the tags of the environment.
pub fn complete(t: &mut Trajectory) {
    for step in t.steps.iter_mut().filter(|s| s.status == StepStatus::Unknown) {
        step.status = status::infer(step);
    }
    if t.environment.tags.is_empty() {
        t.environment.tags = environment::tags(t);
    }
}

fn missing(started: bool, announced: Option<u32>, steps: &BTreeMap<u32, Step>) -> Gap {
    let have = steps.range(..announced.unwrap_or(u32::MAX)).count();
    let mut gap = Gap { have, expected: announced, ..Gap::default() };
    let mut name = |what: String| if gap.which.len() < NAMED { gap.which.push(what) } else { gap.more += 1 };
    if !started {
        name("start".to_owned());
    }
    match announced {
        Some(count) => {
            (0..count).filter(|i| !steps.contains_key(i)).for_each(|i| name(format!("step {i}")));
        }
        None => name("completion".to_owned()),
    }
    gap
}
