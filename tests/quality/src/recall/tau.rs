//! The airline agent's runs as experiences: does a run find the other trials of its task?

use std::{collections::BTreeSet, fmt, fs, path::Path, sync::Arc};

use anyhow::Context;
use hindsight_ingest::{digest, entities};
use hindsight_types::{Experience, Memory, MemoryId, MemoryKind, StepLabel, Timestamp, Trajectory};
use serde::Serialize;
use serde_json::Value;

use super::{
    bench::Bench,
    embedder::Cached,
    score::{Mean, recall_at},
    variant::Variant,
};
use crate::judge::load;

#[derive(Debug, Serialize)]
struct Row {
    variant: String,
    /// Share of the other trials among the first 3.
    recall3: Mean,
    /// The first is one.
    first: Mean,
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    runs: usize,
    rows: Vec<Row>,
}

pub(crate) async fn measure(
    data: &Path,
    embedder: &Arc<Cached>,
    variants: &[Variant],
) -> anyhow::Result<Option<Report>> {
    let Some(path) = load::present(data, "tau_airline/trajectories.json") else { return Ok(None) };
    let records: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path)?)?;
    let runs = load::runs(&path)?;
    anyhow::ensure!(records.len() == runs.len(), "{} records, {} runs", records.len(), runs.len());
    let bench = Bench::new(embedder).await?;
    let mut tasks = Vec::new();
    let mut memories = Vec::new();
    for (record, mut run) in records.iter().zip(runs) {
        run.scope.tenant = bench.tenant.clone();
        let id = MemoryId::experience(&bench.tenant, &run.trace_id);
        tasks.push((
            id,
            record["task_id"].as_i64().context("a record without `task_id`")?,
            run.task_description.clone(),
        ));
        memories.push(Memory::Experience(Box::new(experience(id, run))));
    }
    bench.retain(memories).await?;
    let variants: Vec<&Variant> = variants.iter().filter(|v| v.context).collect();
    let row =
        |v: &&Variant| Row { variant: v.name.clone(), recall3: Mean::default(), first: Mean::default() };
    let mut rows: Vec<Row> = variants.iter().map(row).collect();
    for (me, task, question) in &tasks {
        let others: BTreeSet<MemoryId> =
            tasks.iter().filter(|(id, t, _)| t == task && id != me).map(|(id, ..)| *id).collect();
        let asked =
            bench.ask(MemoryKind::Experience, None, question, Timestamp::UNIX_EPOCH, Some(*me)).await?;
        for (variant, row) in variants.iter().zip(&mut rows) {
            let found: Vec<MemoryId> = asked.answer(variant).memories.iter().map(Memory::id).collect();
            row.recall3.add(recall_at(3, &found, &others));
            row.first.add(f64::from(u8::from(found.first().is_some_and(|id| others.contains(id)))));
        }
    }
    Ok(Some(Report { runs: tasks.len(), rows }))
}

/// As the evaluator keeps a run.
fn experience(id: MemoryId, run: Trajectory) -> Experience {
    let evaluation = hindsight_judge::evaluate(&run, run.ended_at);
    let mut text = format!("{}\n{}", run.task_description, run.outcome.conclusion);
    let needed = |(_, e): &(_, &hindsight_types::StepEvaluation)| e.label == StepLabel::Necessary;
    for (step, _) in run.steps.iter().zip(&evaluation.steps).filter(needed) {
        text.push('\n');
        text.push_str(&step.action_detail);
    }
    Experience {
        id,
        entities: entities::extract(&text),
        trajectory: digest::trajectory(run),
        evaluation,
        supported: 0,
        refuted: 0,
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "### Airline runs\n\n{} runs, each asked for with its first words, itself left out\n",
            self.runs
        )?;
        writeln!(f, "| | recall@3 of the task's other trials | first is one |\n|---|---:|---:|")?;
        for Row { variant, recall3, first } in &self.rows {
            writeln!(f, "| {variant} | {recall3} | {first} |")?;
        }
        Ok(())
    }
}
