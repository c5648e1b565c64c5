//! Memories of one kind, by their ids.

use hindsight_types::{
    Experience, Fact, Lesson, Memory, MemoryId, MemoryKind, Scope, TenantId, TraceId, Viewer,
};

use super::Tools;
use crate::broken::Broken;

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

/// A judged run of this scope, archived or not: what is archived is no longer shown, and known as before.
pub(super) async fn run(tools: &Tools, scope: &Scope, trace: &TraceId) -> Result<Option<Experience>, Broken> {
    let viewer = Viewer::of_scope(scope);
    let found = match tools.store.experience(&viewer, trace).await? {
        Some(run) => Some(run),
        None => {
            let id = MemoryId::experience(&scope.tenant, trace);
            match tools.compaction.archive.archived(&viewer, id).await?.map(|archived| archived.memory) {
                Some(Memory::Experience(run)) => Some(*run),
                _ => None,
            }
        }
    };
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
