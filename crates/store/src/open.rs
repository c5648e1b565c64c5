//! Which tasks are under way.

use hindsight_ports::{Page, PageRequest, StoreError};
use hindsight_types::{OpenTask, TenantId, Timestamp, TraceId};
use uuid::Uuid;

use crate::{
    collection::Collection,
    fields, point,
    scoped::{ScopedBackend, next_id},
    stored::open_key,
    write::POINTS,
};

/// Most tasks of a page.
const LARGEST: usize = 500;

pub(crate) async fn clear(backend: &ScopedBackend, tasks: &[(TenantId, TraceId)]) -> Result<(), StoreError> {
    let id = |(tenant, trace): &(TenantId, TraceId)| point::id(tenant, open_key(tenant, trace));
    let ids: Vec<Uuid> = tasks.iter().map(id).collect();
    for ids in ids.chunks(POINTS) {
        backend.delete(Collection::OpenTasks, ids).await?;
    }
    Ok(())
}

/// One that cannot be read does not hold up the others: it is logged and left out.
pub(crate) async fn idle(
    backend: &ScopedBackend,
    before: Timestamp,
    page: &PageRequest,
) -> Result<Page<OpenTask>, StoreError> {
    let refused = |_| StoreError::Rejected("page token: is not of this list".to_owned());
    let offset = match page.token.as_str() {
        "" => None,
        token => Some(Uuid::parse_str(token).map_err(refused)?),
    };
    let size = page.size.clamp(1, LARGEST);
    let found = backend.idle_tasks(fields::micros(before), offset, size).await?;
    let readable = |p| {
        point::decode(p)
            .inspect_err(|error| tracing::error!(%error, "a stored record was left out of upkeep"))
            .ok()
    };
    Ok(Page {
        items: found.points.iter().filter_map(readable).collect(),
        next_token: next_id(found.next)?.map(|id| id.to_string()).unwrap_or_default(),
    })
}
