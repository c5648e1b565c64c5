//! One file per command.

pub(crate) mod archive;
pub(crate) mod compact;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod dlq;
pub(crate) mod doctor;
pub(crate) mod evaluate;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod failures;
pub(crate) mod feedback;
pub(crate) mod forget;
pub(crate) mod import;
pub(crate) mod import_memories;
pub(crate) mod key;
pub(crate) mod lessons;
pub(crate) mod mcp;
pub(crate) mod mcp_proxy;
pub(crate) mod memories;
pub(crate) mod recall;
pub(crate) mod reembed;
pub(crate) mod reevaluate;
pub(crate) mod restore;
pub(crate) mod retain;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod stats;
pub(crate) mod subjects;
pub(crate) mod watch;
use hindsight_wiring::Failure;

use crate::{cli::Command, context::Context};

/// Runs a command to its end; the exit code of success is its result.
pub(crate) fn run(command: Command, context: Context) -> Result<u8, Failure> {
    match command {
        Command::Config(command) => config::run(command, &context),
        Command::Key(command) => key::run(command, context.ui),
        Command::Serve(args) => context.block_on(serve::run(args, &context)),
        Command::Import(args) => context.block_on(import::run(args, &context)),
        Command::Recall(args) => context.block_on(recall::run(args, &context)),
        Command::Watch(args) => context.block_on(watch::run(*args, &context)),
        Command::Retain(args) => context.block_on(retain::run(args, &context)),
        Command::Show(args) => context.block_on(show::run(args, &context)),
        Command::Evaluate(args) => context.block_on(evaluate::run(args, &context)),
        Command::Reevaluate(args) => context.block_on(reevaluate::run(args, &context)),
        Command::Reembed(args) => context.block_on(reembed::run(args, &context)),
        Command::Failures(args) => context.block_on(failures::run(args, &context)),
        Command::Memories(args) => context.block_on(memories::run(*args, &context)),
        Command::Subjects(command) => context.block_on(subjects::run(command, &context)),
        Command::Compact(args) => context.block_on(compact::run(args, &context)),
        Command::Archive(command) => context.block_on(archive::run(command, &context)),
        Command::Doctor(args) => context.block_on(doctor::run(args, &context)),
        Command::Export(args) => context.block_on(export::run(args, &context)),
        Command::ImportMemories(args) => context.block_on(import_memories::run(args, &context)),
        Command::Snapshot(args) => snapshot::run(args, &context),
        Command::Restore(args) => restore::run(args, &context),
        Command::Explain(args) => context.block_on(explain::run(args, &context)),
        Command::Feedback(args) => context.block_on(feedback::run(args, &context)),
        Command::Forget(args) => context.block_on(forget::run(args, &context)),
        Command::Lessons(args) => context.block_on(lessons::run(args, &context)),
        Command::Stats(args) => context.block_on(stats::run(args, &context)),
        Command::Dlq(command) => context.block_on(dlq::run(command, &context)),
        Command::Mcp(args) => context.block_on_input(|| (), mcp::run(args, &context)),
        Command::McpProxy(args) => context.block_on_input(args.first(), mcp_proxy::run(*args, &context)),
        Command::Demo(args) => context.block_on(demo::run(args, &context)),
    }
}
