use hindsight_lifecycle::plan::raw_events::{plan, rows};
use hindsight_ports::{PageRequest, StoreError};

use super::{Looking, Page};

/// The store decides how much a page is.
pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let Looking { upkeep, tenant, settings, cursor, now, judging, .. } = looking;
    let settings = &settings.raw_events;
    let request = PageRequest { size: 0, token: cursor.to_owned() };
    let found = upkeep.old_runs(tenant, now - settings.keep, &request).await?;
    let rows = rows(upkeep, tenant, &found.items, settings, now, judging).await?;
    Ok(Page { planned: plan(&rows, settings), next: found.next_token })
}
