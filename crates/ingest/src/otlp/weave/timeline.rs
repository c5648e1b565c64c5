//! What all spans tell, in the order in which it happened.

use std::collections::BTreeSet;

use hindsight_types::{ActionType, SpanRole, Step, Timestamp, TraceSpan, Voice};

use super::{calls, family::Family};

/// A step with its place in time: when, by which span, as which of it.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) at: Timestamp,
    pub(super) span: usize,
    pub(super) index: u32,
    pub(super) voice: Voice,
    pub(super) call_id: String,
    pub(super) step: Step,
}

pub(super) fn steps(spans: &[TraceSpan], family: &Family<'_>) -> Vec<Step> {
    let mut placed = Vec::new();
    for (at, span) in spans.iter().enumerate() {
        // A model within a model is the same call, seen by a second instrumentation.
        let outer = family.nearest(at, SpanRole::Model).filter(|_| span.role == SpanRole::Model);
        if outer.is_some_and(|outer| !spans[outer].steps.is_empty()) {
            continue;
        }
        placed.extend(of(at, span, family));
    }
    let mut placed = calls::join(placed, spans, family);
    placed.sort_by_key(|p| (p.at, p.span, p.index));
    one_agent(placed.into_iter().map(|p| p.step).collect())
}

fn of(at: usize, span: &TraceSpan, family: &Family<'_>) -> Vec<Placed> {
    // What an agent tells another one is no word of a user.
    let asked_by_agent = family.is_within_inner_agent(at);
    let told = span.steps.iter().filter(|told| {
        !(asked_by_agent && told.voice == Voice::Heard && told.step.action_type == ActionType::UserInput)
    });
    told.map(|told| {
        let mut step = told.step.clone();
        step.agent = family.agent(at).cloned();
        let when = match told.voice {
            Voice::Heard | Voice::Done => span.started_at,
            Voice::Said => span.ended_at,
        };
        match told.voice {
            Voice::Done => (step.started_at, step.ended_at) = (Some(span.started_at), Some(span.ended_at)),
            Voice::Said if step.action_type == ActionType::LlmReasoning => {
                (step.started_at, step.ended_at) = (Some(span.started_at), Some(span.ended_at));
            }
            Voice::Heard | Voice::Said => step.started_at = Some(when),
        }
        Placed {
            at: when,
            span: at,
            index: told.step.step_index,
            voice: told.voice,
            call_id: told.call_id.clone(),
            step,
        }
    })
    .collect()
}

/// Who acted is said only where there are several.
fn one_agent(mut steps: Vec<Step>) -> Vec<Step> {
    let agents: BTreeSet<_> = steps.iter().filter_map(|s| s.agent.clone()).collect();
    if agents.len() < 2 {
        steps.iter_mut().for_each(|s| s.agent = None);
    }
    steps
}
