use hindsight_lifecycle::plan::patterns::{plan, rows};
use hindsight_ports::{PageRequest, StoreError};
use hindsight_types::{Memory, MemoryKind};

use super::{Looking, Page};

const PATTERNS: usize = 100;

pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let Looking { upkeep, tenant, cursor, now, .. } = looking;
    let request = PageRequest { size: PATTERNS, token: cursor.to_owned() };
    let found = upkeep.memories(tenant, MemoryKind::FailurePattern, &request).await?;
    let patterns: Vec<_> = found
        .items
        .into_iter()
        .filter_map(|memory| match memory {
            Memory::FailurePattern(pattern) => Some(pattern),
            _ => None,
        })
        .collect();
    let rows = rows(upkeep, tenant, &patterns, now).await?;
    Ok(Page { planned: plan(&rows, now), next: found.next_token })
}
