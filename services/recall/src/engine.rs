//! One recall from question to answer: search, read the few that are worth it, rank, leave a receipt.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use hindsight_ports::{Bus, Clock, Embedder, MemoryStore, Reembed};
use hindsight_rank::{DenseScale, Pool, Query, Ranked, Ranking, Request};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{Receipt, ReceiptId, Timestamp};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use tokio_util::task::TaskTracker;
use tonic::Status;
use tracing::Instrument as _;

use crate::{
    NAME, RecallSettings,
    ask::Ask,
    cache::Memories,
    receipt::{Story, receipt},
    rerank::SecondLook,
    search::{Found, Reach, fetch, search},
};

/// Share of the time that is kept for ranking, rendering and the receipt, and the most that is kept.
const RESERVE_SHARE: u32 = 4;
const RESERVE_MAX: Duration = Duration::from_millis(250);

/// What a recall gives.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) receipt: Receipt,
    pub(crate) items: Vec<Ranked>,
    pub(crate) block: String,
    /// The receipt says so too, unless it is the receipt that could not be kept.
    pub(crate) degraded: bool,
}

pub(crate) struct Engine {
    pub(crate) store: Arc<dyn MemoryStore>,
    /// What recalls search: the store, and what is kept of it.
    pub(crate) memories: Memories,
    pub(crate) embedder: Arc<dyn Embedder>,
    /// Off unless there is one.
    pub(crate) reranker: OnceLock<SecondLook>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: RecallSettings,
    pub(crate) dense: DenseScale,
    /// Takes requests for upkeep, where there is one.
    pub(crate) bus: Option<Arc<dyn Bus>>,
    /// Knows what the vectors of the store lack.
    pub(crate) vectors: OnceLock<Arc<dyn Reembed>>,
    /// Receipts on their way to the store.
    pub(crate) receipts: TaskTracker,
}

/// By when what has to be done. Each step has what the ones before it left, and a share of its own that they
/// cannot take.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// What the embedder may take of the time for searching.
    embedding: Duration,
    searched: Instant,
    fetched: Instant,
    reranked: Instant,
    answered: Instant,
}

impl Plan {
    fn new(patience: Duration) -> Self {
        let (started, reserve) = (Instant::now(), (patience / RESERVE_SHARE).min(RESERVE_MAX));
        Self {
            embedding: (patience - reserve) / 2,
            searched: started + patience - 2 * reserve,
            fetched: started + patience - reserve,
            reranked: started + patience - reserve * 2 / 3,
            answered: started + patience - reserve / 4,
        }
    }
}

impl Engine {
    pub(crate) fn new(
        settings: RecallSettings,
        store: Arc<dyn MemoryStore>,
        memories: Memories,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let dense = settings.rank.dense.unwrap_or_else(|| DenseScale::of(embedder.id()));
        Self {
            store,
            memories,
            embedder,
            reranker: OnceLock::new(),
            clock,
            settings,
            dense,
            bus: None,
            vectors: OnceLock::new(),
            receipts: TaskTracker::new(),
        }
    }

    /// Answers within `patience` (by default the setting) with what there is by then.
    pub(crate) async fn recall(&self, ask: Ask, patience: Option<Duration>) -> Result<Answer, Status> {
        let plan = Plan::new(patience.unwrap_or(Duration::from_millis(self.settings.deadline_ms)));
        let now = self.clock.now();
        let query = ask.query(now);
        let reach = Reach {
            kinds: &ask.kinds,
            candidates: self.settings.candidates,
            until: plan.searched,
            exact: &ask.watch.exact,
        };
        let view = self.memories.view(&ask.viewer);
        let mut found = search(&view, &*self.embedder, &query, plan.embedding, reach).await;
        if let Some(why) = self.vectors.get().and_then(|v| v.known_vectors()?.trouble()) {
            found.lacks("dense", &why);
        }
        let mut pool = self.pool(&ask, query.clone(), &mut found);
        let shortlist = pool.shortlist();
        let fetched = fetch(&view, &shortlist, plan.fetched, &mut found).await;
        if ask.strict {
            all_or_nothing(&found)?;
        }
        if let Some(reranker) = self.reranker.get() {
            let told = reranker.take(&query, &mut pool, &shortlist, &fetched, plan.reranked).await;
            found.reports.extend(told);
        }
        let id = ReceiptId::generate();
        let distinct = ask.kinds.iter().map(|kind| pool.candidates(*kind)).sum();
        let work = {
            let ask = ask.clone();
            move || pool.rank(fetched, &request(&ask, id, now))
        };
        // Off the threads that serve calls: writing and counting the block takes milliseconds.
        let ranking = tokio::task::spawn_blocking(work).await;
        let ranking = ranking.map_err(|e| hindsight_api::status::internal(NAME, e))?;
        let story = Story { id, at: now, ask: &ask, query: &query, distinct, shortlisted: shortlist.len() };
        Ok(self.answer(story, found, ranking, plan.answered).await)
    }

