//! What a look at known failures leaves behind.

use hindsight_rank::watch::Warning;
use hindsight_types::{
    ArmReport, Asked, Funnel, MemoryKind, RecalledItem, Receipt, ReceiptId, Scope, Timestamp, Visibility,
    Watched, Withheld,
};

use super::event::Opening;
use crate::receipt::{by_reason, count};

pub(super) struct Story<'a> {
    pub(super) id: ReceiptId,
    pub(super) now: Timestamp,
    pub(super) opening: &'a Opening,
    pub(super) watched: Watched,
    /// The call that was to be made, in words.
    pub(super) call: String,
    /// Known failures that it was like.
    pub(super) candidates: usize,
    /// How like the call one had to be.
    pub(super) alike: f32,
}

pub(super) fn receipt(story: Story<'_>, said: Option<&Warning>, withheld: Vec<Withheld>) -> Receipt {
    let Opening { viewer, environment, token_budget, time_zone, .. } = story.opening;
    let visibility = viewer.user.clone().map_or(Visibility::Tenant, Visibility::User);
    let kind = MemoryKind::FailurePattern;
    let reasons = by_reason(&withheld);
    let empty_reason = match said {
        Some(_) => String::new(),
        None => format!("{} known failures are like the call, all withheld", withheld.len()),
    };
    Receipt {
        id: story.id,
        scope: Scope::new(viewer.tenant.clone(), visibility),
        query: hindsight_ingest::redact::text(&story.call).into_owned(),
        asked: Some(Asked {
            kinds: vec![kind],
            limit: 1,
            token_budget: count(*token_budget),
            environment: environment.clone(),
            agent: viewer.agent.clone(),
            task_type: viewer.task_type.clone(),
            time_zone: time_zone.iana_name().unwrap_or_default().to_owned(),
            floor: story.alike,
            watched: Some(story.watched),
            ..Asked::default()
        }),
        at: story.now,
        arms: vec![ArmReport {
            kind,
            arm: "calls".to_owned(),
            candidates: count(story.candidates),
            dropped: String::new(),
        }],
        funnel: Some(Funnel {
            distinct: count(story.candidates),
            shortlisted: count(story.candidates),
            withheld: reasons,
        }),
        injected: said.map(injected).into_iter().collect(),
        withheld,
        degraded: false,
        empty_reason,
        tokens: said.map_or(0, |warning| count(warning.tokens)),
    }
}

fn injected(warning: &Warning) -> RecalledItem {
    RecalledItem {
        memory_id: warning.item.memory.id(),
        kind: warning.item.memory.kind(),
        factors: warning.item.factors,
        why: warning.item.why.clone(),
        supersedes: Vec::new(),
    }
}
