use hindsight_wiring::{Failure, code};
use serde_json::json;

use crate::context::Context;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Report every mistake, unknown keys included.
    Check,
    /// Print the effective settings, secrets hidden.
    Print,
}

pub(crate) fn run(command: Command, context: &Context) -> Result<u8, Failure> {
    let ui = context.ui;
    match command {
        Command::Check => match hindsight_config::check(&context.sources(vec![])) {
            Ok(_) if ui.json => ui.value(&json!({ "mistakes": [] }))?,
            Ok(_) => ui.print("the settings are right")?,
            Err(mistakes) if ui.json => {
                let each = mistakes
                    .0
                    .iter()
                    .map(|m| json!({ "key": m.key, "origin": m.origin, "problem": m.problem }));
                ui.value(&json!({ "mistakes": each.collect::<Vec<_>>() }))?;
                return Err(Failure::told(code::CONFIG));
            }
            Err(mistakes) => return Err(Failure::new(code::CONFIG, mistakes)),
        },
        Command::Print => {
            let config = context.load(context.sources(vec![]))?;
            if ui.json {
                ui.value(&config)?;
            } else {
                ui.print(&config.to_toml().map_err(|e| Failure::new(code::INTERNAL, e))?)?;
            }
        }
    }
    Ok(0)
}
