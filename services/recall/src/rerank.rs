//! A second look at the few that were read, by a model that reads question and memory together.

use std::collections::BTreeMap;

use hindsight_ports::{CandidateId, EmbedError, Fetched, Reranker};
use hindsight_rank::{Pool, Query};
use hindsight_types::{ArmReport, MemoryId, MemoryKind};
use tokio::time::{Instant, timeout_at};

use crate::search::report;

/// How the reranker is called in the reports.
const RERANK: &str = "rerank";
/// Memories of a kind that it reads, those that come first without it.
const READ: usize = 16;

/// Tells `pool` what the reranker says, if it says so by `until`; otherwise the order stays as it is, and the
/// reports name why.
pub(crate) async fn rerank(
    reranker: &dyn Reranker,
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
    let dropped = match timeout_at(until, reranker.rerank(query.text(), &texts)).await {
        Ok(Ok(scores)) if scores.len() == ids.len() => {
            pool.rerank(ids.into_iter().zip(scores));
            ""
        }
        Ok(Ok(scores)) => {
            tracing::warn!(texts = ids.len(), scores = scores.len(), "the reranker did not score every text");
            "reranker answered in part"
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "the reranker failed; the order stays as it is");
            words(&error)
        }
        Err(_) => "deadline near",
    };
    let counted = |(kind, count): (MemoryKind, usize)| {
        report(kind, RERANK, if dropped.is_empty() { count } else { 0 }, dropped)
    };
    kinds.into_iter().map(counted).collect()
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

fn words(error: &EmbedError) -> &'static str {
    match error {
        EmbedError::Unavailable(_) => "reranker unavailable",
        EmbedError::Rejected(_) => "reranker refused the texts",
        EmbedError::Misconfigured(_) => "reranker misconfigured",
    }
}
