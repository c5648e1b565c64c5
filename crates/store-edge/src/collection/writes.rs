//! Turning a write into its effects. Runs on the owner thread alone, so that what is read here still holds
//! when the effect is applied: this is what makes a conditional write atomic.

use std::collections::{BTreeMap, HashSet};

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    DeletePoints, NamedVectors, PointStruct, PointVectors, PointsSelector, SetPayloadPoints, UpdateMode,
    UpdatePointVectors, UpsertPoints, Vectors, points_selector::PointsSelectorOneOf, vectors::VectorsOptions,
};
use qdrant_edge::{Filter, PointId, Record, ScrollRequest, WithPayloadInterface, WithVector};

use super::{
    effect::{Effect, Pair, UPSERT_CHUNK, check_points},
    owner::Owner,
};
use crate::{
    convert::{
        filter::{among, filter_to_engine},
        point::{id_from_engine, ids_to_engine, record_to_point},
        select::path_to_engine,
        value::payload_to_engine,
    },
    refuse::{refuse, rejected},
};

/// Ids read per step when a filter names the points of a write.
const ID_PAGE: usize = 10_000;

impl Owner {
    pub(super) fn upsert(&mut self, request: UpsertPoints) -> Result<(), StoreError> {
        let UpsertPoints {
            collection_name: _,
            // Every write is durable and in order when it returns.
            wait: _,
            ordering: _,
            points,
            shard_key_selector,
            update_filter,
            timeout,
            update_mode,
        } = request;
        refuse(
            "upsert",
            &[("shard_key_selector", shard_key_selector.is_some()), ("timeout", timeout.is_some())],
        )?;
        let mode = match update_mode.map(UpdateMode::try_from) {
            None => UpdateMode::Upsert,
            Some(Ok(mode)) => mode,
            Some(Err(_)) => return Err(rejected("upsert.update_mode", "unknown")),
        };
        let filter = filter_to_engine(update_filter)?;
        let mut points = check_points(points, self.schema())?;
        if filter.is_some() || mode != UpdateMode::Upsert {
            points = self.admitted(points, filter, mode)?;
        }
        self.apply_all(points)
    }

    /// The points that the condition lets through: new ones, and those that match as they are stored now.
    fn admitted(
        &self,
        points: Vec<Pair>,
        filter: Option<Filter>,
        mode: UpdateMode,
    ) -> Result<Vec<Pair>, StoreError> {
        let ids: Vec<PointId> = points.iter().map(|(_, point)| point.id).collect();
        let existing = self.id_set(among(&ids, None))?;
        let matching = match filter {
            Some(filter) => self.id_set(among(&ids, Some(filter)))?,
            None => existing.clone(),
        };
        let admits = |id: &PointId| match mode {
            UpdateMode::Upsert => !existing.contains(id) || matching.contains(id),
            UpdateMode::InsertOnly => !existing.contains(id),
            UpdateMode::UpdateOnly => matching.contains(id),
        };
        Ok(points.into_iter().filter(|(_, point)| admits(&point.id)).collect())
    }

    fn apply_all(&mut self, points: Vec<Pair>) -> Result<(), StoreError> {
        let effects: Vec<_> = Effect::upserts(points, self.schema()).collect();
        effects.into_iter().try_for_each(|effect| self.apply(effect))
    }

    /// Sets the vectors that each point names; of one that is named twice, the last.
    pub(super) fn update_vectors(&mut self, request: UpdatePointVectors) -> Result<(), StoreError> {
        let UpdatePointVectors {
            collection_name: _,
            wait: _,
            ordering: _,
            points,
            shard_key_selector,
            update_filter,
            timeout,
        } = request;
        refuse(
            "update_vectors",
            &[("shard_key_selector", shard_key_selector.is_some()), ("timeout", timeout.is_some())],
        )?;
        let filter = filter_to_engine(update_filter)?;
        let mut updates: BTreeMap<PointId, NamedVectors> = BTreeMap::new();
        for PointVectors { id, vectors } in points {
            let [id] = ids_to_engine(id.into_iter().collect())?[..] else {
                return Err(rejected("update_vectors.points.id", "missing"));
            };
            let named = match vectors.and_then(|vectors| vectors.vectors_options) {
                Some(VectorsOptions::Vectors(named)) => named,
                _ => return Err(rejected("update_vectors.points.vectors", "vectors have names here")),
            };
            updates.entry(id).or_default().vectors.extend(named.vectors);
        }
        let ids: Vec<PointId> = updates.keys().copied().collect();
        // Every update is checked before any is done, whether its point is there or not.
        let bare = updates.iter().map(|(id, named)| with_vectors(PointStruct::default(), *id, named.clone()));
        check_points(bare.collect(), self.schema())?;
        for ids in self.matching(among(&ids, filter))?.chunks(UPSERT_CHUNK) {
            let stored = self.whole_points(ids)?;
            let points = stored.into_iter().filter_map(|record| {
                let id = record.id;
                Some(with_vectors(record_to_point(record), id, updates.remove(&id)?))
            });
            let points = points.collect();
            self.apply_all(check_points(points, self.schema())?)?;
        }
        Ok(())
    }

