//! A verdict that was asked for, step by step, and what would be kept of the run.

use std::fmt::Write as _;

use hindsight_proto::{
    common::v1::{Evaluation, Judging, Step, StepEvaluation, Trajectory, Vote},
    evaluator::v1::EvaluateResponse,
};

use super::{outcome, short, trajectory};
use crate::{names, ui::Style};

/// Characters shown of what a step did, and of a reason.
const ACTION: usize = 80;
const REASON: usize = 160;

pub(crate) fn draw(run: &Trajectory, response: &EvaluateResponse, full: bool) -> String {
    let Some(evaluation) = &response.evaluation else { return "there is no verdict".to_owned() };
    let mut text =
        format!("{}  {}\n\n", Style::Bold.paint(&run.trace_id), short(&run.task_description, REASON));
    let cut = |text: &str, width: usize| if full { text.trim().to_owned() } else { short(text, width) };
    for (step, verdict) in run.steps.iter().zip(&evaluation.steps) {
        text.push_str(&row(step, verdict, &cut));
    }
    text.push('\n');
    text.push_str(&ending(evaluation));
    if let Some(judging) = &evaluation.judging {
        text.push_str(&judged(&evaluation.judge, judging));
    }
    text.push_str(&kept(response, evaluation));
    text
}

fn row(step: &Step, verdict: &StepEvaluation, cut: &dyn Fn(&str, usize) -> String) -> String {
    let (mark, label) = trajectory::label(Some(verdict));
    let action = trajectory::what(step, &|text| cut(text, ACTION));
    let doubt = if verdict.confidence < 0.5 { " undecided" } else { "" };
    let mut text =
        format!("{:>3} {mark} {label} {:.2}{doubt} {action}\n", step.step_index, verdict.confidence);
    let _ = writeln!(text, "       {} {}", Style::Dim.paint("why"), cut(&verdict.rationale, REASON));
    if verdict.votes.iter().any(|v| v.label != verdict.label) {
        let votes: Vec<String> = verdict.votes.iter().map(vote).collect();
        let _ = writeln!(text, "       {} {}", Style::Yellow.paint("disagree"), votes.join(" · "));
    }
    text
}

fn vote(v: &Vote) -> String {
    format!("{} {} {:.2}", v.judge, names::step_label(v.label), v.confidence)
}

/// How the run ended, what that was read from and what speaks against it.
pub(super) fn ending(e: &Evaluation) -> String {
    let mut text = format!("{} {}", Style::Bold.paint("outcome"), outcome(e.outcome));
    if e.outcome_confidence > 0.0 {
        let _ = write!(text, ", {:.0} % sure", e.outcome_confidence * 100.0);
    }
    text.push('\n');
    for item in &e.outcome_evidence {
        let source = names::evidence_source(item.source);
        let _ = writeln!(
            text,
            "  {} {source}: {} ({})",
            Style::Dim.paint("evidence"),
            short(&item.detail, REASON),
            outcome(item.verdict)
        );
    }
    for contradiction in &e.contradictions {
        let _ = writeln!(text, "  {} {contradiction}", Style::Red.paint("contradiction"));
    }
    text
}

fn judged(judge: &str, j: &Judging) -> String {
    let mut facts = vec![judge.to_owned()];
    if !j.model.is_empty() {
        facts.push(format!("model {}", j.model));
        facts.push(format!("{} judgements in {} questions", j.judgements, j.calls));
        facts.push(format!("{} + {} tokens", j.input_tokens, j.output_tokens));
    }
    if j.cost_micros > 0 {
        facts.push(format!("cost {:.4}", j.cost_micros as f64 / 1e6));
    }
    let share = |name: &str, share: Option<f32>| share.map(|s| format!("{name} {:.0} %", s * 100.0));
    facts.extend(share("agreement", j.agreement));
    facts.extend(share("consistency", j.consistency));
    let mut text = format!("{} {}\n", Style::Bold.paint("judged by"), facts.join(" · "));
    if !j.fallback.is_empty() {
        let _ = writeln!(text, "  {} {}", Style::Yellow.paint("without the model"), j.fallback);
    }
    text
}

fn kept(response: &EvaluateResponse, e: &Evaluation) -> String {
    let mut text = format!("{} {}\n", Style::Bold.paint("summary"), e.summary.trim());
    for lesson in &response.lessons {
        let _ = writeln!(
            text,
            "{} {} → {}",
            Style::Green.paint("lesson"),
            short(&lesson.situation, REASON),
            short(&lesson.advice, REASON)
        );
    }
    for rejected in &e.rejected_lessons {
        let _ = writeln!(
            text,
            "{} {}: {}",
            Style::Dim.paint("no lesson"),
            short(&rejected.text, REASON),
            rejected.reason
        );
    }
    for pattern in &response.failure_patterns {
        let _ = writeln!(
            text,
            "{} {}: {}",
            Style::Red.paint("failure pattern"),
            pattern.action_name,
            short(&pattern.signature, REASON)
        );
    }
    if !response.gate_reason.is_empty() {
        let _ = writeln!(text, "{} {}", Style::Yellow.paint("would be left raw"), response.gate_reason);
    }
    text
}
