use std::path::PathBuf;

use hindsight_proto::memory::v1::GetStatsResponse;

use crate::{
    baseline, process, recall,
    report::Report,
    system::{System, memories},
    write::{self, Recorded},
};

/// Runs recorded first, to learn how many memories a run leaves.
const FIRST: u64 = 200;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sizes at which to measure recall, rising; runs are recorded and judged until there are so many memories.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000_u64, 100_000])]
    memories: Vec<u64>,
    /// Recalls at each size.
    #[arg(long, default_value_t = 300)]
    queries: u64,
    /// Agents that record at a time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    streams: u64,
    /// Where the data directory is made; it is removed afterwards.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) async fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let dir = match &args.dir {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    memory(report, "empty process");
    let system = System::start(dir.path()).await?;
    memory(report, "roles started");
    let mut recorded = 0;
    stage(&system, &mut recorded, FIRST, args.streams).await?;
    for &size in &args.memories {
        let have = memories(&system.stats().await?).max(1);
        let missing = size.saturating_sub(have) * recorded / have;
        if missing > 0 {
            let bus = baseline::bus(dir.path(), missing.min(2_000), args.streams).await?;
            let done = stage(&system, &mut recorded, missing, args.streams).await?;
            writing(report, size, bus, &done);
        }
        contents(report, &system.stats().await?, size);
        recall::measure(&system, args.queries, size, report).await?;
        memory(report, &format!("with {size} memories"));
    }
    system.stop().await;
    if let Some(peak) = process::peak() {
        report.add("resident memory, peak", peak, "MB");
    }
    Ok(())
}

async fn stage(system: &System, recorded: &mut u64, runs: u64, streams: u64) -> anyhow::Result<Recorded> {
    let done = write::record(system, *recorded..*recorded + runs, streams).await?;
    *recorded += runs;
    Ok(done)
}

fn contents(report: &mut Report, stats: &GetStatsResponse, size: u64) {
    let kinds = [
        ("events", stats.events),
        ("experiences", stats.experiences),
        ("steps", stats.steps),
        ("lessons", stats.lessons),
        ("failure patterns", stats.failure_patterns),
    ];
    for (kind, count) in kinds {
        report.add(format!("{kind}, with {size} memories"), count as f64, "");
    }
}

fn writing(report: &mut Report, size: u64, bus: f64, done: &Recorded) {
    let alone = format!("bus alone, before {size} memories");
    report.add(alone.clone(), bus, "events/s");
    let rate = done.events as f64 / done.acknowledged.as_secs_f64();
    report.add_beside(format!("events acknowledged, up to {size} memories"), rate, "events/s", &alone);
    let rate = done.runs as f64 / done.judged.as_secs_f64();
    report.add(format!("runs judged and stored, up to {size} memories"), rate, "runs/s");
}

fn memory(report: &mut Report, when: &str) {
    if let Some(resident) = process::resident() {
        report.add(format!("resident memory, {when}"), resident, "MB");
    }
}
