//! Recall under load: how long it takes at a number of memories, for one user and for all, with nothing warm and
//! with everything warm, and how many recalls per second a number of clients get.

mod fill;
mod latency;
mod throughput;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{process, report::Report, system::System};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sizes at which to measure, rising. Half are facts of users, half are runs that all may see.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000_u64, 100_000])]
    memories: Vec<u64>,
    /// Recalls of each kind at each size.
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    queries: u64,
    /// Facts of one user.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    facts_per_user: u64,
    /// Clients that ask at a time.
    #[arg(long, value_delimiter = ',', default_values_t = [1_u64, 8, 64])]
    clients: Vec<u64>,
    /// How long the clients ask, in seconds, for each number of clients.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Where the data directory is made; it is removed afterwards.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// How long the former one may take to let go of the data directory: the engine holds it until the indexing that is
/// under way is done.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

async fn open(dir: &Path) -> anyhow::Result<System> {
    let until = Instant::now() + PATIENCE;
    loop {
        match System::start(dir).await {
            Err(_) if Instant::now() < until => tokio::time::sleep(Duration::from_millis(50)).await,
            result => return result,
        }
    }
}

pub(crate) async fn run(args: &Args, report: &mut Report) -> anyhow::Result<()> {
    let dir = match &args.dir {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    let mut filled = 0;
    for &size in &args.memories {
        let system = open(dir.path()).await?;
        fill::up_to(&system, filled, size, args.facts_per_user, report).await?;
        filled = filled.max(size);
        system.stop().await;

        // Opened anew, so that nothing of the process is warm; the operating system's file cache is.
        let system = open(dir.path()).await?;
        for who in latency::WHO {
            latency::measure(&system, who, args, size, report).await?;
        }
        for &clients in &args.clients {
            throughput::measure(&system, clients, args, size, report).await?;
        }
        if let Some(resident) = process::resident() {
            report.add(format!("{size} memories: resident memory"), resident, "MB");
        }
        system.stop().await;
    }
    Ok(())
}
