//! Whether a run bears out that one step's finding was used by a later one.

use std::collections::HashSet;

use hindsight_text::{is_cjk, one_line};
use hindsight_types::Trajectory;

use crate::llm::UsedBy;

/// Characters of a text that are searched, and of all results of a run together.
const SEARCHED: usize = 64 * 1024;
const SEARCHED_TOGETHER: usize = 8 * 1024 * 1024;
/// Shorter words are found by chance.
const SHORTEST: usize = 4;
const SHORTEST_CJK: usize = 2;

/// The run, ready to be searched.
pub(super) struct Claims {
    task: String,
    conclusion: String,
    /// What each step did, and what it brought.
    steps: Vec<(String, String)>,
}

fn plain(text: &str, most: usize) -> String {
    one_line(text, most).to_lowercase()
}

impl Claims {
    pub(super) fn of(whole: &Trajectory, seen: &Trajectory) -> Self {
        let most = SEARCHED.min(SEARCHED_TOGETHER / whole.steps.len().max(1));
        let steps = whole.steps.iter().zip(&seen.steps).map(|(step, seen)| {
            let why = step.decision.as_ref().map_or("", |d| &d.rationale);
            let did = [&*step.action_detail, why, &*step.reflection].map(|t| plain(t, most)).join("\n");
            // A digest may say it in other words than the result did.
            let saw = [&*step.observation, &*seen.observation].map(|t| plain(t, most)).join("\n");
            (did, saw)
        });
        Self {
            steps: steps.collect(),
            task: plain(&whole.task_description, SEARCHED),
            conclusion: plain(&whole.outcome.conclusion, SEARCHED),
        }
    }

    /// The chain in words when the claim about step `index` holds; else what is wrong with it. `needed` has the
    /// later steps that were. The same rule as the slice's: what counts is what the step brought first.
    pub(super) fn check(
        &self,
        index: u32,
        claim: Option<&UsedBy>,
        needed: &HashSet<u32>,
    ) -> Result<String, String> {
        let Some(UsedBy { step_index: by, words }) = claim else {
            return Err("it names no later step that used it".to_owned());
        };
        let (at, user) = (index as usize, *by as usize);
        let words = plain(words, SEARCHED);
        let enough = if words.chars().any(is_cjk) { SHORTEST_CJK } else { SHORTEST };
        if words.chars().count() < enough {
            return Err(format!("`{words}` is too short to show what was used"));
        }
        let used = match self.steps.get(user) {
            Some((did, _)) => did,
            None => &self.conclusion,
        };
        let name = if user < self.steps.len() { format!("step {by}") } else { "the conclusion".to_owned() };
        if user <= at || !used.contains(&words) {
            return Err(format!("{name} does not use `{words}`"));
        }
        let brings = |at: usize| {
            self.steps.get(at).is_some_and(|(did, saw)| saw.contains(&words) || did.contains(&words))
        };
        if !brings(at) {
            return Err(format!("`{words}` is not in it"));
        }
        if self.task.contains(&words) || (0..at).any(brings) {
            return Err(format!("`{words}` was known before"));
        }
        if user < self.steps.len() && !needed.contains(by) {
            return Err(format!("{name}, which used it, was not needed itself"));
        }
        Ok(format!("{name} used `{words}` from it"))
    }
}
