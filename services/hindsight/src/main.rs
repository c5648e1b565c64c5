//! The `hindsight` command: all roles in one process, and everything a person does with them.

mod cli;
mod commands;
mod context;
mod exported;
mod json;
mod names;
mod render;
mod snapshot;
mod standing;
mod ui;

use std::process::ExitCode;

use hindsight_wiring::code;

use crate::{cli::Cli, context::Context};

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(usage) => {
            // Printing can only fail when nobody reads.
            let _ = usage.print();
            return if usage.use_stderr() { ExitCode::from(code::USAGE) } else { ExitCode::SUCCESS };
        }
    };
    // Once per process; fails only when it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let context = Context::new(cli.global);
    let ui = context.ui;
    match commands::run(cli.command, context) {
        Ok(exit) => ExitCode::from(exit),
        Err(failure) => {
            if !failure.message.is_empty() {
                ui.note(&format!("hindsight: {failure}"));
            }
            ExitCode::from(failure.code)
        }
    }
}
