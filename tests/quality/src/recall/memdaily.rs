//! MemDaily: short Chinese lists of messages of one person, and questions about them.

use std::{collections::BTreeSet, fmt, path::Path};

use hindsight_types::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    bench::{Arms, Bench},
    score::{Mean, recall_at},
};

const FILES: [&str; 3] = ["01_simple_roles", "03_comparative_events", "05_post_processing_items"];
const KS: [usize; 3] = [1, 3, 5];

#[derive(Deserialize)]
struct List {
    tid: u64,
    message_list: Vec<Message>,
    question_list: Vec<Question>,
}

#[derive(Deserialize)]
struct Message {
    mid: u64,
    message: String,
    #[serde(default)]
    time: String,
    #[serde(default)]
    place: String,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    target_step_id: Vec<u64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Row {
    arms: Arms,
    context: bool,
    /// At 1, 3 and 5.
    recall: [Mean; 3],
    /// Any of the evidence, at 1, 3 and 5.
    any: [Mean; 3],
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    messages: usize,
    rows: Vec<Row>,
}

pub(crate) async fn measure(data: &Path) -> anyhow::Result<Option<Report>> {
    let mut lists = Vec::new();
    for file in FILES {
        let path = data.join(format!("memdaily_zh/{file}.json"));
        let Some(loaded) = super::load::<Vec<List>>(&path)? else { return Ok(None) };
        lists.extend(loaded.into_iter().map(|list| (format!("{file}-{}", list.tid), list)));
    }
    let messages = lists.iter().map(|(_, l)| l.message_list.len()).sum();
    let mut report = Report { messages, rows: Vec::new() };
    for context in [false, true] {
        let bench = Bench::new().await?;
        let mut facts = Vec::new();
        for (user, list) in &lists {
            for m in &list.message_list {
                let mut fact = bench.fact(user, &m.mid.to_string(), m.message.clone(), at(m.mid)?)?;
                if context {
                    fact.context = format!("{} {}", m.time, m.place);
                }
                facts.push(fact);
            }
        }
        bench.retain(facts).await?;
        for arms in Arms::ALL {
            report.rows.push(row(&bench, &lists, arms, context).await?);
        }
    }
    Ok(Some(report))
}

fn at(mid: u64) -> anyhow::Result<Timestamp> {
    Ok(Timestamp::from_second(1_700_000_000 + i64::try_from(mid)? * 3_600)?)
}

async fn row(bench: &Bench, lists: &[(String, List)], arms: Arms, context: bool) -> anyhow::Result<Row> {
    let mut row = Row { arms, context, recall: Default::default(), any: Default::default() };
    for (user, list) in lists {
        let now = at(list.message_list.len() as u64)?;
        for question in &list.question_list {
            let found = bench.ask(arms, user, &question.question, now).await?;
            let wanted: BTreeSet<String> = question.target_step_id.iter().map(u64::to_string).collect();
            for (at, k) in KS.into_iter().enumerate() {
                let recall = recall_at(k, &found, &wanted);
                row.recall[at].add(recall);
                row.any[at].add(recall.ceil());
            }
        }
    }
    Ok(row)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let questions = self.rows.first().map_or(0, |r| r.recall[0].count());
        writeln!(
            f,
            "MemDaily (Chinese): {} messages, {questions} questions, each within its list\n",
            self.messages
        )?;
        writeln!(f, "| search | text | recall@1 | recall@3 | recall@5 | any@1 | any@3 | any@5 |")?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for r in &self.rows {
            let text = if r.context { "message, time and place" } else { "message" };
            write!(f, "| {} | {text} ", r.arms.name())?;
            for mean in r.recall.iter().chain(&r.any) {
                write!(f, "| {mean} ")?;
            }
            writeln!(f, "|")?;
        }
        Ok(())
    }
}
