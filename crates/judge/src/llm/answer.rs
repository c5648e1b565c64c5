//! From the model's answer to labels.

use std::{collections::BTreeMap, ops::Range};

use hindsight_ports::LlmError;
use hindsight_text::{one_line, truncate_chars};
use hindsight_types::StepLabel;
use serde::Deserialize;

use super::entry::Entry;

/// Characters of a reason, and of words that were used, that are kept.
const REASON: usize = 300;
const USED: usize = 200;
/// An answer longer than this is not looked at.
const ANSWER_BYTES: usize = 256 * 1024;
/// Problems that are named at a time.
const PROBLEMS: usize = 8;

/// What one judgement says of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmLabel {
    pub step_index: u32,
    pub label: StepLabel,
    /// On one line, cut.
    pub reason: String,
    /// By which later step what was used, as the model claims. Not checked here.
    pub used_by: Option<UsedBy>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedBy {
    /// One more than the last step: the conclusion.
    pub step_index: u32,
    pub words: String,
}

#[derive(Deserialize)]
struct Answer {
    steps: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    step: i64,
    label: String,
    reason: String,
    #[serde(default = "nowhere")]
    used_by: i64,
    #[serde(default)]
    used: String,
}

fn nowhere() -> i64 {
    -1
}

/// The labels of every step of the entries that were asked about, in order, or everything that is wrong with the answer. `end` is
/// the number of the conclusion.
pub(super) fn read(
    text: &str,
    all: &[Entry],
    asked: Range<usize>,
    end: u32,
) -> Result<Vec<LlmLabel>, String> {
    let entries = &all[asked];
    if text.len() > ANSWER_BYTES {
        return Err(format!("it has {} bytes; at most {ANSWER_BYTES} are read", text.len()));
    }
    let answer: Answer =
        serde_json::from_str(text).map_err(|e| format!("it does not have the shape asked for: {e}"))?;
    let mut problems = Vec::new();
    let mut found: BTreeMap<u32, (StepLabel, Item)> = BTreeMap::new();
    for item in answer.steps {
        let Some(first) = entries.iter().map(|e| e.first).find(|f| i64::from(*f) == item.step) else {
            problems.push(format!("step {} was not asked about", item.step));
            continue;
        };
        let Some(label) = label(&item.label) else {
            problems.push(format!("step {first}: `{}` is not a label", truncate_chars(&item.label, 40)));
            continue;
        };
        if item.reason.trim().is_empty() {
            problems.push(format!("step {first} has no reason"));
        }
        if found.insert(first, (label, item)).is_some() {
            problems.push(format!("step {first} is labelled twice"));
        }
    }
    let missing: Vec<String> =
        entries.iter().filter(|e| !found.contains_key(&e.first)).map(|e| e.first.to_string()).collect();
    if problems.is_empty() && !missing.is_empty() {
        problems.push(format!("no label for step {}", missing.join(", ")));
    }
    if !problems.is_empty() {
        problems.truncate(PROBLEMS);
        return Err(problems.join("; "));
    }
    let labels = entries.iter().filter_map(|e| found.remove(&e.first).map(|f| spread(e, f, all, end)));
    Ok(labels.flatten().collect())
}

/// The label of an entry is that of each of its steps; but of several that are the same, one was enough.
fn spread(entry: &Entry, (label, item): (StepLabel, Item), all: &[Entry], end: u32) -> Vec<LlmLabel> {
    let words = one_line(&item.used, USED);
    let claimed = u32::try_from(item.used_by).ok().filter(|by| *by > entry.last && *by <= end);
    let used_by = claimed.filter(|_| !words.is_empty()).map(|by| {
        let at = all.partition_point(|e| e.last < by);
        UsedBy { step_index: all.get(at).map_or(by, |e| e.telling), words }
    });
    let reason = one_line(&item.reason, REASON);
    let one = |step_index| {
        if step_index == entry.telling {
            return LlmLabel { step_index, label, reason: reason.clone(), used_by: used_by.clone() };
        }
        let (label, reason) = match label {
            StepLabel::Necessary => (StepLabel::Redundant, format!("the same as step {}", entry.telling)),
            other => (other, reason.clone()),
        };
        LlmLabel { step_index, label, reason, used_by: None }
    };
    (entry.first..=entry.last).map(one).collect()
}

fn label(name: &str) -> Option<StepLabel> {
    StepLabel::ALL.into_iter().find(|l| l.as_str() == name.trim().to_ascii_lowercase())
}

/// The answer and what is wrong with it, of errors that another answer can mend.
pub(super) fn repairable(error: &LlmError) -> Option<(String, String)> {
    match error {
        LlmError::Truncated { text, .. } => {
            Some((text.clone(), "it was too long and was cut; give shorter reasons".to_owned()))
        }
        LlmError::Malformed { reason, .. } => Some((String::new(), reason.clone())),
        _ => None,
    }
}
