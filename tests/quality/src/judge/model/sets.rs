//! Runs with the label of each step that has one, in the terms of the judge.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context;
use hindsight_types::{StepLabel, Trajectory};
use serde_json::Value;

use super::super::load;

pub(super) struct Set {
    pub(super) name: &'static str,
    pub(super) runs: Vec<Labelled>,
}

pub(super) struct Labelled {
    pub(super) run: Trajectory,
    /// Step, and the labels that are right for it.
    pub(super) labels: Vec<(usize, &'static [StepLabel])>,
}

pub(super) fn all(data: &Path) -> anyhow::Result<Vec<Set>> {
    let mut sets: Vec<Set> = [tau(data)?, agent_process(data)?].into_iter().flatten().collect();
    for set in &mut sets {
        // Nothing is learned from the others, and asking costs.
        set.runs.retain(|r| !r.labels.is_empty());
    }
    Ok(sets)
}

/// The runs of these files; `None` without any.
pub(super) fn unlabelled(files: &[PathBuf]) -> anyhow::Result<Option<Set>> {
    let mut runs = Vec::new();
    for file in files {
        runs.extend(load::runs(file)?.into_iter().map(|run| Labelled { run, labels: Vec::new() }));
    }
    Ok((!runs.is_empty()).then_some(Set { name: "runs without labels", runs }))
}

fn tau(data: &Path) -> anyhow::Result<Option<Set>> {
    let (Some(path), Some(labels)) = (
        load::present(data, "tau_airline/trajectories.json"),
        load::present(data, "tau_airline/step_labels.jsonl"),
    ) else {
        return Ok(None);
    };
    let records: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let lines = lines(&labels)?;
    let mut runs = Vec::new();
    for (record, run) in records.iter().zip(load::runs(&path)?) {
        let messages = record["traj"].as_array().context("a record without `traj`")?;
        let steps = load::steps_of_messages(messages, &run)?;
        let of_run = |l: &&Value| l["task_id"] == record["task_id"] && l["trial"] == record["trial"];
        let labels = lines.iter().filter(of_run).filter_map(|l| {
            let at = steps[l["msg_index"].as_u64()? as usize]?;
            let label = StepLabel::ALL.iter().position(|s| Some(s.as_str()) == l["label"].as_str())?;
            Some((at, &StepLabel::ALL[label..=label]))
        });
        runs.push(Labelled { labels: labels.collect(), run });
    }
    Ok(Some(Set { name: "tau_airline", runs }))
}

/// +1 is necessary, 0 redundant, −1 misleading or failed.
fn agent_process(data: &Path) -> anyhow::Result<Option<Set>> {
    let Some(path) = load::present(data, "agentprocessbench/hotpotqa_dev.jsonl") else { return Ok(None) };
    let mut runs = Vec::new();
    for (record, run) in lines(&path)?.iter().zip(load::runs(&path)?) {
        let messages = record["messages"].as_array().context("a record without `messages`")?;
        let steps = load::steps_of_messages(messages, &run)?;
        let labelled = record["step_labels"].as_object().context("a record without `step_labels`")?;
        let labels = labelled.iter().filter_map(|(message, label)| {
            let right: &'static [StepLabel] = match label.as_i64()? {
                1 => &[StepLabel::Necessary],
                0 => &[StepLabel::Redundant],
                _ => &[StepLabel::Misleading, StepLabel::Failed],
            };
            Some((steps[message.parse::<usize>().ok()?]?, right))
        });
        runs.push(Labelled { labels: labels.collect(), run });
    }
    Ok(Some(Set { name: "agentprocessbench hotpotqa", runs }))
}

fn lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    fs::read_to_string(path)?.lines().map(|l| Ok(serde_json::from_str(l)?)).collect()
}
