use std::collections::BTreeMap;

use hindsight_ports::StoreError;
use qdrant_client::qdrant::{
    PointId, PointStruct, PointsIdsList, PointsSelector, PointsUpdateOperation,
    points_selector::PointsSelectorOneOf,
    points_update_operation::{DeletePoints, Operation, PointStructList},
};
use qdrant_edge::{
    EdgeShard, OperationResult, PointId as EngineId, PointIdsList, PointInsertOperations, PointOperations,
    PointStructPersisted, UpdateOperation, VectorOperations, VectorStructPersisted,
};

use crate::convert::{
    point::{id_from_engine, ids_to_engine, point_to_engine},
    schema::Schema,
};

/// Points per record: bounds the memory of a step and how long the engine holds its locks.
pub(crate) const UPSERT_CHUNK: usize = 256;
const DELETE_CHUNK: usize = 10_000;

/// A point as the journal and as the engine want it.
pub(crate) type Pair = (PointStruct, PointStructPersisted);

/// The outcome of a write: as the record that makes it durable and as the operation that makes it visible.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) record: PointsUpdateOperation,
    operations: Vec<UpdateOperation>,
    /// How much this adds to what there is for the optimiser to do: vectors to index, points to reclaim.
    pub(crate) churn: u64,
}

/// Checks every point before any is written.
pub(crate) fn check_points(points: Vec<PointStruct>, schema: &Schema) -> Result<Vec<Pair>, StoreError> {
    points
        .into_iter()
        .map(|point| {
            let engine = point_to_engine(point.clone(), schema)?;
            Ok((point, engine))
        })
        .collect()
}

impl Effect {
    pub(crate) fn deletes_points(&self) -> bool {
        matches!(self.record.operation, Some(Operation::DeletePoints(_)))
    }

    /// To be called on the owner thread.
    pub(crate) fn apply(self, shard: &EdgeShard) -> OperationResult<()> {
        self.operations.into_iter().try_for_each(|operation| shard.update(operation))
    }

    pub(crate) fn upserts(pairs: Vec<Pair>, schema: &Schema) -> impl Iterator<Item = Self> {
        let mut rest = pairs.into_iter();
        std::iter::from_fn(move || {
            let (points, engine): (Vec<_>, Vec<_>) = rest.by_ref().take(UPSERT_CHUNK).unzip();
            (!points.is_empty()).then(|| Self::upsert(points, engine, schema))
        })
    }

    pub(crate) fn deletes(ids: &[EngineId]) -> impl Iterator<Item = Self> {
        ids.chunks(DELETE_CHUNK)
            .map(|ids| Self::delete(ids.iter().copied().map(id_from_engine).collect(), ids.to_vec()))
    }

    /// What `record` was made from. `None`: it has nothing in it that the journal ever holds.
    pub(crate) fn from_record(
        record: PointsUpdateOperation,
        schema: &Schema,
    ) -> Result<Option<Self>, StoreError> {
        match record.operation {
            Some(Operation::Upsert(PointStructList { points, .. })) => {
                let (points, engine) = check_points(points, schema)?.into_iter().unzip();
                Ok(Some(Self::upsert(points, engine, schema)))
            }
            Some(Operation::DeletePoints(DeletePoints {
                points:
                    Some(PointsSelector {
                        points_selector_one_of: Some(PointsSelectorOneOf::Points(PointsIdsList { ids })),
                    }),
                ..
            })) => {
                let engine = ids_to_engine(ids.clone())?;
                Ok(Some(Self::delete(ids, engine)))
            }
            _ => Ok(None),
        }
    }

    fn upsert(points: Vec<PointStruct>, engine: Vec<PointStructPersisted>, schema: &Schema) -> Self {
        let churn = if schema.has_dense() { points.len() as u64 } else { 0 };
        let list = PointStructList { points, ..PointStructList::default() };
        let dropped = dropped_vectors(&engine, schema);
        let upsert = UpdateOperation::PointOperation(PointOperations::UpsertPoints(
            PointInsertOperations::PointsList(engine),
        ));
        Self {
            record: PointsUpdateOperation { operation: Some(Operation::Upsert(list)) },
            operations: std::iter::once(upsert).chain(dropped).collect(),
            churn,
        }
    }

    fn delete(ids: Vec<PointId>, engine: Vec<EngineId>) -> Self {
        let churn = ids.len() as u64;
        let selector = PointsSelector {
            points_selector_one_of: Some(PointsSelectorOneOf::Points(PointsIdsList { ids })),
        };
        let delete = DeletePoints { points: Some(selector), ..DeletePoints::default() };
        Self {
            record: PointsUpdateOperation { operation: Some(Operation::DeletePoints(delete)) },
            operations: vec![UpdateOperation::PointOperation(PointOperations::DeletePoints { ids: engine })],
            churn,
        }
    }
}

/// An upsert replaces the point. The engine lets a point that it moves out of an indexed segment keep the
/// vectors that the new one does not have; this removes them.
fn dropped_vectors(
    points: &[PointStructPersisted],
    schema: &Schema,
) -> impl Iterator<Item = UpdateOperation> + use<> {
    let mut dropped: BTreeMap<Vec<String>, Vec<EngineId>> = BTreeMap::new();
    for point in points {
        if let VectorStructPersisted::Named(vectors) = &point.vector {
            dropped.entry(schema.others(vectors)).or_default().push(point.id);
        }
    }
    dropped.remove([].as_slice());
    dropped.into_iter().map(|(names, ids)| {
        UpdateOperation::VectorOperation(VectorOperations::DeleteVectors(PointIdsList::from(ids), names))
    })
}
