//! The spans of a trace, in any order, to the start, steps and end of a run.

mod calls;
mod family;
mod timeline;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use hindsight_types::{
    Environment, Event, EventBody, Outcome, OutcomeStatus, Scope, SpanRole, Step, TaskCompleted, TaskStarted,
    Timestamp, TraceSpan, limits,
};

use self::family::Family;
use super::environment::{MODEL, TOKENS};
use crate::assemble;

/// Whether an event ends its run: the root of a trace does.
pub fn ends(body: &EventBody) -> bool {
    match body {
        EventBody::Completed(_) => true,
        EventBody::Span(span) => span.parent.is_none(),
        EventBody::Started(_) | EventBody::Step(_) => false,
    }
}

/// How many spans tell of the run. 0: it is told by events of its own.
pub fn spans(events: &[Event]) -> u32 {
    let ids: BTreeSet<_> = events.iter().filter_map(|e| of(e).map(|s| &s.span_id)).collect();
    u32::try_from(ids.len()).unwrap_or(u32::MAX)
}

/// For a run that is told by spans and has ended: how many there are by now. More than were judged, when some
/// came late.
pub fn last_look(events: &[Event]) -> Option<u32> {
    let count = spans(events);
    (count > 0 && events.iter().any(|e| ends(&e.body))).then_some(count)
}

/// Where a run that is told by spans belongs: to the user that a span names, the earliest if there are several.
pub(crate) fn scope_of(events: &[Event]) -> Option<&Scope> {
    let told = events.iter().filter_map(|e| Some((of(e)?, &e.scope)));
    let key = |(span, scope): &(&TraceSpan, &Scope)| {
        (scope.user().is_none(), span.started_at, span.span_id.clone())
    };
    told.min_by_key(key).map(|(_, scope)| scope)
}

fn of(event: &Event) -> Option<&TraceSpan> {
    match &event.body {
        EventBody::Span(span) => Some(span),
        _ => None,
    }
}

/// Events in which no span is left: what the spans tell takes their place, unless the run is told by steps
/// of its own. `scope` is that of the run.
pub(crate) fn weave(events: Vec<Event>, scope: Option<&Scope>) -> Vec<Event> {
    let (told, others): (Vec<Event>, Vec<Event>) = events.into_iter().partition(|e| of(e).is_some());
    let own = |e: &Event| matches!(e.body, EventBody::Started(_) | EventBody::Step(_));
    let (Some(first), Some(scope), false) = (told.first(), scope, others.iter().any(own)) else {
        return others;
    };
    let (trace_id, event_id) = (first.trace_id.clone(), first.event_id);
    let event = |recorded_at, body| Event {
        event_id,
        scope: scope.clone(),
        trace_id: trace_id.clone(),
        recorded_at,
        body,
    };
    let run = Run::of(told, &others);
    let task = TaskStarted { user: scope.user().cloned(), ..run.task };
    let mut woven = vec![event(run.started_at, EventBody::Started(task))];
    woven.extend(run.steps.into_iter().map(|s| event(run.started_at, EventBody::Step(s))));
    woven.extend(run.end.map(|end| event(run.ended_at, EventBody::Completed(end))));
    woven
}

/// What the spans make.
struct Run {
    task: TaskStarted,
    steps: Vec<Step>,
    end: Option<TaskCompleted>,
    started_at: Timestamp,
    ended_at: Timestamp,
}

impl Run {
    fn of(told: Vec<Event>, others: &[Event]) -> Self {
        let spans = in_order(told);
        let family = Family::of(&spans);
        let top = top(&spans, &family);
        let mut steps = timeline::steps(&spans, &family);
        let goal = goal(&spans, &family, &mut steps);
        let mut task = task(&spans, top, goal);
        let left_out = steps.len().saturating_sub(limits::STEPS);
        if left_out > 0 {
            steps.truncate(limits::STEPS);
            task.environment.attributes.insert("steps_left_out".to_owned(), left_out.to_string());
        }
        let steps: Vec<Step> = steps
            .into_iter()
            .enumerate()
            .map(|(at, step)| Step { step_index: u32::try_from(at).unwrap_or(u32::MAX), ..step })
            .collect();
        let started_at = spans.iter().map(|s| s.started_at).min().unwrap_or_default();
        let ended_at = spans.iter().map(|s| s.ended_at).max().unwrap_or_default();
        let end = end(&spans, top, &steps, others);
        Self { task, steps, end, started_at, ended_at }
    }
}

