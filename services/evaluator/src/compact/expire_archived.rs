use hindsight_types::{MemoryId, MemoryKind, TenantId};

use super::{Effect, Tools};
use crate::broken::Broken;

/// Deletes those of these memories for good that still are in the archive, and have been for long enough.
pub(crate) async fn run(
    tools: &Tools,
    tenant: &TenantId,
    kind: MemoryKind,
    ids: &[MemoryId],
) -> Result<Effect, Broken> {
    let before = tools.clock.now() - tools.compaction.settings.of(tenant).archive.keep;
    let gone = tools.compaction.archive.expire(tenant, kind, ids, before).await?;
    if gone.is_empty() {
        return Ok(Effect::skipped("none of these is in the archive for so long any more"));
    }
    Ok(Effect::Done)
}
