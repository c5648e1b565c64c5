//! Making and opening the engine's shard of a collection.

use std::{fs, io, path::Path};

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{CreateFieldIndexCollection, PointsUpdateOperation};
use qdrant_edge::{
    CountRequest, EdgeConfig, EdgeShard, OperationResult, PointId, ScrollRequest, WithPayloadInterface,
    WithVector,
};

use super::{
    effect::{Effect, check_points},
    vacuum::settle,
    vectors::strip,
};
use crate::{
    convert::{filter::among, index::index_to_engine, point::record_to_point, schema::Schema},
    engine::{contain, flush, store_error},
    files::{Places, prune_engine_log},
    journal::{Journal, unavailable},
};

/// Ids looked at per step when duplicates are sought.
const SWEEP_PAGE: usize = 256;

/// What it takes to open the shard, now and again later.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    pub(crate) name: String,
    pub(crate) places: Places,
    pub(crate) config: EdgeConfig,
    pub(crate) schema: Schema,
}

impl Opening {
    /// Makes the shard. Whatever an interrupted attempt left is removed first.
    pub(crate) fn create(&self) -> Result<(EdgeShard, Journal), StoreError> {
        let root = self.places.root();
        remove(root).map_err(|error| unavailable(root, &error))?;
        let shard_dir = self.places.shard();
        fs::create_dir_all(&shard_dir).map_err(|error| unavailable(&shard_dir, &error))?;
        let shard = self.call(|| EdgeShard::new(&shard_dir, self.config.clone()))?;
        self.call(|| flush(&shard))?;
        let journal = Journal::open(&self.places.journal(), |_| Ok(()))?;
        Ok((shard, journal))
    }

    /// Opens the shard and brings it to the state of the last acknowledged write: the engine's last flush
    /// plus the journal. The result is flushed and its journal empty.
    pub(crate) fn open(
        &self,
        indexes: &[CreateFieldIndexCollection],
    ) -> Result<(EdgeShard, Journal), StoreError> {
        let shard_dir = self.places.shard();
        settle(&self.places).map_err(|error| unavailable(self.places.root(), &error))?;
        prune_engine_log(&shard_dir).map_err(|error| unavailable(&shard_dir, &error))?;
        // Where an interrupted optimisation was building.
        let half_built = shard_dir.join("temp_segments");
        remove(&half_built).map_err(|error| unavailable(&half_built, &error))?;
        strip(&shard_dir, &self.schema).map_err(|error| unavailable(&shard_dir, &error))?;
        let shard = self.call(|| EdgeShard::load(&shard_dir, Some(self.config.clone())))?;
        self.index(&shard, indexes)?;
        let mut journal = Journal::open(&self.places.journal(), |record| self.replay(&shard, record))?;
        let interrupted = self.places.optimizing();
        if interrupted.exists() {
            self.remove_duplicates(&shard, &mut journal)?;
        }
        if journal.len() > 0 || interrupted.exists() {
            self.call(|| flush(&shard))?;
            journal.clear().map_err(|error| unavailable(&self.places.journal(), &error))?;
            remove(&interrupted).map_err(|error| unavailable(&interrupted, &error))?;
        }
        let stale = self.places.stale();
        remove(&stale).map_err(|error| unavailable(&stale, &error))?;
        Ok((shard, journal))
    }

    pub(super) fn index(
        &self,
        shard: &EdgeShard,
        indexes: &[CreateFieldIndexCollection],
    ) -> Result<(), StoreError> {
        for index in indexes {
            let operation = index_to_engine(index)?;
            self.call(|| shard.update(operation))?;
        }
        Ok(())
    }

    /// Applies a record of the journal.
    pub(super) fn replay(&self, shard: &EdgeShard, record: PointsUpdateOperation) -> Result<(), StoreError> {
        match Effect::from_record(record, &self.schema)? {
            Some(effect) => self.call(|| effect.apply(shard)),
            None => Err(StoreError::Corrupt(format!("journal of {:?}: unknown record", self.name))),
        }
    }

    /// An optimisation that dies after its new segment is in place and before the old ones are gone leaves
    /// points twice. Such points are deleted, which takes every copy, and written again; the journal has
    /// them meanwhile.
    fn remove_duplicates(&self, shard: &EdgeShard, journal: &mut Journal) -> Result<(), StoreError> {
        let mut offset = None;
        loop {
            let (ids, next) = self.call(|| ids_from(shard, offset))?;
            let filter = Some(among(&ids, None));
            let copies = self.call(|| shard.count(CountRequest { filter, exact: true }))?;
            if copies > ids.len() {
                let records = self.call(|| {
                    shard.retrieve(&ids, Some(WithPayloadInterface::Bool(true)), Some(WithVector::Bool(true)))
                })?;
                let points = records.into_iter().map(record_to_point).collect();
                let upserts: Vec<_> =
                    Effect::upserts(check_points(points, &self.schema)?, &self.schema).collect();
                let journaled = upserts.iter().try_for_each(|effect| journal.append(&effect.record));
                journaled
                    .and_then(|()| journal.sync())
                    .map_err(|error| unavailable(&self.places.journal(), &error))?;
                for effect in Effect::deletes(&ids).chain(upserts) {
                    self.call(|| effect.apply(shard))?;
                }
            }
            match next {
                Some(next) => offset = Some(next),
                None => return Ok(()),
            }
        }
    }

    pub(super) fn call<T>(&self, work: impl FnOnce() -> OperationResult<T>) -> Result<T, StoreError> {
        contain(work)
            .map_err(|panic| StoreError::Unavailable(format!("collection {:?}: {panic}", self.name)))?
            .map_err(|error| store_error(&self.name, &error))
    }
}

fn ids_from(shard: &EdgeShard, offset: Option<PointId>) -> OperationResult<(Vec<PointId>, Option<PointId>)> {
    let (records, next) = shard.scroll(ScrollRequest {
        offset,
        limit: Some(SWEEP_PAGE),
        with_payload: Some(WithPayloadInterface::Bool(false)),
        ..ScrollRequest::default()
    })?;
    Ok((records.into_iter().map(|record| record.id).collect(), next))
}

/// Removes a file or a directory with all in it; that it is not there is fine.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let result = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
