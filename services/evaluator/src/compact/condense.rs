use hindsight_ingest::encode;
use hindsight_judge::effect;
use hindsight_lifecycle::rules::{self, Reading};
use hindsight_types::{Memory, MemoryId, TenantId};

use super::{Effect, Tools, memories};
use crate::broken::Broken;

/// How calls are read.
const READING: Reading = Reading { purpose: effect::purpose, changes: effect::changes };

/// Makes a rule of runs, and notes that each of them speaks for it. The lines come last: they count for what is there.
pub(crate) async fn run(tools: &Tools, tenant: &TenantId, sources: &[MemoryId]) -> Result<Effect, Broken> {
    let runs = memories::experiences(tools, tenant, sources).await?;
    let possible: Vec<MemoryId> = rules::possible(&runs, &READING).into_iter().collect();
    let lessons = memories::lessons(tools, tenant, &possible).await?;
    let (fewest, now) = (tools.compaction.settings.of(tenant).rules.runs, tools.clock.now());
    let Some(condensed) = rules::condense(&runs, &lessons, fewest, &READING, now) else {
        return Ok(Effect::skipped("the runs that are left do not make a rule any more"));
    };
    let known = lessons.iter().find(|l| l.id == condensed.lesson.id);
    if known.is_some_and(|known| condensed.lesson.sources.iter().all(|run| known.sources.contains(run))) {
        // The lesson was written before; its lines may not have been.
        tools.store.append_evidence(&condensed.evidence).await?;
        return Ok(Effect::skipped("the rule tells of these runs already"));
    }
    let rule = vec![Memory::Lesson(condensed.lesson)];
    let encoded = encode::memories(tools.embedder.as_ref(), rule).await?;
    tools.store.upsert(&encoded).await?;
    tools.store.append_evidence(&condensed.evidence).await?;
    Ok(Effect::Done)
}
