use hindsight_lifecycle::plan::lessons::{plan, rows};
use hindsight_ports::{PageRequest, StoreError};
use hindsight_types::{Memory, MemoryKind};

use super::{Looking, Page};

const LESSONS: usize = 100;

pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let Looking { upkeep, ledger, tenant, evidence, cursor, .. } = looking;
    let request = PageRequest { size: LESSONS, token: cursor.to_owned() };
    let found = upkeep.memories(tenant, MemoryKind::Lesson, &request).await?;
    let lessons: Vec<_> = found
        .items
        .into_iter()
        .filter_map(|memory| match memory {
            Memory::Lesson(lesson) => Some(lesson),
            _ => None,
        })
        .collect();
    let rows = rows(ledger, tenant, &lessons, &evidence).await?;
    Ok(Page { planned: plan(&rows), next: found.next_token })
}
