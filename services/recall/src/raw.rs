//! The raw tier, as far as a viewer may see it.

use futures::future::try_join_all;
use hindsight_ingest::{assemble::scope_of, otlp};
use hindsight_ports::{MemoryStore, StoreError};
use hindsight_types::{Event, Scope, TraceId, Viewer};

/// Every event of the run that the viewer may see. A span need not say whose it is: when another of its trace does,
/// all of them are that user's.
pub(crate) async fn events(
    store: &dyn MemoryStore,
    viewer: &Viewer,
    trace: &TraceId,
) -> Result<Vec<Event>, StoreError> {
    let scopes = viewer.visibilities().into_iter();
    let scopes: Vec<Scope> = scopes.map(|v| Scope::new(viewer.tenant.clone(), v)).collect();
    let found = try_join_all(scopes.iter().map(|scope| store.events(scope, trace))).await?;
    let events: Vec<Event> = found.into_iter().flatten().collect();
    if otlp::spans(&events) == 0 {
        return Ok(events);
    }
    let all = store.trace_events(&viewer.tenant, trace).await?;
    let theirs = scope_of(&all).is_some_and(|scope| !viewer.may_see(scope));
    Ok(if theirs { Vec::new() } else { events })
}
