//! Holds what comes from outside to the limits of `types::limits`. Reports every offending field at once.

use hindsight_types::{
    ActionType, Decision, Environment, Event, EventBody, Fact, FieldError, Invalid, Outcome, Step, Timestamp,
    TraceSpan, Trajectory, limits,
};

mod attachment;
#[cfg(test)]
mod tests;

/// Most problems that are listed; a hostile record must not make a hostile answer.
const PROBLEMS: usize = 100;

/// Steps contiguous from 0, times in order, every size within its limit.
pub fn trajectory(t: &Trajectory) -> Result<(), Invalid> {
    let mut c = Checks::default();
    c.required("task_description", &t.task_description, limits::TEXT_BYTES);
    c.count("steps", t.steps.len(), limits::STEPS);
    for (i, s) in t.steps.iter().enumerate().take(limits::STEPS) {
        let at = format!("steps[{i}]");
        if usize::try_from(s.step_index) != Ok(i) {
            c.add(
                format!("{at}.step_index"),
                format!("is {}; steps count from 0 without gaps, so {i}", s.step_index),
            );
        }
        c.step(&at, s);
    }
    c.outcome("outcome", &t.outcome);
    c.environment("environment", &t.environment);
    c.count("receipts", t.receipts.len(), limits::TAGS);
    c.ordered("ended_at", Some(t.started_at), Some(t.ended_at));
    c.finish()
}

/// The step, start or completion of one event.
pub fn event(e: &Event) -> Result<(), Invalid> {
    let mut c = Checks::default();
    match &e.body {
        EventBody::Started(s) => {
            c.required("started.goal", &s.goal, limits::TEXT_BYTES);
            c.environment("started.environment", &s.environment);
            c.count("started.receipts", s.receipts.len(), limits::TAGS);
        }
        EventBody::Step(s) => {
            if usize::try_from(s.step_index).map_or(true, |i| i >= limits::STEPS) {
                let last = limits::STEPS - 1;
                c.add(
                    "step.step_index".to_owned(),
                    format!("is {}; the last one accepted is {last}", s.step_index),
                );
            }
            c.step("step", s);
        }
        EventBody::Completed(done) => {
            c.outcome("completed.outcome", &done.outcome);
            c.count("completed.step_count", done.step_count.try_into().unwrap_or(usize::MAX), limits::STEPS);
        }
        EventBody::Span(span) => c.span(span),
    }
    c.finish()
}

/// Content, sizes, attachments, confidence and times of a fact.
pub fn fact(f: &Fact) -> Result<(), Invalid> {
    let mut c = Checks::default();
    if f.scope.user().is_none() {
        c.add("user".to_owned(), "is required: a fact belongs to one user".to_owned());
    }
    c.required("content", &f.content, limits::TEXT_BYTES);
    c.text("context", &f.context, limits::TEXT_BYTES);
    for (field, value) in [("key", &f.key), ("speaker", &f.speaker), ("intent", &f.intent)] {
        c.text(field, value, limits::ID_BYTES);
    }
    c.strings("entities", &f.entities);
    c.attachments(&f.attachments);
    if !(0.0..=1.0).contains(&f.confidence) {
        c.add("confidence".to_owned(), format!("is {}; it lies between 0 and 1", f.confidence));
    }
    c.ordered("expires_at", Some(f.occurred_at), f.expires_at);
    c.finish()
}

#[derive(Debug, Default)]
struct Checks {
    problems: Vec<FieldError>,
}

impl Checks {
    fn add(&mut self, field: String, problem: String) {
        if self.problems.len() < PROBLEMS {
            self.problems.push(FieldError { field, problem });
        }
    }

    fn finish(self) -> Result<(), Invalid> {
        Invalid::check(self.problems)
    }

    fn text(&mut self, field: &str, value: &str, limit: usize) {
        if value.len() > limit {
            let problem =
                format!("is {} bytes long; at most {limit} are accepted, so shorten it", value.len());
            self.add(field.to_owned(), problem);
        }
    }

