//! A run as a list of steps with the verdict on each.

use std::fmt::Write as _;

use hindsight_proto::{
    common::v1::{ActionType, Evaluation, Step, StepEvaluation, StepLabel, Trajectory},
    memory::v1::GetTrajectoryResponse,
};

use super::{evaluation::ending, outcome, short};
use crate::{names, ui::Style};

/// Characters shown of what a step did and of what came back.
const WIDTH: usize = 110;

pub(crate) fn draw(r: &GetTrajectoryResponse, full: bool) -> String {
    let Some(run) = &r.trajectory else {
        return "nothing of this run is left but the record of its evaluation".to_owned();
    };
    let mut text = head(run, r.evaluation.as_ref());
    for step in &run.steps {
        let verdict =
            r.evaluation.as_ref().and_then(|e| e.steps.iter().find(|s| s.step_index == step.step_index));
        text.push_str(&one(step, verdict, full));
    }
    text.push_str(&foot(run, r));
    text
}

fn head(run: &Trajectory, evaluation: Option<&Evaluation>) -> String {
    let stated = run.outcome.as_ref().map_or(0, |o| o.status);
    let ended = evaluation.map_or(stated, |e| e.outcome);
    let tags = run.environment.as_ref().map(|e| e.tags.join(", ")).unwrap_or_default();
    let mut facts = vec![outcome(ended), format!("{} steps", run.steps.len())];
    facts.extend(duration(run));
    facts.extend([run.user.clone(), tags].into_iter().filter(|t| !t.is_empty()));
    format!(
        "{}  {}\n{}\n\n",
        Style::Bold.paint(&run.trace_id),
        facts.join(" · "),
        run.task_description.trim()
    )
}

fn duration(run: &Trajectory) -> Option<String> {
    let seconds = run.ended_at.as_ref()?.seconds - run.started_at.as_ref()?.seconds;
    match seconds {
        ..=0 => None,
        s @ 1..120 => Some(format!("{s} s")),
        s => Some(format!("{} min", s / 60)),
    }
}

fn one(step: &Step, verdict: Option<&StepEvaluation>, full: bool) -> String {
    let (mark, label) = label(verdict);
    let agent = if step.agent.is_empty() { String::new() } else { format!(" [{}]", step.agent) };
    let cut = |text: &str| if full { text.trim().replace('\n', "\n       ") } else { short(text, WIDTH) };
    let mut text = format!("{:>3} {mark} {label} {}{agent}\n", step.step_index, what(step, &cut));
    let mut line = |name: &str, body: &str| {
        if !body.trim().is_empty() {
            let _ = writeln!(text, "       {} {}", Style::Dim.paint(name), cut(body));
        }
    };
    line("→", &step.observation);
    if let Some(d) = &step.decision {
        let instead = if d.rejected.is_empty() {
            String::new()
        } else {
            format!(" instead of {}", d.rejected.join(", "))
        };
        line("chose", &format!("{}{instead}: {}", d.chosen, d.rationale));
    }
    line("thought", &step.reflection);
    if let Some(v) = verdict {
        let _ = writeln!(text, "       {} {}{}", Style::Dim.paint("why"), v.rationale, needs(v));
    }
    text
}

pub(super) fn what(step: &Step, cut: &dyn Fn(&str) -> String) -> String {
    match step.action_type() {
        ActionType::ToolCall => {
            format!("{} {}", Style::Bold.paint(&step.action_name), cut(&step.action_detail))
        }
        ActionType::UserInput => format!("{} {}", Style::Bold.paint("user:"), cut(&step.action_detail)),
        _ => cut(&step.action_detail),
    }
}

fn needs(v: &StepEvaluation) -> String {
    if v.depends_on.is_empty() {
        return String::new();
    }
    let steps = v.depends_on.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!(" (needs {steps})")
}

/// A mark and the word for it. The word is padded here, since colours have no width.
pub(super) fn label(verdict: Option<&StepEvaluation>) -> (String, String) {
    let (mark, word, style) = match verdict.map(StepEvaluation::label) {
        Some(StepLabel::Necessary) => ("●", "necessary", Style::Green),
        Some(StepLabel::Redundant) => ("○", "redundant", Style::Dim),
        Some(StepLabel::Misleading) => ("◆", "misleading", Style::Magenta),
        Some(StepLabel::Failed) => ("✗", "failed", Style::Red),
        _ => ("·", "not judged", Style::Dim),
    };
    (style.paint(mark), style.paint(&format!("{word:<10}")))
}

fn foot(run: &Trajectory, r: &GetTrajectoryResponse) -> String {
    let mut text = String::new();
    let Some(o) = &run.outcome else { return text };
    if !o.conclusion.trim().is_empty() {
        let _ = writeln!(text, "\n{} {}", Style::Bold.paint("conclusion"), o.conclusion.trim());
    }
    // A verdict lists what was stated, too.
    for e in o.evidence.iter().filter(|_| r.evaluation.is_none()) {
        let _ = writeln!(
            text,
            "{} {}: {} ({})",
            Style::Bold.paint("evidence"),
            names::evidence_source(e.source),
            e.detail,
            outcome(e.verdict)
        );
    }
    match (&r.evaluation, &r.record) {
        (Some(e), _) => {
            text.push_str(&ending(e));
            let _ = writeln!(
                text,
                "{} {}\n{} {}",
                Style::Bold.paint("summary"),
                e.summary.trim(),
                Style::Dim.paint("judged by"),
                e.judge
            );
        }
        (None, Some(record)) => {
            let _ =
                writeln!(text, "\n{} {}", Style::Yellow.paint(&names::state(record.state)), record.reason);
        }
        (None, None) => text.push_str("\nnot judged yet\n"),
    }
    text
}
