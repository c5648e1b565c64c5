//! A call of a tool is told up to three times: the model asked for it, the tool ran, the model heard what came
//! of it. Together they are one step.

use std::collections::{HashMap, HashSet};

use hindsight_types::{ActionType, SpanRole, StepStatus, TraceSpan, Voice};
use serde_json::Value;

use super::{family::Family, timeline::Placed};

/// Everything that was placed, with what tells of the same call joined.
pub(super) fn join(placed: Vec<Placed>, spans: &[TraceSpan], family: &Family<'_>) -> Vec<Placed> {
    let (calls, mut steps): (Vec<Placed>, Vec<Placed>) =
        placed.into_iter().partition(|p| p.step.action_type == ActionType::ToolCall);
    let of = |voice| calls.iter().filter(move |p| p.voice == voice).cloned().collect::<Vec<_>>();
    let done = outermost(of(Voice::Done), spans, family);
    let mut joined = with_wishes(done, once(of(Voice::Said)));
    let mut heard = of(Voice::Heard);
    heard.sort_by_key(|p| (p.at, p.span, p.index));
    with_answers(&mut joined, heard);
    for call in &mut joined {
        if call.step.action_name.is_empty() {
            call.step.action_name = "tool".to_owned();
        }
    }
    steps.extend(joined);
    steps
}

/// A call that is seen again on its way, by a client of the tool and its server, is one: the outermost, with
/// what the inner ones know better.
fn outermost(done: Vec<Placed>, spans: &[TraceSpan], family: &Family<'_>) -> Vec<Placed> {
    let places: HashMap<usize, usize> = done.iter().enumerate().map(|(i, p)| (p.span, i)).collect();
    let same = |a: &Placed, b: &Placed| {
        a.step.action_name == b.step.action_name || (!a.call_id.is_empty() && a.call_id == b.call_id)
    };
    let mut kept: Vec<Option<Placed>> = done.iter().cloned().map(Some).collect();
    for (at, inner) in done.iter().enumerate() {
        // A tool that calls an agent that calls the same tool is no repetition.
        let way = family.callers(inner.span).take_while(|c| spans[*c].role == SpanRole::Tool);
        let outer = way.filter_map(|c| places.get(&c)).filter(|o| same(&done[**o], inner)).last();
        if let Some(outer) = outer.filter(|outer| kept[**outer].is_some())
            && let Some(inner) = kept[at].take()
            && let Some(outer) = kept[*outer].as_mut()
        {
            fill(outer, inner);
        }
    }
    kept.into_iter().flatten().collect()
}

/// A wish that several models speak of, by its id, is one.
fn once(mut said: Vec<Placed>) -> Vec<Placed> {
    said.sort_by_key(|p| (p.at, p.span, p.index));
    let mut seen = HashSet::new();
    let key = |p: &Placed| (p.call_id.clone(), p.step.action_name.clone(), p.step.action_detail.clone());
    said.retain(|p| p.call_id.is_empty() || seen.insert(key(p)));
    said
}

/// Joins the calls that were made with the wishes of models: by id, else by name, and by their arguments when
/// several wishes have the name. A wish that no span answers stays a step of its own.
fn with_wishes(mut done: Vec<Placed>, said: Vec<Placed>) -> Vec<Placed> {
    done.sort_by_key(|p| (p.at, p.span, p.index));
    let mut open: Vec<Option<Placed>> = said.into_iter().map(Some).collect();
    let mut taken: Vec<Option<usize>> = vec![None; done.len()];
    // What is sure first.
    for by in [By::Id, By::Arguments, By::Name] {
        let mut waiting: HashMap<Key, Vec<usize>> = HashMap::new();
        for (at, wish) in open.iter().enumerate().rev() {
            if let Some(key) = wish.as_ref().and_then(|w| by.key(w)) {
                waiting.entry(key).or_default().push(at);
            }
        }
        for (at, call) in done.iter().enumerate().filter(|(at, _)| taken[*at].is_none()).collect::<Vec<_>>() {
            // The earliest is at the end.
            let wish = by.key(call).and_then(|key| waiting.get_mut(&key)?.pop());
            if let Some(wish) = wish {
                taken[at] = Some(wish);
            }
        }
        for (call, wish) in done.iter_mut().zip(&taken) {
            if let Some(wish) = wish.and_then(|at| open[at].take()) {
                fill(call, wish);
            }
        }
    }
    done.extend(open.into_iter().flatten());
    done
}

type Key = (String, String);

/// By what a call and a wish are the same.
#[derive(Clone, Copy)]
enum By {
    Id,
    Arguments,
    Name,
}

impl By {
    fn key(self, call: &Placed) -> Option<Key> {
        let name = call.step.action_name.clone();
        match self {
            Self::Id => (!call.call_id.is_empty()).then(|| (call.call_id.clone(), String::new())),
            Self::Arguments => Some((name, canonical(&call.step.action_detail))),
            Self::Name => Some((name, String::new())),
        }
    }
}

/// Arguments in one form, however they were written.
fn canonical(arguments: &str) -> String {
    serde_json::from_str::<Value>(arguments).map_or_else(|_| arguments.trim().to_owned(), |v| v.to_string())
}

/// Gives each answer to the call it is of: the latest before it with this id, else the earliest of this name
/// without one. An answer to a call that nobody else speaks of is a step.
fn with_answers(calls: &mut Vec<Placed>, heard: Vec<Placed>) {
    calls.sort_by_key(|p| (p.at, p.span, p.index));
    let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, call) in calls.iter().enumerate() {
        by_id.entry(call.call_id.clone()).or_default().push(at);
        by_name.entry(call.step.action_name.clone()).or_default().push(at);
    }
    for answer in heard {
        let at = if answer.call_id.is_empty() {
            let named = by_name.get(&answer.step.action_name).into_iter().flatten();
            named.copied().find(|at| calls[*at].step.observation.is_empty())
        } else {
            let mut known = by_id.get(&answer.call_id).into_iter().flatten().copied();
            let before = known.clone().rfind(|at| calls[*at].at <= answer.at);
            before.or_else(|| known.next())
        };
        match at {
            Some(at) => fill(&mut calls[at], answer),
            None if answer.call_id.is_empty() && answer.step.observation.is_empty() => {}
            None => {
                by_id.entry(answer.call_id.clone()).or_default().push(calls.len());
                calls.push(answer);
            }
        }
    }
}

/// What `more` knows and `call` does not.
fn fill(call: &mut Placed, more: Placed) {
    let (own, more_step) = (&mut call.step, more.step);
    for (own, more) in [
        (&mut own.action_name, more_step.action_name),
        (&mut own.action_detail, more_step.action_detail),
        (&mut own.reflection, more_step.reflection),
    ] {
        if own.trim().is_empty() {
            *own = more;
        }
    }
    if own.observation.trim().is_empty() {
        own.observation = more_step.observation;
        if own.status == StepStatus::Unknown {
            own.status = more_step.status;
        }
    }
    if call.call_id.is_empty() {
        call.call_id = more.call_id;
    }
}
