//! Learns memories anew, which were taken away with one of their sources, from the runs that are left: what these
//! teach is merged as it was when they were judged, so the memory is what it would be without that source. A rule is
//! condensed anew, and what a person made of a lesson stays.

use std::collections::BTreeSet;

use hindsight_ingest::{Assembly, assemble, encode, redact};
use hindsight_judge::distil::distil;
use hindsight_lifecycle::rules;
use hindsight_ports::Queue;
use hindsight_types::{
    CompactionTask, Correction, Evidence, Experience, Memory, MemoryId, MemoryKind, Scope, TenantId, TraceId,
    Trajectory, Work,
};

use super::{Effect, Tools, condense::READING, correct, memories};
use crate::{broken::Broken, forgotten::Whose, message};

pub(super) async fn run(
    tools: &Tools,
    scope: &Scope,
    kind: MemoryKind,
    wanted: &[MemoryId],
    traces: &[TraceId],
    corrections: &[(MemoryId, Correction)],
) -> Result<Effect, Broken> {
    let tenant = &scope.tenant;
    let runs = memories::left(tools, scope, traces).await?;
    let mut missing: BTreeSet<MemoryId> = wanted.iter().copied().collect();
    let mut learned = Vec::new();
    for run in &runs {
        learned.extend(taught(tools, run, wanted).await?);
    }
    let known: BTreeSet<MemoryId> = learned.iter().map(Memory::id).collect();
    missing.retain(|memory| !known.contains(memory));
    let mut lines = Vec::new();
    if kind == MemoryKind::Lesson && !missing.is_empty() {
        let (made, evidence) = condensed(tools, tenant, &runs, &missing).await?;
        learned.extend(made);
        lines.extend(evidence);
    }
    let ids: BTreeSet<MemoryId> = learned.iter().map(Memory::id).collect();
    if !learned.is_empty() {
        let encoded = encode::memories(tools.embedder.as_ref(), learned).await?;
        tools.store.upsert(&encoded).await?;
        tools.store.append_evidence(&lines).await?;
    }
    let cause = cause(traces);
    for (lesson, correction) in corrections {
        correct::again(tools, scope, *lesson, correction, &cause).await?;
    }
    // One of these runs may have been forgotten meanwhile.
    for run in &runs {
        tools.bench.settle(&Whose::of(&run.trajectory)).await?;
    }
    if ids.is_empty() {
        return Ok(Effect::skipped("the runs that are left do not teach it"));
    }
    if kind == MemoryKind::Lesson {
        restage(tools, tenant, ids, &cause).await?;
    }
    Ok(Effect::Done)
}

/// What of `wanted` a run teaches.
async fn taught(tools: &Tools, judged: &Experience, wanted: &[MemoryId]) -> Result<Vec<Memory>, Broken> {
    let digested = &judged.trajectory;
    let (tenant, ended_at) = (digested.scope.tenant.clone(), digested.ended_at);
    let mut run = whole(tools, digested).await?.unwrap_or_else(|| digested.clone());
    let evaluation = judged.evaluation.clone();
    let distilled = tokio::task::spawn_blocking(move || {
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

/// Those that no run teaches by itself, but several together; with what speaks for them.
async fn condensed(
    tools: &Tools,
    tenant: &TenantId,
    runs: &[Experience],
    missing: &BTreeSet<MemoryId>,
) -> Result<(Vec<Memory>, Vec<Evidence>), Broken> {
    let (fewest, now) = (tools.compaction.settings.of(tenant).rules.runs, tools.clock.now());
    let (mut made, mut lines) = (Vec::new(), Vec::new());
    for rule in missing {
        let Some(condensed) = rules::rebuild(runs, *rule, fewest, &READING, now) else { continue };
        let ended_at = condensed.lesson.last_supported_at;
        let rule = vec![Memory::Lesson(condensed.lesson)];
        let rule = tools.bench.without_deleted(tenant, rule, ended_at).await?;
        if !rule.is_empty() {
            made.extend(rule);
            lines.extend(condensed.evidence);
        }
    }
    Ok((made, lines))
}

/// Tells one time from another at which the same memories were learned anew.
fn cause(traces: &[TraceId]) -> String {
    traces.iter().map(TraceId::as_str).collect::<Vec<_>>().join("\n")
}

/// What the ledger says of a lesson counts for the one that is learned anew.
async fn restage(
    tools: &Tools,
    tenant: &TenantId,
    lessons: BTreeSet<MemoryId>,
    cause: &str,
) -> Result<(), Broken> {
    let (work, now) = (Work::Restage { lessons: lessons.into_iter().collect() }, tools.clock.now());
    let why = "it was learned anew".to_owned();
    let task = CompactionTask::triggered(tenant.clone(), work, why, cause, now);
    Ok(tools.bench.bus.publish(Queue::Compact, vec![message::upkeep(&task)]).await?)
}
