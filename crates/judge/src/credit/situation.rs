//! Whether, and from when on, a run was in the situation that a memory is about.

use std::{collections::BTreeSet, ops::Range};

use hindsight_text::{is_stop_word, overlap, token_set, truncate_chars};
use hindsight_types::{ActionType, StepStatus, Trajectory};

use super::words;
use crate::signature;

/// Lines of trouble that are kept of one result, and of a run.
const LINES: usize = 8;
const ALL_LINES: usize = 500;
const LINE: usize = 400;
/// The share of a symptom's words that a line of trouble must hold.
const SAME_SYMPTOM: f32 = 0.7;
/// The share of a task's words that another task must hold, and the other way round.
const SAME_TASK: f32 = 0.5;
/// Fewer words than these tell nothing.
const FEW: usize = 3;

/// What stands in a line for what differs from run to run.
const KINDS: [&str; 9] = ["id", "n", "path", "time", "addr", "name", "url", "mail", "hex"];

/// Whether a run was in a situation.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Applies {
    /// First step after the symptom was seen.
    pub(super) seen: Option<u32>,
    pub(super) same_task: bool,
}

impl Applies {
    /// First step of the run that was in the situation.
    pub(super) fn from(self) -> Option<u32> {
        if self.same_task { Some(0) } else { self.seen }
    }
}

/// The trouble that a run saw.
#[derive(Debug)]
pub(super) struct Sightings {
    task: BTreeSet<String>,
    lines: Vec<Line>,
    failures: Vec<(u32, String, String)>,
}

#[derive(Debug)]
struct Line {
    /// First step after it.
    from: u32,
    words: BTreeSet<String>,
}

impl Sightings {
    pub(super) fn of(t: &Trajectory) -> Self {
        let mut lines = vec![Line { from: 0, words: telling(&t.task_description) }];
        let mut failures = Vec::new();
        for step in &t.steps {
            let from = step.step_index + 1;
            if step.action_type == ActionType::UserInput {
                lines.push(Line { from, words: telling(&step.action_detail) });
            }
            let trouble =
                signature::lines(&step.observation).into_iter().filter(|l| signature::is_trouble(l));
            lines.extend(trouble.take(LINES).map(|line| Line { from, words: telling(&line) }));
            if step.status == StepStatus::Error {
                let signature = signature::error_signature(&step.observation);
                failures.push((from, step.action_name.clone(), signature));
            }
            if lines.len() >= ALL_LINES {
                break;
            }
        }
        Self { task: telling(&t.task_description), lines, failures }
    }

    /// Of a situation that is told as a task, with the symptom that was seen in it or without.
    pub(super) fn of_situation(&self, situation: &str) -> Applies {
        let (task, symptom) = words::symptom(situation).unwrap_or((situation, ""));
        let (task, symptom) = (telling(task), telling(symptom));
        let same = overlap(&task, &self.task).min(overlap(&self.task, &task)) >= SAME_TASK;
        let seen = |line: &&Line| symptom.len() >= FEW && overlap(&symptom, &line.words) >= SAME_SYMPTOM;
        Applies {
            seen: self.lines.iter().find(seen).map(|line| line.from),
            same_task: task.len() >= FEW && same,
        }
    }

    /// The first step after `done.start` and before `done.end` that saw the trouble that was seen before step `first`.
    pub(super) fn again(&self, first: u32, done: Range<u32>) -> Option<u32> {
        let before: Vec<&Line> = self.lines.iter().filter(|line| (1..=first).contains(&line.from)).collect();
        let after = self.lines.iter().filter(|line| line.from > done.start + 1 && line.from <= done.end);
        let same = |a: &Line, b: &Line| {
            let near = overlap(&a.words, &b.words).min(overlap(&b.words, &a.words));
            !a.words.is_empty() && (a.words == b.words || a.words.len() >= FEW && near >= SAME_SYMPTOM)
        };
        let mut still = after.filter(|line| before.iter().any(|b| same(b, line)));
        still.next().map(|line| line.from - 1)
    }

    pub(super) fn of_failure(&self, tool: &str, signature: &str) -> Applies {
        let same = |(_, t, s): &&(u32, String, String)| t == tool && s == signature && !s.is_empty();
        Applies { seen: self.failures.iter().find(same).map(|(from, ..)| *from), same_task: false }
    }
}

/// Words that tell one situation from another: those of every text, and those that differ from run to run, do not.
fn telling(text: &str) -> BTreeSet<String> {
    let normal = signature::normalise(truncate_chars(text, LINE));
    let mut words = token_set(&normal);
    words.retain(|w| !is_stop_word(w) && !KINDS.contains(&w.as_str()));
    words
}