/// Each span once, earlier ones first, and what contains others before them.
fn in_order(told: Vec<Event>) -> Vec<TraceSpan> {
    let spans = told.into_iter().filter_map(|e| match e.body {
        EventBody::Span(span) => Some(*span),
        _ => None,
    });
    let once: BTreeMap<_, TraceSpan> = spans.map(|s| (s.span_id.clone(), s)).collect();
    let mut spans: Vec<TraceSpan> = once.into_values().collect();
    spans.sort_by(|a, b| {
        let key = |s: &TraceSpan| (s.started_at, Reverse(s.ended_at));
        key(a).cmp(&key(b)).then_with(|| a.span_id.cmp(&b.span_id))
    });
    spans
}

/// The span that speaks for the whole: the outermost agent, else the root, else the first.
fn top<'a>(spans: &'a [TraceSpan], family: &Family) -> Option<&'a TraceSpan> {
    let outermost = |s: &&TraceSpan| (s.role == SpanRole::Agent, s.parent.is_none());
    let mut best: Option<&TraceSpan> = None;
    for span in spans.iter().enumerate().filter(|(at, _)| !family.is_within_agent(*at)).map(|(_, s)| s) {
        if best.is_none_or(|b| outermost(&span) > outermost(&b)) {
            best = Some(span);
        }
    }
    best
}

/// What was asked, and no step of its own any more. The words of people go before what agents were told to be.
fn goal(spans: &[TraceSpan], family: &Family, steps: &mut Vec<Step>) -> String {
    use hindsight_types::ActionType::UserInput;
    let mut outer = spans.iter().enumerate().filter(|(at, _)| !family.is_within_agent(*at)).map(|(_, s)| s);
    let asked = outer.find(|s| !s.task.goal.is_empty()).map(|s| s.task.goal.clone());
    let said = || steps.iter().find(|s| s.action_type == UserInput).map(|s| s.action_detail.clone());
    let inner = || spans.iter().find(|s| !s.task.goal.is_empty()).map(|s| s.task.goal.clone());
    let told = || spans.iter().find(|s| !s.instructions.is_empty()).map(|s| s.instructions.clone());
    let named = || spans.iter().find(|s| !s.name.is_empty()).map(|s| s.name.clone());
    let goal = asked.or_else(said).or_else(inner).or_else(told).or_else(named);
    let mut goal = goal.unwrap_or_else(|| "a task of which no goal was recorded".to_owned());
    let mut before = goal.clone();
    // A model that is asked again hears the same words again.
    steps.retain(|step| {
        let repeated = step.action_type == UserInput && step.action_detail.trim() == before.trim();
        if step.action_type == UserInput {
            before.clone_from(&step.action_detail);
        }
        !repeated
    });
    goal.truncate(goal.floor_char_boundary(limits::TEXT_BYTES));
    goal
}

fn task(spans: &[TraceSpan], top: Option<&TraceSpan>, goal: String) -> TaskStarted {
    // The outermost goes before the others in everything that is said once.
    let each = || top.into_iter().chain(spans);
    let mut receipts = Vec::new();
    spans.iter().for_each(|s| assemble::add_receipts(&mut receipts, &s.task.receipts));
    TaskStarted {
        goal,
        session: each().find_map(|s| s.task.session.clone()),
        user: None,
        agent: each().find_map(|s| s.task.agent.clone()),
        task_type: each().find_map(|s| s.task.task_type.clone()),
        environment: environment(spans, top),
        receipts,
    }
}

