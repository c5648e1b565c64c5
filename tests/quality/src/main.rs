//! Measures how well Hindsight judges and recalls, on recorded data of others. See the README beside it.

mod digest;
mod judge;
mod outcome;
mod recall;
mod retain;
mod sets;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
#[command(name = "quality", about = "Measures Hindsight on recorded data")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The slice judge against labels obtained by execution and by people.
    Judge(Source),
    /// A language model as judge, alone and with the slice, on the same labels.
    Model(judge::model::Args),
    /// Digests of recorded tool output: how much smaller, and what of the root cause survives.
    Digest(Source),
    /// The outcome of runs, read from their steps with the stated one hidden.
    Outcome(Source),
    /// Retrieval over conversations and runs: by each arm, by all, and with one thing switched off.
    Recall(recall::Args),
    /// What is kept of conversations: the gate, and the context of a turn.
    Retain(Source),
}

/// Where the data is and how to print.
#[derive(Args)]
struct Source {
    /// Folder that holds the data sets.
    #[arg(long)]
    data: PathBuf,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Print every step whose label differs from the reference, or every fact that a digest lost.
    #[arg(long)]
    misses: bool,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {
        Command::Judge(source) => judge::run(&source.data, source.json, source.misses),
        Command::Model(args) => judge::model::run(&args),
        Command::Digest(source) => digest::run(&source.data, source.json, source.misses),
        Command::Outcome(source) => outcome::run(&source.data, source.json, source.misses),
        Command::Retain(source) => retain::run(&source.data, source.json, source.misses),
        Command::Recall(args) => recall::run(&args),
    }
}
