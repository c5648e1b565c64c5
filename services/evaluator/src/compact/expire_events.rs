use hindsight_lifecycle::plan::raw_events;
use hindsight_ports::Queue;
use hindsight_telemetry::Metric;
use hindsight_types::{TenantId, TraceId};

use super::{Effect, Tools};
use crate::broken::Broken;

/// Deletes the raw events of those of these runs that still are to leave.
pub(crate) async fn run(tools: &Tools, tenant: &TenantId, traces: &[TraceId]) -> Result<Effect, Broken> {
    let (upkeep, settings) = (&*tools.compaction.upkeep, tools.compaction.settings.of(tenant));
    let settings = &settings.raw_events;
    let waiting = tools.bench.bus.stats(Queue::Evaluate).await?;
    let judging = waiting.ready + waiting.delayed + waiting.unsettled > 0;
    let rows = raw_events::rows(upkeep, tenant, traces, settings, tools.clock.now(), judging).await?;
    let leaving: Vec<TraceId> = rows
        .into_iter()
        .filter(|run| raw_events::leaves(run, settings).is_some())
        .map(|run| run.trace)
        .collect();
    let deleted = upkeep.delete_events(tenant, &leaving).await?;
    Metric::EventsExpired.add(deleted, &[]);
    if deleted > 0 {
        return Ok(Effect::Done);
    }
    Ok(Effect::skipped("no raw events of these runs are to leave any more"))
}
