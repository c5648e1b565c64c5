//! `tau_airline`: labels obtained by replaying the run without the step against the real tools.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context;
use hindsight_types::{OutcomeStatus, StepLabel, StepStatus, Trajectory};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::load;
use super::score::{self, Class};

#[derive(Serialize)]
pub(super) struct Report {
    steps: usize,
    slice: Table,
    trivial: Table,
}

#[derive(Serialize)]
struct Table {
    classes: Vec<(&'static str, Class)>,
    macro_f1: f64,
}

/// What of a label line may be read: where the step is, and its label. The judge sees neither.
#[derive(Deserialize)]
struct Line {
    task_id: i64,
    trial: i64,
    msg_index: usize,
    is_write: bool,
    label: String,
}

pub(super) fn measure(data: &Path, misses: bool) -> anyhow::Result<Option<Report>> {
    let (Some(runs), Some(labels)) = (
        load::present(data, "tau_airline/trajectories.json"),
        load::present(data, "tau_airline/step_labels.jsonl"),
    ) else {
        return Ok(None);
    };
    let records: Vec<Value> = serde_json::from_str(&fs::read_to_string(&runs)?)?;
    let runs = load::runs(&runs)?;
    anyhow::ensure!(records.len() == runs.len(), "{} records, {} runs", records.len(), runs.len());
    let labels = read_labels(&labels)?;
    let (mut slice, mut trivial) = (Vec::new(), Vec::new());
    for (record, run) in records.iter().zip(&runs) {
        let key =
            (record["task_id"].as_i64().unwrap_or_default(), record["trial"].as_i64().unwrap_or_default());
        let messages = record["traj"].as_array().context("a record without `traj`")?;
        let steps = load::steps_of_messages(messages, run)?;
        let judged = hindsight_judge::slice::judge(run).steps;
        let writes: HashSet<usize> = labels
            .iter()
            .filter(|l| (l.task_id, l.trial) == key && l.is_write)
            .filter_map(|l| steps[l.msg_index])
            .collect();
        let rule = trivial_rule(run, &writes);
        for line in labels.iter().filter(|l| (l.task_id, l.trial) == key) {
            let Some(reference) = StepLabel::ALL.into_iter().find(|l| l.as_str() == line.label) else {
                continue;
            };
            let at = steps[line.msg_index].context("a label on a message that is no step")?;
            if misses && judged[at].label != reference {
                eprintln!(
                    "{key:?} message {} {}: {} but {:?}",
                    line.msg_index, run.steps[at].action_name, line.label, judged[at]
                );
            }
            slice.push((reference, judged[at].label));
            trivial.push((reference, rule[at]));
        }
    }
    Ok(Some(Report { steps: slice.len(), slice: table(&slice), trivial: table(&trivial) }))
}

fn read_labels(path: &Path) -> anyhow::Result<Vec<Line>> {
    fs::read_to_string(path)?.lines().map(|l| Ok(serde_json::from_str(l)?)).collect()
}

/// The rule to beat: error → failed, identical call repeated → redundant, other writes → necessary in a
/// rewarded run and misleading in another. It is told which calls are writes; the judge is not.
fn trivial_rule(run: &Trajectory, writes: &HashSet<usize>) -> Vec<StepLabel> {
    let mut seen: HashMap<(&str, &str), ()> = HashMap::new();
    let rewarded = run.outcome.resolved() == OutcomeStatus::Success;
    run.steps
        .iter()
        .enumerate()
        .map(|(at, s)| {
            let repeated = seen.insert((&s.action_name, &s.action_detail), ()).is_some();
            match s.status {
                StepStatus::Error => StepLabel::Failed,
                _ if repeated => StepLabel::Redundant,
                _ if !writes.contains(&at) || rewarded => StepLabel::Necessary,
                _ => StepLabel::Misleading,
            }
        })
        .collect()
}

fn table(pairs: &[(StepLabel, StepLabel)]) -> Table {
    let classes: Vec<_> = StepLabel::ALL.iter().map(|l| (l.as_str(), score::class(pairs, l))).collect();
    let macro_f1 = classes.iter().map(|(_, c)| c.f1).sum::<f64>() / classes.len() as f64;
    Table { classes, macro_f1 }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tau_airline, {} steps labelled by execution\n", self.steps)?;
        writeln!(
            f,
            "| class | steps | slice P | R | F1 | trivial rule P | R | F1 |\n|---|---:|---:|---:|---:|---:|---:|---:|"
        )?;
        for ((name, a), (_, b)) in self.slice.classes.iter().zip(&self.trivial.classes) {
            writeln!(
                f,
                "| {name} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
                a.support, a.precision, a.recall, a.f1, b.precision, b.recall, b.f1
            )?;
        }
        writeln!(f, "| macro | | | | **{:.3}** | | | {:.3} |", self.slice.macro_f1, self.trivial.macro_f1)
    }
}
