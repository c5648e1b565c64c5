//! Learns memories anew, which were taken away with one of their sources, from the runs that are left: what these
//! teach is merged as it was when they were judged, so the memory is what it would be without that source.

use std::collections::BTreeSet;

use hindsight_ingest::{Assembly, assemble, encode, redact};
use hindsight_judge::distil::distil;
use hindsight_ports::Queue;
use hindsight_types::{
    CompactionTask, Experience, Memory, MemoryId, MemoryKind, Scope, TenantId, TraceId, Trajectory, Viewer,
    Visibility, Work,
};

use super::{Effect, Tools};
use crate::{broken::Broken, forgotten::Whose, message};

pub(super) async fn run(
    tools: &Tools,
    tenant: &TenantId,
    kind: MemoryKind,
    memories: &[MemoryId],
    runs: &[TraceId],
    visibility: &Visibility,
) -> Result<Effect, Broken> {
    let scope = Scope::new(tenant.clone(), visibility.clone());
    let wanted: BTreeSet<MemoryId> = memories.iter().copied().collect();
    let mut learned = Vec::new();
    for trace in runs {
        let judged = tools.store.experience(&Viewer::of_scope(&scope), trace).await?;
        let Some(judged) = judged.filter(|judged| judged.trajectory.scope == scope) else { continue };
        learned.extend(taught(tools, judged, &wanted).await?);
    }
    if learned.is_empty() {
        return Ok(Effect::skipped("the runs that are left do not teach it"));
    }
    let encoded = encode::memories(tools.embedder.as_ref(), learned).await?;
    tools.store.upsert(&encoded).await?;
    // One of these runs may have been forgotten meanwhile.
    for trace in runs {
        if let Some(judged) = tools.store.experience(&Viewer::of_scope(&scope), trace).await? {
            tools.bench.settle(&Whose::of(&judged.trajectory)).await?;
        }
    }
    if kind == MemoryKind::Lesson {
        restage(tools, tenant, memories, runs).await?;
    }
    Ok(Effect::Done)
}

/// What of `wanted` a run teaches.
async fn taught(
    tools: &Tools,
    judged: Experience,
    wanted: &BTreeSet<MemoryId>,
) -> Result<Vec<Memory>, Broken> {
    if tools.bench.is_forgotten(&Whose::of(&judged.trajectory)).await? {
        return Ok(Vec::new());
    }
    let Experience { trajectory: digested, evaluation, .. } = judged;
    let (tenant, ended_at) = (digested.scope.tenant.clone(), digested.ended_at);
    let run = whole(tools, &digested).await?.unwrap_or(digested);
    let distilled = tokio::task::spawn_blocking(move || {
        let mut run = run;
        redact::trajectory(&mut run);
        let at = evaluation.evaluated_at;
        distil(&run, &evaluation, at)
    });
    let distilled = distilled.await.map_err(|e| Broken::Final(format!("the distilling broke off: {e}")))?;
    let lessons = distilled.lessons.into_iter().map(Memory::Lesson);
    let patterns = distilled.failure_patterns.into_iter().map(Memory::FailurePattern);
    let taught = lessons.chain(patterns).filter(|memory| wanted.contains(&memory.id())).collect();
    Ok(tools.bench.without_deleted(&tenant, taught, ended_at).await?)
}

/// The run as it was judged, while its events are there; what is kept of it says less.
async fn whole(tools: &Tools, digested: &Trajectory) -> Result<Option<Trajectory>, Broken> {
    let (events, _) = tools.bench.events(&digested.scope, &digested.trace_id).await?;
    Ok(match assemble::assemble(events) {
        Assembly::Complete(run) if run.steps.len() == digested.steps.len() => Some(*run),
        _ => None,
    })
}

/// What the ledger says of a lesson counts for the one that is learned anew.
async fn restage(
    tools: &Tools,
    tenant: &TenantId,
    lessons: &[MemoryId],
    runs: &[TraceId],
) -> Result<(), Broken> {
    let (work, now) = (Work::Restage { lessons: lessons.to_vec() }, tools.clock.now());
    let cause = runs.iter().map(TraceId::as_str).collect::<Vec<_>>().join("\n");
    let why = "it was learned anew".to_owned();
    let task = CompactionTask::triggered(tenant.clone(), work, why, &cause, now);
    Ok(tools.bench.bus.publish(Queue::Compact, vec![message::upkeep(&task)]).await?)
}
