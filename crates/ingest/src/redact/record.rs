//! Every text field of what is kept. Identifiers (trace, user, session, …) name things and stay.

use std::borrow::Cow;

use hindsight_types::{Decision, Environment, Event, EventBody, Fact, Outcome, Step, TraceSpan, Trajectory};

use super::{MARK, is_mark, text};

/// Redacts a trajectory in place. Idempotent.
pub fn trajectory(t: &mut Trajectory) {
    field(&mut t.task_description);
    t.steps.iter_mut().for_each(step);
    outcome(&mut t.outcome);
    environment(&mut t.environment);
}

/// Redacts an event in place. Idempotent.
pub fn event(e: &mut Event) {
    match &mut e.body {
        EventBody::Started(s) => {
            field(&mut s.goal);
            environment(&mut s.environment);
        }
        EventBody::Step(s) => step(s),
        EventBody::Completed(c) => outcome(&mut c.outcome),
        EventBody::Span(s) => span(s),
    }
}

fn span(s: &mut TraceSpan) {
    for s in [&mut s.name, &mut s.task.goal, &mut s.instructions] {
        field(s);
    }
    environment(&mut s.task.environment);
    s.steps.iter_mut().for_each(|told| step(&mut told.step));
    outcome(&mut s.outcome);
}

/// Redacts a fact in place; the id stays as it is. Idempotent.
pub fn fact(f: &mut Fact) {
    let said = [&mut f.content, &mut f.original, &mut f.context, &mut f.surroundings];
    for s in said.into_iter().chain([&mut f.key, &mut f.speaker, &mut f.intent]) {
        field(s);
    }
    f.entities.iter_mut().for_each(field);
    for a in &mut f.attachments {
        field(&mut a.uri);
        field(&mut a.caption);
    }
}

fn step(s: &mut Step) {
    for s in [&mut s.action_name, &mut s.action_detail, &mut s.observation, &mut s.reflection] {
        field(s);
    }
    if let Some(d) = &mut s.decision {
        decision(d);
    }
}

fn decision(d: &mut Decision) {
    field(&mut d.chosen);
    field(&mut d.rationale);
    d.rejected.iter_mut().for_each(field);
}

fn outcome(o: &mut Outcome) {
    field(&mut o.conclusion);
    o.evidence.iter_mut().for_each(|e| field(&mut e.detail));
}

fn environment(e: &mut Environment) {
    e.tags.iter_mut().for_each(field);
    for (key, value) in &mut e.attributes {
        field(value);
        if names_secret(key) && !value.is_empty() && !is_mark(value) {
            *value = format!("{MARK}secret]");
        }
    }
}

/// Whether what stands under this key is a secret whatever it looks like.
fn names_secret(key: &str) -> bool {
    matches!(text(&format!("{key}=\"q7Zr2-Xw9Kd4\"")), Cow::Owned(_))
}

fn field(s: &mut String) {
    if let Cow::Owned(redacted) = text(s) {
        *s = redacted;
    }
}
