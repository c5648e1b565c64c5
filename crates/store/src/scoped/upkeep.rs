//! What upkeep reads beyond one record: who is there, how much of what, what is old. What is of all tenants is which
//! tenants there are, which runs of upkeep are open, and which of their records are to be deleted.

use hindsight_ports::StoreError;
use hindsight_types::{TenantId, Timestamp};
use qdrant_client::qdrant::{
    Condition, FacetCounts, Filter, PayloadIncludeSelector, RetrievedPoint, ScrollPoints,
    WithPayloadSelector, WithVectorsSelector, facet_value, with_payload_selector, with_vectors_selector,
};
use uuid::Uuid;

use super::{ScopedBackend, ScopedFilter, Show, Walk, next_id};
use crate::{Scrolled, collection::Collection, field, fields::micros, point};

/// Most values of a field that are told apart.
const MOST_VALUES: u64 = 100_000;

impl ScopedFilter {
    /// Everything of a tenant; see [`ScopedFilter::upkeep`].
    pub(crate) fn whole(tenant: &TenantId) -> Self {
        Self::tenant(tenant)
    }
}

impl ScopedBackend {
    /// How many points have which value of a keyword field.
    pub(crate) async fn values(
        &self,
        collection: Collection,
        filter: ScopedFilter,
        field: &str,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let request = FacetCounts {
            collection_name: self.name(collection),
            key: field.to_owned(),
            filter: Some(filter.0),
            limit: Some(MOST_VALUES),
            exact: Some(true),
            ..Default::default()
        };
        self.ready()?;
        let hits = self.backend.facet(request).await?;
        let text = |value| match value {
            Some(facet_value::Variant::StringValue(text)) => Some(text),
            _ => None,
        };
        Ok(hits.into_iter().filter_map(|h| Some((text(h.value?.variant)?, h.count))).collect())
    }

    /// The tenants that have anything in `collection`.
    pub(crate) async fn tenants(&self, collection: Collection) -> Result<Vec<String>, StoreError> {
        let all = ScopedFilter(Filter::default());
        let found = self.values(collection, all, field::TENANT).await?;
        Ok(found.into_iter().map(|(tenant, _)| tenant).collect())
    }

    /// Points with one of their fields, by id from `offset` on.
    pub(crate) async fn scroll_field(
        &self,
        collection: Collection,
        filter: ScopedFilter,
        offset: Option<Uuid>,
        limit: u32,
        field: &str,
    ) -> Result<(Vec<RetrievedPoint>, Option<Uuid>), StoreError> {
        use with_payload_selector::SelectorOptions::Include;
        let include = Include(PayloadIncludeSelector { fields: vec![field.to_owned()] });
        let no_vectors = with_vectors_selector::SelectorOptions::Enable(false);
        let request = ScrollPoints {
            collection_name: self.name(collection),
            filter: Some(filter.0),
            offset: offset.map(point::to_point_id),
            limit: Some(limit),
            with_payload: Some(WithPayloadSelector { selector_options: Some(include) }),
            with_vectors: Some(WithVectorsSelector { selector_options: Some(no_vectors) }),
            ..Default::default()
        };
        self.ready()?;
        let found = self.backend.scroll(request).await?;
        Ok((found.points, next_id(found.next)?))
    }

    /// Runs of upkeep in one of these states, of all tenants, by point id from `offset` on.
    pub(crate) async fn open_compactions(
        &self,
        states: &[&str],
        offset: Option<Uuid>,
        limit: usize,
    ) -> Result<Scrolled, StoreError> {
        let states: Vec<String> = states.iter().map(|s| (*s).to_owned()).collect();
        let open = ScopedFilter(Filter::must([Condition::matches(field::STATE, states)]));
        self.scroll(Collection::Compactions, open, Walk::ById(offset), limit, Show::Record).await
    }

    /// The points of runs of upkeep and their tasks from before this time, of all tenants, by point id from `offset`
    /// on, and where the next ones begin.
    pub(crate) async fn old_compactions(
        &self,
        before: Timestamp,
        offset: Option<Uuid>,
        limit: usize,
    ) -> Result<(Vec<Uuid>, Option<Uuid>), StoreError> {
        let old = ScopedFilter(Filter::default()).and_before(field::AT, micros(before));
        let found = self.scroll(Collection::Compactions, old, Walk::ById(offset), limit, Show::Id).await?;
        let ids = found.points.into_iter().map(|p| point::from_point_id(p.id));
        Ok((ids.collect::<Result<_, _>>()?, next_id(found.next)?))
    }
}
