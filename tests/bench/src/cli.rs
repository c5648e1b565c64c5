use clap::{Parser, Subcommand};

use crate::{cache, embed, judge, learn, load, mcp, runs, scale, watch, year};

#[derive(Debug, Parser)]
#[command(name = "hindsight-bench", version, about)]
pub(crate) struct Cli {
    /// Print JSON instead of a table.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