    async fn answer(&self, story: Story<'_>, found: Found, ranking: Ranking, until: Instant) -> Answer {
        let receipt = receipt(&self.settings, story, found, &ranking);
        let kept = self.keep(receipt.clone(), until).await;
        count(&receipt);
        let degraded = receipt.degraded || !kept;
        Answer { receipt, items: ranking.items, block: ranking.block, degraded }
    }

    /// Every proposal in one pool. They leave `found`.
    fn pool(&self, ask: &Ask, query: Query, found: &mut Found) -> Pool {
        let dense = std::mem::take(&mut found.dense);
        let mut settings = self.settings.rank(&ask.viewer.tenant);
        settings.floor = ask.watch.floor.unwrap_or(settings.floor);
        let mut pool = Pool::new(query, dense, self.dense, settings);
        for proposal in found.proposals.drain(..) {
            pool.add(proposal.kind, &proposal.arm, proposal.candidates);
        }
        pool
    }

    /// Whether the receipt is durable in time. Later it may still become so; the recall does not wait.
    async fn keep(&self, receipt: Receipt, until: Instant) -> bool {
        let id = receipt.id;
        match timeout_at(until, self.write(receipt)).await {
            Ok(kept) => kept.unwrap_or(false),
            Err(_) => {
                tracing::warn!(receipt = %id, "the receipt is not stored yet at the deadline");
                false
            }
        }
    }

    /// Stores a receipt in the background; says whether it is stored.
    pub(crate) fn write(&self, receipt: Receipt) -> JoinHandle<bool> {
        let store = self.store.clone();
        let write = async move {
            let result = store.put_receipt(&receipt).await;
            if let Err(error) = &result {
                tracing::warn!(%error, receipt = %receipt.id, "the receipt could not be stored");
            }
            result.is_ok()
        };
        self.receipts.spawn(write.in_current_span())
    }
}

pub(crate) fn request(ask: &Ask, receipt: ReceiptId, now: Timestamp) -> Request<'_> {
    Request {
        query: &ask.query,
        environment: &ask.environment,
        now: ask.asked_at.unwrap_or(now),
        limit: ask.limit,
        token_budget: ask.token_budget,
        receipt,
        style: ask.style,
        said: Some(&ask.watch.said),
    }
}

pub(crate) fn count(receipt: &Receipt) {
    let result = if receipt.injected.is_empty() { "empty" } else { "hit" };
    let degraded = if receipt.degraded { "yes" } else { "no" };
    Metric::Recalls.add(1, &[(Label::Result, result), (Label::Degraded, degraded)]);
    for item in &receipt.injected {
        Metric::RecallItems.add(1, &[(Label::Kind, item.kind.as_str())]);
    }
}

fn all_or_nothing(found: &Found) -> Result<(), Status> {
    if let Some(error) = &found.error {
        return Err(hindsight_api::status::store(NAME, error.clone()));
    }
    if found.lost_to_deadline() {
        return Err(hindsight_api::status::deadline_exceeded(NAME, "not everything was searched"));
    }
    Ok(())
}