    /// Merges into the stored payload on the top level (or below `key`); a null removes its field.
    pub(super) fn set_payload(&mut self, request: SetPayloadPoints) -> Result<(), StoreError> {
        let SetPayloadPoints {
            collection_name: _,
            wait: _,
            ordering: _,
            payload,
            points_selector,
            shard_key_selector,
            key,
            timeout,
        } = request;
        refuse(
            "set_payload",
            &[("shard_key_selector", shard_key_selector.is_some()), ("timeout", timeout.is_some())],
        )?;
        let payload = payload_to_engine(payload)?;
        let key = key.map(|key| path_to_engine("set_payload.key", &key)).transpose()?;
        for ids in self.selected("set_payload.points_selector", points_selector)?.chunks(UPSERT_CHUNK) {
            let mut records = self.whole_points(ids)?;
            for stored in records.iter_mut().filter_map(|record| record.payload.as_mut()) {
                match &key {
                    Some(key) => stored.merge_by_key(&payload, key),
                    None => stored.merge(&payload),
                }
            }
            let points = records.into_iter().map(record_to_point).collect();
            self.apply_all(check_points(points, self.schema())?)?;
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, request: DeletePoints) -> Result<(), StoreError> {
        let DeletePoints { collection_name: _, wait: _, ordering: _, points, shard_key_selector, timeout } =
            request;
        refuse(
            "delete",
            &[("shard_key_selector", shard_key_selector.is_some()), ("timeout", timeout.is_some())],
        )?;
        let ids = self.selected("delete.points", points)?;
        Effect::deletes(&ids).try_for_each(|effect| self.apply(effect))
    }

    /// The stored points that the selector names, each once.
    fn selected(&self, field: &str, selector: Option<PointsSelector>) -> Result<Vec<PointId>, StoreError> {
        match selector.and_then(|selector| selector.points_selector_one_of) {
            Some(PointsSelectorOneOf::Points(list)) => self.matching(among(&ids_to_engine(list.ids)?, None)),
            Some(PointsSelectorOneOf::Filter(filter)) => {
                self.matching(filter_to_engine(Some(filter))?.unwrap_or_default())
            }
            None => Err(rejected(field, "missing")),
        }
    }

    fn id_set(&self, filter: Filter) -> Result<HashSet<PointId>, StoreError> {
        Ok(self.matching(filter)?.into_iter().collect())
    }

    fn matching(&self, filter: Filter) -> Result<Vec<PointId>, StoreError> {
        let mut ids = Vec::new();
        let mut offset = None;
        loop {
            let request = ScrollRequest {
                offset,
                limit: Some(ID_PAGE),
                filter: Some(filter.clone()),
                with_payload: Some(WithPayloadInterface::Bool(false)),
                ..ScrollRequest::default()
            };
            let (records, next) = self.engine().run(|shard| shard.scroll(request))?;
            ids.extend(records.into_iter().map(|record| record.id));
            match next {
                Some(next) => offset = Some(next),
                None => return Ok(ids),
            }
        }
    }

    fn whole_points(&self, ids: &[PointId]) -> Result<Vec<Record>, StoreError> {
        self.engine().run(|shard| {
            shard.retrieve(ids, Some(WithPayloadInterface::Bool(true)), Some(WithVector::Bool(true)))
        })
    }
}

/// `point` under this id, with `named` in place of its own vectors of these names.
fn with_vectors(mut point: PointStruct, id: PointId, named: NamedVectors) -> PointStruct {
    point.id = Some(id_from_engine(id));
    let mut all = match point.vectors.take().and_then(|vectors| vectors.vectors_options) {
        Some(VectorsOptions::Vectors(stored)) => stored,
        _ => NamedVectors::default(),
    };
    all.vectors.extend(named.vectors);
    PointStruct { vectors: Some(Vectors { vectors_options: Some(VectorsOptions::Vectors(all)) }), ..point }
}
