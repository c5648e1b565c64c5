//! A summary and lessons by a model: what it is asked, and what of its answer is kept. Asking is for the
//! caller, through `ports::Llm`.
//!
//! The answer is held to what the extractive path is held to, and to the run: what it advises must be
//! something that the agent did in a step that was needed ([`grounds`]), however good it sounds.

mod grounds;

use std::borrow::Cow;

use hindsight_ports::JsonSchema;
use hindsight_types::{
    Evaluation, Lesson, OutcomeStatus, RejectedLesson, StepLabel, Timestamp, Trajectory, limits,
};
use serde::Deserialize;
use serde_json::json;

use crate::llm::prompt::{BEGINS, ENDS, quoted};
use crate::{canon, signature};

use super::lesson::{self, Draft};
use super::phrase::{self, Judged};
use super::wording::Wording;
use super::{summary, worth};

use grounds::{Advice, Grounds};

/// Raised with every change of the file, so that a lesson names the words it was asked for in.
pub const PROMPT_VERSION: &str = "distil-v1";
/// What the model is told to do.
pub const SYSTEM: &str = include_str!("../../prompts/distil-v1.md");
/// Enough for a summary and five lessons.
pub const OUTPUT_TOKENS: u32 = 2_000;

/// Characters of the task, of what a step did and of what it saw.
const TASK: usize = 600;
const DO: usize = 160;
const SAW: usize = 200;
/// Steps that are shown of the beginning and of the end.
const FIRST: usize = 20;
const LAST: usize = 40;
/// An answer longer than this is not looked at.
const ANSWER_BYTES: usize = 64 * 1024;
/// Characters of one part of a lesson.
const PART: usize = 600;

/// What is kept of a model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub summary: String,
    pub lessons: Vec<Lesson>,
    pub rejected: Vec<RejectedLesson>,
}

#[derive(Deserialize)]
struct Answer {
    summary: String,
    lessons: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    condition: String,
    chosen: String,
    #[serde(default)]
    rejected: Vec<String>,
    #[serde(default)]
    why: String,
    #[serde(default)]
    result: String,
    advice: String,
    #[serde(default)]
    applicability: String,
}

/// The run, fenced: one JSON object per line, observed text in strings that cannot leave their line.
pub fn question(t: &Trajectory, evaluation: &Evaluation) -> String {
    let ended = phrase::status(evaluation.outcome, false);
    let mut text =
        format!("{BEGINS}\n{{\"task\":{},\"ended\":\"{ended}\"}}\n", quoted(&t.task_description, TASK));
    let told: Vec<Judged<'_>> =
        phrase::judged(t, &evaluation.steps).filter(|j| j.verdict.label != StepLabel::Redundant).collect();
    let skipped = FIRST..told.len().saturating_sub(LAST).max(FIRST);
    for (_, j) in told.iter().enumerate().filter(|(at, _)| !skipped.contains(at)) {
        let saw = match j.verdict.label {
            StepLabel::Failed => signature::error_message(&j.step.observation),
            _ => Cow::Borrowed(j.step.observation.as_str()),
        };
        text.push_str(&format!(
            "{{\"step\":{},\"label\":\"{}\",\"tool\":{},\"do\":{},\"saw\":{}}}\n",
            j.step.step_index,
            j.verdict.label.as_str(),
            quoted(&j.step.action_name, 80),
            quoted(&j.step.action_detail, DO),
            quoted(&saw, SAW)
        ));
    }
    text.push_str(ENDS);
    text.push('\n');
    text
}

/// The shape of an answer; the same for every run.
pub fn schema() -> JsonSchema {
    let text = json!({"type": "string"});
    let lesson = json!({
        "type": "object",
        "properties": {
            "condition": text, "chosen": text, "rejected": {"type": "array", "items": text}, "why": text,
            "result": text, "advice": text, "applicability": text
        },
        "required": ["condition", "chosen", "rejected", "why", "result", "advice", "applicability"],
        "additionalProperties": false
    });
    JsonSchema {
        name: "summary_and_lessons".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"summary": text, "lessons": {"type": "array", "items": lesson}},
            "required": ["summary", "lessons"],
            "additionalProperties": false
        }),
    }
}

