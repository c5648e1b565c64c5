use std::collections::BTreeSet;

use hindsight_lifecycle::plan::raw_events::{plan, rows};
use hindsight_ports::{MOST_IDS, PageRequest, StoreError};
use hindsight_types::TraceId;

use super::{Looking, Page};

/// The events of a run lie on several pages of the store, so all is one page: each run is named once.
pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let Looking { upkeep, tenant, settings, now, judging, .. } = looking;
    let settings = &settings.raw_events;
    let mut runs = BTreeSet::new();
    let mut request = PageRequest::default();
    loop {
        let found = upkeep.old_runs(tenant, now - settings.keep, &request).await?;
        runs.extend(found.items);
        if found.next_token.is_empty() {
            break;
        }
        request.token = found.next_token;
    }
    let (runs, mut known): (Vec<TraceId>, _) = (runs.into_iter().collect(), Vec::new());
    for some in runs.chunks(MOST_IDS) {
        known.extend(rows(upkeep, tenant, some, settings, now, judging).await?);
    }
    Ok(Page { planned: plan(&known, settings), next: String::new() })
}
