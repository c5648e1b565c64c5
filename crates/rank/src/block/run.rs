//! A judged run in two layers: what came of it, then the steps to follow and those to avoid.

use hindsight_types::{ActionType, Experience, OutcomeStatus, Step, StepEvaluation};

use super::{Labels, code, item::Lines, quote};
use crate::experience::{dead_ends, path};

const TEXT: usize = 600;
/// Characters of a step's arguments, result or reason.
const DETAIL: usize = 120;
const NAME: usize = 64;
/// Most steps of a path; the middle of a longer one is left out.
const PATH_STEPS: usize = 12;
const DEAD_ENDS: usize = 4;

pub(crate) fn lines(experience: &Experience, detailed: bool, lines: &mut Lines) {
    let labels = lines.labels;
    let trajectory = &experience.trajectory;
    let outcome = experience.evaluation.outcome;
    lines.add(labels.task, &quote(&trajectory.task_description, TEXT / 2));
    lines.add(labels.result, &result(experience));
    if outcome == OutcomeStatus::Failure {
        lines.add(labels.caution, labels.failed_run);
    }
    if let Some(contradiction) = experience.evaluation.contradictions.first() {
        lines.add(labels.caution, &quote(contradiction, DETAIL));
    }
    if detailed {
        let followable = outcome != OutcomeStatus::Failure;
        let label = if followable { labels.path } else { labels.tried };
        lines.list(label, &path_lines(&path(experience), labels));
        lines.list(labels.dead_ends, &dead_end_lines(&dead_ends(experience), labels));
    }
}

fn result(experience: &Experience) -> String {
    let conclusion = experience.trajectory.outcome.conclusion.trim();
    let summary = experience.evaluation.summary.trim();
    quote(if summary.is_empty() { conclusion } else { summary }, TEXT)
}

fn path_lines(steps: &[&Step], labels: &Labels) -> Vec<String> {
    let number = |(at, step): (usize, &&Step)| format!("{}. {}", at + 1, action(step, labels));
    let all = steps.iter().enumerate();
    if steps.len() <= PATH_STEPS {
        return all.map(number).collect();
    }
    let half = PATH_STEPS / 2;
    let mut lines: Vec<String> = all.clone().take(half).map(number).collect();
    lines.push(format!("- {}", labels.omitted(steps.len() - PATH_STEPS)));
    lines.extend(all.skip(steps.len() - half).map(number));
    lines
}

fn action(step: &Step, labels: &Labels) -> String {
    let mut text = match step.action_type {
        ActionType::ToolCall => {
            format!("{} {}", code(&step.action_name, NAME), quote(&step.action_detail, DETAIL))
        }
        ActionType::LlmReasoning | ActionType::UserInput => {
            format!("\"{}\"", quote(&step.action_detail, DETAIL))
        }
    };
    if step.action_type == ActionType::ToolCall && !step.observation.trim().is_empty() {
        text.push_str(&format!(" → {}", quote(&step.observation, DETAIL)));
    }
    if let Some(decision) = step.decision.as_ref().filter(|d| !d.rationale.trim().is_empty()) {
        text.push_str(&format!(" ({} {})", labels.because, quote(&decision.rationale, DETAIL)));
    }
    text
}

fn dead_end_lines(steps: &[(&Step, &StepEvaluation)], labels: &Labels) -> Vec<String> {
    let mut lines: Vec<String> = steps
        .iter()
        .take(DEAD_ENDS)
        .map(|(step, verdict)| {
            let what = match step.action_type {
                ActionType::ToolCall => {
                    format!("{} {}", code(&step.action_name, NAME), quote(&step.action_detail, DETAIL))
                }
                _ => format!("\"{}\"", quote(&step.action_detail, DETAIL)),
            };
            let label = labels.step_label(verdict.label);
            format!("- {what} ({label}){}{}", labels.colon, quote(&verdict.rationale, DETAIL))
        })
        .collect();
    if steps.len() > DEAD_ENDS {
        lines.push(format!("- {}", labels.omitted(steps.len() - DEAD_ENDS)));
    }
    lines
}
