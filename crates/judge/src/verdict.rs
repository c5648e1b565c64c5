//! From what the judges say to one verdict per step. Pure.
//!
//! - Judges that agree are surer than each alone, those that differ less: their confidences are pooled as
//!   independent evidence, by adding log-odds (naive Bayes with an even prior). A model that is less than
//!   half sure speaks neither for its label nor against it.
//! - A model's `necessary` that the slice does not confirm counts only with a justification that holds:
//!   the model names the later step, itself necessary, and the words that it used, and the run bears it out.
//! - Of n judgements of a model the most frequent label counts. Its confidence is the probability that the next
//!   judgement says the same, by Laplace's rule of succession: (k + 1) / (n + 2).

mod claim;
mod opinion;

use std::collections::HashSet;

use hindsight_types::{Judging, StepEvaluation, StepLabel, Trajectory, Vote};

use crate::{
    SLICE_JUDGE,
    llm::{LlmVerdict, PROMPT_VERSION},
};

use claim::Claims;

/// No verdict is surer than this.
const SUREST: f32 = 0.99;
/// Below this a judge says itself that it could not decide.
const DECIDED: f32 = 0.5;

/// The verdict on every step, and who came to it how.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Judges and versions.
    pub judge: String,
    /// One per step, in step order.
    pub steps: Vec<StepEvaluation>,
    pub judging: Judging,
}

impl Verdict {
    /// The slice judge alone.
    pub fn of_slice(steps: Vec<StepEvaluation>) -> Self {
        Self { judge: SLICE_JUDGE.to_owned(), steps, judging: Judging::default() }
    }

    /// The slice judge, since the model that was asked for has no verdict.
    pub fn without_model(steps: Vec<StepEvaluation>, reason: impl Into<String>) -> Self {
        let judging = Judging { fallback: reason.into(), ..Judging::default() };
        Self { judging, ..Self::of_slice(steps) }
    }

    /// The model alone.
    pub fn of_model(llm: &LlmVerdict) -> Self {
        Self { judge: model_judge(), steps: by_model(llm), judging: judging(llm) }
    }

    /// Both. `whole` is the run, `seen` what the model saw of it; `slice` has one evaluation per step, in
    /// order, as the model's judgements have.
    pub fn of_both(
        whole: &Trajectory,
        seen: &Trajectory,
        slice: Vec<StepEvaluation>,
        llm: &LlmVerdict,
    ) -> Self {
        let steps = by_both(&Claims::of(whole, seen), slice, llm);
        let judging = Judging { agreement: agreement(&steps), ..judging(llm) };
        Self { judge: format!("{SLICE_JUDGE}+{}", model_judge()), steps, judging }
    }
}

/// Name and version of the model's judge: that of its prompt, since the model is named beside it.
fn model_judge() -> String {
    format!("llm/{PROMPT_VERSION}")
}

fn judging(llm: &LlmVerdict) -> Judging {
    Judging {
        model: llm.model.clone(),
        prompt: PROMPT_VERSION.to_owned(),
        judgements: u32::try_from(llm.judgements.len()).unwrap_or(u32::MAX),
        calls: llm.spent.calls,
        input_tokens: llm.spent.usage.input_tokens,
        output_tokens: llm.spent.usage.output_tokens,
        cost_micros: llm.spent.usage.cost_micros,
        agreement: None,
        consistency: consistency(llm),
        fallback: String::new(),
    }
}

fn by_model(llm: &LlmVerdict) -> Vec<StepEvaluation> {
    let opinions = opinion::all(llm);
    let uses: Vec<(u32, u32)> =
        opinions.iter().filter_map(|o| o.used_by.as_ref().map(|by| (o.step_index, by.step_index))).collect();
    let steps = opinions.into_iter().map(|o| StepEvaluation {
        step_index: o.step_index,
        label: o.vote.label,
        rationale: o.vote.rationale,
        confidence: o.vote.confidence,
        depends_on: uses.iter().filter(|(_, by)| *by == o.step_index).map(|(on, _)| *on).collect(),
        votes: Vec::new(),
    });
    steps.collect()
}

