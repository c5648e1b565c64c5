//! One leads, the others stand by.

use std::{convert::Infallible, sync::Arc, time::Duration};

use hindsight_ports::{BusError, Leadership, Subjects};
use hindsight_runtime::Trouble;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::{NAME, compaction::Compaction, idle::Idle, receipts::Receipts, reembed::Reembedder};

/// Wait before a lost candidacy is stood for again.
const AGAIN: Duration = Duration::from_secs(1);

pub(crate) struct Leader {
    pub(crate) idle: Idle,
    pub(crate) receipts: Receipts,
    pub(crate) reembedder: Arc<Reembedder>,
    /// Merges of users that are to be finished and closed; `None`: by others.
    pub(crate) subjects: Option<Arc<dyn Subjects>>,
    /// `None`: policies are not applied.
    pub(crate) compaction: Option<Arc<Compaction>>,
    /// Why the last look failed; `None` while this one stands by.
    pub(crate) trouble: Trouble,
}

impl Leader {
    pub(crate) fn new(idle: Idle, receipts: Receipts, reembedder: Arc<Reembedder>) -> Self {
        Self { idle, receipts, reembedder, subjects: None, compaction: None, trouble: Trouble::default() }
    }

    /// What does not work, for people.
    pub(crate) fn degraded(&self) -> Option<String> {
        let compaction = self.compaction.as_ref().and_then(|c| c.trouble.reason());
        let reasons = [self.trouble.reason(), self.reembedder.trouble.reason(), compaction];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// Until `stop`. A look that is broken off is made again by the next leader.
    pub(crate) async fn run(&self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            never = self.stand_always() => match never {},
        }
        self.stand_down();
    }

    fn stand_down(&self) {
        self.trouble.report(None);
        self.reembedder.trouble.report(None);
        if let Some(compaction) = &self.compaction {
            compaction.trouble.report(None);
        }
    }

    async fn stand_always(&self) -> Infallible {
        loop {
            let Err(error) = self.stand().await;
            tracing::warn!(%error, "cannot stand for leadership; standing again");
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn stand(&self) -> Result<Infallible, BusError> {
        let mut candidate: Box<dyn Leadership> = self.idle.bus.lead(NAME).await?;
        loop {
            candidate.acquired().await?;
            tracing::info!("this compactor leads");
            tokio::select! {
                () = candidate.lost() => tracing::info!("this compactor no longer leads"),
                never = self.lead() => match never {},
                never = self.reembedder.run() => match never {},
                never = self.compact() => match never {},
            }
            self.stand_down();
        }
    }

    async fn compact(&self) -> Infallible {
        match &self.compaction {
            Some(compaction) => compaction.lead().await,
            None => std::future::pending().await,
        }
    }

    async fn lead(&self) -> Infallible {
        let settings = &self.idle.settings;
        let (mut looks, mut expiries) = (ticks(settings.every), ticks(settings.expire_every));
        loop {
            tokio::select! {
                _ = looks.tick() => {
                    self.look().await;
                    self.merge().await;
                }
                _ = expiries.tick() => self.expire().await,
            }
        }
    }

    async fn look(&self) {
        match self.idle.look().await {
            Ok(looked) => {
                tracing::debug!(looked.ended, looked.cleared, "looked at idle tasks");
                self.trouble.report(None);
            }
            Err(trouble) => {
                tracing::warn!(%trouble, "idle tasks cannot be looked at; trying again");
                self.trouble.report(Some(trouble.to_string()));
            }
        }
    }

    /// What cannot be moved now is moved at the next time.
    async fn merge(&self) {
        let Some(subjects) = &self.subjects else { return };
        if let Err(trouble) = subjects.upkeep(self.idle.clock.now()).await {
            tracing::warn!(%trouble, "merges of users cannot be gone on with; trying again");
            self.trouble.report(Some(trouble.to_string()));
        }
    }

    /// What cannot be deleted now is deleted at the next time.
    async fn expire(&self) {
        if let Err(trouble) = self.receipts.expire().await {
            tracing::warn!(%trouble, "old receipts cannot be deleted; trying again later");
            self.trouble.report(Some(trouble.to_string()));
        }
    }
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval_at(Instant::now() + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
