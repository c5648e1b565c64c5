//! Does memory help? One agent, the same tasks, five memories: none, the logs of all runs searched by their words,
//! Hindsight without evidence gates, Hindsight, Hindsight that speaks up.

mod figures;
mod memory;
mod plot;
mod product;
mod tell;
mod watched;

use std::path::PathBuf;

use futures::{StreamExt as _, TryStreamExt as _};

use crate::submit::Proof;
use crate::world::{
    agent::{self, Run},
    task::{Task, story},
};

pub(crate) use memory::Kind;
use memory::Memory;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Worlds, each with its own tasks.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    seeds: u64,
    /// Tasks in each, one every six hours. The poisoned run comes after a quarter, the drift after half of them.
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(40..=2_000))]
    tasks: u64,
    /// Memories to compare.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Kind::ALL)]
    memories: Vec<Kind>,
    /// Worlds at a time.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    parallel: u64,
    /// Draw success and calls by task into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Where the data directories are made; they are removed afterwards.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// One task as it went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) solved: bool,
    pub(crate) calls: usize,
    /// It did what the poisoned run claims to help.
    pub(crate) harmed: bool,
    /// The same kind of trouble was met before.
    pub(crate) repeated: bool,
}

/// The tasks of one seed with one memory.
type Life = Vec<Done>;

/// One memory in all worlds; the same worlds in the same order for each.
#[derive(Debug)]
pub(crate) struct Lives {
    pub(crate) kind: Kind,
    pub(crate) seeds: Vec<Life>,
}

pub(crate) async fn run(args: &Args, json: bool) -> anyhow::Result<()> {
    let count = usize::try_from(args.tasks)?;
    let mut all = Vec::new();
    for &kind in &args.memories {
        // A task each: an agent that is watched waits for answers where it stands.
        let lives = futures::stream::iter(0..args.seeds)
            .map(async |seed| tokio::spawn(live(kind, seed, count, args.dir.clone())).await?);
        // In the order of the seeds, so that worlds can be compared one by one.
        let seeds = lives.buffered(usize::try_from(args.parallel)?).try_collect().await?;
        all.push(Lives { kind, seeds });
    }
    if let Some(file) = &args.svg {
        std::fs::write(file, plot::draw(&all))?;
    }
    tell::print(&figures::of(&all), args, json)
}

async fn live(kind: Kind, seed: u64, count: usize, dir: Option<PathBuf>) -> anyhow::Result<Life> {
    let story = story(seed, count);
    let mut memory = Memory::open(kind, dir.as_deref(), story.begins_at()).await?;
    let (mut life, mut met) = (Life::new(), Vec::new());
    for task in &story.tasks {
        if task.index == story.poison.index {
            let claim = agent::claim(&story.poison);
            memory.keep(&story.poison, &claim, Vec::new(), Proof::Claim).await?;
        }
        let recalled = memory.recall(task).await?;
        let (run, receipts) = recalled.work(task)?;
        memory.keep(task, &run, receipts, Proof::Check).await?;
        life.push(done(task, &run, &met));
        met.push(task.fault);
    }
    memory.close().await;
    Ok(life)
}

fn done(task: &Task, run: &Run, met: &[crate::world::task::Fault]) -> Done {
    Done {
        solved: run.solved,
        calls: run.calls.len(),
        harmed: run.ruined,
        repeated: met.contains(&task.fault),
    }
}
