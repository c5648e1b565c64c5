//! `who_and_when`: failed runs of several agents, with the agent and the step that people held responsible.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use hindsight_judge::slice;
use serde::Serialize;

use super::load;
use super::team_log::{self, Log};

const SETS: [&str; 2] = ["Algorithm-Generated", "Hand-Crafted"];

#[derive(Serialize)]
pub(super) struct Report {
    sets: Vec<Set>,
}

#[derive(Serialize)]
struct Set {
    name: &'static str,
    runs: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    agent: f64,
    step: f64,
    within_1: f64,
    within_3: f64,
}

/// Per message that an agent wrote: how likely a way of guessing names it.
type Guess = BTreeMap<usize, f64>;

pub(super) fn measure(data: &Path, misses: bool) -> anyhow::Result<Option<Report>> {
    let mut sets = Vec::new();
    for name in SETS {
        let Some(folder) = load::present(data, &format!("who_and_when/{name}")) else { continue };
        let logs = team_log::read(&folder)?;
        anyhow::ensure!(!logs.is_empty(), "{} holds no runs", folder.display());
        sets.push(Set { name, runs: logs.len(), rows: rows(&logs, misses) });
    }
    Ok((!sets.is_empty()).then_some(Report { sets }))
}

/// How to guess, by name.
type Way = (&'static str, fn(&Log) -> Guess);

fn rows(logs: &[Log], misses: bool) -> Vec<Row> {
    let ways: [Way; 6] = [
        ("slice: `slice::blame`", blamed),
        ("first step", |log| log.own().into_iter().take(1).map(|m| (m, 1.0)).collect()),
        ("last step", |log| log.own().into_iter().rev().take(1).map(|m| (m, 1.0)).collect()),
        ("most frequent agent, its first step", most_frequent),
        ("random agent, its first step", random_agent),
        ("random step", |log| {
            let own = log.own();
            own.iter().map(|m| (*m, 1.0 / own.len() as f64)).collect()
        }),
    ];
    if misses {
        for log in logs {
            eprintln!("{}: {} at {}; {:?}", log.name, log.mistake_agent, log.mistake, slice::blame(&log.run));
        }
    }
    ways.into_iter().map(|(name, way)| row(name, logs, way)).collect()
}

fn blamed(log: &Log) -> Guess {
    let blame = slice::blame(&log.run);
    blame.and_then(|b| log.messages.get(b.step_index as usize)).map(|m| (*m, 1.0)).into_iter().collect()
}

fn most_frequent(log: &Log) -> Guess {
    let mut firsts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for at in log.own() {
        firsts.entry(&log.authors[at]).or_insert((0, at)).0 += 1;
    }
    // Of several with as many words, the one who spoke first.
    let most = firsts.into_values().max_by_key(|(n, first)| (*n, std::cmp::Reverse(*first)));
    most.map(|(_, first)| (first, 1.0)).into_iter().collect()
}

fn random_agent(log: &Log) -> Guess {
    let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
    for at in log.own() {
        firsts.entry(&log.authors[at]).or_insert(at);
    }
    let share = 1.0 / firsts.len().max(1) as f64;
    firsts.into_values().map(|m| (m, share)).collect()
}

/// Expected accuracies of a way of guessing.
fn row(name: &'static str, logs: &[Log], way: impl Fn(&Log) -> Guess) -> Row {
    let mean = |hit: &dyn Fn(&Log, usize) -> bool| {
        let one = |log: &Log| -> f64 { way(log).iter().filter(|(m, _)| hit(log, **m)).map(|(_, p)| p).sum() };
        logs.iter().map(one).sum::<f64>() / logs.len() as f64
    };
    Row {
        name,
        agent: mean(&|log, m| log.authors[m] == log.mistake_agent),
        step: mean(&|log, m| m == log.mistake),
        within_1: mean(&|log, m| m.abs_diff(log.mistake) <= 1),
        within_3: mean(&|log, m| m.abs_diff(log.mistake) <= 3),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for set in &self.sets {
            writeln!(f, "who_and_when {}, {} failed runs\n", set.name, set.runs)?;
            writeln!(f, "| judge | agent | step | ±1 | ±3 |\n|---|---:|---:|---:|---:|")?;
            for r in &set.rows {
                writeln!(
                    f,
                    "| {} | {:.3} | {:.3} | {:.3} | {:.3} |",
                    r.name, r.agent, r.step, r.within_1, r.within_3
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
