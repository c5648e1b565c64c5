use std::{collections::BTreeMap, fmt::Write as _};

use hindsight_proto::{
    common::v1::{ArmReport, ScoreFactors},
    recall::v1::{RecallResponse, RecalledMemory},
};

use super::memory;
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

/// A score, its factors, and what the first of them was made of.
pub(super) fn factors(f: &ScoreFactors) -> String {
    let score = format!(
        "score {:.3} = similarity {:.2} × decay {:.2} × reliability {:.2} × environment {:.2} × trust {:.2} × stage {:.2}",
        f.total, f.similarity, f.decay, f.reliability, f.environment, f.trust, f.stage
    );
    let Some(p) = &f.parts else { return score };
    let parts = [
        ("words", p.words),
        ("meaning", p.meaning),
        ("names", p.entities),
        ("time", p.period),
        ("session", p.session),
        ("rerank", p.rerank.unwrap_or_default()),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, share)| *share > 0.0)
        .map(|(name, share)| format!("{name} {share:.2}"))
        .collect();
    if parts.is_empty() { score } else { format!("{score}\n   similarity from {}", parts.join(", ")) }
}

/// What each arm brought, arm by arm, and which were dropped.
pub(super) fn searched(arms: &[ArmReport], degraded: bool) -> String {
    let mut by_arm: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut dropped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for arm in arms {
        let kind = names::kind(arm.kind);
        if arm.dropped.is_empty() {
            by_arm.entry(&arm.arm).or_default().push(format!("{kind} {}", arm.candidates));
        } else {
            dropped.entry(&arm.dropped).or_default().push(format!("{kind} {}", arm.arm));
        }
    }
    let mut lines: Vec<String> =
        by_arm.iter().map(|(arm, found)| format!("{arm:>8}  {}", found.join(" · "))).collect();
    lines.extend(
        dropped
            .iter()
            .map(|(why, of)| format!("{}  {} ({why})", Style::Yellow.paint(" dropped"), of.join(" · "))),
    );
    let note = if degraded { format!(" ({})", Style::Yellow.paint("degraded")) } else { String::new() };
    format!("searched{note}\n{}", lines.join("\n"))
}
