use hindsight_lifecycle::contradictions;
use hindsight_ports::Revised;
use hindsight_types::{Lesson, MemoryId, MemoryKind, Review, ReviewDecision, ReviewId, Stage, TenantId};

use super::{Effect, Tools, memories};
use crate::broken::Broken;

/// By whom it is said that one took the place of another.
const BY: &str = "policy contradictions";
const CHANGED: &str = "they do not contradict each other any more, or a person wants the older one to serve";

pub(crate) async fn run(
    tools: &Tools,
    tenant: &TenantId,
    kind: MemoryKind,
    newer: MemoryId,
    older: &[MemoryId],
) -> Result<Effect, Broken> {
    match kind {
        MemoryKind::Fact => facts(tools, tenant, newer, older).await,
        MemoryKind::Lesson => lessons(tools, tenant, newer, older).await,
        other => Err(Broken::Final(format!("memories of kind {} are not superseded", other.as_str()))),
    }
}

async fn facts(
    tools: &Tools,
    tenant: &TenantId,
    newer: MemoryId,
    older: &[MemoryId],
) -> Result<Effect, Broken> {
    let now = tools.clock.now();
    let Some(newer) = memories::facts(tools, tenant, &[newer]).await?.pop() else {
        return Ok(Effect::skipped("what was to take their place is gone"));
    };
    let mut done = false;
    for older in memories::facts(tools, tenant, older).await? {
        if contradictions::replaces(&newer, &older, now) {
            let why = "said otherwise later";
            let revised = tools.compaction.history.supersede(&older, &newer, BY, why, now).await?;
            done |= revised == Revised::Done;
        }
    }
    if done { Ok(Effect::Done) } else { Ok(Effect::skipped(CHANGED)) }
}

/// The older is rejected in the ledger, as a person would, so that its stage stays whatever is counted later, and a
/// person may approve it after all.
async fn lessons(
    tools: &Tools,
    tenant: &TenantId,
    newer: MemoryId,
    older: &[MemoryId],
) -> Result<Effect, Broken> {
    let now = tools.clock.now();
    let Some(newer) = memories::lessons(tools, tenant, &[newer]).await?.pop() else {
        return Ok(Effect::skipped("what was to take their place is gone"));
    };
    let mut done = false;
    for older in memories::lessons(tools, tenant, older).await? {
        let (_, reviews) = tools.compaction.ledger.ledger(tenant, older.id).await?;
        if !contradictions::outweighs(&newer, &older) || contradictions::is_approved(&reviews) {
            continue;
        }
        tools.compaction.ledger.review(&rejection(&older, &newer, now)).await?;
        done |= tools.compaction.ledger.restage(tenant, older.id, Stage::Retired).await?;
    }
    if done { Ok(Effect::Done) } else { Ok(Effect::skipped(CHANGED)) }
}

fn rejection(older: &Lesson, newer: &Lesson, at: hindsight_types::Timestamp) -> Review {
    Review {
        id: ReviewId::of_request(&older.scope.tenant, &format!("superseded {} {}", older.id, newer.id)),
        memory_id: older.id,
        scope: older.scope.clone(),
        decision: ReviewDecision::Rejected,
        by: BY.to_owned(),
        reason: format!(
            "lesson {} advises the opposite in the same situation and has more evidence",
            newer.id
        ),
        at,
    }
}
