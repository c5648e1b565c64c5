use std::collections::BTreeSet;

use hindsight_forgetting::Arriving;
use hindsight_ingest::encode;
use hindsight_lifecycle::duplicates;
use hindsight_ports::{Leaving, MOST_SUBJECTS, Revised};
use hindsight_types::{
    Evidence, EvidenceId, Fact, Lesson, Memory, MemoryId, MemoryKind, Review, ReviewId, Subject, TenantId,
};

use super::{Effect, Tools, memories};
use crate::broken::Broken;

/// By whom it is said that one took the place of another.
const BY: &str = "policy merge";
const WHY: &str = "it says the same in other words";

pub(crate) async fn run(
    tools: &Tools,
    tenant: &TenantId,
    kind: MemoryKind,
    keep: MemoryId,
    others: &[MemoryId],
) -> Result<Effect, Broken> {
    match kind {
        MemoryKind::Lesson => lessons(tools, tenant, keep, others).await,
        MemoryKind::Fact => facts(tools, tenant, keep, others).await,
        other => Err(Broken::Final(format!("memories of kind {} are not merged", other.as_str()))),
    }
}

/// The survivor learns what the others know, then takes over what was said of them, then they leave. Broken off
/// anywhere, it is done again from the beginning.
async fn lessons(
    tools: &Tools,
    tenant: &TenantId,
    keep: MemoryId,
    others: &[MemoryId],
) -> Result<Effect, Broken> {
    let all: Vec<MemoryId> = others.iter().copied().chain([keep]).collect();
    let mut found = memories::lessons(tools, tenant, &all).await?;
    let Some(at) = found.iter().position(|lesson| lesson.id == keep) else {
        return Ok(Effect::skipped("the lesson that was to stay is gone"));
    };
    let survivor = found.swap_remove(at);
    found.retain(|other| other.id != keep && duplicates::same_lesson(&survivor, other));
    if found.is_empty() {
        return Ok(Effect::skipped("none of these says the same any more"));
    }
    learn(tools, &survivor, &found).await?;
    for other in &found {
        take_over(tools, tenant, other, &survivor).await?;
    }
    let leaving: Vec<Leaving> = found
        .iter()
        .map(|other| Leaving { id: other.id, why: format!("{WHY}: {keep}"), instead: Some(keep) })
        .collect();
    settle(tools, &survivor, &found).await?;
    let gone =
        tools.compaction.archive.archive(tenant, MemoryKind::Lesson, &leaving, tools.clock.now()).await?;
    if gone.is_empty() {
        return Ok(Effect::skipped("somebody wants each of these to stay, or changed it meanwhile"));
    }
    Ok(Effect::Done)
}

/// Sources and times of all; what it says stays as it is.
async fn learn(tools: &Tools, survivor: &Lesson, others: &[Lesson]) -> Result<(), Broken> {
    let mut sources: BTreeSet<_> = survivor.sources.iter().cloned().collect();
    sources.extend(others.iter().flat_map(|other| other.sources.iter().cloned()));
    let learned = others.iter().map(|other| other.created_at).min();
    let supported = others.iter().map(|other| other.last_supported_at).max();
    let next = Lesson {
        sources: sources.into_iter().collect(),
        created_at: learned.map_or(survivor.created_at, |at| at.min(survivor.created_at)),
        last_supported_at: supported
            .map_or(survivor.last_supported_at, |at| at.max(survivor.last_supported_at)),
        ..survivor.clone()
    };
    if next == *survivor {
        return Ok(());
    }
    let encoded = encode::memories(tools.embedder.as_ref(), vec![Memory::Lesson(next)]).await?;
    Ok(tools.store.upsert(&encoded).await?)
}

/// Whatever was said of one lesson is said of the other; a run that spoke of both speaks once.
async fn take_over(tools: &Tools, tenant: &TenantId, of: &Lesson, to: &Lesson) -> Result<(), Broken> {
    let (lines, reviews) = tools.compaction.ledger.ledger(tenant, of.id).await?;
    let lines: Vec<Evidence> = lines
        .into_iter()
        .map(|line| Evidence { id: EvidenceId::of(to.id, tenant, &line.trace_id), memory_id: to.id, ..line })
        .collect();
    if !lines.is_empty() {
        tools.store.append_evidence(&lines).await?;
    }
    for review in reviews {
        let id = ReviewId::of_request(tenant, &format!("merged {} {}", review.id, to.id));
        tools.compaction.ledger.review(&Review { id, memory_id: to.id, ..review }).await?;
    }
    Ok(())
}

/// A run that was forgotten meanwhile takes what was learned from it with it.
async fn settle(tools: &Tools, survivor: &Lesson, others: &[Lesson]) -> Result<(), Broken> {
    let Some(forgetter) = tools.bench.forgetter.get() else { return Ok(()) };
    let lessons = || std::iter::once(survivor).chain(others);
    let recorded_at =
        lessons().map(|lesson| lesson.last_supported_at).max().unwrap_or(survivor.last_supported_at);
    let runs: BTreeSet<_> = lessons().flat_map(|lesson| &lesson.sources).collect();
    let subjects = runs.into_iter().map(|run| Subject::Run(run.clone()));
    let subjects = subjects.chain(survivor.scope.user().map(|user| Subject::User(user.clone())));
    let arriving: Vec<Arriving> =
        subjects.map(|subject| Arriving { subjects: vec![subject], recorded_at }).collect();
    for arriving in arriving.chunks(MOST_SUBJECTS) {
        for forgotten in forgetter.forgotten(&survivor.scope.tenant, arriving).await?.into_iter().flatten() {
            forgetter.sweep(&forgotten, "merged").await?;
        }
    }
    Ok(())
}

async fn facts(
    tools: &Tools,
    tenant: &TenantId,
    keep: MemoryId,
    others: &[MemoryId],
) -> Result<Effect, Broken> {
    let all: Vec<MemoryId> = others.iter().copied().chain([keep]).collect();
    let (mut found, now) = (memories::facts(tools, tenant, &all).await?, tools.clock.now());
    let Some(at) = found.iter().position(|fact| fact.id == keep) else {
        return Ok(Effect::skipped("the fact that was to stay is gone"));
    };
    let survivor = found.swap_remove(at);
    let same = |other: &Fact| other.id != keep && duplicates::same_fact(&survivor, other, now);
    let mut done = false;
    for other in found.iter().filter(|other| same(other)) {
        let revised = tools.compaction.history.supersede(other, &survivor, BY, WHY, now).await?;
        done |= revised == Revised::Done;
    }
    if done { Ok(Effect::Done) } else { Ok(Effect::skipped("none of these says the same any more")) }
}
