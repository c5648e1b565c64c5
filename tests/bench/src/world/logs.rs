//! The memory that many build first: the logs of all runs, searched by their words.

use std::collections::HashMap;

use hindsight_text::bm25;

use super::{agent::Run, task::Task};

/// Logs that are put into the context, as many as a recall gives memories.
const GIVEN: usize = 3;

/// Okapi BM25 over whole logs, with the tokens and term weights of the product.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    logs: Vec<(String, HashMap<u32, f32>)>,
    holders: HashMap<u32, usize>,
}

impl Logs {
    pub(crate) fn add(&mut self, log: String) {
        let (terms, weights) = bm25::encode_document(&log);
        for term in &terms {
            *self.holders.entry(*term).or_default() += 1;
        }
        self.logs.push((log, terms.into_iter().zip(weights).collect()));
    }

    /// The best logs for a task, best first.
    pub(crate) fn search(&self, query: &str) -> Vec<&str> {
        let (terms, _) = bm25::encode_query(query);
        let score = |weights: &HashMap<u32, f32>| -> f32 {
            terms.iter().filter_map(|term| Some(weights.get(term)? * self.rarity(*term))).sum()
        };
        let mut scored: Vec<(f32, &str)> =
            self.logs.iter().map(|(log, weights)| (score(weights), log.as_str())).collect();
        // Of equally good ones the newer.
        scored.reverse();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        scored.into_iter().filter(|(score, _)| *score > 0.0).take(GIVEN).map(|(_, log)| log).collect()
    }

    fn rarity(&self, term: u32) -> f32 {
        let (all, holders) =
            (self.logs.len() as f32, self.holders.get(&term).copied().unwrap_or_default() as f32);
        ((all - holders + 0.5) / (holders + 0.5) + 1.0).ln()
    }
}

/// A run as an agent's log shows it.
pub(crate) fn log_of(task: &Task, run: &Run) -> String {
    let mut log =
        format!("task: {}\nenvironment: {}\ntime: {}\n", task.report, task.fault.place.tag(), task.at);
    for call in &run.calls {
        log.push_str(&format!("\n$ {}\n{}\n", call.command, call.output.text));
    }
    let outcome = if run.solved { "success" } else { "failure" };
    log.push_str(&format!("\noutcome: {outcome}. {}\n", run.conclusion));
    log
}
