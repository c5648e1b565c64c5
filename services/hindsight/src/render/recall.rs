use std::fmt::Write as _;

use hindsight_proto::{
    common::v1::{ArmReport, Receipt, ScoreFactors},
    recall::v1::{RecallResponse, RecalledMemory},
};

use super::{memory, short};
use crate::{names, ui::Style};

/// Why each memory is there, what was searched, and the receipt.
pub(crate) fn why(r: &RecallResponse) -> String {
    let mut text = String::new();
    for (i, item) in r.items.iter().enumerate() {
        let _ = writeln!(text, "{}", one(i + 1, item));
    }
    let _ = writeln!(text, "{}", searched(&r.arms, r.degraded));
    let _ = write!(text, "receipt {} · {} tokens", r.receipt_id, r.tokens);
    text
}

fn one(place: usize, item: &RecalledMemory) -> String {
    let Some(memory) = &item.memory else { return format!("{place}. (empty)") };
    let head = Style::Bold.paint(&format!("{place}. {} {}", memory::kind(memory), memory::name(memory)));
    let factors = item.factors.as_ref().map(factors).unwrap_or_default();
    format!("{head}\n   {}\n   {factors}", item.why)
}

fn factors(f: &ScoreFactors) -> String {
    format!(
        "score {:.3} = similarity {:.2} × decay {:.2} × reliability {:.2} × environment {:.2} × trust {:.2} × stage {:.2}",
        f.total, f.similarity, f.decay, f.reliability, f.environment, f.trust, f.stage
    )
}

fn searched(arms: &[ArmReport], degraded: bool) -> String {
    let arm = |a: &ArmReport| {
        let kind = names::kind(a.kind);
        match a.dropped.as_str() {
            "" => format!("{kind} {} ({})", a.arm, a.candidates),
            reason => format!("{kind} {} dropped: {reason}", a.arm),
        }
    };
    let all = arms.iter().map(arm).collect::<Vec<_>>().join(", ");
    let note = if degraded { format!("{}; ", Style::Yellow.paint("degraded")) } else { String::new() };
    format!("{note}searched: {all}")
}

/// A receipt in full: what was asked, searched, given and withheld.
pub(crate) fn receipt(r: &Receipt) -> String {
    let mut text = format!("receipt {}\nasked     {}\n", r.receipt_id, short(&r.query, 200));
    let _ = writeln!(text, "{}", searched(&r.arms, r.degraded));
    for item in &r.injected {
        let factors = item.factors.as_ref().map(factors).unwrap_or_default();
        let head = format!("{} {} {}", Style::Green.paint("given"), names::kind(item.kind), item.memory_id);
        let _ = writeln!(text, "{head}\n   {}\n   {factors}", item.why);
    }
    for item in &r.withheld {
        let (kind, reason) = (names::kind(item.kind), names::withheld(item.reason));
        let held = Style::Dim.paint("withheld");
        let _ = writeln!(text, "{held} {kind} {} (score {:.3}): {reason}", item.memory_id, item.score);
    }
    if !r.empty_reason.is_empty() {
        let _ = writeln!(text, "nothing was given: {}", r.empty_reason);
    }
    text
}