    fn required(&mut self, field: &str, value: &str, limit: usize) {
        if value.trim().is_empty() {
            self.add(field.to_owned(), "is required".to_owned());
        }
        self.text(field, value, limit);
    }

    fn count(&mut self, field: &str, count: usize, limit: usize) {
        if count > limit {
            self.add(field.to_owned(), format!("has {count} entries; at most {limit} are accepted"));
        }
    }

    fn strings(&mut self, field: &str, values: &[String]) {
        self.count(field, values.len(), limits::TAGS);
        for (i, v) in values.iter().enumerate().take(limits::TAGS) {
            self.required(&format!("{field}[{i}]"), v, limits::ID_BYTES);
        }
    }

    fn ordered(&mut self, field: &str, start: Option<Timestamp>, end: Option<Timestamp>) {
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            self.add(field.to_owned(), format!("is {end}, before the start {start}"));
        }
    }

    fn span(&mut self, s: &TraceSpan) {
        self.text("span.name", &s.name, limits::ID_BYTES);
        self.text("span.task.goal", &s.task.goal, limits::TEXT_BYTES);
        self.text("span.instructions", &s.instructions, limits::TEXT_BYTES);
        self.environment("span.task.environment", &s.task.environment);
        self.count("span.steps", s.steps.len(), limits::STEPS);
        for (i, told) in s.steps.iter().enumerate().take(limits::STEPS) {
            self.sizes(&format!("span.steps[{i}].step"), &told.step);
        }
        self.outcome("span.outcome", &s.outcome);
        self.ordered("span.ended_at", Some(s.started_at), Some(s.ended_at));
    }

    fn step(&mut self, at: &str, s: &Step) {
        let name = format!("{at}.action_name");
        if s.action_type == ActionType::ToolCall && s.action_name.trim().is_empty() {
            self.add(name, "is required for a tool call: the name of the tool".to_owned());
        }
        self.sizes(at, s);
    }

    fn sizes(&mut self, at: &str, s: &Step) {
        self.text(&format!("{at}.action_name"), &s.action_name, limits::ID_BYTES);
        self.text(&format!("{at}.action_detail"), &s.action_detail, limits::DETAIL_BYTES);
        self.text(&format!("{at}.observation"), &s.observation, limits::OBSERVATION_BYTES);
        self.text(&format!("{at}.reflection"), &s.reflection, limits::TEXT_BYTES);
        if let Some(d) = &s.decision {
            self.decision(&format!("{at}.decision"), d);
        }
        self.ordered(&format!("{at}.ended_at"), s.started_at, s.ended_at);
    }

    fn decision(&mut self, at: &str, d: &Decision) {
        self.required(&format!("{at}.chosen"), &d.chosen, limits::TEXT_BYTES);
        self.text(&format!("{at}.rationale"), &d.rationale, limits::TEXT_BYTES);
        let rejected = format!("{at}.rejected");
        self.count(&rejected, d.rejected.len(), limits::TAGS);
        for (i, r) in d.rejected.iter().enumerate().take(limits::TAGS) {
            self.text(&format!("{rejected}[{i}]"), r, limits::TEXT_BYTES);
        }
    }

    fn outcome(&mut self, at: &str, o: &Outcome) {
        self.text(&format!("{at}.conclusion"), &o.conclusion, limits::TEXT_BYTES);
        self.count(&format!("{at}.evidence"), o.evidence.len(), limits::TAGS);
        for (i, e) in o.evidence.iter().enumerate().take(limits::TAGS) {
            self.text(&format!("{at}.evidence[{i}].detail"), &e.detail, limits::TEXT_BYTES);
        }
    }

    fn environment(&mut self, at: &str, e: &Environment) {
        self.strings(&format!("{at}.tags"), &e.tags);
        self.count(&format!("{at}.attributes"), e.attributes.len(), limits::TAGS);
        for (key, value) in e.attributes.iter().take(limits::TAGS) {
            let shown: String = key.chars().take(limits::ID_BYTES).collect();
            let field = format!("{at}.attributes.{shown}");
            self.required(&field, key, limits::ID_BYTES);
            self.text(&field, value, limits::TEXT_BYTES);
        }
    }
}
