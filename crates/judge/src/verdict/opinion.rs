//! From n judgements of a model to one opinion per step.

use hindsight_types::{StepLabel, Vote};

use crate::llm::{LlmLabel, LlmVerdict, UsedBy};

use super::model_judge;

pub(super) struct Opinion {
    pub(super) step_index: u32,
    pub(super) vote: Vote,
    pub(super) used_by: Option<UsedBy>,
}

/// One per step, in step order.
pub(super) fn all(llm: &LlmVerdict) -> Vec<Opinion> {
    let Some(first) = llm.judgements.first() else { return Vec::new() };
    (0..first.len())
        .map(|at| opinion(&llm.judgements.iter().filter_map(|j| j.get(at)).collect::<Vec<_>>()))
        .collect()
}

/// Of labels that are as frequent, one that does not call the step necessary: a redundant step called necessary
/// spreads a wrong habit, the other mistake only loses a step.
fn opinion(judgements: &[&LlmLabel]) -> Opinion {
    let count = |label: StepLabel| judgements.iter().filter(|j| j.label == label).count();
    let label = StepLabel::ALL
        .into_iter()
        .max_by_key(|l| (count(*l), *l != StepLabel::Necessary, std::cmp::Reverse(*l)))
        .unwrap_or(StepLabel::Redundant);
    let for_it: Vec<_> = judgements.iter().filter(|j| j.label == label).collect();
    let (k, n) = (for_it.len(), judgements.len());
    let mut rationale = for_it.first().map(|j| j.reason.clone()).unwrap_or_default();
    if n > 1 {
        rationale.push_str(&format!(" ({k} of {n} judgements)"));
    }
    Opinion {
        step_index: judgements.first().map_or(0, |j| j.step_index),
        used_by: for_it.iter().find_map(|j| j.used_by.clone()),
        vote: Vote { judge: model_judge(), label, confidence: (k + 1) as f32 / (n + 2) as f32, rationale },
    }
}
