//! The second layer of an experience: the path to follow, and the dead ends to avoid.

use hindsight_types::{Experience, Step, StepEvaluation, StepLabel};

/// The necessary steps, in order.
pub fn path(experience: &Experience) -> Vec<&Step> {
    labelled(experience, &[StepLabel::Necessary]).map(|(step, _)| step).collect()
}

/// The steps that failed or led astray, in order, each with the reason.
pub fn dead_ends(experience: &Experience) -> Vec<(&Step, &StepEvaluation)> {
    labelled(experience, &[StepLabel::Failed, StepLabel::Misleading]).collect()
}

fn labelled<'a>(
    experience: &'a Experience,
    labels: &'a [StepLabel],
) -> impl Iterator<Item = (&'a Step, &'a StepEvaluation)> {
    let mut steps: Vec<&Step> = experience.trajectory.steps.iter().collect();
    steps.sort_by_key(|s| s.step_index);
    steps.into_iter().filter_map(move |step| {
        let verdict = experience.evaluation.steps.iter().find(|e| e.step_index == step.step_index)?;
        labels.contains(&verdict.label).then_some((step, verdict))
    })
}
