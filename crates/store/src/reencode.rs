//! The change from one embedder to another, in steps that can be broken off anywhere: what is left to do follows
//! from what is stored, never from where the last step was.
//!
//! 1. A record says that vectors of another embedder are being built, then gives every collection their name.
//! 2. Whoever has that embedder writes and searches under the new name. The rest is walked through: memories
//!    without the new vector are read, embedded and given it, unless they were written anew meanwhile.
//! 3. When a whole walk finds none, the record is changed: the new vectors serve, the former name is retired.
//! 4. Retired names are dropped.
//!
//! Memories may be written without a vector later, too, by processes with another embedder. So the walk goes on
//! when nothing is being built.

mod tell;
mod walk;

use futures::future::try_join_all;
use hindsight_ports::{Embedder, ReembedStep, StoreError};
use hindsight_types::Timestamp;
use qdrant_client::qdrant::{
    CreateVectorNameRequest, DeleteVectorNameRequest, DenseVectorCreationConfig, Distance,
    create_vector_name_request::VectorConfig,
};
use uuid::Uuid;

use crate::{
    collection::Collection,
    scoped::ScopedBackend,
    vectors::{Building, Meta, Named, State},
};

/// Where the walk is. Lost with the process, which costs one walk through what is done.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// The name whose absence is looked for.
    name: String,
    /// Which of those with vectors.
    collection: usize,
    from: Option<Uuid>,
    /// Memories that lacked it in this walk.
    found: u64,
}

impl Walker {
    /// At the beginning.
    fn of(named: &Named) -> Self {
        Self { name: named.name.clone(), ..Self::default() }
    }
}

/// One step with what it needs.
pub(crate) struct Step<'a> {
    pub(crate) scoped: &'a ScopedBackend,
    pub(crate) embedder: &'a dyn Embedder,
    pub(crate) now: Timestamp,
}

impl Step<'_> {
    pub(crate) async fn take(&self, walker: &mut Walker) -> Result<ReembedStep, StoreError> {
        let Some(seen) = self.scoped.seen_generation() else {
            return Err(StoreError::Unavailable("not prepared yet".to_owned()));
        };
        let meta = Meta::of(self.scoped);
        let state = meta.load().await?;
        self.scoped.learn(&state, false);
        let more = self.act(&meta, &state, seen, walker).await?;
        let vectors = self.scoped.known_vectors();
        Ok(ReembedStep { vectors: vectors.unwrap_or_else(|| state.shown(self.embedder.id())), more })
    }

    /// `false`: nothing is left to do for now.
    async fn act(
        &self,
        meta: &Meta<'_>,
        state: &State,
        seen: i64,
        walker: &mut Walker,
    ) -> Result<bool, StoreError> {
        let embedder = self.embedder.id();
        if let Some(next) = state.turn(embedder, seen, self.now) {
            if self.swap(meta, state, next).await? {
                tell::turned(state, embedder);
            }
            return Ok(true);
        }
        if let Some(name) = state.retired.first() {
            self.drop_name(name).await?;
            let retired = state.retired.iter().filter(|other| *other != name).cloned().collect();
            self.swap(meta, state, State { retired, ..state.clone() }).await?;
            return Ok(true);
        }
        match &state.building {
            Some(building) if building.named.embedder == *embedder => {
                self.build(meta, state, building, walker).await
            }
            None if state.serving.embedder == *embedder => self.keep_up(&state.serving, walker).await,
            // Another process has to do it.
            _ => Ok(false),
        }
    }

    async fn build(
        &self,
        meta: &Meta<'_>,
        state: &State,
        building: &Building,
        walker: &mut Walker,
    ) -> Result<bool, StoreError> {
        let mut next = Building { updated_at: self.now, ..building.clone() };
        if !building.ready || walker.name != building.named.name {
            self.create_name(&building.named).await?;
            *walker = Walker::of(&building.named);
            self.count(&mut next).await?;
            next.ready = true;
            (next.resumed_at, next.resumed_done) = (self.now, next.done);
            tell::resumed(&next);
        } else if let Some(handled) = self.walk(&building.named, walker).await? {
            next.done += handled.done;
            next.skipped += handled.skipped;
            tell::progress(building, &next);
        } else if walker.found > 0 {
            // Some of it was written anew meanwhile, and more may have come.
            *walker = Walker::of(&building.named);
            self.count(&mut next).await?;
        } else {
            let switched = state.switched(building);
            if self.swap(meta, state, switched).await? {
                tell::switched(&state.serving, &next);
            }
            return Ok(true);
        }
        self.swap(meta, state, State { building: Some(next), ..state.clone() }).await?;
        Ok(true)
    }

    /// Looks for memories that were written without a vector, once through all of them.
    async fn keep_up(&self, serving: &Named, walker: &mut Walker) -> Result<bool, StoreError> {
        if walker.name != serving.name {
            *walker = Walker::of(serving);
        }
        if self.walk(serving, walker).await?.is_some() {
            return Ok(true);
        }
        if walker.found > 0 {
            tracing::info!(memories = walker.found, "memories without a vector were given one");
        }
        *walker = Walker::of(serving);
        Ok(false)
    }

    /// Whether `next` stands now: someone else may have been faster.
    async fn swap(&self, meta: &Meta<'_>, known: &State, next: State) -> Result<bool, StoreError> {
        let next = State { revision: known.revision + 1, ..next };
        let stands = meta.swap(known, &next).await?;
        let won = stands == next;
        self.scoped.learn(&stands, won && next.generation != known.generation);
        Ok(won)
    }

    async fn create_name(&self, named: &Named) -> Result<(), StoreError> {
        let (backend, prefix) = self.scoped.raw();
        let config = DenseVectorCreationConfig {
            size: named.embedder.dimension as u64,
            distance: Distance::Cosine as i32,
            ..DenseVectorCreationConfig::default()
        };
        let creations = Collection::with_vectors().map(|collection| {
            backend.create_vector_name(CreateVectorNameRequest {
                collection_name: format!("{prefix}{}", collection.name()),
                wait: Some(true),
                vector_name: named.name.clone(),
                vector_config: Some(VectorConfig::DenseConfig(config)),
                ..CreateVectorNameRequest::default()
            })
        });
        try_join_all(creations).await.map(drop)
    }

    async fn drop_name(&self, name: &str) -> Result<(), StoreError> {
        let (backend, prefix) = self.scoped.raw();
        let deletions = Collection::with_vectors().map(|collection| {
            backend.delete_vector_name(DeleteVectorNameRequest {
                collection_name: format!("{prefix}{}", collection.name()),
                wait: Some(true),
                vector_name: name.to_owned(),
                ..DeleteVectorNameRequest::default()
            })
        });
        try_join_all(deletions).await.map(drop)
    }
}
