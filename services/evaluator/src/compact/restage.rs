use hindsight_lifecycle::restage;
use hindsight_types::{MemoryId, TenantId};

use super::{Effect, Tools, unheard};
use crate::broken::Broken;

/// Brings lessons to the stages at which they stand, when all of their runs are heard.
pub(crate) async fn run(tools: &Tools, tenant: &TenantId, lessons: &[MemoryId]) -> Result<Effect, Broken> {
    let policy = tools.compaction.evidence.of(tenant);
    let mut moved = false;
    for lesson in lessons {
        unheard::hear(tools, tenant, *lesson).await?;
        let Some(restaged) = restage(&*tools.compaction.ledger, tenant, *lesson, &policy).await? else {
            continue;
        };
        if restaged.is_change() {
            let (from, to) = (restaged.from, restaged.standing.stage);
            tracing::info!(%tenant, %lesson, ?from, ?to, why = restaged.standing.why, "a lesson moved");
            moved = true;
        }
    }
    if moved {
        Ok(Effect::Done)
    } else {
        Ok(Effect::skipped("they have the stages that their evidence says"))
    }
}