fn environment(spans: &[TraceSpan], top: Option<&TraceSpan>) -> Environment {
    let placed = |s: &&TraceSpan| s.role != SpanRole::Model && s.task.environment != Environment::default();
    let own = top.into_iter().chain(spans).find(placed);
    let mut environment = own.map(|s| s.task.environment.clone()).unwrap_or_default();
    let said = |name: &'static str| {
        spans
            .iter()
            .filter(|s| s.role == SpanRole::Model)
            .filter_map(move |s| s.task.environment.attributes.get(name))
    };
    for name in TOKENS {
        let sum: u64 = said(name).filter_map(|n| n.parse::<u64>().ok()).fold(0, u64::saturating_add);
        if sum > 0 {
            environment.attributes.insert(name.to_owned(), sum.to_string());
        }
    }
    let models: BTreeSet<&str> = said(MODEL).map(String::as_str).take(limits::TAGS).collect();
    if !models.is_empty() {
        let models = models.into_iter().collect::<Vec<_>>().join(", ");
        environment.attributes.insert(MODEL.to_owned(), models);
    }
    environment
}

/// How it ended, once the root is there or someone said so. What was said by hand goes before what spans say.
fn end(
    spans: &[TraceSpan],
    top: Option<&TraceSpan>,
    steps: &[Step],
    others: &[Event],
) -> Option<TaskCompleted> {
    let by_hand = others.iter().filter_map(|e| match &e.body {
        EventBody::Completed(c) => Some(&c.outcome),
        _ => None,
    });
    let known = |o: &&Outcome| o.resolved() != OutcomeStatus::Unknown;
    let by_hand: Vec<&Outcome> = by_hand.collect();
    let root = spans.iter().find(|s| s.parent.is_none());
    if root.is_none() && by_hand.is_empty() {
        return None;
    }
    let mut outcome = by_hand.into_iter().find(known).cloned().unwrap_or_else(|| told(spans, top, root));
    if outcome.conclusion.is_empty() {
        outcome.conclusion = conclusion(spans, top, steps);
    }
    Some(TaskCompleted { outcome, step_count: u32::try_from(steps.len()).unwrap_or(u32::MAX) })
}

/// What the spans say of how it went: what their makers know, and how the outermost ended.
fn told(spans: &[TraceSpan], top: Option<&TraceSpan>, root: Option<&TraceSpan>) -> Outcome {
    let stated = spans.iter().flat_map(|s| s.outcome.evidence.iter().filter(|e| e.observed_at.is_some()));
    let mut evidence: Vec<_> = stated.cloned().collect();
    let outermost = top.into_iter().chain(root);
    let how = outermost.flat_map(|s| s.outcome.evidence.iter().filter(|e| e.observed_at.is_none())).cloned();
    for item in how {
        if !evidence.contains(&item) {
            evidence.push(item);
        }
    }
    evidence.truncate(limits::TAGS);
    Outcome { status: OutcomeStatus::Unknown, evidence, conclusion: String::new() }
}

/// What the outermost agent answered, else the last words of a model.
fn conclusion(spans: &[TraceSpan], top: Option<&TraceSpan>, steps: &[Step]) -> String {
    use hindsight_types::{ActionType::LlmReasoning, StepStatus};
    let answered = top.map(|s| s.outcome.conclusion.as_str()).filter(|c| !c.is_empty());
    let spoken = |s: &&Step| s.action_type == LlmReasoning && s.status != StepStatus::Error;
    let said = || steps.iter().rev().find(spoken).map(|s| s.action_detail.as_str());
    let inner = || spans.iter().rev().map(|s| s.outcome.conclusion.as_str()).find(|c| !c.is_empty());
    let text = answered.or_else(said).or_else(inner).unwrap_or_default();
    text[..text.floor_char_boundary(limits::TEXT_BYTES)].to_owned()
}
