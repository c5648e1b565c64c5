use async_trait::async_trait;
use hindsight_types::Timestamp;

use crate::{Embedder, EmbedderId, StoreError};

/// What the dense vectors of a store are made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVectors {
    /// The embedder of this process.
    pub configured: EmbedderId,
    /// The embedder whose vectors are complete.
    pub serving: EmbedderId,
    /// The embedder whose vectors are being built, to take their place.
    pub building: Option<Rebuild>,
}

/// How far the building of vectors is. Counts are of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuild {
    pub embedder: EmbedderId,
    pub started_at: Timestamp,
    /// When something was last built.
    pub updated_at: Timestamp,
    /// Since when the present builder is at it, and how many were done by then.
    pub resumed_at: Timestamp,
    pub resumed_done: u64,
    pub total: u64,
    pub done: u64,
    /// Refused by the embedder; found by their words alone.
    pub skipped: u64,
}

impl Rebuild {
    /// 0 to 100; 100 only when nothing is left, 0 while nothing is counted yet.
    pub fn percent(&self) -> u64 {
        let handled = (self.done + self.skipped).min(self.total);
        (handled * 100).checked_div(self.total).unwrap_or(0)
    }

    /// Time left, in seconds, if it goes on as since `resumed_at`. `None`: nothing was done yet.
    pub fn seconds_left(&self) -> Option<u64> {
        let done = self.done.saturating_sub(self.resumed_done);
        let took = self.updated_at.duration_since(self.resumed_at).as_secs_f64();
        let left = self.total.saturating_sub(self.done + self.skipped);
        (done > 0).then(|| (took / done as f64 * left as f64).ceil() as u64)
    }
}

impl StoredVectors {
    /// Whether the vectors of this process's embedder are searched and written: all of them, or as far as they
    /// are built.
    pub fn are_used(&self) -> bool {
        let building = self.building.as_ref().is_some_and(|b| b.embedder == self.configured);
        self.serving == self.configured || building
    }

    /// What a search by meaning misses, for people; `None`: nothing.
    pub fn trouble(&self) -> Option<String> {
        if self.serving == self.configured {
            return None;
        }
        Some(match &self.building {
            Some(build) if build.embedder == self.configured => {
                format!("embedder changing: {} % re-encoded", build.percent())
            }
            _ => format!(
                "the store serves vectors of {}, this process is configured with {}; memories are found by words alone",
                self.serving, self.configured
            ),
        })
    }
}

/// What a step of re-embedding came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReembedStep {
    pub vectors: StoredVectors,
    /// There is more to do at once.
    pub more: bool,
}

/// The change of a store from one embedder to another while it is in use. New vectors are built beside the old
/// under another name; when every memory has one the store serves them and drops the old.
#[async_trait]
pub trait Reembed: Send + Sync + 'static {
    /// Does a bounded piece of what is to do, for the one that leads upkeep: begins when `embedder` is not the one
    /// that serves, continues, gives up when it is again, and finishes; gives vectors to memories written without.
    /// Can be broken off at any point and called again, by another process too.
    ///
    /// A process does not undo a change that another one began after this one was prepared.
    async fn reembed(&self, embedder: &dyn Embedder, now: Timestamp) -> Result<ReembedStep, StoreError>;

    /// Read from the store.
    async fn vectors(&self) -> Result<StoredVectors, StoreError>;

    /// As this process last read it: never older than a second or two while a change is under way that it takes
    /// part in. `None`: the store is not prepared yet.
    fn known_vectors(&self) -> Option<StoredVectors>;
}

#[cfg(test)]
mod tests;
