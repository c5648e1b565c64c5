use hindsight_ingest::encode;
use hindsight_judge::effect;
use hindsight_lifecycle::rules::{self, Reading};
use hindsight_types::{Memory, MemoryId, TenantId};

use super::{Effect, Tools, memories};
use crate::{broken::Broken, forgotten::Whose};

/// How calls are read.
pub(super) const READING: Reading = Reading { purpose: effect::purpose, changes: effect::changes };

/// Makes a rule of runs, and notes that each of them speaks for it. The lines come last: they count for what is there.
/// A run that was forgotten says nothing, and a rule that was deleted is not made again of runs from before.
pub(crate) async fn run(tools: &Tools, tenant: &TenantId, sources: &[MemoryId]) -> Result<Effect, Broken> {
    let mut runs = Vec::new();
    for run in memories::experiences(tools, tenant, sources).await? {
        if !tools.bench.is_forgotten(&Whose::of(&run.trajectory)).await? {
            runs.push(run);
        }
    }
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
    let ended_at = condensed.lesson.last_supported_at;
    let rule = vec![Memory::Lesson(condensed.lesson)];
    let rule = tools.bench.without_deleted(tenant, rule, ended_at).await?;
    if rule.is_empty() {
        return Ok(Effect::skipped("the rule was deleted after these runs"));
    }
    let encoded = encode::memories(tools.embedder.as_ref(), rule).await?;
    tools.store.upsert(&encoded).await?;
    tools.store.append_evidence(&condensed.evidence).await?;
    for run in &runs {
        tools.bench.settle(&Whose::of(&run.trajectory)).await?;
    }
    Ok(Effect::Done)
}
