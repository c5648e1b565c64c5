use std::collections::{BTreeMap, BTreeSet};

use hindsight_ports::{Archive, MOST_IDS, PageRequest, StoreError};
use hindsight_types::{Memory, MemoryId, MemoryKind, TenantId};

use super::Looking;

/// Memories read at a time.
const PAGE: usize = 500;
/// Receipts are kept this long, and so reads are known.
const READS: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

/// Looks at the memories of a kind, newest first, at most so many of them.
pub(super) async fn each(
    looking: Looking<'_>,
    kind: MemoryKind,
    most: usize,
    mut look: impl FnMut(Memory) + Send,
) -> Result<(), StoreError> {
    let (mut seen, mut page) = (0, PageRequest { size: PAGE, token: String::new() });
    loop {
        let found = looking.upkeep.memories(looking.tenant, kind, &page).await?;
        seen += found.items.len();
        found.items.into_iter().for_each(&mut look);
        if found.next_token.is_empty() || seen >= most {
            return Ok(());
        }
        page.token = found.next_token;
    }
}

/// How often these were read lately, however many they are.
pub(super) async fn reads(
    looking: Looking<'_>,
    ids: &[MemoryId],
) -> Result<BTreeMap<MemoryId, u64>, StoreError> {
    let mut reads = BTreeMap::new();
    for ids in ids.chunks(MOST_IDS) {
        reads.extend(looking.upkeep.reads(looking.tenant, ids, looking.now - READS).await?);
    }
    Ok(reads)
}

/// What somebody brought back from the archive.
pub(super) async fn brought_back(
    archive: &dyn Archive,
    tenant: &TenantId,
) -> Result<BTreeSet<MemoryId>, StoreError> {
    let (mut back, mut page) = (BTreeSet::new(), PageRequest { size: PAGE, token: String::new() });
    loop {
        let found = archive.brought_back(tenant, &page).await?;
        back.extend(found.items.iter().map(|one| one.memory.id()));
        if found.next_token.is_empty() {
            return Ok(back);
        }
        page.token = found.next_token;
    }
}

/// What became part of another memory, and of which.
pub(super) async fn merged(
    archive: &dyn Archive,
    tenant: &TenantId,
) -> Result<BTreeMap<MemoryId, MemoryId>, StoreError> {
    let (mut merged, mut page) = (BTreeMap::new(), PageRequest { size: PAGE, token: String::new() });
    loop {
        let found = archive.spoken_for(tenant, &page).await?;
        merged.extend(found.items.iter().filter_map(|one| Some((one.memory.id(), one.instead?))));
        if found.next_token.is_empty() {
            return Ok(merged);
        }
        page.token = found.next_token;
    }
}

/// Has something be worked out that takes long.
pub(super) async fn work_out<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| StoreError::Unavailable(format!("planning broke off: {e}")))
}
