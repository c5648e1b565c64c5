//! What a recall leaves behind: small enough to be kept for each one, and enough to say why.

use std::collections::BTreeMap;

use hindsight_rank::{Query, Ranked, Ranking};
use hindsight_types::{
    ArmReport, Asked, Funnel, RecalledItem, Receipt, ReceiptId, Timestamp, Withheld, WithheldReason,
};

use crate::{RecallSettings, ask::Ask, search::Found};

/// Withheld memories that are told in detail: the best ones, and those that chance kept back, which a later run
/// is compared by.
const WITHHELD: usize = 50;
/// Most names that are told, and the longest of them in characters.
const NAMES: usize = 20;
const NAME_CHARS: usize = 64;

/// What a receipt tells beside how the searches and the ranking went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Story<'a> {
    pub(crate) id: ReceiptId,
    pub(crate) at: Timestamp,
    pub(crate) ask: &'a Ask,
    pub(crate) query: &'a Query,
    pub(crate) distinct: usize,
    pub(crate) shortlisted: usize,
}

pub(crate) fn receipt(
    settings: &RecallSettings,
    story: Story<'_>,
    found: Found,
    ranking: &Ranking,
) -> Receipt {
    let degraded = found.is_degraded();
    let empty_reason = if ranking.items.is_empty() {
        empty_reason(&found.reports, &ranking.empty_reason)
    } else {
        String::new()
    };
    Receipt {
        id: story.id,
        scope: story.ask.scope(),
        // A receipt is stored, so what it quotes is freed of secrets like everything else.
        query: hindsight_ingest::redact::text(&story.ask.query).into_owned(),
        asked: Some(asked(settings, story)),
        at: story.at,
        arms: found.reports,
        funnel: Some(Funnel {
            distinct: count(story.distinct),
            shortlisted: count(story.shortlisted),
            withheld: by_reason(&ranking.withheld),
        }),
        injected: ranking.items.iter().map(injected).collect(),
        withheld: withheld(&ranking.withheld),
        degraded,
        empty_reason,
        tokens: count(ranking.tokens),
    }
}

fn asked(settings: &RecallSettings, story: Story<'_>) -> Asked {
    let Story { ask, query, .. } = story;
    let name = |name: &String| {
        let short = hindsight_text::truncate_chars(name, NAME_CHARS);
        hindsight_ingest::redact::text(short).into_owned()
    };
    Asked {
        kinds: ask.kinds.clone(),
        limit: count(ask.limit),
        token_budget: count(ask.token_budget),
        environment: ask.environment.clone(),
        agent: ask.viewer.agent.clone(),
        task_type: ask.viewer.task_type.clone(),
        asked_at: ask.asked_at,
        time_zone: ask.time_zone.iana_name().unwrap_or_default().to_owned(),
        candidates: count(settings.candidates),
        floor: ask.watch.floor.unwrap_or(settings.rank.floor),
        period: query.period(),
        names: query.names().iter().take(NAMES).map(name).collect(),
        watched: ask.watch.event.clone(),
    }
}

pub(crate) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn withheld(all: &[Withheld]) -> Vec<Withheld> {
    let told = all.iter().enumerate().filter(|(at, one)| *at < WITHHELD || one.reason.is_chance());
    told.map(|(_, one)| one.clone()).collect()
}

pub(crate) fn by_reason(withheld: &[Withheld]) -> Vec<(WithheldReason, u32)> {
    let mut counts: Vec<(WithheldReason, u32)> = Vec::new();
    for one in withheld {
        match counts.iter_mut().find(|(reason, _)| *reason == one.reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((one.reason, 1)),
        }
    }
    counts
}

fn injected(item: &Ranked) -> RecalledItem {
    RecalledItem {
        memory_id: item.memory.id(),
        kind: item.memory.kind(),
        factors: item.factors,
        why: item.why.clone(),
        supersedes: item.supersedes.clone(),
    }
}

/// What was not searched comes before what the rest of the searches found.
fn empty_reason(reports: &[ArmReport], ranked: &str) -> String {
    if reports.is_empty() {
        return "the query holds no word that can be searched for".to_owned();
    }
    let mut dropped: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for report in reports.iter().filter(|report| !report.dropped.is_empty()) {
        dropped.entry(&report.dropped).or_default().push(format!("{} {}", report.kind.as_str(), report.arm));
    }
    let mut reasons: Vec<String> = dropped
        .into_iter()
        .map(|(why, of)| {
            if of.len() == reports.len() {
                format!("nothing was searched ({why})")
            } else {
                format!("not searched: {} ({why})", of.join(", "))
            }
        })
        .collect();
    if reports.iter().any(|report| report.dropped.is_empty()) {
        reasons.push(ranked.to_owned());
    }
    reasons.join("; ")
}

#[cfg(test)]
mod tests;
