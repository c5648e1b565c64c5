//! The searches of one recall: one per kind and arm, all at once, each with the same deadline of its own, so
//! that a late one takes nothing from the others. Then the reading of the few that are worth it, by kind.

use std::time::Duration;

use futures::future::{join_all, join3};
use hindsight_ports::{
    Arm, Candidate, CandidateId, EmbedError, Embedder, Fetched, Purpose, Search, StoreError,
    store::MOST_NAMES,
};
use hindsight_rank::Query;
use hindsight_types::{ArmReport, MemoryId, MemoryKind};
use tokio::time::{Instant, timeout, timeout_at};

use crate::cache::View;

/// Why an arm was dropped, in the words of the receipt.
const DEADLINE: &str = "deadline";

/// How the reading of the shortlist is called in the reports.
const FETCH: &str = "fetch";

/// How the look at known failures of the very same signature is called.
const SIGNATURE: &str = "signature";

/// What one arm brought for one kind.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) kind: MemoryKind,
    pub(crate) arm: Arm,
    pub(crate) candidates: Vec<Candidate>,
}

/// What the searches brought, and how each went.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) proposals: Vec<Proposal>,
    pub(crate) reports: Vec<ArmReport>,
    /// The embedding of the query; empty when there is none.
    pub(crate) dense: Vec<f32>,
    /// The first error of the store, for callers who want all or nothing.
    pub(crate) error: Option<StoreError>,
}

/// Over what is searched, and until when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) kinds: &'a [MemoryKind],
    /// Candidates per kind and arm.
    pub(crate) candidates: usize,
    pub(crate) until: Instant,
    /// Failure patterns that are looked at whatever else is proposed.
    pub(crate) exact: &'a [MemoryId],
}

/// Asks every arm about every kind. The arms that need no embedding do not wait for it; without it, or when it
/// takes longer than `patience`, only the dense arm is missing.
pub(crate) async fn search(
    view: &View<'_>,
    embedder: &dyn Embedder,
    query: &Query,
    patience: Duration,
    reach: Reach<'_>,
) -> Found {
    let rest = arms(query);
    let others = reach.kinds.iter().flat_map(|kind| rest.iter().map(move |arm| (*kind, arm)));
    let others = join_all(
        others.filter(|(kind, arm)| finds(arm, *kind)).map(|(kind, arm)| one(view, reach, kind, arm)),
    );
    let dense = async {
        let embedded = embed(embedder, query, patience).await;
        let arm = Arm::Dense(embedded.clone().unwrap_or_default());
        let by_kind = reach.kinds.iter().map(|kind| one(view, reach, *kind, &arm));
        let asked = if is_zero(&arm) { Vec::new() } else { join_all(by_kind).await };
        (embedded, asked)
    };
    let exact = async {
        let words = rest.iter().find(|arm| matches!(arm, Arm::Bm25(_))).filter(|_| !reach.exact.is_empty());
        match words {
            Some(words) => Some(exactly(view, reach, words).await),
            None => None,
        }
    };
    let (others, (embedded, asked), exact) = join3(others, dense, exact).await;

    let mut found = Found::default();
    match embedded {
        Ok(vector) => found.dense = vector,
        Err(why) => found.reports.extend(reach.kinds.iter().map(|kind| report(*kind, "dense", 0, why))),
    }
    for answer in asked.into_iter().chain(others).chain(exact) {
        found.take(answer);
    }
    found
}

/// Reads the memories of a shortlist; what cannot be read in time is missing and named.
pub(crate) async fn fetch(
    view: &View<'_>,
    shortlist: &[(MemoryKind, CandidateId)],
    until: Instant,
    found: &mut Found,
) -> Vec<Fetched> {
    let reads = MemoryKind::ALL.iter().map(async |kind| {
        let ids: Vec<CandidateId> =
            shortlist.iter().filter(|(of, _)| of == kind).map(|(_, id)| *id).collect();
        if ids.is_empty() {
            return (*kind, Ok(Ok(Vec::new())));
        }
        (*kind, timeout_at(until, view.fetch(*kind, &ids)).await)
    });
    let mut memories = Vec::new();
    for (kind, read) in join_all(reads).await {
        match read {
            Ok(Ok(read)) => memories.extend(read),
            Ok(Err(error)) => found.lose(kind, FETCH, error),
            Err(_) => found.reports.push(report(kind, FETCH, 0, DEADLINE)),
        }
    }
    memories
}

