//! Where a memory comes from, as a tree.

use std::fmt::Write as _;

use hindsight_codec::optional_time_from_proto;
use hindsight_proto::{
    common::v1::{EvaluationState, Evidence},
    memory::v1::{GetProvenanceResponse, ProvenanceRecall, ProvenanceRun, ProvenanceStep},
};

use super::{memory, outcome, short};
use crate::{names, ui::Style};

const WIDTH: usize = 100;
/// Lines of evidence that are shown.
const EVIDENCE: usize = 10;

/// A part of the tree with what hangs on it.
struct Node {
    text: String,
    parts: Vec<Node>,
}

impl Node {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), parts: Vec::new() }
    }

    fn with(mut self, parts: impl IntoIterator<Item = Node>) -> Self {
        self.parts.extend(parts);
        self
    }

    fn draw(&self, out: &mut String, before: &str) {
        let _ = writeln!(out, "{}", self.text);
        for (i, part) in self.parts.iter().enumerate() {
            let last = i + 1 == self.parts.len();
            let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            out.push_str(&format!("{before}{branch}"));
            part.draw(out, &format!("{before}{below}"));
        }
    }
}

pub(crate) fn tree(p: &GetProvenanceResponse) -> String {
    let Some(m) = &p.memory else { return String::new() };
    let archived = match date(p.archived_at) {
        at if at.is_empty() => String::new(),
        at => format!("  {}", Style::Yellow.paint(&format!("archived {at}"))),
    };
    let root = Node::new(format!("{} {}{archived}", Style::Bold.paint(memory::kind(m)), memory::line(m)));
    let mut text = String::new();
    root.with([runs(p), recalls(p), evidence(p)]).draw(&mut text, "");
    text
}

fn runs(p: &GetProvenanceResponse) -> Node {
    if p.run_count == 0 {
        return Node::new("learned from no run: it was told");
    }
    let more = more(p.run_count as usize, p.runs.len(), "run");
    Node::new(format!("learned from {} {}", p.run_count, plural(p.run_count as usize, "run")))
        .with(p.runs.iter().map(run).chain(more))
}

fn run(run: &ProvenanceRun) -> Node {
    let mut head = Style::Bold.paint(&run.trace_id);
    if !run.task_description.is_empty() {
        let _ = write!(head, "  {}  {}", outcome(run.outcome), short(&run.task_description, WIDTH));
    }
    if run.archived {
        let _ = write!(head, "  {}", Style::Yellow.paint("archived"));
    }
    let verdict = match &run.record {
        Some(record) if record.state() == EvaluationState::Judged => {
            format!("verdict by {}: {}", record.judge, short(&run.summary, WIDTH))
        }
        Some(record) => format!("{}: {}", names::state(record.state), record.reason),
        None => "no verdict is on record".to_owned(),
    };
    let raw = match run.raw_events {
        0 => "raw events are no longer kept".to_owned(),
        n => format!("{n} raw {}", plural(n as usize, "event")),
    };
    Node::new(head)
        .with([Node::new(verdict).with(run.steps.iter().map(step)), Node::new(Style::Dim.paint(&raw))])
}

fn step(step: &ProvenanceStep) -> Node {
    let label = format!("{:<10}", names::step_label(step.label));
    let why = Style::Dim.paint(&short(&step.rationale, WIDTH));
    Node::new(format!("{:>3} {label} {}  {why}", step.step_index, step.action_name))
}

fn recalls(p: &GetProvenanceResponse) -> Node {
    if p.recalls.is_empty() {
        return Node::new("given by no recall");
    }
    let rest = p.more_recalls.then(|| Node::new(Style::Dim.paint("and more")));
    Node::new(format!("given by {} {}", p.recalls.len(), plural(p.recalls.len(), "recall")))
        .with(p.recalls.iter().map(recall).chain(rest))
}

fn recall(recall: &ProvenanceRecall) -> Node {
    let head = format!("{}  {}  “{}”", recall.receipt_id, date(recall.at), short(&recall.query, WIDTH));
    let said = recall.feedback.as_ref().map(|said| {
        let note =
            if said.note.is_empty() { String::new() } else { format!(": {}", short(&said.note, WIDTH)) };
        Node::new(format!("{}{note}", names::feedback(said.verdict)))
    });
    Node::new(head).with([Node::new(Style::Dim.paint(&short(&recall.why, WIDTH)))]).with(said)
}

fn evidence(p: &GetProvenanceResponse) -> Node {
    if p.evidence_count == 0 {
        return Node::new("no later run says anything of it");
    }
    let more = more(p.evidence_count as usize, p.evidence.len().min(EVIDENCE), "line");
    Node::new(format!("{} {} of evidence", p.evidence_count, plural(p.evidence_count as usize, "line")))
        .with(p.evidence.iter().take(EVIDENCE).map(line).chain(more))
}

fn line(e: &Evidence) -> Node {
    let (verdict, exposure) = (names::evidence_verdict(e.verdict), names::exposure(e.exposure));
    Node::new(format!("{verdict} by {} ({exposure}, {})  {}", e.trace_id, outcome(e.outcome), date(e.at)))
}

fn more(all: usize, shown: usize, what: &str) -> Option<Node> {
    let rest = all.checked_sub(shown).filter(|rest| *rest > 0)?;
    Some(Node::new(Style::Dim.paint(&format!("and {rest} more {}", plural(rest, what)))))
}

fn plural(n: usize, what: &str) -> String {
    if n == 1 { what.to_owned() } else { format!("{what}s") }
}

fn date(at: Option<prost_types::Timestamp>) -> String {
    let at = optional_time_from_proto("at", at).ok().flatten();
    at.map(|at| at.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
}
