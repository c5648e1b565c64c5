//! Runs that taught a lesson and have no line in its ledger. When runs are judged one after the other, each that
//! teaches a lesson again is a line; when they were judged at the same time, or for two ids that turned out to be one
//! user, they knew nothing of each other. What they would have said is said now.

use hindsight_judge::credit::{self, Stance};
use hindsight_lifecycle::plan::lessons::silent;
use hindsight_types::{
    Evidence, EvidenceId, EvidenceOrigin, Experience, Exposure, Lesson, MemoryId, OutcomeStatus, TenantId,
    Verdict,
};

use super::{Tools, memories};
use crate::{broken::Broken, forgotten::Whose};

/// The earliest of them is the one that taught it.
pub(super) async fn hear(tools: &Tools, tenant: &TenantId, lesson: MemoryId) -> Result<(), Broken> {
    let ledger = &tools.compaction.ledger;
    let Some(lesson) = ledger.lesson(tenant, lesson).await? else { return Ok(()) };
    let (lines, _) = ledger.ledger(tenant, lesson.id).await?;
    if silent(&lesson, &lines).count() < 2 {
        return Ok(());
    }
    let mut runs = memories::left(tools, &lesson.scope, silent(&lesson, &lines)).await?;
    runs.sort_by(|a, b| age(a).cmp(&age(b)));
    let heard = runs.split_off(runs.len().min(1));
    if heard.is_empty() {
        return Ok(());
    }
    let (whose, said): (Vec<_>, Vec<_>) =
        heard.iter().map(|run| (Whose::of(&run.trajectory), line(&lesson, run))).unzip();
    tools.store.append_evidence(&said).await?;
    for whose in &whose {
        tools.bench.settle(whose).await?;
    }
    Ok(())
}

fn age(run: &Experience) -> impl Ord + '_ {
    (run.trajectory.ended_at, &run.trajectory.trace_id)
}

/// As of a run that learns the lesson again. One that does not confirm it says so, and is heard as well.
fn line(lesson: &Lesson, run: &Experience) -> Evidence {
    let (t, evaluation) = (&run.trajectory, &run.evaluation);
    let stance = credit::Run::new(t, evaluation).lesson(lesson).stance;
    let well = matches!(evaluation.outcome, OutcomeStatus::Success | OutcomeStatus::Partial);
    let confirms = well && !matches!(stance, Stance::Contradicted | Stance::InVain);
    Evidence {
        id: EvidenceId::of(lesson.id, &lesson.scope.tenant, &t.trace_id),
        memory_id: lesson.id,
        scope: lesson.scope.clone(),
        trace_id: t.trace_id.clone(),
        verdict: if confirms { Verdict::Supported } else { Verdict::Ignored },
        exposure: Exposure::Observed,
        origin: EvidenceOrigin::Observed,
        outcome: evaluation.outcome,
        outcome_from: None,
        steps: u32::try_from(t.steps.len()).unwrap_or(u32::MAX),
        tokens: 0,
        at: evaluation.evaluated_at,
    }
}
