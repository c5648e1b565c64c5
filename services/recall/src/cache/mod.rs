//! What need not be asked for again: the vectors of questions, the facts of users who are asked for again and
//! again, the failures that calls are compared with. Facts are dropped when they change, wherever that is: writers in this process say so
//! before they return, others through the bus; and while the bus is not heard nothing is kept.

mod embeddings;
mod facts;
mod failures;
mod fresh;
mod snapshot;

use std::{any::Any, sync::Arc, time::Duration};

use hindsight_codec::{changes_from_proto, schema};
use hindsight_ports::{
    Arm, Bus, BusError, Candidate, CandidateId, Clock, Envelope, Fetched, Heard, MemoryStore, Search,
    StoreError,
};
use hindsight_proto::event::v1::MemoriesChanged;
use hindsight_types::{MemoryChange, MemoryKind, Viewer};
use prost::Message as _;
use tokio_util::sync::CancellationToken;

use crate::WatchSettings;

pub(crate) use embeddings::RememberingEmbedder;
use facts::Facts;
pub(crate) use failures::Failures;
use snapshot::Snapshot;

/// Before listening again when the bus would not.
const PAUSE: Duration = Duration::from_secs(1);

/// How much is kept. Zero bytes: nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheSettings {
    /// For vectors of questions.
    pub embeddings_bytes: u64,
    /// For facts; a quarter of it for those of one user at most.
    pub facts_bytes: u64,
    /// Facts of one user; of who has more, none are kept. Below 1 000.
    pub facts_per_user: usize,
    /// Facts are read anew after this time, even when no change is heard.
    pub facts_ttl: Duration,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            embeddings_bytes: 16 << 20,
            facts_bytes: 64 << 20,
            facts_per_user: 500,
            facts_ttl: Duration::from_secs(30),
        }
    }
}

/// Facts that are kept, and the store for everything else.
pub(crate) struct Memories {
    store: Arc<dyn MemoryStore>,
    facts: Option<Arc<Facts>>,
    failures: Arc<Failures>,
}

impl Memories {
    /// No facts are kept.
    pub(crate) fn stored(store: Arc<dyn MemoryStore>, clock: Arc<dyn Clock>, watch: &WatchSettings) -> Self {
        Self { failures: Failures::new(watch, store.clone(), clock), store, facts: None }
    }

    pub(crate) fn kept(
        settings: &CacheSettings,
        store: Arc<dyn MemoryStore>,
        clock: Arc<dyn Clock>,
        watch: &WatchSettings,
    ) -> Self {
        let facts = Facts::new(settings, store.clone());
        Self { facts, failures: Failures::new(watch, store.clone(), clock), store }
    }

    /// Failures that calls are compared with.
    pub(crate) fn failures(&self) -> &Arc<Failures> {
        &self.failures
    }

    /// Where one recall searches.
    pub(crate) fn view(&self, viewer: &Viewer) -> View<'_> {
        let facts = self.facts.as_ref().and_then(|facts| facts.of(viewer));
        View { store: &*self.store, viewer: viewer.clone(), facts }
    }

    /// Is to be called with what is about to change in this process; what it returns is to be dropped when it has.
    pub(crate) fn on_write(&self) -> impl Fn(&[MemoryChange]) -> Box<dyn Any + Send> + Send + Sync + use<> {
        let facts = self.facts.as_ref().map(Arc::downgrade).unwrap_or_default();
        let failures = Arc::downgrade(&self.failures);
        move |changes| {
            let facts = facts.upgrade().map(|facts| facts.writing(changes));
            Box::new((facts, failures.upgrade().map(|failures| failures.writing(changes))))
        }
    }

    /// Hears what changes elsewhere, until it is told to stop.
    pub(crate) async fn listen(&self, bus: &dyn Bus, stop: &CancellationToken) {
        let kept = Kept { facts: self.facts.as_deref(), failures: &self.failures };
        let hearing = async {
            loop {
                let Err(error) = hear(kept, bus).await;
                kept.lost();
                if matches!(error, BusError::Closed) {
                    return;
                }
                tracing::warn!(%error, "changes are not heard; nothing is relied on meanwhile");
                tokio::time::sleep(PAUSE).await;
            }
        };
        stop.run_until_cancelled(hearing).await;
        kept.lost();
    }
}

/// What is kept by hearsay.
#[derive(Clone, Copy)]
struct Kept<'a> {
    facts: Option<&'a Facts>,
    failures: &'a Failures,
}

impl Kept<'_> {
    fn joined(self) {
        self.facts.inspect(|facts| facts.joined());
        self.failures.joined();
    }

    fn lost(self) {
        self.facts.inspect(|facts| facts.lost());
        self.failures.lost();
    }

    fn changed(self, changes: &[MemoryChange]) {
        self.facts.inspect(|facts| facts.changed(changes));
        self.failures.changed(changes);
    }
}

async fn hear(kept: Kept<'_>, bus: &dyn Bus) -> Result<std::convert::Infallible, BusError> {
    let mut listener = bus.listen().await?;
    loop {
        match listener.next().await? {
            Heard::Joined => kept.joined(),
            Heard::Lost => kept.lost(),
            Heard::Message(message) => match changes(message) {
                Ok(changes) => kept.changed(&changes),
                Err(why) => {
                    tracing::warn!(why, "a change that cannot be read; all is read anew");
                    kept.joined();
                }
            },
        }
    }
}

fn changes(message: Envelope) -> Result<Vec<MemoryChange>, String> {
    if message.schema != schema::MEMORIES_CHANGED {
        return Err(format!("unknown schema {}", message.schema));
    }
    let told = MemoriesChanged::decode(message.payload.as_slice()).map_err(|e| e.to_string())?;
    changes_from_proto(&message.tenant, told).map_err(|e| e.to_string())
}

/// What one viewer sees, for the time of one recall: a user's facts stay as they were when it began.
pub(crate) struct View<'a> {
    store: &'a dyn MemoryStore,
    viewer: Viewer,
    facts: Option<Arc<Snapshot>>,
}

impl View<'_> {
    /// As [`MemoryStore::search`].
    pub(crate) async fn search(&self, search: &Search) -> Result<Vec<Candidate>, StoreError> {
        let facts = self.facts.as_deref().filter(|_| search.kind == MemoryKind::Fact);
        if let Some(found) = facts.and_then(|facts| facts.propose(search)) {
            return Ok(found);
        }
        let found = self.store.search(&self.viewer, search).await?;
        if let (Some(facts), Arm::Bm25(_)) = (facts, &search.arm) {
            facts.learn(search, &found);
        }
        Ok(found)
    }

    /// As [`MemoryStore::fetch`].
    pub(crate) async fn fetch(
        &self,
        kind: MemoryKind,
        ids: &[CandidateId],
    ) -> Result<Vec<Fetched>, StoreError> {
        let facts = self.facts.as_deref().filter(|_| kind == MemoryKind::Fact);
        match facts.and_then(|facts| facts.fetch(ids)) {
            Some(fetched) => Ok(fetched),
            None => self.store.fetch(&self.viewer, kind, ids).await,
        }
    }
}

#[cfg(test)]
mod tests;
