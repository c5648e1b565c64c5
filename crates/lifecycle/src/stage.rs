//! Which stage a lesson has reached by what runs and people say of it.

mod machine;
mod words;

use std::collections::BTreeMap;

use hindsight_types::{Evidence, EvidenceId, EvidencePolicy, Lesson, Review, ReviewId, Stage, teacher};

use crate::uplift::{Arm, Uplift};
use machine::Machine;

/// Where a lesson stands, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    pub stage: Stage,
    /// Runs that confirmed it, other than the one that taught it.
    pub supported: u32,
    /// Runs that contradicted it, other than the one that taught it.
    pub refuted: u32,
    /// Runs that were given the advice, since it was last approved.
    pub injected: Arm,
    /// Runs that would have been given it and were not, by chance.
    pub withheld: Arm,
    /// `None`: too few runs to compare; so with the next two.
    pub success: Option<Uplift>,
    pub steps: Option<Uplift>,
    pub tokens: Option<Uplift>,
    /// P(it helps): that success is likelier with it or, where success is as likely, that steps or tokens are saved;
    /// 0.5 while it cannot be told.
    pub helps: f64,
    /// P(it harms): that success is less likely with it, or that it is contradicted rather than confirmed by now.
    pub harms: f64,
    /// What brought it to this stage, in words.
    pub why: String,
    /// What the next decision waits for, in words.
    pub next: String,
}

/// Where a lesson stands by these lines and reviews: a function of the set of them, in whatever order they come and
/// however often. Every line is of one run. They are replayed in the order of their times, since a decision once
/// made stays until another is due: what was promoted is not tried again for want of runs without it, and what
/// harmed is not forgiven because it is no longer seen to.
pub fn standing(lines: &[Evidence], reviews: &[Review], policy: &EvidencePolicy) -> Standing {
    let mut machine = Machine::new(policy);
    for said in chronicle(lines, reviews) {
        match said {
            Said::Run(line) => machine.run(&line),
            Said::Person(review) => machine.review(review),
        }
    }
    machine.standing()
}

/// The same of a lesson: what the run that taught it says of it confirms nothing.
pub fn of_lesson(
    lesson: &Lesson,
    lines: &[Evidence],
    reviews: &[Review],
    policy: &EvidencePolicy,
) -> Standing {
    let teacher = teacher(&lesson.sources, lines);
    let others = lines.iter().filter(|line| teacher != Some(&line.trace_id));
    let independent: Vec<Evidence> = others.cloned().collect();
    standing(&independent, reviews, policy)
}

enum Said<'a> {
    Run(Evidence),
    Person(&'a Review),
}

fn chronicle<'a>(lines: &[Evidence], reviews: &'a [Review]) -> Vec<Said<'a>> {
    let mut runs: BTreeMap<EvidenceId, Evidence> = BTreeMap::new();
    for line in lines {
        let joined = runs.entry(line.id);
        joined.and_modify(|other| *other = other.join(line)).or_insert_with(|| line.clone());
    }
    let people: BTreeMap<ReviewId, &Review> = reviews.iter().map(|r| (r.id, r)).collect();
    let runs = runs.into_values().map(|line| ((line.at, 0, line.id.0), Said::Run(line)));
    let people = people.into_values().map(|r| ((r.at, 1, r.id.0), Said::Person(r)));
    let mut all: Vec<_> = runs.chain(people).collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, said)| said).collect()
}

#[cfg(test)]
mod tests;
