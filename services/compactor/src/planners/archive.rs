use hindsight_lifecycle::{
    archive::{self, Keeper, Places},
    plan::Planned,
};
use hindsight_ports::{PageRequest, StoreError};
use hindsight_types::{Memory, MemoryId, MemoryKind};

use super::{Looking, Page, walk};

/// Memories read at a time.
const PAGE: usize = 500;
/// Facts do not fade.
const KINDS: [MemoryKind; 4] =
    [MemoryKind::Experience, MemoryKind::Step, MemoryKind::FailurePattern, MemoryKind::Lesson];

/// What stays is told by all runs together, so all is one page.
pub(crate) async fn page(looking: Looking<'_>) -> Result<Page, StoreError> {
    let places = places(looking).await?;
    let mut planned = Vec::new();
    for kind in KINDS {
        let mut page = PageRequest { size: PAGE, token: String::new() };
        loop {
            let found = looking.upkeep.memories(looking.tenant, kind, &page).await?;
            planned.extend(leaving(looking, &places, found.items).await?);
            if found.next_token.is_empty() {
                break;
            }
            page.token = found.next_token;
        }
    }
    planned.extend(expired(looking).await?);
    Ok(Page { planned, next: String::new() })
}

async fn places(looking: Looking<'_>) -> Result<Places, StoreError> {
    let mut keeper = Keeper::default();
    let keep = |memory| {
        if let Memory::Experience(run) = memory {
            keeper.see(&run);
        }
    };
    walk::each(looking, MemoryKind::Experience, usize::MAX, keep).await?;
    let back = walk::brought_back(looking.archive, looking.tenant).await?;
    Ok(keeper.places(&back, &looking.settings.archive, looking.now))
}

/// What has been in the archive for long enough.
async fn expired(looking: Looking<'_>) -> Result<Vec<Planned>, StoreError> {
    let (settings, now) = (&looking.settings.archive, looking.now);
    let (mut planned, mut page) = (Vec::new(), PageRequest { size: PAGE, token: String::new() });
    loop {
        let found = looking.archive.archived_before(looking.tenant, now - settings.keep, &page).await?;
        planned.extend(archive::expired(&found.items, settings, now));
        if found.next_token.is_empty() {
            return Ok(planned);
        }
        page.token = found.next_token;
    }
}

/// Whether something was read is asked only of what would leave otherwise.
async fn leaving(
    looking: Looking<'_>,
    places: &Places,
    mut memories: Vec<Memory>,
) -> Result<Vec<Planned>, StoreError> {
    let (settings, now) = (&looking.settings.archive, looking.now);
    memories.retain(|memory| archive::leaves(memory, 0, places, settings, now).is_some());
    let ids: Vec<MemoryId> = memories.iter().map(Memory::id).collect();
    let reads = walk::reads(looking, &ids).await?;
    let rows = memories.iter().map(|memory| (memory, reads.get(&memory.id()).copied().unwrap_or(0)));
    Ok(archive::plan(rows, places, settings, now).into_iter().map(Into::into).collect())
}
