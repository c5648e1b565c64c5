use std::path::PathBuf;

use clap::{Arg, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, builder::Resettable};
use secrecy::SecretString;

use crate::commands::{
    archive, compact, config, demo, dlq, doctor, evaluate, explain, export, failures, feedback, forget,
    import, import_memories, key, lessons, mcp, mcp_proxy, memories, recall, reembed, reevaluate, restore,
    retain, serve, show, snapshot, stats, subjects, watch,
};

/// Experience memory for AI agents: judges what agents did and brings the right memories back.
#[derive(Debug, Parser)]
#[command(name = "hindsight", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads the command line. A variable of the environment that is empty is none: `${NAME:-}` leaves such.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let mut command = without_empty(Self::command());
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        Self::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
    }
}

fn without_empty(command: clap::Command) -> clap::Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    command
        .mut_args(|arg| if is_empty(&arg) { arg.env(Resettable::Reset) } else { arg })
        .mut_subcommands(without_empty)
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Print results as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Where memories are kept.
    #[arg(long, global = true, value_name = "DIR", env = "HINDSIGHT_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Talk to this server, as in http://HOST:PORT, instead of opening the data directory.
    #[arg(long, global = true, value_name = "URL", env = "HINDSIGHT_SERVER")]
    pub server: Option<String>,
    /// The API key of the server.
    #[arg(long, global = true, value_name = "KEY", env = "HINDSIGHT_API_KEY", hide_env_values = true)]
    pub api_key: Option<SecretString>,
    /// Configuration file.
    #[arg(long, global = true, value_name = "FILE", env = "HINDSIGHT_CONFIG")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run all roles, or some, in this process until SIGTERM.
    Serve(serve::Args),
    /// Read recorded runs from files and have them judged.
    Import(import::Args),
    /// Bring the memories that help with a task.
    Recall(recall::Args),
    /// Speak up while a task runs: events as JSON lines in, reminders out. Usable as a hook of an agent.
    Watch(Box<watch::Args>),
    /// Keep what a user said.
    Retain(retain::Args),
    /// Draw a run, step by step, with the verdict on each step.
    Show(show::Args),
    /// Judge recorded runs and show every verdict; nothing is kept.
    Evaluate(evaluate::Args),
    /// Judge runs again: one, those of a judge, or all.
    Reevaluate(reevaluate::Args),
    /// Show which embedder made the vectors, and how far the change to another is.
    Reembed(reembed::Args),
    /// List evaluations that failed or still wait.
    Failures(failures::Args),
    /// Messages that could not be handled: list, show, replay, discard.
    #[command(subcommand)]
    Dlq(dlq::Command),
    /// List what is remembered, or show where one memory comes from.
    Memories(Box<memories::Args>),
    /// Upkeep: apply policies, show what that would do, what was done, and how they are set.
    Compact(compact::Args),
    /// What left the search: list it, or bring a memory back.
    #[command(subcommand)]
    Archive(archive::Command),
    /// Say where the chain from a run to its use by others breaks, and what to do about it.
    Doctor(doctor::Args),
    /// Say why a recall brought what it brought, and why not what was expected.
    Explain(explain::Args),
    /// Say which memories of a recall helped, misled or were ignored.
    Feedback(feedback::Args),
    /// Merge an anonymous id into the user it turned out to be, or take that back.
    #[command(subcommand)]
    Subjects(subjects::Command),
    /// Forget a user: all that is theirs and what was derived from it, with a proof.
    Forget(forget::Args),
    /// List lessons with what they do and what is next for them; approve or reject one.
    Lessons(lessons::Args),
    /// Count what is remembered.
    Stats(stats::Args),
    /// Write everything that is remembered to a file, one record a line.
    Export(export::Args),
    /// Take in what `export` wrote.
    ImportMemories(import_memories::Args),
    /// Copy the data directory into one file.
    Snapshot(snapshot::Args),
    /// Bring a snapshot into an empty data directory.
    Restore(restore::Args),
    /// Serve the memory to a client of the Model Context Protocol.
    Mcp(mcp::Args),
    /// Stand between an MCP client and any MCP server: what passes stays as it is, and becomes memory.
    McpProxy(Box<mcp_proxy::Args>),
    /// Check or print the configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Make API keys.
    #[command(subcommand)]
    Key(key::Command),
    /// Import the runs that ship with Hindsight into a fresh store and recall from it.
    Demo(demo::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