fn by_both(claims: &Claims, slice: Vec<StepEvaluation>, llm: &LlmVerdict) -> Vec<StepEvaluation> {
    let mut needed: HashSet<u32> = HashSet::new();
    let mut verdicts: Vec<StepEvaluation> = Vec::with_capacity(slice.len());
    // Backwards, since whether a step was needed depends on whether the step that used it was.
    for (sliced, opinion) in slice.into_iter().zip(opinion::all(llm)).rev() {
        let by_slice = Vote {
            judge: SLICE_JUDGE.to_owned(),
            label: sliced.label,
            confidence: sliced.confidence,
            rationale: sliced.rationale.clone(),
        };
        let claim = || claims.check(sliced.step_index, opinion.used_by.as_ref(), &needed);
        let (label, confidence, rationale) = weigh(&by_slice, &opinion.vote, claim);
        if label == StepLabel::Necessary {
            needed.insert(sliced.step_index);
        }
        verdicts.push(StepEvaluation {
            label,
            confidence,
            rationale,
            votes: vec![by_slice, opinion.vote],
            ..sliced
        });
    }
    verdicts.reverse();
    verdicts
}

/// One label of two, how sure it is, and why. `claim` checks the model's claim that the step was used.
fn weigh(
    slice: &Vote,
    model: &Vote,
    claim: impl FnOnce() -> Result<String, String>,
) -> (StepLabel, f32, String) {
    let (ours, theirs) = (slice.label.as_str(), model.label.as_str());
    let (why, reason) = (&slice.rationale, &model.rationale);
    if model.confidence < DECIDED {
        let rationale = format!("{why}; the model is undecided and leans to {theirs}: {reason}");
        return (slice.label, slice.confidence, rationale);
    }
    let decided = slice.confidence.max(DECIDED);
    let slice_wins = pool(slice.confidence, 1.0 - model.confidence).min(slice.confidence);
    let model_wins = pool(model.confidence, 1.0 - decided);
    if slice.label == model.label {
        let rationale = format!("{why}; the model agrees: {reason}");
        return (slice.label, pool(decided, model.confidence), rationale);
    }
    if model.label == StepLabel::Necessary {
        return match claim() {
            Ok(chain) => {
                let rationale = format!("{chain}: {reason}; the slice says {ours}: {why}");
                (model.label, model_wins.max(DECIDED), rationale)
            }
            Err(flaw) => (slice.label, slice_wins, format!("{why}; the model says {theirs}, but {flaw}")),
        };
    }
    if slice.confidence >= model.confidence {
        (slice.label, slice_wins, format!("{why}; the model says {theirs}: {reason}"))
    } else {
        (model.label, model_wins, format!("{reason}; the slice says {ours}: {why}"))
    }
}

/// Two independent probabilities for the same, as one.
fn pool(a: f32, b: f32) -> f32 {
    let (a, b) = (a.clamp(1.0 - SUREST, SUREST), b.clamp(1.0 - SUREST, SUREST));
    let yes = a * b;
    (yes / (yes + (1.0 - a) * (1.0 - b))).clamp(1.0 - SUREST, SUREST)
}

/// The share of steps, 0 to 1, on which all votes are for the same label. `None` without votes.
fn agreement(steps: &[StepEvaluation]) -> Option<f32> {
    let voted: Vec<_> = steps.iter().filter(|s| s.votes.len() > 1).collect();
    let agreed = voted.iter().filter(|s| s.agreed()).count();
    (!voted.is_empty()).then(|| agreed as f32 / voted.len() as f32)
}

/// The share of steps, 0 to 1, that all judgements of the model label alike. `None` below two judgements.
fn consistency(llm: &LlmVerdict) -> Option<f32> {
    let [first, others @ ..] = llm.judgements.as_slice() else { return None };
    if others.is_empty() || first.is_empty() {
        return None;
    }
    let same = |at: usize| others.iter().all(|j| j.get(at).map(|l| l.label) == Some(first[at].label));
    Some((0..first.len()).filter(|at| same(*at)).count() as f32 / first.len() as f32)
}

#[cfg(test)]
mod tests;
