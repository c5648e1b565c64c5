use hindsight_lifecycle::facts::ended;
use hindsight_types::{Fact, MemoryId, TenantId};

use super::{Effect, Tools, memories};
use crate::broken::Broken;

/// Removes those of these facts whose time still is over, with how they were before.
pub(crate) async fn run(tools: &Tools, tenant: &TenantId, ids: &[MemoryId]) -> Result<Effect, Broken> {
    let (settings, now) = (&tools.compaction.settings.of(tenant).facts, tools.clock.now());
    let mut over: Vec<Fact> = memories::facts(tools, tenant, ids).await?;
    over.retain(|fact| ended(fact, settings, now).is_some());
    let gone = tools.compaction.archive.remove(&over).await?;
    if gone.is_empty() {
        return Ok(Effect::skipped("the time of none of these is over any more"));
    }
    Ok(Effect::Done)
}
