//! Memories of one kind, by their ids.

use hindsight_ports::judged_run;
use hindsight_types::{
    Experience, Fact, Lesson, Memory, MemoryId, MemoryKind, Scope, TenantId, TraceId, Viewer,
};

use super::Tools;
use crate::{broken::Broken, forgotten::Whose};

pub(super) async fn experiences(
    tools: &Tools,
    tenant: &TenantId,
    ids: &[MemoryId],
) -> Result<Vec<Experience>, Broken> {
    let found = tools.compaction.upkeep.memories_of(tenant, MemoryKind::Experience, ids).await?;
    let of_kind = |memory| match memory {
        Memory::Experience(run) => Some(*run),
        _ => None,
    };
    Ok(found.into_iter().filter_map(of_kind).collect())
}

/// Those of the runs that are there, archived or not, and were not forgotten.
pub(super) async fn left(
    tools: &Tools,
    scope: &Scope,
    traces: impl IntoIterator<Item = &TraceId>,
) -> Result<Vec<Experience>, Broken> {
    let mut runs = Vec::new();
    for trace in traces {
        let Some(run) = run(tools, scope, trace).await? else { continue };
        if !tools.bench.is_forgotten(&Whose::of(&run.trajectory)).await? {
            runs.push(run);
        }
    }
    Ok(runs)
}

/// A judged run of this scope.
async fn run(tools: &Tools, scope: &Scope, trace: &TraceId) -> Result<Option<Experience>, Broken> {
    let (store, archive) = (&*tools.store, &*tools.compaction.archive);
    let found = judged_run(store, archive, &Viewer::of_scope(scope), trace).await?;
    Ok(found.filter(|run| run.trajectory.scope == *scope))
}

pub(super) async fn lessons(
    tools: &Tools,
    tenant: &TenantId,
    ids: &[MemoryId],
) -> Result<Vec<Lesson>, Broken> {
    let found = tools.compaction.upkeep.memories_of(tenant, MemoryKind::Lesson, ids).await?;
    let of_kind = |memory| match memory {
        Memory::Lesson(lesson) => Some(lesson),
        _ => None,
    };
    Ok(found.into_iter().filter_map(of_kind).collect())
}

pub(super) async fn facts(tools: &Tools, tenant: &TenantId, ids: &[MemoryId]) -> Result<Vec<Fact>, Broken> {
    let found = tools.compaction.upkeep.memories_of(tenant, MemoryKind::Fact, ids).await?;
    let of_kind = |memory| match memory {
        Memory::Fact(fact) => Some(fact),
        _ => None,
    };
    Ok(found.into_iter().filter_map(of_kind).collect())
}
