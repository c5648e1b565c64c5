//! Whether a run did what a memory advises, did the opposite, or neither.
//!
//! Advice is told in calls ([`act`]); a run followed it when it was in the situation that the advice is for
//! ([`situation`]), made the same calls, in their order, and needed them. What a run took from its own situation may
//! differ from what the advice names (another container, another order); what it chose by itself, and what tells the
//! advised call from the rejected one, must agree ([`agree`]). Whatever cannot be told for sure is neither: a line
//! of the ledger that is wrong costs more than one that is missing.

mod act;
mod agree;
mod opposite;
mod situation;
mod words;

use hindsight_types::{
    ActionType, Evaluation, Experience, FailurePattern, Lesson, OutcomeStatus, Step, StepEvaluation,
    StepLabel, StepStatus, Trajectory,
};

use act::Act;
pub(crate) use agree::Context;
use situation::{Applies, Sightings};
use words::Words;

/// Calls of one piece of advice; whoever advises more advises nothing that one could be seen to follow.
const CALLS: usize = 6;
/// Steps of a run that are looked at.
const STEPS: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stance {
    Followed,
    /// It did what is advised, saw the trouble as before, and reached what it reached by something else.
    InVain,
    /// It reached what it reached by what the advice rejects, or by the opposite.
    Contradicted,
    Neither,
}

/// What a run made of a piece of advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub stance: Stance,
    /// In the language of the run, for a person to check.
    pub rationale: String,
}

/// A judged run, prepared for reading it against many memories.
#[derive(Debug)]
pub struct Run {
    outcome: OutcomeStatus,
    deeds: Vec<Deed>,
    /// All calls that worked, whether they mattered or not.
    tried: Vec<Deed>,
    context: Context,
    sightings: Sightings,
    words: Words,
}

/// A call of the run that worked and mattered.
#[derive(Debug)]
struct Deed {
    act: Act,
    step: u32,
}

/// What a memory advises.
#[derive(Debug, Default)]
struct Advice {
    chosen: Vec<Act>,
    /// Each by itself.
    rejected: Vec<Act>,
    /// What it names of its own situation.
    context: Context,
    applies: Applies,
}

impl Run {
    pub fn new(t: &Trajectory, evaluation: &Evaluation) -> Self {
        let judged = || t.steps.iter().zip(&evaluation.steps).take(STEPS);
        let deeds_of = |wanted: fn(&Step, &StepEvaluation, OutcomeStatus) -> bool| -> Vec<Deed> {
            let steps = judged().filter(|(step, verdict)| wanted(step, verdict, evaluation.outcome));
            let deed = |step: &Step, act| Deed { act, step: step.step_index };
            steps.flat_map(|(s, _)| act::of_step(s).into_iter().map(move |act| deed(s, act))).collect()
        };
        Self {
            outcome: evaluation.outcome,
            deeds: deeds_of(counts),
            tried: deeds_of(|step, _, _| worked(step)),
            context: Context::of(t),
            sightings: Sightings::of(t),
            words: Words::of(t),
        }
    }

    pub fn lesson(&self, lesson: &Lesson) -> Reading {
        let rejected: Vec<Act> =
            lesson.basis.rejected.iter().filter_map(|text| one(act::of_text(text))).collect();
        self.read(&Advice {
            chosen: told_from(&rejected, act::of_text(&lesson.basis.chosen)),
            rejected,
            context: Context::of_words(&lesson.situation),
            applies: self.sightings.of_situation(&lesson.situation),
        })
    }

    /// Whether the run met what the lesson is about.
    pub fn meets(&self, lesson: &Lesson) -> bool {
        self.sightings.of_situation(&lesson.situation).from().is_some()
    }

    /// The path of a run that did not fail is advice, its dead ends are what it rejects.
    pub fn experience(&self, experience: &Experience) -> Reading {
        let Experience { trajectory: t, evaluation, .. } = experience;
        if evaluation.outcome == OutcomeStatus::Failure {
            return self.neither(self.words.shows_no_way());
        }
        let labelled = |wanted: fn(StepLabel) -> bool| -> Vec<Act> {
            let steps = t.steps.iter().zip(&evaluation.steps).take(STEPS);
            let acts = steps.filter(|(_, v)| wanted(v.label)).flat_map(|(s, _)| act::of_step(s));
            acts.filter(|act| act.writes).collect()
        };
        let rejected = labelled(|l| matches!(l, StepLabel::Misleading | StepLabel::Failed));
        self.read(&Advice {
            chosen: told_from(&rejected, labelled(|l| l == StepLabel::Necessary)),
            rejected,
            context: Context::of(t),
            applies: self.sightings.of_situation(&t.task_description),
        })
    }

    /// What worked in its stead is advice, the call that failed is what it rejects.
    pub fn pattern(&self, pattern: &FailurePattern) -> Reading {
        let suggested = self.words.after_opening(&pattern.suggestion);
        let rejected: Vec<Act> =
            one(act::of_call(&pattern.action_name, &pattern.action_detail)).into_iter().collect();
        self.read(&Advice {
            chosen: told_from(&rejected, suggested.map(act::of_text).unwrap_or_default()),
            rejected,
            context: Context::of_words(&pattern.example),
            applies: self.sightings.of_failure(&pattern.action_name, &pattern.signature),
        })
    }

