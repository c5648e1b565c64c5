//! A second look at the few that were read, by a model that reads question and memory together.

mod absence;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use hindsight_ports::{CandidateId, EmbedError, Fetched, Reranker};
use hindsight_rank::{Pool, Query};
use hindsight_types::{ArmReport, MemoryId, MemoryKind};
use tokio::time::{Instant, timeout};

use crate::search::report;
use absence::Absence;

/// How the reranker is called in the reports.
const RERANK: &str = "rerank";
/// Memories of a kind that it reads, those that come first without it.
const READ: usize = 16;
/// The share of the time left that one call may take is one half: a reranker that is away leaves the rest.
const SHARE: u32 = 2;
/// That a call is not answered within less says nothing about the reranker.
const FAIR: Duration = Duration::from_millis(100);
const UNAVAILABLE: &str = "reranker unavailable";

/// A reranker, and whether it is worth a call.
pub(crate) struct SecondLook {
    reranker: Arc<dyn Reranker>,
    absence: Absence,
}

impl SecondLook {
    pub(crate) fn new(reranker: Arc<dyn Reranker>) -> Self {
        Self { reranker, absence: Absence::default() }
    }

    /// Tells `pool` what the reranker says, if it says so in half of the time until `until`; otherwise the order
    /// stays as it is, and the reports name why.
    pub(crate) async fn take(
        &self,
        query: &Query,
        pool: &mut Pool,
        shortlist: &[(MemoryKind, CandidateId)],
        fetched: &[Fetched],
        until: Instant,
    ) -> Vec<ArmReport> {
        let (ids, kinds, texts) = read(shortlist, fetched);
        if texts.is_empty() {
            return Vec::new();
        }
        let answer = self.ask(query.text(), &texts, until).await;
        let dropped = answer.as_ref().err().copied().unwrap_or_default();
        if let Ok(scores) = answer {
            pool.rerank(ids.into_iter().zip(scores));
        }
        let counted = |(kind, count): (MemoryKind, usize)| {
            report(kind, RERANK, if dropped.is_empty() { count } else { 0 }, dropped)
        };
        kinds.into_iter().map(counted).collect()
    }

    /// The relevance of each text, or why there is none.
    async fn ask(&self, query: &str, texts: &[String], until: Instant) -> Result<Vec<f32>, &'static str> {
        let now = Instant::now();
        if !self.absence.may_ask(now) {
            return Err(UNAVAILABLE);
        }
        let share = until.saturating_duration_since(now) / SHARE;
        match timeout(share, self.reranker.rerank(query, texts)).await {
            Ok(Ok(scores)) if scores.len() == texts.len() => {
                self.absence.ends();
                Ok(scores)
            }
            Ok(Ok(scores)) => {
                tracing::warn!(
                    texts = texts.len(),
                    scores = scores.len(),
                    "the reranker did not score every text"
                );
                Err("reranker answered in part")
            }
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_) => {
                if share >= FAIR {
                    self.absence.begins(Instant::now(), &format!("no answer within {share:?}"));
                }
                Err("deadline near")
            }
        }
    }

    fn failed(&self, error: &EmbedError) -> &'static str {
        let (EmbedError::Unavailable(why) | EmbedError::Rejected(why) | EmbedError::Misconfigured(why)) =
            error;
        let words = match error {
            EmbedError::Unavailable(_) => UNAVAILABLE,
            EmbedError::Misconfigured(_) => "reranker misconfigured",
            // These texts only: it is there for the next ones.
            EmbedError::Rejected(_) => {
                tracing::warn!(why, "the reranker refused the texts; the order stays as it is");
                return "reranker refused the texts";
            }
        };
        self.absence.begins(Instant::now(), why);
        words
    }
}

/// The first of each kind, and how many of each.
fn read(
    shortlist: &[(MemoryKind, CandidateId)],
    fetched: &[Fetched],
) -> (Vec<MemoryId>, BTreeMap<MemoryKind, usize>, Vec<String>) {
    let (mut ids, mut kinds, mut texts) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (kind, id) in shortlist {
        let read: &mut usize = kinds.entry(*kind).or_default();
        let memory = fetched.iter().find(|f| f.id == *id && f.memory.kind() == *kind).map(|f| &f.memory);
        if let Some(memory) = memory.filter(|_| *read < READ) {
            *read += 1;
            ids.push(memory.id());
            texts.push(memory.text());
        }
    }
    kinds.retain(|_, read| *read > 0);
    (ids, kinds, texts)
}
