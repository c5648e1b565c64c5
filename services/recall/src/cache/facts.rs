use std::{sync::Arc, time::Duration};

use hindsight_ports::MemoryStore;
use hindsight_telemetry::{Label, Metric};
use hindsight_types::{MemoryChange, MemoryKind, Scope, TenantId, UserId, Viewer};
use quick_cache::{Lifecycle, OptionsBuilder, Weighter, sync::Cache};
use std::hash::RandomState;
use tokio::{sync::Semaphore, time::Instant};

use super::{
    CacheSettings,
    fresh::{Freshness, Stamp},
    snapshot::Snapshot,
};

const CACHE: (Label, &str) = (Label::Cache, "facts");
/// Users whose facts are read at the same time.
const READERS: usize = 4;
/// The facts of one user may take this part of the room, so that reading ahead takes no more than there is.
const SHARE: u64 = 4;
/// Bytes of an entry beside the facts.
const OVERHEAD: u64 = 256;

type Key = (TenantId, UserId);

/// What is known of a user.
#[derive(Clone)]
enum Known {
    /// Asked for once since the last change.
    Seen,
    /// Asked for twice: they are being read.
    Hot,
    /// Too many to keep.
    Many,
    Facts(Arc<Snapshot>),
}

#[derive(Clone)]
struct Entry {
    known: Known,
    /// From before it was read.
    stamp: Stamp,
    since: Instant,
}

/// The facts of users who are asked for again and again. The second recall after a change has them read in the
/// background, so that a user who changes as often as it is asked for costs nothing, and no recall waits.
pub(super) struct Facts {
    store: Arc<dyn MemoryStore>,
    entries: Cache<Key, Entry, Bytes, RandomState, Evicted>,
    fresh: Freshness,
    readers: Arc<Semaphore>,
    most: usize,
    most_bytes: usize,
    ttl: Duration,
}

impl Facts {
    /// `None`: switched off.
    pub(super) fn new(settings: &CacheSettings, store: Arc<dyn MemoryStore>) -> Option<Arc<Self>> {
        let bytes = settings.facts_bytes;
        // One shard: a user's facts may take much of the room there is.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(usize::try_from(bytes >> 16).unwrap_or(usize::MAX).max(1))
            .weight_capacity(bytes)
            .build()
            .ok()
            .filter(|_| bytes > 0)?;
        let entries = Cache::with_options(options, Bytes, RandomState::new(), Evicted);
        Some(Arc::new(Self {
            store,
            entries,
            fresh: Freshness::new(),
            readers: Arc::new(Semaphore::new(READERS)),
            most: settings.facts_per_user,
            most_bytes: usize::try_from(bytes / SHARE).unwrap_or(usize::MAX),
            ttl: settings.facts_ttl,
        }))
    }

    /// The facts that this viewer sees, if they are here and true.
    pub(super) fn of(self: &Arc<Self>, viewer: &Viewer) -> Option<Arc<Snapshot>> {
        let key = (viewer.tenant.clone(), viewer.user.clone()?);
        let Some(stamp) = self.fresh.stamp(&key.0, &key.1) else {
            return self.count("bypass", None);
        };
        let entry = self.entries.get(&key).filter(|e| e.stamp == stamp && e.since.elapsed() < self.ttl);
        match entry.map(|e| e.known) {
            Some(Known::Facts(facts)) => return self.count("hit", Some(facts)),
            Some(Known::Hot | Known::Many) => {}
            Some(Known::Seen) => self.read(key, stamp),
            None => self.keep(key, Known::Seen, stamp, Instant::now()),
        }
        self.count("miss", None)
    }

    fn count(&self, result: &'static str, facts: Option<Arc<Snapshot>>) -> Option<Arc<Snapshot>> {
        Metric::RecallCacheLookups.add(1, &[CACHE, (Label::Result, result)]);
        facts
    }

