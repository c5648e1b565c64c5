//! Which embedder's vectors a store has, under which names: one record in the collection `meta`, changed only by
//! compare-and-swap.

mod payload;

use std::collections::HashMap;

use hindsight_ports::{EmbedderId, Rebuild, StoreError, StoredVectors};
use hindsight_types::Timestamp;
use qdrant_client::qdrant::{
    Condition, CreateCollection, Filter, GetPoints, PointStruct, UpsertPoints, Value, Vector,
    VectorParamsMap, Vectors, VectorsConfig, WithPayloadSelector, vectors_config,
};
use uuid::Uuid;

use crate::{
    VectorBackend,
    collection::{Collection, DENSE},
    point,
    scoped::ScopedBackend,
};

const META: &str = "meta";

/// Vectors of one embedder under one name, the same in every collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) embedder: EmbedderId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Building {
    pub(crate) named: Named,
    /// The name is there in every collection, and may be written and searched.
    pub(crate) ready: bool,
    pub(crate) started_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) resumed_at: Timestamp,
    pub(crate) resumed_done: u64,
    pub(crate) total: u64,
    pub(crate) done: u64,
    pub(crate) skipped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Counts the changes of this record. 0: as builds wrote it that knew one embedder only.
    pub(crate) revision: i64,
    /// Counts the changes of mind: rises when vectors begin to be built and when that is given up.
    pub(crate) generation: i64,
    pub(crate) serving: Named,
    pub(crate) building: Option<Building>,
    /// Names to be dropped from every collection.
    pub(crate) retired: Vec<String>,
}

impl State {
    pub(crate) fn new(embedder: &EmbedderId) -> Self {
        Self {
            revision: 1,
            generation: 1,
            serving: Named { name: DENSE.to_owned(), embedder: embedder.clone() },
            building: None,
            retired: Vec::new(),
        }
    }

    /// The vectors of `embedder` that may be searched and written.
    pub(crate) fn usable(&self, embedder: &EmbedderId) -> Option<&Named> {
        let building = self.building.as_ref().filter(|b| b.ready).map(|b| &b.named);
        [Some(&self.serving), building].into_iter().flatten().find(|named| named.embedder == *embedder)
    }

    /// What the one that leads upkeep and has `embedder` makes of it; `None`: nothing is to be decided.
    ///
    /// `seen` is the generation that its process knows to be its own doing or older than itself: what changed
    /// since is not undone by it.
    pub(crate) fn turn(&self, embedder: &EmbedderId, seen: i64, now: Timestamp) -> Option<Self> {
        let target = self.building.as_ref().map_or(&self.serving, |b| &b.named);
        if target.embedder == *embedder || self.generation != seen {
            return None;
        }
        let mut next = self.clone();
        next.generation += 1;
        next.retired.extend(next.building.take().map(|b| b.named.name));
        if self.serving.embedder != *embedder {
            let name = format!("{DENSE}_{}", next.generation);
            next.building = Some(Building::new(Named { name, embedder: embedder.clone() }, now));
        }
        Some(next)
    }

    /// With what was built in the place of what served.
    pub(crate) fn switched(&self, built: &Building) -> Self {
        let mut next = Self { serving: built.named.clone(), building: None, ..self.clone() };
        next.retired.push(self.serving.name.clone());
        next
    }

    pub(crate) fn shown(&self, configured: &EmbedderId) -> StoredVectors {
        StoredVectors {
            configured: configured.clone(),
            serving: self.serving.embedder.clone(),
            building: self.building.as_ref().map(Building::shown),
        }
    }
}

impl Building {
    fn new(named: Named, now: Timestamp) -> Self {
        Self {
            named,
            ready: false,
            started_at: now,
            updated_at: now,
            resumed_at: now,
            resumed_done: 0,
            total: 0,
            done: 0,
            skipped: 0,
        }
    }

    pub(crate) fn shown(&self) -> Rebuild {
        Rebuild {
            embedder: self.named.embedder.clone(),
            started_at: self.started_at,
            updated_at: self.updated_at,
            resumed_at: self.resumed_at,
            resumed_done: self.resumed_done,
            total: self.total,
            done: self.done,
            skipped: self.skipped,
        }
    }
}

/// The record at rest.
pub(crate) struct Meta<'a> {
    backend: &'a dyn VectorBackend,
    collection: String,
}

impl<'a> Meta<'a> {
    pub(crate) fn of(scoped: &'a ScopedBackend) -> Self {
        let (backend, prefix) = scoped.raw();
        Self { backend, collection: format!("{prefix}{META}") }
    }

    pub(crate) async fn create(&self) -> Result<(), StoreError> {
        let none = vectors_config::Config::ParamsMap(VectorParamsMap::default());
        let request = CreateCollection {
            collection_name: self.collection.clone(),
            vectors_config: Some(VectorsConfig { config: Some(none) }),
            ..Default::default()
        };
        self.backend.create_collection(request).await
    }

    /// What stands there, after writing down that `embedder` serves if nothing does: of two that begin at once,
    /// one wins.
    pub(crate) async fn claim(&self, embedder: &EmbedderId) -> Result<State, StoreError> {
        if let Some(state) = self.read().await? {
            return Ok(state);
        }
        // Never true for a record that is there.
        self.write(&State::new(embedder), Condition::matches(payload::REVISION, -1)).await?;
        let kept = self.read().await?;
        kept.ok_or_else(|| {
            StoreError::Corrupt(format!("`{}` does not keep what is written", self.collection))
        })
    }

    pub(crate) async fn load(&self) -> Result<State, StoreError> {
        let state = self.read().await?;
        state.ok_or_else(|| {
            StoreError::Corrupt(format!("`{}` has lost which embedder serves", self.collection))
        })
    }

    /// Puts `next` in the place of `known` and says what stands there then: someone else may have been faster.
    pub(crate) async fn swap(&self, known: &State, next: &State) -> Result<State, StoreError> {
        let unchanged = match known.revision {
            0 => Condition::is_empty(payload::REVISION),
            revision => Condition::matches(payload::REVISION, revision),
        };
        self.write(next, unchanged).await?;
        self.load().await
    }

    async fn read(&self) -> Result<Option<State>, StoreError> {
        let request = GetPoints {
            collection_name: self.collection.clone(),
            ids: vec![point::to_point_id(id())],
            with_payload: Some(WithPayloadSelector::from(true)),
            ..Default::default()
        };
        self.backend.get(request).await?.pop().map(|point| payload::decode(&point.payload)).transpose()
    }

    /// Does nothing when the record is there and `only_if` does not hold of it.
    async fn write(&self, state: &State, only_if: Condition) -> Result<(), StoreError> {
        let point = PointStruct {
            id: Some(point::to_point_id(id())),
            payload: payload::encode(state)?,
            vectors: Some(Vectors::from(HashMap::<String, Vector>::new())),
        };
        let request = UpsertPoints {
            collection_name: self.collection.clone(),
            wait: Some(true),
            points: vec![point],
            update_filter: Some(Filter::must([only_if])),
            ..Default::default()
        };
        self.backend.upsert(request).await
    }
}

/// Where builds that knew one embedder only look for that of the trajectories: they find a newer schema there and
/// say so.
fn id() -> Uuid {
    Uuid::new_v5(&Uuid::NAMESPACE_OID, Collection::Trajectories.name().as_bytes())
}

pub(crate) type Payload = HashMap<String, Value>;

#[cfg(test)]
mod tests;
