use hindsight_lifecycle::plan::patterns;
use hindsight_types::{Memory, MemoryId, MemoryKind, TenantId};

use super::{Effect, Tools};
use crate::broken::Broken;

/// Notes how often these failure patterns were seen lately.
pub(crate) async fn run(tools: &Tools, tenant: &TenantId, ids: &[MemoryId]) -> Result<Effect, Broken> {
    let (upkeep, now) = (&*tools.compaction.upkeep, tools.clock.now());
    let found = upkeep.memories_of(tenant, MemoryKind::FailurePattern, ids).await?;
    let known: Vec<_> = found
        .into_iter()
        .filter_map(|memory| match memory {
            Memory::FailurePattern(pattern) => Some(pattern),
            _ => None,
        })
        .collect();
    let mut changed = false;
    for seen in patterns::rows(upkeep, tenant, &known, now).await? {
        if let Some(frequency) = patterns::counted(&seen, now) {
            changed |= upkeep.put_frequency(tenant, seen.pattern, frequency).await?;
        }
    }
    if changed { Ok(Effect::Done) } else { Ok(Effect::skipped("what is noted of them is still so")) }
}
