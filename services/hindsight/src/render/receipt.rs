//! A receipt in full: from what was asked through the funnel to what was given, what was said of it, and why
//! an expected memory did not come.

use std::fmt::Write as _;

use hindsight_codec::optional_time_from_proto;
use hindsight_proto::{
    common::v1::{Feedback, FeedbackVerdict, MemoryKind, RecallAsked, RecallFunnel, Receipt},
    recall::v1::{ExpectedArm, ExpectedFate, ExpectedMemory, ExplainRecallResponse, ReportOutcomeResponse},
};
use hindsight_types::Timestamp;

use super::{
    outcome,
    recall::{factors, searched},
    short,
};
use crate::{names, ui::Style};

const WIDTH: usize = 200;
/// Withheld memories that are shown one by one.
const WITHHELD: usize = 10;

pub(crate) fn explained(response: &ExplainRecallResponse) -> String {
    let mut text = response.receipt.as_ref().map(receipt).unwrap_or_default();
    if let Some(told) = &response.expected {
        text.push('\n');
        text.push_str(&expected(told));
    }
    text
}

pub(crate) fn reported(response: &ReportOutcomeResponse) -> String {
    let mut text: String = response.feedback.iter().map(|f| format!("{}\n", feedback(f))).collect();
    if response.evidence > 0 {
        let lines = if response.evidence == 1 { "line" } else { "lines" };
        let _ = writeln!(text, "{} {lines} of evidence added or changed", response.evidence);
    }
    text
}

fn receipt(r: &Receipt) -> String {
    let mut text = format!("{} {}\n", Style::Bold.paint("receipt"), r.receipt_id);
    let _ = writeln!(text, "asked     {}", short(&r.query, WIDTH));
    if let Some(asked) = &r.asked {
        text.push_str(&understood(asked));
    }
    let _ = writeln!(text, "{}", searched(&r.arms, r.degraded));
    if let Some(funnel) = &r.funnel {
        let _ = writeln!(text, "{}", way(funnel, r));
    }
    text.push('\n');
    for item in &r.injected {
        let head = format!("{} {} {}", Style::Green.paint("given"), names::kind(item.kind), item.memory_id);
        let score = item.factors.as_ref().map(factors).unwrap_or_default();
        let _ = writeln!(text, "{head}\n   {}\n   {score}", item.why);
        for said in r.feedback.iter().filter(|f| f.memory_id == item.memory_id) {
            let _ = writeln!(text, "   {}", feedback(said));
        }
    }
    text.push_str(&withheld(r));
    if !r.empty_reason.is_empty() {
        let _ = writeln!(text, "{}: {}", Style::Yellow.paint("nothing was given"), r.empty_reason);
    }
    text
}

/// What the words were understood to mean.
fn understood(asked: &RecallAsked) -> String {
    let kinds: Vec<String> = asked.kinds.iter().map(|kind| names::kind(*kind)).collect();
    let mut text = format!(
        "          at most {} of {}, {} tokens; floor {:.2}\n",
        asked.limit,
        kinds.join(", "),
        asked.token_budget,
        asked.floor
    );
    if let Some(watched) = &asked.watched {
        let tool =
            if watched.tool.is_empty() { String::new() } else { format!(" {}", short(&watched.tool, WIDTH)) };
        let run =
            if watched.trace_id.is_empty() { String::new() } else { format!(" in {}", watched.trace_id) };
        let _ =
            writeln!(text, "          on a stream: {}{tool}{run}", names::reminder_trigger(watched.trigger));
    }
    if let Some(period) = &asked.period {
        let day =
            |time| optional_time_from_proto("period", time).ok().flatten().map(date).unwrap_or_default();
        let _ = writeln!(text, "          of the time from {} to {}", day(period.from), day(period.until));
    }
    text
}

fn date(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// candidates → shortlist → given, and what became of the rest.
fn way(funnel: &RecallFunnel, r: &Receipt) -> String {
    let arrow = Style::Dim.paint("→");
    let held: Vec<String> =
        funnel.withheld.iter().map(|w| format!("{} {}", w.count, names::withheld(w.reason))).collect();
    let held = if held.is_empty() { String::new() } else { format!(" ({})", held.join(", ")) };
    let given = Style::Bold.paint(&format!("{} given", r.injected.len()));
    format!(
        "  funnel  {} candidates {arrow} {} read {arrow} {given}, {} tokens{held}",
        funnel.distinct, funnel.shortlisted, r.tokens
    )
}

fn withheld(r: &Receipt) -> String {
    let mut text = String::new();
    for item in r.withheld.iter().take(WITHHELD) {
        let (kind, reason) = (names::kind(item.kind), names::withheld(item.reason));
        let held = Style::Dim.paint("withheld");
        let instead = match item.instead.as_str() {
            "" => String::new(),
            other => format!(", see {other}"),
        };
        let _ =
            writeln!(text, "{held} {kind} {} (score {:.3}): {reason}{instead}", item.memory_id, item.score);
    }
    if r.withheld.len() > WITHHELD {
        let _ = writeln!(text, "{}", Style::Dim.paint(&format!("and {} more", r.withheld.len() - WITHHELD)));
    }
    text
}

fn feedback(f: &Feedback) -> String {
    let style = match f.verdict() {
        FeedbackVerdict::Helpful => Style::Green,
        FeedbackVerdict::Harmful => Style::Red,
        _ => Style::Dim,
    };
    let mut text = format!("{} {}", style.paint(&names::feedback(f.verdict)), f.memory_id);
    if !f.trace_id.is_empty() {
        let _ = write!(text, " in {} ({})", f.trace_id, outcome(f.outcome));
    }
    if !f.note.is_empty() {
        let _ = write!(text, ": {}", short(&f.note, WIDTH));
    }
    text
}

fn expected(told: &ExpectedMemory) -> String {
    let kind = match told.kind() {
        MemoryKind::Unspecified => "memory".to_owned(),
        _ => names::kind(told.kind),
    };
    let (style, came) = match told.fate() {
        ExpectedFate::Given => (Style::Green, "came"),
        _ => (Style::Yellow, "did not come"),
    };
    let mut text =
        format!("{} {kind} {} {}\n", Style::Bold.paint("expected"), told.memory_id, style.paint(came));
    let _ = writeln!(text, "   why     {}", told.reason);
    for arm in &told.arms {
        let _ = writeln!(text, "   {}", place(arm));
    }
    if let Some(score) = &told.factors {
        let last = told.last_given.map(|s| format!("; the last that was given {s:.3}")).unwrap_or_default();
        let _ = writeln!(text, "   {}\n   similarity must reach {:.2}{last}", factors(score), told.floor);
    }
    if !told.remedy.is_empty() {
        let _ = writeln!(text, "   {}  {}", Style::Bold.paint("remedy"), told.remedy);
    }
    text
}

fn place(arm: &ExpectedArm) -> String {
    let name = format!("{:>8}", arm.arm);
    let Some(score) = arm.score else { return format!("{name}  does not find it") };
    let rank = match arm.rank {
        0 => "beyond 1000".to_owned(),
        rank => format!("number {rank}"),
    };
    let last = arm.last_candidate.map(|last| format!(", the last has {last:.3}")).unwrap_or_default();
    format!("{name}  {rank} by {score:.3}; the first {} are candidates{last}", arm.candidates)
}
