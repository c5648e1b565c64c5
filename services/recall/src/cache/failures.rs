//! The failures that were seen of late, by the scope that holds them, so that a call is compared with them in
//! memory. A copy may lack what was written a moment ago; whoever is about to say something of an old copy asks
//! the store for it first, so that nothing is said that is gone or changed.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::RandomState,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use hindsight_ports::{Clock, MemoryStore, PageRequest, StoreError};
use hindsight_rank::watch::{Known, Likeness, Patterns, Signs, times};
use hindsight_types::{FailurePattern, Memory, MemoryChange, MemoryId, MemoryKind, Scope, Viewer};
use quick_cache::{
    OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};
use tokio::{sync::Semaphore, time::Instant};

use super::fresh::{Freshness, Stamp};
use crate::watch::{WatchSettings, signs};

/// Viewers whose failures are read for the first time at the same time.
const READERS: usize = 2;
/// Scopes of which there may be something.
const SCOPES: usize = 1_024;
/// Failures that the store gives at once.
const PAGE: usize = 200;
/// Bytes of a failure with its words, roughly, beside its texts.
const OVERHEAD: usize = 1_024;
/// A copy is read anew after this time, even when no change is heard.
const OLD: Duration = Duration::from_secs(60);
/// Who reads anew rests so many times as long as it took: reading again and again takes a fifth of a core at most.
const REST: u32 = 4;

#[derive(Clone)]
struct Entry {
    patterns: Arc<Patterns>,
    /// From before it was read.
    stamp: Option<Stamp>,
    since: Instant,
    bytes: u64,
}

pub(crate) struct Failures {
    store: Arc<dyn MemoryStore>,
    clock: Arc<dyn Clock>,
    entries: Cache<Scope, Entry, Bytes, RandomState>,
    fresh: Freshness,
    /// Of what was not read before: a stream waits for it.
    readers: Semaphore,
    /// Of what is read anew.
    refresher: Semaphore,
    /// Scopes that are to be read anew.
    reading: Mutex<HashSet<Scope>>,
    most: usize,
    pause: Duration,
}

/// What one viewer sees of it.
pub(crate) struct Sight {
    patterns: Vec<Arc<Patterns>>,
    /// Whether nothing of it has changed since it was read.
    pub(crate) is_true: bool,
    /// Whether all of it is here.
    pub(crate) is_whole: bool,
}

impl Sight {
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.iter().all(|patterns| patterns.is_empty())
    }

    pub(crate) fn like(&self, call: &Signs, near: f32) -> Vec<Likeness> {
        self.patterns.iter().flat_map(|patterns| patterns.like(call, near)).collect()
    }
}

impl Failures {
    pub(super) fn new(
        settings: &WatchSettings,
        store: Arc<dyn MemoryStore>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        // One shard: the failures of one scope may take much of the room there is.
        let capacity = settings.failures_bytes.max(1);
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(SCOPES)
            .weight_capacity(capacity)
            .build()
            .ok();
        let (hasher, lifecycle) = (RandomState::new(), DefaultLifecycle::default());
        let entries = match options {
            Some(options) => Cache::with_options(options, Bytes, hasher, lifecycle),
            None => Cache::with(SCOPES, capacity, Bytes, hasher, lifecycle),
        };
        Arc::new(Self {
            store,
            clock,
            entries,
            fresh: Freshness::new(),
            readers: Semaphore::new(READERS),
            refresher: Semaphore::new(1),
            reading: Mutex::default(),
            most: settings.failures,
            pause: settings.pause,
        })
    }

    /// What is here for a viewer. What is missing or old is read in the background, for later calls.
    pub(crate) fn of(self: &Arc<Self>, viewer: &Viewer) -> Sight {
        let mut sight = Sight { patterns: Vec::new(), is_true: true, is_whole: true };
        let mut stale = false;
        for scope in scopes(viewer) {
            let Some(entry) = self.entries.get(&scope) else {
                (sight.is_true, sight.is_whole, stale) = (false, false, true);
                continue;
            };
            let now = self.fresh.stamp_of(&scope);
            let (holds, age) = (now.is_some() && entry.stamp == now, entry.since.elapsed());
            sight.is_true &= holds && age < OLD;
            stale |= age >= if holds { OLD } else { self.pause };
            sight.patterns.push(entry.patterns);
        }
        if stale {
            self.read_later(viewer.clone());
        }
        sight
    }

    /// Waits until what a viewer sees has been read once.
    pub(crate) async fn ready(&self, viewer: &Viewer) {
        if scopes(viewer).all(|scope| self.entries.peek(&scope).is_some()) {
            return;
        }
        if let Ok(_reader) = self.readers.acquire().await {
            self.read(viewer).await;
        }
    }

    fn read_later(self: &Arc<Self>, viewer: Viewer) {
        let wanted: Vec<Scope> = scopes(&viewer).collect();
        {
            let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            if wanted.iter().all(|scope| reading.contains(scope)) {
                return;
            }
            reading.extend(wanted.iter().cloned());
        }
        let this = self.clone();
        tokio::spawn(async move {
            let Ok(_turn) = this.refresher.acquire().await else { return };
            let begun = Instant::now();
            this.read(&viewer).await;
            this.reading
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .retain(|scope| !wanted.contains(scope));
            tokio::time::sleep((begun.elapsed() * REST).max(this.pause)).await;
        });
    }

