use hindsight_lifecycle::facts::plan;
use hindsight_ports::{PageRequest, StoreError};
use hindsight_types::{Memory, MemoryKind};

use super::{Looking, Page};

const FACTS: usize = 500;

pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let Looking { upkeep, tenant, settings, cursor, now, .. } = looking;
    let request = PageRequest { size: FACTS, token: cursor.to_owned() };
    let found = upkeep.memories(tenant, MemoryKind::Fact, &request).await?;
    let facts: Vec<_> = found
        .items
        .into_iter()
        .filter_map(|memory| match memory {
            Memory::Fact(fact) => Some(fact),
            _ => None,
        })
        .collect();
    let planned = plan(&facts, &settings.facts, now).into_iter().map(Into::into).collect();
    Ok(Page { planned, next: found.next_token })
}
