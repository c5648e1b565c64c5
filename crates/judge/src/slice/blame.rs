//! Who went wrong first, and where, in a run that failed.

use hindsight_text::truncate_chars;
use hindsight_types::{AgentId, OutcomeStatus, StepLabel, Trajectory};

use crate::effect::Effect;
use crate::signature;

use super::fate::Fate;
use super::{Case, claim, label, team};

/// The step that led a run astray, as far as the run itself shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Blame {
    pub step_index: u32,
    /// Who acted there; `None` where the run names no agents.
    pub agent: Option<AgentId>,
    /// 0 to 1. Below 0.5: nothing in the run speaks against this step more than against others.
    pub confidence: f32,
    /// What speaks against it, in words a person can check.
    pub reason: String,
}

/// Names the step that led a failed run to its wrong end: a change that was wrong; else the earliest act that
/// failed, or fact that nothing had shown; else where the stated result came from. `None` when the run is
/// known to have succeeded, or has no step of an agent.
pub fn blame(t: &Trajectory) -> Option<Blame> {
    let case = Case::of(t);
    if case.ending.status == OutcomeStatus::Success {
        return None;
    }
    let suspect = case.wrong_change().or_else(|| case.first_fault()).or_else(|| case.source())?;
    let step = case.views[suspect.at].step;
    Some(Blame {
        step_index: step.step_index,
        agent: step.agent.clone(),
        confidence: suspect.confidence,
        reason: suspect.reason,
    })
}

struct Suspect {
    at: usize,
    confidence: f32,
    reason: String,
}

impl Case<'_> {
    /// The earliest change that was taken back, contradicted, or stands in a run that failed with it.
    fn wrong_change(&self) -> Option<Suspect> {
        let labels = label::all(self);
        let wrong = |at: &usize| {
            self.views[*at].writes().is_some()
                && labels[*at].label == StepLabel::Misleading
                && !matches!(self.fates.of[*at], Fate::Undone(_))
        };
        let at = (0..self.views.len()).find(wrong)?;
        Some(Suspect { at, confidence: labels[at].confidence, reason: labels[at].rationale.clone() })
    }

    /// The earliest act that came back with an error, or fact that nobody had shown and others built on.
    fn first_fault(&self) -> Option<Suspect> {
        let claims = claim::unfounded(self);
        let coordinator = team::coordinator(&self.views);
        (0..self.views.len()).find_map(|at| {
            let view = &self.views[at];
            if view.failed() || matches!(self.fates.of[at], Fate::Refused(_)) {
                let message = signature::error_message(&view.step.observation);
                let message = truncate_chars(&message, 160);
                let reason = format!("the first act that failed: {message}");
                return Some(Suspect { at, confidence: 0.55, reason });
            }
            let (token, by) = claims.get(&at)?;
            if self.restates_task(at) || view.speaker().is_some_and(|a| coordinator == Some(a)) {
                return None;
            }
            let reason = format!(
                "states \"{}\", which nothing had shown, and {} builds on it",
                self.tokens.text(*token),
                self.views[*by].named()
            );
            Some(Suspect { at, confidence: 0.5, reason })
        })
    }

    /// Where the stated result came from: the act that showed it, else the first contribution to the run.
    fn source(&self) -> Option<Suspect> {
        let mut shown: Vec<usize> = self.said.iter().filter_map(|t| self.provenance.shown_by(*t)).collect();
        shown.sort_unstable();
        // Where half of it had been seen.
        if let Some(at) =
            shown.get(shown.len().saturating_sub(1) / 2).filter(|_| shown.len() * 2 >= self.said.len())
        {
            let reason = "the stated result came from here".to_owned();
            return Some(Suspect { at: *at, confidence: 0.4, reason });
        }
        let coordinator = team::coordinator(&self.views);
        let own = |at: &usize| !self.views[*at].is_user();
        let contributes = |at: &usize| {
            let coordinates = self.views[*at].speaker().is_some_and(|a| coordinator == Some(a));
            own(at) && !coordinates && !self.restates_task(*at)
        };
        let all = 0..self.views.len();
        let at = all.clone().find(contributes).or_else(|| all.clone().find(own))?;
        let reason = "the first contribution; nothing in the run speaks against another step".to_owned();
        Some(Suspect { at, confidence: 0.3, reason })
    }

    /// Words that hand the task on and add no act.
    fn restates_task(&self, at: usize) -> bool {
        let view = &self.views[at];
        let task = self.task.trim();
        view.effect == Effect::Think && !task.is_empty() && view.step.action_detail.contains(task)
    }
}
