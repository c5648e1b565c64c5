use hindsight_proto::common::v1::{Memory, memory::Kind};

use super::short;
use crate::ui::Style;

const WIDTH: usize = 100;

pub(crate) fn kind(m: &Memory) -> &'static str {
    match &m.kind {
        Some(Kind::Fact(_)) => "fact",
        Some(Kind::Experience(_)) => "experience",
        Some(Kind::Lesson(_)) => "lesson",
        Some(Kind::FailurePattern(_)) => "failure pattern",
        Some(Kind::Step(_)) => "step",
        None => "unknown",
    }
}

/// What a memory is called: the run, the tool that fails, or the beginning of what it says.
pub(crate) fn name(m: &Memory) -> String {
    match &m.kind {
        Some(Kind::Fact(f)) => short(&f.content, WIDTH),
        Some(Kind::Experience(e)) => e.trajectory.as_ref().map_or_else(String::new, |t| t.trace_id.clone()),
        Some(Kind::Lesson(l)) => short(&l.situation, WIDTH),
        Some(Kind::FailurePattern(p)) => format!("{}: {}", p.action_name, short(&p.example, WIDTH)),
        Some(Kind::Step(s)) => format!("{}#{}", s.trace_id, s.step_index),
        None => String::new(),
    }
}

/// A memory on one line, with its id.
pub(crate) fn line(m: &Memory) -> String {
    let (id, text) = match &m.kind {
        Some(Kind::Fact(f)) => (&f.memory_id, short(&f.content, WIDTH)),
        Some(Kind::Experience(e)) => {
            let task = e.trajectory.as_ref().map(|t| short(&t.task_description, WIDTH)).unwrap_or_default();
            (&e.memory_id, format!("{}  {task}", name(m)))
        }
        Some(Kind::Lesson(l)) => {
            (&l.memory_id, format!("{} → {}", short(&l.situation, WIDTH), short(&l.advice, WIDTH)))
        }
        Some(Kind::FailurePattern(p)) => {
            (&p.memory_id, format!("{} (seen in {} runs)", name(m), p.sources.len()))
        }
        Some(Kind::Step(s)) => (&s.memory_id, format!("{}  {}", name(m), short(&s.text, WIDTH))),
        None => return String::new(),
    };
    format!("{}  {text}", Style::Dim.paint(id))
}
