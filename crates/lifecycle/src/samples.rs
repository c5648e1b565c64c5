//! Memories for the tests of this crate.

use hindsight_ports::testkit::samples;
use hindsight_types::*;

use crate::rules::Reading;

pub(crate) const DAY: i64 = 86_400;

/// What a call is for is its tool; what `get` and `read` do changes nothing.
pub(crate) const READING: Reading = Reading {
    purpose: |step| step.action_name.clone(),
    changes: |step| !step.action_name.starts_with("get"),
};

pub(crate) fn scope(name: &str) -> Scope {
    samples::private(&samples::tenant("acme"), name)
}

/// `day` days after a fixed moment.
pub(crate) fn day(day: i64) -> Timestamp {
    samples::time(day * DAY)
}

/// A tool with its arguments, as JSON or as they are, and how the step was judged.
pub(crate) type Call<'a> = (&'a str, &'a str, StepLabel);

pub(crate) fn needed<'a>(tool: &'a str, arguments: &'a str) -> Call<'a> {
    (tool, arguments, StepLabel::Necessary)
}

/// A successful run of `calls` that ended on a day.
pub(crate) fn run(scope: &Scope, trace: &str, goal: &str, ended: i64, calls: &[Call<'_>]) -> Experience {
    let trace = samples::trace(trace);
    let Memory::Experience(sample) = samples::experience(scope, &trace, ended * DAY) else {
        unreachable!("a sample of an experience")
    };
    let mut run = *sample;
    let verdict = run.evaluation.steps[0].clone();
    run.trajectory.task_description = goal.to_owned();
    let indexed = || (0_u32..).zip(calls);
    run.trajectory.steps = indexed()
        .map(|(at, (tool, arguments, _))| Step {
            action_name: (*tool).to_owned(),
            action_detail: (*arguments).to_owned(),
            ..samples::step(at)
        })
        .collect();
    run.evaluation.steps = indexed()
        .map(|(at, (_, _, label))| StepEvaluation { step_index: at, label: *label, ..verdict.clone() })
        .collect();
    run
}

pub(crate) fn lesson(scope: &Scope, key: &str, situation: &str, chosen: &str) -> Lesson {
    let mut lesson = samples::lesson(scope, key, &[key], 0);
    lesson.situation = situation.to_owned();
    lesson.basis.chosen = chosen.to_owned();
    lesson.basis.rejected = Vec::new();
    lesson
}

/// What a user said on a day.
pub(crate) fn fact(user: &str, key: &str, content: &str, said: i64) -> Fact {
    let mut fact = samples::fact(&samples::tenant("acme"), user, key, said * DAY);
    fact.content = content.to_owned();
    fact.intent = String::new();
    fact.entities = Vec::new();
    fact.fact_type = FactType::Preference;
    fact
}
