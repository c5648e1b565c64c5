use hindsight_proto::common::v1::{Attachment, Fact, Memory, memory::Kind};

use super::short;
use crate::{names, ui::Style};

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

/// What was said, what sort of thing it is, and what belongs to it.
fn fact(f: &Fact) -> String {
    let attachment = |a: &Attachment| match a.caption.as_str() {
        "" => a.uri.clone(),
        caption => format!("{} ({})", a.uri, short(caption, WIDTH)),
    };
    let known =
        [names::fact_type(f.r#type), names::fact_status(f.status)].into_iter().filter(|w| !w.is_empty());
    let details: Vec<String> = known.chain(f.attachments.iter().map(attachment)).collect();
    let text = short(&f.content, WIDTH);
    if details.is_empty() { text } else { format!("{text}  {}", Style::Dim.paint(&details.join(" · "))) }
}

/// A memory on one line, with its id.
pub(crate) fn line(m: &Memory) -> String {
    let (id, text) = match &m.kind {
        Some(Kind::Fact(f)) => (&f.memory_id, fact(f)),
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