    fn keep(&self, key: Key, known: Known, stamp: Stamp, since: Instant) {
        self.entries.insert(key, Entry { known, stamp, since });
        Metric::RecallCacheBytes.set(self.entries.weight() as f64, &[CACHE]);
    }

    /// In the background; when enough others are being read, at a later recall.
    fn read(self: &Arc<Self>, key: Key, stamp: Stamp) {
        let Ok(reader) = Arc::clone(&self.readers).try_acquire_owned() else { return };
        let since = Instant::now();
        self.keep(key.clone(), Known::Hot, stamp, since);
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let _reader = reader;
            // Facts are of their user whatever agent asks, so nothing else of the viewer matters.
            let viewer = Viewer::of_tenant(key.0.clone()).with_user(Some(key.1.clone()));
            match Snapshot::read(&*this.store, &viewer, this.most, this.most_bytes).await {
                Ok(Some(facts)) => this.keep(key, Known::Facts(Arc::new(facts)), stamp, since),
                Ok(None) => this.keep(key, Known::Many, stamp, since),
                Err(error) => {
                    tracing::debug!(%error, "facts could not be read ahead");
                    this.entries.remove(&key);
                }
            }
        });
    }

    #[cfg(test)]
    pub(super) fn is_reading(&self) -> bool {
        self.readers.available_permits() < READERS
    }

    #[cfg(test)]
    pub(super) fn weight(&self) -> u64 {
        self.entries.weight()
    }

    /// Changes are heard from now on.
    pub(super) fn joined(&self) {
        self.fresh.joined();
        Metric::RecallCacheInvalidations.add(1, &[CACHE, (Label::Kind, "all")]);
    }

    /// Changes are not heard.
    pub(super) fn lost(&self) {
        self.fresh.lost();
        Metric::RecallCacheInvalidations.add(1, &[CACHE, (Label::Kind, "all")]);
    }

    pub(super) fn changed(&self, changes: &[MemoryChange]) {
        for scope in of_facts(changes) {
            self.fresh.of(scope).changed();
            count_change(scope);
        }
    }

    /// Nothing that is about to be changed is relied on until the answer is dropped.
    pub(super) fn writing(self: &Arc<Self>, changes: &[MemoryChange]) -> Writing {
        let scopes: Vec<Scope> = of_facts(changes).cloned().collect();
        scopes.iter().for_each(|scope| self.fresh.of(scope).writing());
        Writing { facts: self.clone(), scopes }
    }
}

fn of_facts(changes: &[MemoryChange]) -> impl Iterator<Item = &Scope> {
    changes.iter().filter(|change| change.kind == MemoryKind::Fact).map(|change| &change.scope)
}

fn count_change(scope: &Scope) {
    let whose = if scope.user().is_some() { "user" } else { "tenant" };
    Metric::RecallCacheInvalidations.add(1, &[CACHE, (Label::Kind, whose)]);
}

/// A write of facts that is under way.
pub(super) struct Writing {
    facts: Arc<Facts>,
    scopes: Vec<Scope>,
}

impl Drop for Writing {
    fn drop(&mut self) {
        for scope in &self.scopes {
            self.facts.fresh.of(scope).written();
            count_change(scope);
        }
    }
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Entry> for Bytes {
    fn weight(&self, (tenant, user): &Key, entry: &Entry) -> u64 {
        let facts = match &entry.known {
            Known::Facts(facts) => facts.bytes(),
            _ => 0,
        };
        OVERHEAD + (tenant.as_str().len() + user.as_str().len() + facts) as u64
    }
}

#[derive(Clone)]
struct Evicted;

impl Lifecycle<Key, Entry> for Evicted {
    type RequestState = ();

    fn begin_request(&self) -> Self::RequestState {}

    fn on_evict(&self, (): &mut (), _: Key, entry: Entry) {
        if matches!(entry.known, Known::Facts(_)) {
            Metric::RecallCacheEvictions.add(1, &[CACHE]);
        }
    }
}
