//! One recall from question to answer: encode, search, rank, leave a receipt.

use std::{sync::Arc, time::Duration};

use hindsight_ports::{Clock, Embedder, MemoryStore};
use hindsight_rank::{DenseScale, Ranked, Ranking, Request, rank};
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{RecalledItem, Receipt, ReceiptId};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::TaskTracker;
use tonic::Status;
use tracing::Instrument as _;

use crate::{
    NAME, RecallSettings,
    ask::Ask,
    search::{EncodedQuery, Found, encode, search},
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
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    settings: RecallSettings,
    dense: DenseScale,
    /// Receipts on their way to the store.
    pub(crate) receipts: TaskTracker,
}

impl Engine {
    pub(crate) fn new(
        settings: RecallSettings,
        store: Arc<dyn MemoryStore>,
        embedder: Arc<dyn Embedder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let dense = settings.rank.dense.unwrap_or_else(|| DenseScale::of(embedder.id()));
        Self { store, embedder, clock, settings, dense, receipts: TaskTracker::new() }
    }

    /// Answers within `patience` (by default the setting) with what there is by then.
    pub(crate) async fn recall(&self, ask: Ask, patience: Option<Duration>) -> Result<Answer, Status> {
        let patience = patience.unwrap_or(Duration::from_millis(self.settings.deadline_ms));
        let started = Instant::now();
        let reserve = (patience / RESERVE_SHARE).min(RESERVE_MAX);
        let (searched_by, answered_by) = (started + patience - reserve, started + patience - reserve / 4);

        let query = encode(&*self.embedder, &ask.query, (patience - reserve) / 2).await;
        let found = self.search(&ask, &query, searched_by).await;
        if ask.strict {
            all_or_nothing(&found)?;
        }
        let degraded = found.is_degraded();
        let arms = found.arms.clone();
        let receipt_id = ReceiptId::generate();
        let now = self.clock.now();
        let (ask, mut ranking) = self.rank(ask, found, receipt_id, now).await?;
        if ranking.items.is_empty() {
            ranking.empty_reason = empty_reason(&query, &arms, ranking.empty_reason);
        }
        let receipt = Receipt {
            id: receipt_id,
            scope: ask.scope(),
            // A receipt is stored, so what it quotes is freed of secrets like everything else.
            query: hindsight_ingest::redact::text(&ask.query).into_owned(),
            at: now,
            arms,
            injected: ranking.items.iter().map(injected).collect(),
            withheld: ranking.withheld,
            degraded,
            empty_reason: ranking.empty_reason,
            tokens: u32::try_from(ranking.tokens).unwrap_or(u32::MAX),
        };
        let kept = self.keep(receipt.clone(), answered_by).await;
        count(&receipt);
        Ok(Answer { receipt, items: ranking.items, block: ranking.block, degraded: degraded || !kept })
    }

    async fn search(&self, ask: &Ask, query: &EncodedQuery, until: Instant) -> Found {
        if query.is_empty() {
            return Found::default();
        }
        search(&*self.store, &ask.viewer, query, &ask.kinds, self.settings.candidates, until).await
    }

    /// Off the threads that serve calls: reading hundreds of candidates takes milliseconds.
    async fn rank(
        &self,
        ask: Ask,
        found: Found,
        receipt: ReceiptId,
        now: hindsight_types::Timestamp,
    ) -> Result<(Ask, Ranking), Status> {
        let (settings, dense) = (self.settings.rank.clone(), self.dense);
        let work = move || {
            let request = Request {
                query: &ask.query,
                environment: &ask.environment,
                now,
                limit: ask.limit,
                token_budget: ask.token_budget,
                receipt,
                dense,
            };
            let ranking = rank(found.hits, &request, &settings);
            (ask, ranking)
        };
        tokio::task::spawn_blocking(work).await.map_err(|e| hindsight_api::status::internal(NAME, e))
    }

    /// Whether the receipt is durable in time. Later it may still become so; the recall does not wait.
    async fn keep(&self, receipt: Receipt, until: Instant) -> bool {
        let (store, id) = (self.store.clone(), receipt.id);
        let write = async move {
            let result = store.put_receipt(&receipt).await;
            if let Err(error) = &result {
                tracing::warn!(%error, receipt = %receipt.id, "the receipt could not be stored");
            }
            result.is_ok()
        };
        let writing = self.receipts.spawn(write.in_current_span());
        match timeout_at(until, writing).await {
            Ok(kept) => kept.unwrap_or(false),
            Err(_) => {
                tracing::warn!(receipt = %id, "the receipt is not stored yet at the deadline");
                false
            }
        }
    }
}

fn count(receipt: &Receipt) {
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

fn injected(item: &Ranked) -> RecalledItem {
    RecalledItem {
        memory_id: item.memory.id(),
        kind: item.memory.kind(),
        factors: item.factors,
        why: item.why.clone(),
        supersedes: item.supersedes.clone(),
    }
}

/// An outage comes before what the rest of the searches found.
fn empty_reason(query: &EncodedQuery, arms: &[hindsight_types::ArmReport], ranked: String) -> String {
    if query.is_empty() {
        return "the query holds no word that can be searched for".to_owned();
    }
    let mut dropped: Vec<String> = arms
        .iter()
        .filter(|arm| !arm.dropped.is_empty())
        .map(|arm| format!("{} not searched ({})", arm.kind.as_str(), arm.dropped))
        .collect();
    if dropped.is_empty() {
        return ranked;
    }
    dropped.push(ranked);
    dropped.join("; ")
}
