use std::collections::BTreeMap;

use hindsight_lifecycle::archive::{self, Cause, Places};
use hindsight_ports::Leaving;
use hindsight_types::{MemoryId, MemoryKind, TenantId};

use super::{Effect, Tools};
use crate::broken::Broken;

/// Receipts are kept this long, and so reads are known.
const READS: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

/// Moves memories to the archive that still are faded, or still are of a run with enough later ones, and are not read.
/// What is protected and what is surplus was told by all runs together when it was planned, and becomes no less by what
/// happened since.
pub(crate) async fn run(
    tools: &Tools,
    tenant: &TenantId,
    kind: MemoryKind,
    ids: &[MemoryId],
    surplus: bool,
) -> Result<Effect, Broken> {
    let (upkeep, now) = (&tools.compaction.upkeep, tools.clock.now());
    let settings = &tools.compaction.settings.of(tenant).archive;
    let found = upkeep.memories_of(tenant, kind, ids).await?;
    let reads: BTreeMap<MemoryId, u64> = upkeep.reads(tenant, ids, now - READS).await?;
    let surplus = found.iter().filter(|_| surplus).filter_map(archive::run_of).cloned().collect();
    let places = Places { surplus, ..Places::default() };
    let mut leaving = Vec::new();
    for memory in &found {
        let reads = reads.get(&memory.id()).copied().unwrap_or(0);
        let weight = archive::weight(memory, settings, now).unwrap_or(1.0);
        let why = match archive::leaves(memory, reads, &places, settings, now) {
            Some(Cause::Faded) => format!("faded to {weight:.3} and not read in 30 days"),
            Some(Cause::Surplus) => {
                format!("{} later runs ended like its run; not read in 30 days", settings.served_per_goal)
            }
            None => continue,
        };
        leaving.push(Leaving { id: memory.id(), why, instead: None });
    }
    let gone = tools.compaction.archive.archive(tenant, kind, &leaving, now).await?;
    if gone.is_empty() {
        return Ok(Effect::skipped("none of these is to leave any more"));
    }
    Ok(Effect::Done)
}