/// What of the answer is kept, or what is wrong with it as a whole: its shape or its summary.
pub fn read(
    answer: &str,
    t: &Trajectory,
    evaluation: &Evaluation,
    now: Timestamp,
) -> Result<Written, String> {
    if answer.len() > ANSWER_BYTES {
        return Err(format!("it has {} bytes; at most {ANSWER_BYTES} are read", answer.len()));
    }
    let answer: Answer =
        serde_json::from_str(answer).map_err(|e| format!("it does not have the shape asked for: {e}"))?;
    let told = hindsight_text::one_line(&answer.summary, 4 * PART);
    let length = summary::length(&told);
    if length == 0 || length > summary::LONGEST {
        return Err(format!("the summary has {length} words; it must have 1 to {}", summary::LONGEST));
    }
    if super::is_chinese(t) != phrase::is_cjk(&told) {
        return Err("the summary is not in the language of the task".to_owned());
    }
    if let Some(name) = unknown_name(&told, t) {
        return Err(format!("the summary names `{name}`, which the run does not contain"));
    }
    let grounds = Grounds::of(t, evaluation);
    if let Some(problem) = grounds.mistold(&told) {
        return Err(problem);
    }
    let (mut lessons, mut rejected): (Vec<Lesson>, Vec<RejectedLesson>) = (Vec::new(), Vec::new());
    for item in answer.lessons.into_iter().map(Item::bounded) {
        let reason = item.lacks(t, evaluation, &grounds).or_else(|| {
            (lessons.len() == lesson::MOST).then(|| format!("the run has {} lessons already", lesson::MOST))
        });
        match reason {
            Some(reason) => rejected.push(RejectedLesson { text: item.advice, reason }),
            None => {
                let lesson = item.lesson(t, evaluation, now);
                if lessons.iter().all(|l| l.id != lesson.id) {
                    lessons.push(lesson);
                }
            }
        }
    }
    rejected.truncate(lesson::REFUSED);
    Ok(Written { summary: told, lessons, rejected })
}

impl Item {
    fn bounded(self) -> Self {
        let part = |s: &str| hindsight_text::one_line(s, PART);
        Self {
            condition: part(&self.condition),
            chosen: part(&self.chosen),
            rejected: self
                .rejected
                .iter()
                .take(lesson::REJECTED)
                .map(|r| part(r))
                .filter(|r| !r.is_empty())
                .collect(),
            why: part(&self.why),
            result: part(&self.result),
            advice: part(&self.advice),
            applicability: part(&self.applicability),
        }
    }

    fn lacks(&self, t: &Trajectory, evaluation: &Evaluation, grounds: &Grounds<'_>) -> Option<String> {
        let claim = worth::Claim {
            condition: &self.condition,
            chosen: &self.chosen,
            rejected: &self.rejected,
            task: &t.task_description,
            task_is_condition: worth::repeats(&self.condition, &t.task_description),
            again: false,
        };
        if let Some(reason) = worth::doubt(evaluation) {
            return Some(reason);
        }
        if let Some(reason) = worth::lacks(&claim) {
            return Some(reason.to_owned());
        }
        if !worth::acts(&self.advice) {
            return Some("no action: its advice names nothing that one could do".to_owned());
        }
        if evaluation.outcome == OutcomeStatus::Unknown && self.rejected.is_empty() {
            return Some(
                "the run is not known to have succeeded, so what it did cannot be advised".to_owned(),
            );
        }
        let unknown = [&self.condition].into_iter().chain(&self.rejected).find_map(|p| unknown_name(p, t));
        if let Some(name) = unknown {
            return Some(format!("it names `{name}`, which the run does not contain"));
        }
        grounds.lacks(&Advice {
            condition: &self.condition,
            chosen: &self.chosen,
            rejected: &self.rejected,
            advice: &self.advice,
        })
    }

    fn lesson(self, t: &Trajectory, evaluation: &Evaluation, now: Timestamp) -> Lesson {
        let condition = signature::error_signature(&self.condition);
        let chosen = signature::normalise(&self.chosen.to_lowercase());
        let draft = Draft {
            key: format!("model\u{1f}{condition}\u{1f}{:016x}", canon::hash_of(chosen)),
            symptom: Cow::Owned(self.condition),
            chosen: self.chosen,
            rejected: self.rejected,
            rationale: self.why,
            advice: self.advice,
            tools: String::new(),
            again: false,
        };
        let mut lesson = lesson::finish(t, evaluation, draft, Wording::of(t), now);
        lesson.applicability = self.applicability;
        if !self.result.is_empty() {
            lesson.result = self.result;
        }
        lesson
    }
}

/// The first name in a text that stands nowhere in the run.
fn unknown_name(text: &str, t: &Trajectory) -> Option<String> {
    let known = |name: &str| {
        let stated = [&t.task_description, &t.outcome.conclusion];
        let steps =
            t.steps.iter().flat_map(|s| [&s.action_name, &s.action_detail, &s.observation, &s.reflection]);
        let evidence = t.outcome.evidence.iter().map(|e| &e.detail);
        stated.into_iter().chain(steps).chain(evidence).any(|s| holds(s, name))
    };
    hindsight_text::names(text, limits::TAGS, limits::ID_BYTES).into_iter().find(|name| !known(name))
}

/// Whether a text holds a name, whatever its case; JSON writes quotes and slashes otherwise.
fn holds(text: &str, name: &str) -> bool {
    text.contains(name)
        || (text.len() <= 64 * 1024 && text.to_lowercase().contains(&name.to_lowercase()))
        || name.split_whitespace().count() > 1 && name.split_whitespace().all(|word| text.contains(word))
}

#[cfg(test)]
mod tests;
