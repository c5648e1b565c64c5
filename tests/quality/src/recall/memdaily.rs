//! MemDaily: short Chinese lists of messages of one person, and questions about them.

use std::{collections::BTreeSet, fmt, path::Path, sync::Arc};

use anyhow::Context;
use hindsight_types::{Fact, Memory, MemoryKind, UserId};
use jiff::ToSpan;
use serde::Serialize;

use super::{
    bench::{Answer, Bench},
    embedder::Cached,
    score::{Mean, recall_at},
    variant::Variant,
};
use crate::sets::memdaily::{FILES, load};

const KS: [usize; 3] = [1, 3, 5];

#[derive(Debug, Serialize)]
struct Row {
    variant: String,
    /// At 1, 3 and 5.
    recall: [Mean; 3],
    /// Any of the evidence, at 1, 3 and 5.
    any: [Mean; 3],
    /// Recall at 3 in every other list, to see what chance does.
    halves3: [Mean; 2],
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    messages: usize,
    rows: Vec<Row>,
}

pub(crate) async fn measure(
    data: &Path,
    embedder: &Arc<Cached>,
    variants: &[Variant],
) -> anyhow::Result<Option<Report>> {
    let mut lists = Vec::new();
    for file in FILES {
        let Some(loaded) = load(data, file)? else { return Ok(None) };
        lists.extend(loaded.into_iter().map(|list| (format!("{file}-{}", list.tid), list)));
    }
    let bench = Bench::new(embedder).await?;
    let mut facts = Vec::new();
    for (user, list) in &lists {
        for m in &list.message_list {
            let (user, key) = (UserId::new(user)?, m.mid.to_string());
            facts.push(Memory::Fact(Fact::new(&bench.tenant, user, &key, &m.message, m.at()?)));
        }
    }
    let messages = facts.len();
    bench.retain(facts).await?;
    // A message stands alone: there is no context to leave out.
    let variants: Vec<&Variant> = variants.iter().filter(|v| v.context).collect();
    let row = |v: &&Variant| Row {
        variant: v.name.clone(),
        recall: Default::default(),
        any: Default::default(),
        halves3: Default::default(),
    };
    let mut rows: Vec<Row> = variants.iter().map(row).collect();
    for (at, (user, list)) in lists.iter().enumerate() {
        let now = list.message_list.last().context("a list without messages")?.at()? + 1.hour();
        for question in &list.question_list {
            let asked = bench.ask(MemoryKind::Fact, Some(user), &question.question, now, None).await?;
            let wanted: BTreeSet<String> = question.target_step_id.iter().map(u64::to_string).collect();
            for (variant, row) in variants.iter().zip(&mut rows) {
                row.add(&asked.answer(variant), &wanted, at % 2);
            }
        }
    }
    Ok(Some(Report { messages, rows }))
}

impl Row {
    fn add(&mut self, answer: &Answer, wanted: &BTreeSet<String>, half: usize) {
        let key = |memory: &Memory| match memory {
            Memory::Fact(fact) => Some(fact.key.clone()),
            _ => None,
        };
        let found: Vec<String> = answer.memories.iter().filter_map(key).collect();
        for (at, k) in KS.into_iter().enumerate() {
            let recall = recall_at(k, &found, wanted);
            self.recall[at].add(recall);
            self.any[at].add(recall.ceil());
            if k == 3 {
                self.halves3[half].add(recall);
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let questions = self.rows.first().map_or(0, |r| r.recall[0].count());
        writeln!(
            f,
            "### MemDaily (Chinese)\n\n{} messages, {questions} questions, each within its list\n",
            self.messages
        )?;
        writeln!(f, "| | recall@1 | recall@3 | recall@5 | any@1 | any@3 | any@5 | recall@3 of halves |")?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
        for r in &self.rows {
            write!(f, "| {} ", r.variant)?;
            for mean in r.recall.iter().chain(&r.any) {
                write!(f, "| {mean} ")?;
            }
            let [a, b] = &r.halves3;
            writeln!(f, "| {a}, {b} |")?;
        }
        Ok(())
    }
}
