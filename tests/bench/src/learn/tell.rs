use std::io::Write as _;

use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde::Serialize;

use super::{
    Args,
    figures::{Estimate, Figure},
};

#[derive(Serialize)]
struct Told<'a> {
    seeds: u64,
    tasks: u64,
    figures: &'a [Figure],
}

/// Figures by memory, as a table or as JSON.
pub(super) fn print(figures: &[Figure], args: &Args, json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &Told { seeds: args.seeds, tasks: args.tasks, figures })?;
        writeln!(out)?;
        return Ok(());
    }
    let memories = args.memories.iter().map(|kind| kind.name());
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    table.set_header(["figure"].into_iter().chain(memories).chain(["users report"]));
    for Figure { figure, unit, reported, of } in figures {
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        let mut row = vec![format!("{figure}{unit}")];
        row.extend(of.iter().map(|(_, estimate)| estimate.map_or_else(String::new, shown)));
        row.push((*reported).to_owned());
        table.add_row(row);
    }
    writeln!(out, "{table}")?;
    writeln!(out, "{} worlds of {} tasks; 95 % intervals over worlds.", args.seeds, args.tasks)?;
    Ok(())
}

fn shown(Estimate { value, low, high }: Estimate) -> String {
    format!("{value:.1} ({low:.1} to {high:.1})")
}
