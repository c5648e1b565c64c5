use std::collections::{BTreeMap, BTreeSet};

use hindsight_ports::{StoreError, Upkeep};
use hindsight_types::{
    EvaluationState, Experience, Memory, MemoryId, MemoryKind, TenantId, Timestamp, TraceId,
};

use super::{Importance, Judged, RawEventSettings, RawRun};

/// Receipts are kept this long, and so reads are known.
const READS: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

/// What has to be known of these runs, at most 1 000. `judging`: runs wait to be judged, and one of which no state
/// is known may be among them.
pub async fn rows(
    upkeep: &dyn Upkeep,
    tenant: &TenantId,
    traces: &[TraceId],
    settings: &RawEventSettings,
    now: Timestamp,
    judging: bool,
) -> Result<Vec<RawRun>, StoreError> {
    let open = upkeep.open_of(tenant, traces).await?;
    let young = upkeep.events_since(tenant, traces, now - settings.keep).await?;
    let evaluations: BTreeMap<TraceId, EvaluationState> =
        upkeep.evaluations(tenant, traces).await?.into_iter().map(|r| (r.trace_id, r.state)).collect();
    let mut judged = judged(upkeep, tenant, traces, now).await?;
    let traces: BTreeSet<&TraceId> = traces.iter().collect();
    let waits = judging.then(|| EvaluationState::Waiting { reason: "it may wait in the queue".to_owned() });
    let row = |trace: &TraceId| RawRun {
        trace: trace.clone(),
        goes_on: open.contains(trace) || young.get(trace).is_some_and(|events| *events > 0),
        evaluation: evaluations.get(trace).cloned().or_else(|| waits.clone()),
        judged: judged.remove(trace),
    };
    Ok(traces.into_iter().map(row).collect())
}

async fn judged(
    upkeep: &dyn Upkeep,
    tenant: &TenantId,
    traces: &[TraceId],
    now: Timestamp,
) -> Result<BTreeMap<TraceId, Judged>, StoreError> {
    let ids: Vec<MemoryId> = traces.iter().map(|trace| MemoryId::experience(tenant, trace)).collect();
    let reads = upkeep.reads(tenant, &ids, now - READS).await?;
    let mut kinds = Kinds { upkeep, tenant, known: BTreeMap::new() };
    let mut judged = BTreeMap::new();
    for memory in upkeep.memories_of(tenant, MemoryKind::Experience, &ids).await? {
        let Memory::Experience(run) = memory else { continue };
        let (importance, reads) = (Importance::of(&run), reads.get(&run.id).copied().unwrap_or(0));
        // What is not important leaves, however rare.
        let alike = if importance.is_some() { kinds.count(&run).await? } else { 0 };
        judged.insert(run.trajectory.trace_id.clone(), Judged { importance, alike, reads });
    }
    Ok(judged)
}

/// How many runs there are of a kind, each asked once.
struct Kinds<'a> {
    upkeep: &'a dyn Upkeep,
    tenant: &'a TenantId,
    known: BTreeMap<String, u64>,
}

impl Kinds<'_> {
    async fn count(&mut self, run: &Experience) -> Result<u64, StoreError> {
        let t = &run.trajectory;
        let kind = match &t.task_type {
            Some(of) => format!("type {of}"),
            None => format!("goal {}", t.task_description),
        };
        if let Some(known) = self.known.get(&kind) {
            return Ok(*known);
        }
        let count = self.upkeep.count_alike(self.tenant, t.task_type.as_ref(), &t.task_description).await?;
        self.known.insert(kind, count);
        Ok(count)
    }
}
