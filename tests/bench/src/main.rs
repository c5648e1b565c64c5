//! Measures Hindsight on this machine: what it costs to encode a text, to record and judge runs, and to
//! recall, beside what the parts below would cost alone in the same minute.

mod baseline;
mod cache;
mod clock;
mod data;
mod embed;
mod fault;
mod judge;
mod learn;
mod load;
mod mcp;
mod memories;
mod process;
mod recall;
mod report;
mod runs;
mod scale;
mod simulated;
mod submit;
mod system;
mod upkeep;
mod watch;
mod world;
mod write;
mod year;

use clap::{Parser, Subcommand};

use report::Report;

#[derive(Debug, Parser)]
#[command(name = "hindsight-bench", version, about)]
struct Cli {
    /// Print JSON instead of a table.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Recall of a user's facts from the store and from memory.
    Cache(cache::Args),
    /// Encoding of single texts: tokens, BM25 and vectors.
    Embed(embed::Args),
    /// The slice judge alone: runs per second, growth with the steps, memory of a large run.
    Judge(judge::Args),
    /// Does memory help? One agent, the same tasks, five memories, in a simulated world.
    Learn(learn::Args),
    /// What the MCP proxy adds to a call, in each mode, beside a server without it.
    Mcp(mcp::Args),
    /// The MCP server that is measured with.
    #[command(hide = true)]
    McpEcho,
    /// Recall at a number of memories: latency beside the bare engine, cold and warm, and throughput.
    Recall(load::Args),
    /// Recording, judging and recalling by the real roles in this process.
    Run(runs::Args),
    /// Judging by one, two and four evaluator processes with a judge that takes 200 ms.
    Scale(scale::Args),
    /// The check before a call on a stream, with many memories and with none.
    Watch(watch::Args),
    /// A year of work in compressed time, with upkeep every night.
    Year(year::Args),
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut report = Report::default();
    match cli.command {
        Command::Cache(args) => runtime.block_on(cache::run(&args, &mut report))?,
        Command::Embed(args) => runtime.block_on(embed::run(&args, &mut report))?,
        Command::Judge(args) => judge::run(&args, &mut report)?,
        Command::Learn(args) => return runtime.block_on(learn::run(&args, cli.json)),
        Command::Mcp(args) => runtime.block_on(mcp::run(&args, &mut report))?,
        Command::McpEcho => return mcp::echo(),
        Command::Recall(args) => runtime.block_on(load::run(&args, &mut report))?,
        Command::Run(args) => runtime.block_on(runs::run(&args, &mut report))?,
        Command::Scale(args) => runtime.block_on(scale::run(&args, &mut report))?,
        Command::Watch(args) => runtime.block_on(watch::run(&args, &mut report))?,
        Command::Year(args) => runtime.block_on(year::run(&args, &mut report))?,
    }
    report.print(cli.json)
}
