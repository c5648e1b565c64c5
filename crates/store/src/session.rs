//! What was said in a session around a time.

use hindsight_ports::StoreError;
use hindsight_types::{Fact, Memory, Period, SessionId, Viewer};
use qdrant_client::qdrant::Condition;

use crate::{
    collection::Collection,
    field,
    fields::micros,
    point,
    scoped::{ScopedBackend, ScopedFilter, Show, Walk},
    search::order,
};

/// Most facts that are read.
const LARGEST: usize = 500;

pub(crate) async fn facts(
    backend: &ScopedBackend,
    viewer: &Viewer,
    session: &SessionId,
    span: Period,
    beside: usize,
) -> Result<Vec<Fact>, StoreError> {
    let Some(filter) = ScopedFilter::readable(viewer, Collection::Facts) else { return Ok(Vec::new()) };
    let filter = filter.and(Condition::matches(field::SESSION, session.to_string()));
    let within = |from, until| filter.clone().and_between(field::OCCURRED_AT, from, until);
    // The engine's order among equal times is its own, so what lies beside is asked for its times alone.
    let furthest = |filter, walk| async move {
        let limit = beside.min(LARGEST);
        if limit == 0 {
            return Ok(None);
        }
        let found = backend.scroll(Collection::Facts, filter, walk, limit, Show::Id).await?;
        Ok::<_, StoreError>(found.points.last().map(order))
    };
    let (from, until) = (micros(span.from), micros(span.until));
    let (first, last) = futures::try_join!(
        furthest(within(None, Some(from)), Walk::NewestFirst(field::OCCURRED_AT)),
        furthest(within(Some(until), None), Walk::OldestFirst(field::OCCURRED_AT)),
    )?;
    let filter = within(Some(first.unwrap_or(from)), Some(last.map_or(until, |last| last + 1)));
    let found = backend.scroll(Collection::Facts, filter, Walk::ById(None), LARGEST, Show::Record).await?;
    let facts = point::decode_all::<Memory>(viewer, &found.points).into_iter().filter_map(|m| match m {
        Memory::Fact(fact) => Some(fact),
        _ => None,
    });
    Ok(facts.collect())
}
