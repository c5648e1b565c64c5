//! Upkeep of one night.

use std::time::{Duration, Instant};

use hindsight_proto::{
    common::v1::{CompactionRun, CompactionRunState},
    compactor::v1::{GetRunRequest, RunCompactionRequest},
};

use crate::simulated::Hindsight;

const LOOK_EVERY: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(600);

/// Settings with which no policy begins by itself: the nights are counted, not waited for.
pub(crate) fn by_request_alone() -> [(&'static str, &'static str); 8] {
    const NEVER: &str = "0 0 29 2 *";
    [
        ("compaction.raw_events.schedule", NEVER),
        ("compaction.lessons.schedule", NEVER),
        ("compaction.failure_patterns.schedule", NEVER),
        ("compaction.condense.schedule", NEVER),
        ("compaction.merge.schedule", NEVER),
        ("compaction.archive.schedule", NEVER),
        ("compaction.contradictions.schedule", NEVER),
        ("compaction.facts.schedule", NEVER),
    ]
}

/// Applies every policy, and returns when all is done.
pub(crate) async fn run(hindsight: &Hindsight) -> anyhow::Result<()> {
    let begun = hindsight.client().run_compaction(RunCompactionRequest::default()).await?;
    for run in begun.runs {
        ended(hindsight, run).await?;
    }
    Ok(())
}

async fn ended(hindsight: &Hindsight, run: CompactionRun) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let request = GetRunRequest { id: run.id.clone(), page_size: 1, ..GetRunRequest::default() };
        let now = hindsight.client().get_run(request).await?.run.unwrap_or_default();
        match now.state() {
            CompactionRunState::Done => return Ok(()),
            CompactionRunState::Failed => anyhow::bail!("upkeep failed: {}", now.reason),
            _ => anyhow::ensure!(Instant::now() < until, "upkeep does not end: {now:?}"),
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
