//! The searches of one recall: one per kind, all at once, none longer than the deadline.

use std::time::Duration;

use futures::future::join_all;
use hindsight_ports::{
    EmbedError, Embedder, Encoding, Hit, HitSearch, MemoryStore, Purpose, SparseVector, StoreError,
};
use hindsight_text::bm25;
use hindsight_types::{ArmReport, MemoryKind, Viewer};
use tokio::time::{Instant, timeout, timeout_at};

/// Why an arm was dropped, in the words of the receipt.
const DEADLINE: &str = "deadline";

/// What the searches brought, and how each went.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    pub(crate) arms: Vec<ArmReport>,
    /// The first error of the store, for callers who want all or nothing.
    pub(crate) error: Option<StoreError>,
}

impl Found {
    /// Whether anything is missing that was to be searched.
    pub(crate) fn is_degraded(&self) -> bool {
        self.arms.iter().any(|arm| !arm.dropped.is_empty())
    }

    /// Whether a whole kind was not searched.
    pub(crate) fn lost_to_deadline(&self) -> bool {
        self.arms.iter().any(|arm| arm.dropped == DEADLINE)
    }
}

/// A query as it is searched with.
#[derive(Debug, Default)]
pub(crate) struct EncodedQuery {
    encoding: Encoding,
    /// Why the dense arm is off, when it should be on.
    dense_dropped: Option<&'static str>,
}

impl EncodedQuery {
    /// Nothing in the query can be searched for.
    pub(crate) fn is_empty(&self) -> bool {
        self.encoding.dense.is_empty() && self.encoding.sparse.indices.is_empty()
    }

    fn arm(&self) -> &'static str {
        match (self.encoding.dense.is_empty(), self.encoding.sparse.indices.is_empty()) {
            (false, false) => "dense+bm25",
            (false, true) => "dense",
            (true, _) => "bm25",
        }
    }
}

/// Words always; meaning unless the embedder fails or takes longer than `patience`.
pub(crate) async fn encode(embedder: &dyn Embedder, query: &str, patience: Duration) -> EncodedQuery {
    let (indices, values) = bm25::encode_query(query);
    let texts = [query.to_owned()];
    let (dense, dense_dropped) = match timeout(patience, embedder.embed(&texts, Purpose::Query)).await {
        Ok(Ok(mut vectors)) => (vectors.pop().unwrap_or_default(), None),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the query could not be embedded; searching by words alone");
            (Vec::new(), Some(embedder_words(&error)))
        }
        Err(_) => {
            tracing::warn!(?patience, "the embedder took too long; searching by words alone");
            (Vec::new(), Some("embedder deadline"))
        }
    };
    // A text without words has a zero vector, which is near to nothing.
    let dense = if dense.iter().any(|x| *x != 0.0) { dense } else { Vec::new() };
    EncodedQuery { encoding: Encoding { dense, sparse: SparseVector { indices, values } }, dense_dropped }
}

/// Searches every kind until `until`.
pub(crate) async fn search(
    store: &dyn MemoryStore,
    viewer: &Viewer,
    query: &EncodedQuery,
    kinds: &[MemoryKind],
    candidates: usize,
    until: Instant,
) -> Found {
    let searches = kinds.iter().map(async |&kind| {
        let search = HitSearch {
            kind,
            encoding: query.encoding.clone(),
            limit: candidates,
            action_name: None,
            ids: None,
        };
        (kind, timeout_at(until, store.search_hits(viewer, &search)).await)
    });
    let mut found = Found::default();
    for (kind, result) in join_all(searches).await {
        let report = |arm: &str, candidates: usize, dropped: &str| ArmReport {
            kind,
            arm: arm.to_owned(),
            candidates: u32::try_from(candidates).unwrap_or(u32::MAX),
            dropped: dropped.to_owned(),
        };
        match result {
            Ok(Ok(hits)) => {
                found.arms.push(report(query.arm(), hits.len(), ""));
                found.hits.extend(hits);
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, kind = kind.as_str(), "a search failed");
                found.arms.push(report(query.arm(), 0, store_words(&error)));
                found.error.get_or_insert(error);
            }
            Err(_) => found.arms.push(report(query.arm(), 0, DEADLINE)),
        }
        if let Some(dropped) = query.dense_dropped {
            found.arms.push(report("dense", 0, dropped));
        }
    }
    found
}

/// Without the details, which may name places on disk.
fn store_words(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => "store unavailable",
        StoreError::Corrupt(_) => "stored record unreadable",
        StoreError::Rejected(_) => "store refused the search",
    }
}

fn embedder_words(error: &EmbedError) -> &'static str {
    match error {
        EmbedError::Unavailable(_) => "embedder unavailable",
        EmbedError::Rejected(_) => "embedder refused the query",
        EmbedError::Misconfigured(_) => "embedder misconfigured",
    }
}