struct Answer {
    kind: MemoryKind,
    arm: Arm,
    /// As the receipt calls it.
    name: &'static str,
    result: Result<Result<Vec<Candidate>, StoreError>, tokio::time::error::Elapsed>,
}

async fn one(view: &View<'_>, reach: Reach<'_>, kind: MemoryKind, arm: &Arm) -> Answer {
    let search = Search { kind, arm: arm.clone(), limit: reach.candidates, action_name: None, ids: None };
    let result = timeout_at(reach.until, view.search(&search)).await;
    let name = arm.name();
    Answer { kind, arm: search.arm, name, result }
}

/// The failure patterns that are known by their ids.
async fn exactly(view: &View<'_>, reach: Reach<'_>, words: &Arm) -> Answer {
    let kind = MemoryKind::FailurePattern;
    let (arm, ids) = (words.clone(), Some(reach.exact.to_vec()));
    let search = Search { kind, arm, limit: reach.exact.len(), action_name: None, ids };
    let result = timeout_at(reach.until, view.search(&search)).await;
    Answer { kind, arm: search.arm, name: SIGNATURE, result }
}

impl Found {
    fn take(&mut self, Answer { kind, arm, name, result }: Answer) {
        match result {
            Ok(Ok(candidates)) => {
                self.reports.push(report(kind, name, candidates.len(), ""));
                self.proposals.push(Proposal { kind, arm, candidates });
            }
            Ok(Err(error)) => self.lose(kind, name, error),
            Err(_) => self.reports.push(report(kind, name, 0, DEADLINE)),
        }
    }

    fn lose(&mut self, kind: MemoryKind, arm: &str, error: StoreError) {
        tracing::warn!(%error, kind = kind.as_str(), arm, "a search failed");
        self.reports.push(report(kind, arm, 0, store_words(&error)));
        self.error.get_or_insert(error);
    }

    /// Notes why an arm that answered did not find all that it finds otherwise.
    pub(crate) fn lacks(&mut self, arm: &str, why: &str) {
        let answered = |report: &&mut ArmReport| report.arm == arm && report.dropped.is_empty();
        self.reports.iter_mut().filter(answered).for_each(|report| report.dropped = why.to_owned());
    }

    /// Whether anything is missing that was to be searched.
    pub(crate) fn is_degraded(&self) -> bool {
        self.reports.iter().any(|arm| !arm.dropped.is_empty())
    }

    pub(crate) fn lost_to_deadline(&self) -> bool {
        self.reports.iter().any(|arm| arm.dropped == DEADLINE)
    }
}

/// The arms that need no embedding.
pub(crate) fn arms(query: &Query) -> Vec<Arm> {
    let sparse = query.sparse();
    let names: Vec<String> = query.names().iter().take(MOST_NAMES).cloned().collect();
    let words = (!sparse.indices.is_empty()).then_some(Arm::Bm25(sparse));
    let names = (!names.is_empty()).then_some(Arm::Entities(names));
    words.into_iter().chain(names).chain(query.period().map(Arm::Period)).collect()
}

/// Whether memories of this kind can be found by this arm at all.
pub(crate) fn finds(arm: &Arm, kind: MemoryKind) -> bool {
    let named = matches!(kind, MemoryKind::Fact | MemoryKind::Experience | MemoryKind::Lesson);
    named || !matches!(arm, Arm::Entities(_))
}

/// The embedding of a query; otherwise why there is none.
pub(crate) async fn embed(
    embedder: &dyn Embedder,
    query: &Query,
    patience: Duration,
) -> Result<Vec<f32>, &'static str> {
    let texts = [query.embedded().to_owned()];
    match timeout(patience, embedder.embed(&texts, Purpose::Query)).await {
        Ok(Ok(mut vectors)) => Ok(vectors.pop().unwrap_or_default()),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the query could not be embedded; searching without its meaning");
            Err(embedder_words(&error))
        }
        Err(_) => {
            tracing::warn!(?patience, "the embedder took too long; searching without the meaning");
            Err("embedder deadline")
        }
    }
}

/// A text without words has a zero vector, which is near to nothing.
pub(crate) fn is_zero(arm: &Arm) -> bool {
    matches!(arm, Arm::Dense(vector) if vector.iter().all(|x| *x == 0.0))
}

pub(crate) fn report(kind: MemoryKind, arm: &str, candidates: usize, dropped: &str) -> ArmReport {
    let candidates = u32::try_from(candidates).unwrap_or(u32::MAX);
    ArmReport { kind, arm: arm.to_owned(), candidates, dropped: dropped.to_owned() }
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