    async fn read(&self, viewer: &Viewer) {
        let stamps: Vec<(Scope, Option<Stamp>)> =
            scopes(viewer).map(|scope| (scope.clone(), self.fresh.stamp_of(&scope))).collect();
        let since = Instant::now();
        let mut by_scope = match self.seen_of_late(viewer).await {
            Ok(seen) => seen,
            Err(error) => {
                tracing::debug!(%error, "known failures could not be read");
                return;
            }
        };
        for (scope, stamp) in stamps {
            let seen = by_scope.remove(&scope).unwrap_or_default();
            let bytes = seen.iter().map(|p| OVERHEAD + weight(p)).sum::<usize>() + OVERHEAD;
            let before = self.entries.peek(&scope).map(|entry| entry.patterns);
            let known = tokio::task::spawn_blocking(move || compare_ready(seen, before.as_deref())).await;
            if let Ok(patterns) = known {
                let patterns = Arc::new(patterns);
                self.entries.insert(scope, Entry { patterns, stamp, since, bytes: bytes as u64 });
            }
        }
    }

    /// The failures of the last 30 days, the latest first, as many as are kept.
    async fn seen_of_late(&self, viewer: &Viewer) -> Result<HashMap<Scope, Vec<FailurePattern>>, StoreError> {
        let now = self.clock.now();
        let (mut by_scope, mut left): (HashMap<Scope, Vec<FailurePattern>>, _) = (HashMap::new(), self.most);
        let mut page = PageRequest { size: PAGE, token: String::new() };
        while left > 0 {
            let found = self.store.list(viewer, MemoryKind::FailurePattern, &page).await?;
            for memory in found.items.into_iter().take(left) {
                left -= 1;
                let Memory::FailurePattern(pattern) = memory else { continue };
                if times(&pattern, now) == 0 {
                    return Ok(by_scope);
                }
                by_scope.entry(pattern.scope.clone()).or_default().push(pattern);
            }
            if found.next_token.is_empty() {
                break;
            }
            page.token = found.next_token;
        }
        Ok(by_scope)
    }

    /// The failures as the store has them now; those that are gone are left out.
    pub(crate) async fn as_stored(
        &self,
        viewer: &Viewer,
        found: Vec<Likeness>,
    ) -> Result<Vec<Likeness>, StoreError> {
        let reads = found.into_iter().map(async |Likeness { pattern, alike }| {
            let stored = self.store.get(viewer, MemoryKind::FailurePattern, pattern.id).await?;
            Ok(stored.and_then(|memory| match memory {
                Memory::FailurePattern(pattern) => Some(Likeness { pattern: Arc::new(pattern), alike }),
                _ => None,
            }))
        });
        Ok(futures::future::try_join_all(reads).await?.into_iter().flatten().collect())
    }

    pub(super) fn joined(&self) {
        self.fresh.joined();
    }

    pub(super) fn lost(&self) {
        self.fresh.lost();
    }

    pub(super) fn changed(&self, changes: &[MemoryChange]) {
        of_failures(changes).for_each(|scope| self.fresh.of(scope).changed());
    }

    /// Nothing that is about to be changed is relied on until the answer is dropped.
    pub(super) fn writing(self: &Arc<Self>, changes: &[MemoryChange]) -> Writing {
        let scopes: Vec<Scope> = of_failures(changes).cloned().collect();
        scopes.iter().for_each(|scope| self.fresh.of(scope).writing());
        Writing { failures: self.clone(), scopes }
    }
}

fn scopes(viewer: &Viewer) -> impl Iterator<Item = Scope> {
    let tenant = viewer.tenant.clone();
    viewer.visibilities().into_iter().map(move |visibility| Scope::new(tenant.clone(), visibility))
}

fn of_failures(changes: &[MemoryChange]) -> impl Iterator<Item = &Scope> {
    changes.iter().filter(|change| change.kind == MemoryKind::FailurePattern).map(|change| &change.scope)
}

/// Whose words were taken apart before need not be again.
fn compare_ready(seen: Vec<FailurePattern>, before: Option<&Patterns>) -> Patterns {
    let known: BTreeMap<MemoryId, &Known> =
        before.into_iter().flat_map(Patterns::iter).map(|known| (known.pattern().id, known)).collect();
    Patterns::new(seen.into_iter().map(|pattern| match known.get(&pattern.id) {
        Some(known) if known.is_of(&pattern) => known.renewed(pattern),
        _ => {
            let signs = signs(&pattern.action_name, &pattern.action_detail);
            Known::new(pattern, signs)
        }
    }))
}

fn weight(p: &FailurePattern) -> usize {
    let sources: usize = p.sources.iter().map(|s| s.as_str().len() + 24).sum();
    [&p.action_name, &p.signature, &p.example, &p.action_detail, &p.cause, &p.suggestion]
        .map(|text| text.len())
        .iter()
        .sum::<usize>()
        + sources
}

/// A write of failures that is under way.
pub(super) struct Writing {
    failures: Arc<Failures>,
    scopes: Vec<Scope>,
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.scopes.iter().for_each(|scope| self.failures.fresh.of(scope).written());
    }
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Scope, Entry> for Bytes {
    fn weight(&self, _: &Scope, entry: &Entry) -> u64 {
        entry.bytes
    }
}

#[cfg(test)]
mod tests;
