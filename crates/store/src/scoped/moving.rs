//! Records that change their owner: written and deleted only as they were read. And the merges of all tenants that
//! upkeep goes on with; nothing of them is returned to a caller.

use hindsight_ports::StoreError;
use hindsight_types::{Scope, SubjectMerge, Timestamp};
use qdrant_client::qdrant::{
    Condition, DeletePoints, Filter, PointStruct, PointsSelector, Range, UpdateMode, UpsertPoints,
    points_selector::PointsSelectorOneOf,
};
use uuid::Uuid;

use super::{ScopedBackend, ScopedFilter, Show, Walk, any_of, next_id};
use crate::{collection::Collection, field, fields::micros, point, stored::merge_state, subjects::Due};

/// Points deleted at a time.
const CHUNK: usize = 500;

impl ScopedBackend {
    /// Replaces points of `source` that are there and are `as_read`.
    pub(crate) async fn replace(
        &self,
        collection: Collection,
        source: &Scope,
        points: Vec<PointStruct>,
        as_read: Condition,
    ) -> Result<(), StoreError> {
        let request = UpsertPoints {
            collection_name: self.name(collection),
            wait: Some(true),
            points,
            update_filter: Some(Filter::must([of(source), as_read])),
            update_mode: Some(UpdateMode::UpdateOnly as i32),
            ..Default::default()
        };
        self.ready()?;
        self.backend.upsert(request).await
    }

    /// Deletes points of `source` that are `as_read`.
    pub(crate) async fn remove(
        &self,
        collection: Collection,
        source: &Scope,
        ids: &[Uuid],
        as_read: Condition,
    ) -> Result<(), StoreError> {
        let ids = Condition::has_id(ids.iter().map(|id| point::to_point_id(*id)));
        let tenant = Condition::matches(field::TENANT, source.tenant.to_string());
        let filter = Filter::must([tenant, of(source), ids, as_read]);
        let request = DeletePoints {
            collection_name: self.name(collection),
            wait: Some(true),
            points: Some(PointsSelector {
                points_selector_one_of: Some(PointsSelectorOneOf::Filter(filter)),
            }),
            ..Default::default()
        };
        self.ready()?;
        self.backend.delete(request).await
    }

    /// Merges of all tenants that are not done, and those that are due.
    pub(crate) async fn unfinished_merges(
        &self,
        due: &Due,
        limit: usize,
    ) -> Result<Vec<SubjectMerge>, StoreError> {
        use hindsight_types::MergeState::{Merged, Merging, Undoing, Undone};
        let state = |state| Condition::matches(field::STATE, merge_state(state).to_owned());
        let time = |range: Range| Condition::range(field::TOUCHED_AT, range);
        let old = Range { lt: Some(micros(due.merged_before) as f64), ..Default::default() };
        let fresh = Range { gte: Some(micros(due.undone_after) as f64), ..Default::default() };
        let any = Filter::should([
            state(Merging),
            state(Undoing),
            Condition::from(Filter::must([state(Merged), Condition::range(field::AT, old)])),
            Condition::from(Filter::must([state(Undone), time(fresh)])),
        ]);
        let found =
            self.scroll(Collection::Merges, ScopedFilter(any), Walk::ById(None), limit, Show::Record).await?;
        Ok(point::decode_readable(&found.points))
    }

    /// Deletes what is known of merges from before this time, but of those that are not done.
    pub(crate) async fn forget_moved(&self, before: Timestamp) -> Result<(), StoreError> {
        use hindsight_types::MergeState::{Merging, Undoing};
        let unfinished = [Merging, Undoing].map(|state| merge_state(state).to_owned()).to_vec();
        let done = Filter::must_not([Condition::matches(field::STATE, unfinished)]);
        let old = ScopedFilter(done).and_before(field::AT, micros(before));
        let mut from = None;
        loop {
            let walk = Walk::ById(from);
            let found = self.scroll(Collection::Merges, old.clone(), walk, CHUNK, Show::Id).await?;
            let ids = found.points.into_iter().map(|p| point::from_point_id(p.id));
            let ids = ids.collect::<Result<Vec<_>, _>>()?;
            if !ids.is_empty() {
                self.delete(Collection::Merges, &ids).await?;
            }
            from = next_id(found.next)?;
            if from.is_none() {
                return Ok(());
            }
        }
    }
}

fn of(scope: &Scope) -> Condition {
    any_of(field::VISIBILITY, std::slice::from_ref(&scope.visibility))
}