    fn read(&self, advice: &Advice) -> Reading {
        if advice.chosen.len() > CALLS {
            return self.neither(self.words.too_much(advice.chosen.len()));
        }
        if let Some((steps, still)) = self.in_vain(advice) {
            let rationale = self.words.in_vain(&steps, still, &advice.chosen);
            return Reading { stance: Stance::InVain, rationale };
        }
        if let Some(steps) = self.followed(advice) {
            return Reading {
                stance: Stance::Followed,
                rationale: self.words.followed(&steps, &advice.chosen),
            };
        }
        match self.against(advice) {
            Some(deed) => {
                let rationale = self.words.contradicted(deed.step, &deed.act);
                Reading { stance: Stance::Contradicted, rationale }
            }
            None => self.neither(self.words.nothing_alike(advice.chosen.is_empty())),
        }
    }

    fn neither(&self, rationale: String) -> Reading {
        Reading { stance: Stance::Neither, rationale }
    }

    /// The steps that made all of the advised calls, in their order.
    fn followed(&self, advice: &Advice) -> Option<Vec<u32>> {
        // Whoever only looks does what everybody does, unless it is what the trouble calls for.
        let looks = !advice.chosen.iter().any(|act| act.writes);
        let from = if looks { advice.applies.seen? } else { advice.applies.from()? };
        self.made(&self.deeds, from, advice)
    }

    /// The steps of `deeds`, from one on, that made all of the advised calls, in their order.
    fn made(&self, deeds: &[Deed], from: u32, advice: &Advice) -> Option<Vec<u32>> {
        let mut deeds = deeds.iter().filter(|deed| deed.step >= from);
        let steps: Option<Vec<u32>> = advice
            .chosen
            .iter()
            .map(|wanted| deeds.find(|deed| self.agrees(wanted, deed, advice)).map(|deed| deed.step))
            .collect();
        steps.filter(|steps| !steps.is_empty())
    }

    /// The steps that made all of the advised calls and did not help, with the one that saw so: before anything else
    /// was changed it found the trouble of before, and what ended it came later.
    fn in_vain(&self, advice: &Advice) -> Option<(Vec<u32>, u32)> {
        let ended = matches!(self.outcome, OutcomeStatus::Success | OutcomeStatus::Partial);
        if !ended || !advice.chosen.iter().any(|act| act.writes) {
            return None;
        }
        let steps = self.made(&self.tried, advice.applies.from()?, advice)?;
        let (first, last) = (*steps.first()?, *steps.last()?);
        let changes = |deed: &&Deed| deed.step > last && deed.act.writes;
        let next = self.tried.iter().find(changes)?.step;
        let advised = |deed: &Deed| advice.chosen.iter().any(|wanted| self.agrees(wanted, deed, advice));
        let ended_otherwise = self.deeds.iter().filter(changes).any(|deed| !advised(deed));
        let still = self.sightings.again(first, last..next).filter(|_| ended_otherwise)?;
        Some((steps, still))
    }

    /// A call by which the run went against the advice. It counts only when everything that the run changed was
    /// rejected: else one cannot tell what it owes its end to.
    fn against(&self, advice: &Advice) -> Option<&Deed> {
        let advised = |deed: &Deed| advice.chosen.iter().any(|wanted| self.agrees(wanted, deed, advice));
        let rejected = |deed: &Deed| advice.rejected.iter().any(|wrong| self.agrees(wrong, deed, advice));
        let reverse = |deed: &Deed| {
            let turned = advice.chosen.iter().filter_map(opposite::of);
            turned.flatten().any(|act| self.agrees(&act, deed, advice))
        };
        let mut changes = self.deeds.iter().filter(|deed| deed.act.writes);
        let first = changes.next()?;
        let against = |deed: &Deed| !advised(deed) && (rejected(deed) || reverse(deed));
        (against(first) && changes.all(against)).then_some(first)
    }

    fn agrees(&self, wanted: &Act, deed: &Deed, advice: &Advice) -> bool {
        agree::agrees(wanted, &deed.act, |theirs, mine| {
            self.context.before(deed.step, mine)
                && (agree::same_shape(theirs, mine)
                    || (!wanted.firm.contains(theirs) && advice.context.names(theirs)))
        })
    }

    /// How the run ended.
    pub fn outcome(&self) -> OutcomeStatus {
        self.outcome
    }
}

/// Whether a step counts as something that the run did: it worked, and, unless the run failed, it was needed.
fn counts(step: &Step, verdict: &StepEvaluation, outcome: OutcomeStatus) -> bool {
    worked(step)
        && match verdict.label {
            StepLabel::Necessary => true,
            StepLabel::Failed => false,
            StepLabel::Redundant | StepLabel::Misleading => outcome == OutcomeStatus::Failure,
        }
}

fn worked(step: &Step) -> bool {
    step.action_type == ActionType::ToolCall && step.status != StepStatus::Error
}

/// Notes in each advised call what tells it from a rejected one: what agrees in nothing else is another deed.
fn told_from(rejected: &[Act], mut chosen: Vec<Act>) -> Vec<Act> {
    for act in &mut chosen {
        act.firm = rejected.iter().flat_map(|wrong| agree::differences(act, wrong)).collect();
    }
    chosen
}

/// What a text rejects is told by one call; of several one cannot tell which is meant.
fn one(mut acts: Vec<Act>) -> Option<Act> {
    acts.pop().filter(|_| acts.is_empty())
}

#[cfg(test)]
mod tests;
