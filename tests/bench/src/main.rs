//! Measures Hindsight on this machine: what it costs to encode a text, to record and judge runs, and to
//! recall, beside what the parts below would cost alone in the same minute.

mod baseline;
mod cache;
mod cli;
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

use clap::Parser as _;

use cli::{Cli, Command};
use report::Report;

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
