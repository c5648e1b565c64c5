//! Whether, and from when on, a run was in the situation that a memory is about.

use std::collections::BTreeSet;

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
const SAME_TASK: f32 = 0.6;
/// Fewer words than these tell nothing.
const FEW: usize = 3;

/// What stands in a line for what differs from run to run.
const KINDS: [&str; 9] = ["id", "n", "path", "time", "addr", "name", "url", "mail", "hex"];

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

    /// First step after the symptom, where a situation names one, or 0 in a run of the same task.
    pub(super) fn of_situation(&self, situation: &str) -> Option<u32> {
        let Some((_, symptom)) = words::symptom(situation) else {
            let task = telling(situation);
            let same = overlap(&task, &self.task).min(overlap(&self.task, &task)) >= SAME_TASK;
            return (task.len() >= FEW && same).then_some(0);
        };
        let symptom = telling(symptom);
        let seen = |line: &&Line| overlap(&symptom, &line.words) >= SAME_SYMPTOM;
        self.lines.iter().filter(|_| symptom.len() >= FEW).find(seen).map(|line| line.from)
    }

    pub(super) fn of_failure(&self, tool: &str, signature: &str) -> Option<u32> {
        let same = |(_, t, s): &&(u32, String, String)| t == tool && s == signature && !s.is_empty();
        self.failures.iter().find(same).map(|(from, ..)| *from)
    }
}

/// Words that tell one situation from another: those of every text, and those that differ from run to run, do not.
fn telling(text: &str) -> BTreeSet<String> {
    let normal = signature::normalise(truncate_chars(text, LINE));
    let mut words = token_set(&normal);
    words.retain(|w| !is_stop_word(w) && !KINDS.contains(&w.as_str()));
    words
}
