//! `agentprocessbench`: a human label for every message of a search agent.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context;
use hindsight_types::{Outcome, OutcomeStatus, StepEvaluation, StepLabel, Trajectory};
use serde::Serialize;
use serde_json::Value;

use super::load;
use super::score;

#[derive(Serialize)]
pub(super) struct Report {
    runs: usize,
    steps: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    step_accuracy: f64,
    first_error_accuracy: f64,
    recall_harmful: f64,
    recall_no_effect: f64,
}

/// The labels of one run: reference, then one list per row.
type Labels = Vec<i64>;

pub(super) fn measure(data: &Path, misses: bool) -> anyhow::Result<Option<Report>> {
    let Some(path) = load::present(data, "agentprocessbench/hotpotqa_dev.jsonl") else { return Ok(None) };
    let text = fs::read_to_string(&path)?;
    let records =
        text.lines().map(|l| Ok(serde_json::from_str(l)?)).collect::<anyhow::Result<Vec<Value>>>()?;
    let runs = load::runs(&path)?;
    anyhow::ensure!(records.len() == runs.len(), "{} records, {} runs", records.len(), runs.len());
    let mut all: Vec<(Labels, [Labels; 6])> = Vec::new();
    for (record, run) in records.iter().zip(&runs) {
        all.push(one(record, run, misses)?);
    }
    const NAMES: [&str; 6] = [
        "slice, outcome known",
        "slice, outcome unknown",
        "slice, outcome known, undecided counted as 0",
        "last step −1 when the run failed",
        "all +1",
        "every step −1 when the run failed",
    ];
    let rows = NAMES.iter().enumerate().map(|(i, name)| row(name, &all, i)).collect();
    let steps = all.iter().map(|(r, _)| r.len()).sum();
    Ok(Some(Report { runs: runs.len(), steps, rows }))
}

fn one(record: &Value, run: &Trajectory, misses: bool) -> anyhow::Result<(Labels, [Labels; 6])> {
    let messages = record["messages"].as_array().context("a record without `messages`")?;
    let steps = load::steps_of_messages(messages, run)?;
    let labelled = record["step_labels"].as_object().context("a record without `step_labels`")?;
    let mut at: Vec<(usize, i64)> = Vec::new();
    for (index, label) in labelled {
        at.push((index.parse()?, label.as_i64().context("a label that is no number")?));
    }
    at.sort_unstable();
    let known = hindsight_judge::slice::judge(run).steps;
    let blind = Trajectory {
        outcome: Outcome { conclusion: run.outcome.conclusion.clone(), ..Outcome::default() },
        ..run.clone()
    };
    let unknown = hindsight_judge::slice::judge(&blind).steps;
    let of = |judged: &[StepEvaluation], undecided: i64| -> Labels {
        at.iter().map(|(m, _)| steps[*m].map_or(1, |s| mapped(&judged[s], undecided))).collect()
    };
    let reference: Labels = at.iter().map(|(_, l)| *l).collect();
    let failed = run.outcome.resolved() == OutcomeStatus::Failure;
    let mut last = vec![1; at.len()];
    if let Some(end) = last.last_mut().filter(|_| failed) {
        *end = -1;
    }
    let rows = [
        of(&known, 1),
        of(&unknown, 1),
        of(&known, 0),
        last,
        vec![1; at.len()],
        vec![if failed { -1 } else { 1 }; at.len()],
    ];
    if misses {
        for ((m, label), ours) in at.iter().zip(&rows[0]).filter(|((_, l), o)| l != *o) {
            let judged = steps[*m].map(|s| &known[s]);
            eprintln!("run {} message {m}: {label} but {ours}: {judged:?}", record["total_index"]);
        }
    }
    Ok((reference, rows))
}

/// necessary → +1, redundant → 0, misleading and failed → −1; `undecided` for a redundant step about which
/// the judge says itself, by a confidence below 0.5, that it could not decide.
fn mapped(step: &StepEvaluation, undecided: i64) -> i64 {
    match step.label {
        StepLabel::Redundant if step.confidence < 0.5 => undecided,
        StepLabel::Necessary => 1,
        StepLabel::Redundant => 0,
        StepLabel::Misleading | StepLabel::Failed => -1,
    }
}

fn row(name: &'static str, all: &[(Labels, [Labels; 6])], i: usize) -> Row {
    let pairs: Vec<(i64, i64)> =
        all.iter().flat_map(|(r, rows)| r.iter().copied().zip(rows[i].iter().copied())).collect();
    let first = |labels: &Labels| labels.iter().position(|l| *l == -1);
    let firsts: Vec<_> = all.iter().map(|(r, rows)| (first(r), first(&rows[i]))).collect();
    Row {
        name,
        step_accuracy: score::accuracy(&pairs),
        first_error_accuracy: score::accuracy(&firsts),
        recall_harmful: score::class(&pairs, &-1).recall,
        recall_no_effect: score::class(&pairs, &0).recall,
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "agentprocessbench hotpotqa, {} runs, {} steps labelled by people\n",
            self.runs, self.steps
        )?;
        writeln!(
            f,
            "| judge | step accuracy | first error | recall −1 | recall 0 |\n|---|---:|---:|---:|---:|"
        )?;
        for r in &self.rows {
            writeln!(
                f,
                "| {} | {:.3} | {:.3} | {:.3} | {:.3} |",
                r.name, r.step_accuracy, r.first_error_accuracy, r.recall_harmful, r.recall_no_effect
            )?;
        }
        Ok(())
    }
}
