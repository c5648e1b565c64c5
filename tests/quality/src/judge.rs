//! The slice judge, measured.

mod agent_process;
pub(crate) mod load;
pub(crate) mod model;
mod score;
mod tau;
mod team_log;
mod who_and_when;

use std::path::Path;

use serde::Serialize;

#[derive(Serialize)]
struct Report {
    tau_airline: Option<tau::Report>,
    agent_process: Option<agent_process::Report>,
    who_and_when: Option<who_and_when::Report>,
}

/// Measures on every data set that is there; says loudly which are not.
#[allow(clippy::print_stdout)]
pub(crate) fn run(data: &Path, json: bool, misses: bool) -> anyhow::Result<()> {
    let report = Report {
        tau_airline: tau::measure(data, misses)?,
        agent_process: agent_process::measure(data, misses)?,
        who_and_when: who_and_when::measure(data, misses)?,
    };
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
        return Ok(());
    }
    if let Some(r) = &report.tau_airline {
        println!("{r}");
    }
    if let Some(r) = &report.agent_process {
        println!("{r}");
    }
    if let Some(r) = &report.who_and_when {
        println!("{r}");
    }
    Ok(())
}
