//! Writing the files of a collection anew, so that nothing is left in them of what was deleted or replaced.
//!
//! The engine only marks what is deleted: payloads stay in their pages, words and vectors in their indexes, all of it
//! in its log. Its optimiser rebuilds segments of which enough is deleted, takes no notice of payloads that were
//! replaced, and leaves the log. So a new shard is made of what is in the old one, in `fresh/`, beside reads and
//! writes; what is written meanwhile stands in the journal, and is applied to the new shard when it is done. Then the
//! new one takes the place of the old one:
//!
//! 1. `shard` becomes `stale`, 2. `fresh` becomes `shard`, 3. `stale` is removed.
//!
//! After a crash before the first step the old shard is opened and `fresh` thrown away; after it, opening does what is
//! left ([`settle`]). Either shard has everything that was acknowledged, with the journal.

use std::{
    fs, io,
    path::Path,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use hindsight_ports::StoreError;
use qdrant_client::qdrant::CreateFieldIndexCollection;
use qdrant_edge::{CountRequest, EdgeShard, ScrollRequest, WithPayloadInterface, WithVector};

use super::{
    effect::{Effect, check_points},
    open::{Opening, remove},
    owner::{Busy, Command, Owner},
};
use crate::{
    convert::point::record_to_point,
    engine::{Engine, contain, flush},
    files::{Places, sync_dir},
    journal::unavailable,
};

/// Points copied per step: bounds the memory of a step, as each may weigh some megabytes.
const PAGE: usize = 64;

impl Owner {
    /// Begins to make a new shard on a thread of its own.
    pub(super) fn vacuum(&mut self) {
        let Ok(permit) = Arc::clone(&self.optimizers).try_acquire_owned() else { return };
        // From here on the journal has whatever the copy may miss.
        if !self.flush() {
            return;
        }
        let indexes = self.description.lock().unwrap_or_else(PoisonError::into_inner).indexes.clone();
        let copying = Copying {
            opening: self.opening.clone(),
            indexes,
            engine: Arc::clone(&self.engine),
            stop: Arc::clone(&self.stop),
        };
        let outbox = self.outbox.clone();
        let lock = Arc::clone(&self.lock);
        let spawned = thread::Builder::new().name(format!("vacuum-{}", self.opening.name)).spawn(move || {
            let outcome = copying.run();
            // The shard before the lock: when nobody else holds them, it is closed here.
            drop(copying);
            drop(permit);
            // The owner may have given up waiting.
            let _ = contain(|| drop(outbox.send(Command::Copied(Box::new(outcome)))));
            drop(lock);
        });
        match spawned {
            Ok(_) => self.busy = Some(Busy::Vacuuming(std::mem::take(&mut self.vacuums))),
            Err(error) => tracing::warn!(collection = self.opening.name, %error, "cannot start a vacuum"),
        }
    }

    pub(super) fn copied(&mut self, outcome: Result<EdgeShard, StoreError>) {
        let Some(Busy::Vacuuming(waiting)) = self.busy.take() else { return };
        let outcome = outcome.and_then(|fresh| self.take_over(fresh));
        match &outcome {
            Ok(()) => tracing::debug!(collection = self.opening.name, "vacuumed"),
            Err(error) => tracing::warn!(collection = self.opening.name, %error, "the vacuum failed"),
        }
        for reply in waiting {
            // A caller that went away does not need the answer.
            let _ = reply.send(outcome.clone());
        }
    }

    fn take_over(&mut self, fresh: EdgeShard) -> Result<(), StoreError> {
        let opening = self.opening.clone();
        let caught_up = self
            .journal
            .replay(|record| opening.replay(&fresh, record))
            .and_then(|()| self.compare(&fresh))
            .and_then(|()| opening.call(|| flush(&fresh)));
        let closed = opening.call(|| {
            drop(fresh);
            Ok(())
        });
        if let Err(error) = caught_up.and(closed) {
            let fresh = opening.places.fresh();
            // What cannot be removed now is removed by the next vacuum, or when the collection is opened.
            if let Err(error) = remove(&fresh) {
                tracing::warn!(dir = %fresh.display(), %error, "a copy cannot be removed");
            }
            return Err(error);
        }
        let root = opening.places.root();
        let failed = |error: io::Error| unavailable(root, &error);
        sync_tree(&opening.places.fresh()).map_err(failed)?;
        self.reopen(|| {
            fs::rename(opening.places.shard(), opening.places.stale())
                .and_then(|()| sync_dir(root))
                .map_err(failed)
        });
        match self.failed {
            None => {
                self.unoptimized = 0;
                Ok(())
            }
            Some(_) => Err(StoreError::Unavailable(format!(
                "collection {:?}: cannot be opened after its vacuum",
                opening.name
            ))),
        }
    }

    /// Nobody writes now, so both have as many points. If not, the old one stays: better its bytes than a loss.
    fn compare(&self, fresh: &EdgeShard) -> Result<(), StoreError> {
        let all = || CountRequest { filter: None, exact: true };
        let old = self.engine.run(|shard| shard.count(all()))?;
        let new = self.opening.call(|| fresh.count(all()))?;
        if old == new {
            return Ok(());
        }
        let name = &self.opening.name;
        Err(StoreError::Unavailable(format!(
            "collection {name:?}: its vacuum has {new} of {old} points and is thrown away"
        )))
    }
}

/// What it takes to make a new shard beside the old one.
struct Copying {
    opening: Opening,
    indexes: Vec<CreateFieldIndexCollection>,
    engine: Arc<Engine>,
    stop: Arc<AtomicBool>,
}

impl Copying {
    fn run(&self) -> Result<EdgeShard, StoreError> {
        let dir = self.opening.places.fresh();
        let failed = |error: io::Error| unavailable(&dir, &error);
        remove(&dir).map_err(failed)?;
        fs::create_dir_all(&dir).map_err(failed)?;
        let fresh = self.opening.call(|| EdgeShard::new(&dir, self.opening.config.clone()))?;
        match self.fill(&fresh) {
            Ok(()) => Ok(fresh),
            Err(error) => {
                self.opening.call(|| {
                    drop(fresh);
                    Ok(())
                })?;
                remove(&dir).map_err(failed)?;
                Err(error)
            }
        }
    }

    fn fill(&self, fresh: &EdgeShard) -> Result<(), StoreError> {
        self.opening.index(fresh, &self.indexes)?;
        let mut offset = None;
        loop {
            if self.stop.load(Ordering::Acquire) {
                return Err(StoreError::Unavailable("the store is closed".to_owned()));
            }
            let page = ScrollRequest {
                offset,
                limit: Some(PAGE),
                with_payload: Some(WithPayloadInterface::Bool(true)),
                with_vector: WithVector::Bool(true),
                ..ScrollRequest::default()
            };
            let (records, next) = self.engine.list(|shard| shard.scroll(page))?;
            let points = records.into_iter().map(record_to_point).collect();
            let schema = &self.opening.schema;
            for effect in Effect::upserts(check_points(points, schema)?, schema) {
                self.opening.call(|| effect.apply(fresh))?;
            }
            match next {
                Some(next) => offset = Some(next),
                None => break,
            }
        }
        self.opening.call(|| fresh.optimize())?;
        self.opening.call(|| flush(fresh))
    }
}

/// Ends a change of shards that was broken off; see the head of this file. To be called while none is open.
pub(super) fn settle(places: &Places) -> io::Result<()> {
    if !places.shard().exists() && places.stale().exists() && places.fresh().exists() {
        fs::rename(places.fresh(), places.shard())?;
        return sync_dir(places.root());
    }
    remove(&places.fresh())
}

/// Makes all that is below `dir` durable.
fn sync_tree(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            fs::File::open(entry.path())?.sync_all()?;
        }
    }
    sync_dir(dir)
}
